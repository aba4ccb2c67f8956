use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use prost::Message as _;
use tonic::codec::CompressionEncoding;
use toolfs_contract::v1;
use tower::ServiceExt as _;

use crate::support::{Host, read, request, write};

#[tokio::test]
async fn calls_and_answers_are_compressed_when_asked() {
    let host = Host::start();
    let content = "the same line\n".repeat(1_000);
    for (encoding, path) in [(CompressionEncoding::Gzip, "gzip"), (CompressionEncoding::Zstd, "zstd")] {
        let mut tools = host.tools().send_compressed(encoding).accept_compressed(encoding);
        let written = tools.execute(request("", write(path, &content))).await.unwrap().into_inner();
        assert_eq!(written.is_error, Some(false));
        assert_eq!(host.content(&format!("/w/{path}")).unwrap(), content);

        let answer = tools.execute(request("", read(path))).await.unwrap();
        let text = match answer.into_inner().content.pop().unwrap().block.unwrap() {
            v1::content_block::Block::Text(text) => text,
            other => panic!("{other:?}"),
        };
        assert!(text.contains("1000: the same line"));
    }
}

/// A compressed message is known by the first byte of its frame: the client here is the transport alone.
#[tokio::test]
async fn an_answer_is_compressed_only_for_a_client_that_compresses() {
    let host = Host::start();
    host.provider.files.put(b"/w/a", "the same line\n".repeat(1_000));
    let message = request("", read("a")).encode_to_vec();
    for (compressed, expected) in [(false, 0), (true, 1)] {
        let mut frame = vec![u8::from(compressed)];
        let payload = if compressed { gzip(&message) } else { message.clone() };
        frame.extend(u32::try_from(payload.len()).unwrap().to_be_bytes());
        frame.extend(payload);
        let mut call = http::Request::post("http://in.memory/toolfs.v1.ToolService/Execute")
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("grpc-accept-encoding", "identity, deflate, gzip");
        if compressed {
            call = call.header("grpc-encoding", "gzip");
        }
        let body = tonic::body::Body::new(Full::new(Bytes::from(frame)));
        let answer = host.channel.clone().oneshot(call.body(body).unwrap()).await.unwrap();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(bytes[0], expected);
    }
}

/// Content as a gzip file that stores it.
fn gzip(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap();
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    file.push(1);
    file.extend(length.to_le_bytes());
    file.extend((!length).to_le_bytes());
    file.extend(content);
    let mut crc = !0_u32;
    for &byte in content {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
    }
    file.extend((!crc).to_le_bytes());
    file.extend(u32::from(length).to_le_bytes());
    file
}
