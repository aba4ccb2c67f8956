//! Listeners: where connections come from.
//!
//! Deliberately absent: binding, which is the daemon's.

use std::io;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// How long accepting rests after an error, so that a lack of file descriptors does not become a busy loop.
const REST_AFTER_ERROR: Duration = Duration::from_millis(50);

/// A bound listener.
#[derive(Debug)]
pub enum Listener {
    /// On a TCP port. Its connections send without delay (`TCP_NODELAY`).
    Tcp(TcpListener),
    /// On a Unix socket.
    Unix(UnixListener),
}

/// The connections of a TCP listener, without end.
pub(crate) fn tcp(listener: TcpListener) -> impl Stream<Item = io::Result<TcpStream>> + Send {
    stream::unfold(listener, |listener| async move {
        let connection = loop {
            match listener.accept().await {
                Ok((connection, _)) => break connection,
                Err(error) => rest_after(&error).await,
            }
        };
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection may send with delay");
        }
        Some((Ok(connection), listener))
    })
}

/// The connections of a Unix listener, without end.
pub(crate) fn unix(listener: UnixListener) -> impl Stream<Item = io::Result<UnixStream>> + Send {
    stream::unfold(listener, |listener| async move {
        let connection = loop {
            match listener.accept().await {
                Ok((connection, _)) => break connection,
                Err(error) => rest_after(&error).await,
            }
        };
        Some((Ok(connection), listener))
    })
}

async fn rest_after(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(REST_AFTER_ERROR).await;
}
