//! The seam served over a network that ends in this process: connections in memory, or a socket in a temporary
//! directory.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};
use toolfs_grpc::{Listener, ServeOptions, Server};
use toolfs_provider::Provider;
use toolfs_provider::conformance::limits;
use toolfs_provider_remote::{RemoteOptions, RemoteProvider};

const DUPLEX_BYTES: usize = 64 << 10;

fn options() -> ServeOptions {
    ServeOptions {
        max_message_bytes: 64 << 20,
        server_version: "1.2.3".to_owned(),
        drain_limit: Duration::from_secs(5),
        handshake_timeout: Duration::from_secs(20),
        limits: limits(),
        max_stream_bytes: 64 << 20,
        stream_patience: Duration::from_secs(60),
    }
}

/// A provider at the end of a connection in memory. Its server runs as long as the test.
pub(crate) fn over_duplex(provider: Arc<dyn Provider>) -> RemoteProvider {
    let (channel, accepted) = duplex_channel();
    let connections = UnboundedReceiverStream::new(accepted);
    let serving = Server::of_seam(provider, options()).serve_connections(connections, std::future::pending());
    #[expect(clippy::disallowed_methods, reason = "the server is a task of the test")]
    tokio::spawn(serving);
    RemoteProvider::from_channel(channel, RemoteOptions::DEFAULT)
}

/// A provider at the end of a Unix socket. Its server runs as long as the test.
pub(crate) fn over_socket(provider: Arc<dyn Provider>, socket: &Path) -> RemoteProvider {
    let listener = UnixListener::bind(socket).expect("the directory of the socket is there");
    let serving =
        Server::of_seam(provider, options()).serve(vec![Listener::Unix(listener)], std::future::pending());
    #[expect(clippy::disallowed_methods, reason = "the server is a task of the test")]
    tokio::spawn(serving);
    let address = format!("unix:{}", socket.display());
    RemoteProvider::connect(&address, RemoteOptions::DEFAULT).expect("the address is one")
}

/// A channel whose every connection comes out of the receiver; once that is dropped, there is nothing to connect to.
pub(crate) fn duplex_channel() -> (Channel, mpsc::UnboundedReceiver<io::Result<DuplexStream>>) {
    let (connections, accepted) = mpsc::unbounded_channel();
    let connect = move |_| {
        let (client, server) = tokio::io::duplex(DUPLEX_BYTES);
        let connected =
            connections.send(Ok(server)).map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused));
        async move { connected.map(|()| TokioIo::new(client)) }
    };
    let endpoint = Endpoint::from_static("http://in.memory");
    (endpoint.connect_with_connector_lazy(tower::service_fn(connect)), accepted)
}
