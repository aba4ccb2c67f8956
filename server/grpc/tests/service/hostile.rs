use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;
use tonic::Code;

use crate::support::{Host, MAX_MESSAGE_BYTES, Setup, code_and_reason, read, request, write};

#[tokio::test]
async fn a_message_over_the_limit_is_refused_by_the_transport() {
    let host = Host::start();
    let content = "x".repeat(MAX_MESSAGE_BYTES + 1);
    let status = host.tools().execute(request("", write("a", &content))).await.unwrap_err();
    assert_eq!(code_and_reason(&status), (Code::OutOfRange, String::new()));
    assert!(status.message().contains(&MAX_MESSAGE_BYTES.to_string()), "{}", status.message());
    assert!(host.content("/w/a").is_none());

    let content = "x".repeat(MAX_MESSAGE_BYTES - 64);
    assert_eq!(host.execute("", write("a", &content)).await.is_error, Some(false));
}

#[tokio::test]
async fn a_compressed_message_counts_as_what_it_holds() {
    let host = Host::start();
    let content = "x".repeat(MAX_MESSAGE_BYTES + 1);
    for encoding in [tonic::codec::CompressionEncoding::Gzip, tonic::codec::CompressionEncoding::Zstd] {
        let mut tools = host.tools().send_compressed(encoding);
        let status = tools.execute(request("", write("a", &content))).await.unwrap_err();
        assert!([Code::OutOfRange, Code::ResourceExhausted].contains(&status.code()), "{status:?}");
    }
    assert!(host.content("/w/a").is_none());
}

#[tokio::test]
async fn what_is_no_http2_is_hung_up_on_and_nobody_else_notices() {
    let host = Host::start();
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"[..],
        &[0xff; 4_096],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\xff garbage",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a client of TLS",
    ] {
        let mut connection = host.connect();
        // The server may hang up before everything is written.
        let _ = connection.write_all(bytes).await;
        let answered = timeout(Duration::from_secs(10), connection.read_to_end(&mut Vec::new())).await;
        assert!(answered.is_ok(), "not hung up on after {bytes:?}");
        assert_eq!(host.execute("", read("none")).await.is_error, Some(true));
    }
}

#[tokio::test]
async fn a_client_that_says_nothing_is_hung_up_on() {
    let setup = Setup { handshake_timeout: Duration::from_millis(50), ..Setup::default() };
    let host = Host::with(setup);
    let mut connection = host.connect();
    let hung_up = timeout(Duration::from_secs(10), connection.read_to_end(&mut Vec::new())).await;
    assert!(hung_up.is_ok());
}
