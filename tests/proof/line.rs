//! A client's connection to a server, which can be cut as the death of the client's process would.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hyper_util::rt::TokioIo;
use tonic::transport::Endpoint;
use toolfs_client::{Client, ConnectOptions};

/// A connection of a client's own. What is called after a cut connects anew.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) client: Client,
    stream: Arc<Mutex<Option<UnixStream>>>,
    was_cut: Arc<AtomicBool>,
}

impl Line {
    /// A connection that is made by the first call.
    pub(crate) fn to(socket: &Path) -> Line {
        let stream = Arc::new(Mutex::new(None));
        let (socket, kept) = (socket.to_owned(), Arc::clone(&stream));
        let connector = tower::service_fn(move |_| {
            let connected = connect(&socket, &kept);
            async move { connected }
        });
        let channel = Endpoint::from_static("http://toolfs.socket").connect_with_connector_lazy(connector);
        Line {
            client: Client::from_channel(channel, &ConnectOptions::DEFAULT),
            stream,
            was_cut: Arc::default(),
        }
    }

    /// Ends the connection at once. The server sees what it would see if this process had died.
    pub(crate) fn cut(&self) {
        self.was_cut.store(true, Ordering::SeqCst);
        if let Some(stream) = self.stream.lock().unwrap().take() {
            // It may be over already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Whether it was ever cut.
    pub(crate) fn was_cut(&self) -> bool {
        self.was_cut.load(Ordering::SeqCst)
    }
}

fn connect(socket: &Path, kept: &Mutex<Option<UnixStream>>) -> io::Result<TokioIo<tokio::net::UnixStream>> {
    let stream = UnixStream::connect(socket)?;
    *kept.lock().unwrap() = Some(stream.try_clone()?);
    stream.set_nonblocking(true)?;
    Ok(TokioIo::new(tokio::net::UnixStream::from_std(stream)?))
}
