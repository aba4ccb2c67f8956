//! The connection itself: addresses, and what keeps a connection alive.

use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use crate::error::Error;

/// A connection to `HOST:PORT`, `unix:PATH` or `http://HOST:PORT` that is made when the first call needs it, and again
/// when a call finds it lost.
///
/// For whoever uses the stubs of services that [`crate::Client`] does not, the seam and the gate. Must be called within
/// a Tokio runtime. A call that cannot connect within `connect_timeout` ends in a status `UNAVAILABLE`.
///
/// # Errors
/// [`Error::Connect`] for an address that is none.
pub fn connect_lazily(server: &str, connect_timeout: Duration) -> Result<Channel, Error> {
    Ok(endpoint(server, connect_timeout)?.connect_lazy())
}

pub(crate) fn endpoint(server: &str, connect_timeout: Duration) -> Result<Endpoint, Error> {
    let endpoint = Endpoint::from_shared(uri(server)).map_err(|error| Error::connect(server, error))?;
    Ok(endpoint
        .connect_timeout(connect_timeout)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10)))
}

/// The address as tonic spells it.
fn uri(server: &str) -> String {
    if server.starts_with("unix:") || server.contains("://") {
        server.to_owned()
    } else {
        format!("http://{server}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_address_is_plain_http() {
        assert_eq!(uri("127.0.0.1:50051"), "http://127.0.0.1:50051");
        assert_eq!(uri("unix:/run/toolfs.sock"), "unix:/run/toolfs.sock");
        assert_eq!(uri("https://files.example"), "https://files.example");
    }
}
