//! How a peer is reached.

use std::time::Duration;

use tonic::Request;
use tonic::transport::Channel;
use toolfs_core::error::FsError;

/// How to reach a peer, and how long to wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteOptions {
    /// How long connecting may take. It ends with the connection: a peer that takes one and then says nothing is
    /// waited for as long as `call_timeout` and the caller allow.
    pub connect_timeout: Duration,
    /// How long one call may take, a stream to its end included. `None` leaves that to whoever makes the call.
    pub call_timeout: Option<Duration>,
    /// The largest message in either direction, in bytes. The peer has its own limit.
    pub max_message_bytes: usize,
}

impl RemoteOptions {
    /// 5 s to connect, calls as long as their callers wait, messages of 64 MiB.
    pub const DEFAULT: RemoteOptions = RemoteOptions {
        connect_timeout: Duration::from_secs(5),
        call_timeout: None,
        max_message_bytes: 64 << 20,
    };

    /// A request that tells the peer how long its caller waits.
    pub fn timed<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(limit) = self.call_timeout {
            request.set_timeout(limit);
        }
        request
    }
}

/// A connection to `HOST:PORT`, `unix:PATH` or `http://HOST:PORT`, made when a call needs it and again whenever it was
/// lost. So a peer that is away is an error of the calls meanwhile, and comes back by itself.
///
/// Must be called within a Tokio runtime.
///
/// # Errors
/// `FS_INVALID_ARGUMENT` for an address that is none.
pub fn connect(address: &str, options: &RemoteOptions) -> Result<Channel, FsError> {
    toolfs_client::connect_lazily(address, options.connect_timeout).map_err(|error| {
        let expected = "`HOST:PORT`, `unix:PATH` or `http://HOST:PORT`";
        FsError::invalid_argument("address", "text that is no address", expected).with_source(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_tells_its_time_where_there_is_a_limit() {
        let short = RemoteOptions { call_timeout: Some(Duration::from_secs(3)), ..RemoteOptions::DEFAULT };
        assert!(short.timed(()).metadata().contains_key("grpc-timeout"));
        assert!(!RemoteOptions::DEFAULT.timed(()).metadata().contains_key("grpc-timeout"));
    }

    #[tokio::test]
    async fn what_is_no_address_is_refused_before_any_call() {
        for address in ["", "host with blanks:1", "host:port:more"] {
            let error = connect(address, &RemoteOptions::DEFAULT).unwrap_err();
            assert!(error.message().contains("`address`"), "{address:?}: {error}");
        }
        for address in ["127.0.0.1:1", "unix:/nowhere/toolfs.sock", "http://files.example:80"] {
            assert!(connect(address, &RemoteOptions::DEFAULT).is_ok(), "{address:?}");
        }
    }
}
