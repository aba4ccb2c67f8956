use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::oneshot;
use tonic::transport::Endpoint;
use toolfs_contract::v1;
use toolfs_contract::v1::tool_service_client::ToolServiceClient;
use toolfs_grpc::{Drain, Listener, ServeError};

use crate::support::{Setup, server};

#[tokio::test]
async fn one_server_serves_on_a_port_and_on_a_socket() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("toolfs.sock");
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", tcp.local_addr().unwrap());
    let unix = UnixListener::bind(&socket).unwrap();

    let (shutdown, told) = oneshot::channel::<()>();
    let serving =
        server(Setup::default()).0.serve(vec![Listener::Tcp(tcp), Listener::Unix(unix)], async move {
            let _ = told.await;
        });
    let calling = async {
        let over_tcp = Endpoint::from_shared(address).unwrap().connect().await.unwrap();
        let connector = tower::service_fn(move |_| {
            let socket = socket.clone();
            async move { UnixStream::connect(socket).await.map(TokioIo::new) }
        });
        let over_unix =
            Endpoint::from_static("http://socket").connect_with_connector(connector).await.unwrap();
        for channel in [over_tcp, over_unix] {
            let listed = ToolServiceClient::new(channel).list_tools(v1::ListToolsRequest {}).await.unwrap();
            assert_eq!(listed.into_inner().tools.len(), 3);
        }
        shutdown.send(()).unwrap();
    };
    let (drain, ()) = tokio::join!(serving, calling);
    assert_eq!(drain.unwrap(), Drain::Complete);
}

#[tokio::test]
async fn a_server_without_a_listener_says_so() {
    let ended = server(Setup::default()).0.serve(Vec::new(), std::future::pending()).await;
    assert!(matches!(ended, Err(ServeError::NoListener)));
}
