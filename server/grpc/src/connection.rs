//! A connection that can be ended from outside, and that does not wait for ever for a client that says nothing.
//!
//! The HTTP library cannot end a connection whose client never sent the preface of HTTP/2, and waits for it in a
//! graceful shutdown too. So the bytes themselves are watched here: the preface has a time limit, and none in a drain.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

/// The length of the preface that every HTTP/2 client sends first.
const PREFACE_BYTES: usize = 24;

/// What all connections of a server hear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phases {
    /// Fired when the server begins to drain: connections without a preface end.
    pub(crate) drain: CancellationToken,
    /// Fired when the drain is over: every connection ends.
    pub(crate) cut: CancellationToken,
    taken_bytes: Arc<AtomicU64>,
}

impl Phases {
    /// How many bytes all clients together have taken. One that is frozen takes none.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.taken_bytes.load(Ordering::Relaxed)
    }
}

/// Bytes of a client, until the server ends them.
#[derive(Debug)]
pub(crate) struct Connection<IO> {
    io: IO,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    preface: Option<Preface>,
    taken_bytes: Arc<AtomicU64>,
}

/// The wait for the rest of the preface.
#[derive(Debug)]
struct Preface {
    missing_bytes: usize,
    limit: Pin<Box<Sleep>>,
    drain: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<IO> Connection<IO> {
    /// A connection that was just accepted.
    pub(crate) fn new(io: IO, preface_limit: Duration, phases: &Phases) -> Connection<IO> {
        Connection {
            io,
            cut: Box::pin(phases.cut.clone().cancelled_owned()),
            preface: Some(Preface {
                missing_bytes: PREFACE_BYTES,
                limit: Box::pin(tokio::time::sleep(preface_limit)),
                drain: Box::pin(phases.drain.clone().cancelled_owned()),
            }),
            taken_bytes: Arc::clone(&phases.taken_bytes),
        }
    }

    /// Ends the connection once it is cut. Asked before every step: whichever the connection waits in, it wakes.
    fn check_cut(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.cut.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the drain is over")),
            Poll::Pending => Ok(()),
        }
    }

    fn check_preface(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(preface) = &mut self.preface else { return Ok(()) };
        if preface.limit.as_mut().poll(cx).is_ready() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the client sent no HTTP/2 preface"));
        }
        if preface.drain.as_mut().poll(cx).is_ready() {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the server is shutting down"));
        }
        Ok(())
    }

    fn taken(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.taken_bytes.fetch_add(*bytes as u64, Ordering::Relaxed);
        }
        written
    }

    fn received(&mut self, bytes: usize) {
        if let Some(preface) = &mut self.preface {
            preface.missing_bytes = preface.missing_bytes.saturating_sub(bytes);
            if preface.missing_bytes == 0 {
                self.preface = None;
            }
        }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Connection<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_cut(cx)?;
        self.check_preface(cx)?;
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        self.received(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Connection<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check_cut(cx)?;
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.taken(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_cut(cx)?;
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.taken(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_cut(cx)?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_cut(cx)?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl<IO: Connected> Connected for Connection<IO> {
    type ConnectInfo = IO::ConnectInfo;

    fn connect_info(&self) -> IO::ConnectInfo {
        self.io.connect_info()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const LIMIT: Duration = Duration::from_millis(40);

    #[tokio::test]
    async fn a_client_that_says_nothing_is_timed_out() {
        let (_client, server) = tokio::io::duplex(64);
        let mut connection = Connection::new(server, LIMIT, &Phases::default());
        let error = connection.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_that_stops_within_the_preface_is_timed_out() {
        let (mut client, server) = tokio::io::duplex(64);
        client.write_all(&[b'P'; PREFACE_BYTES - 1]).await.unwrap();
        let mut connection = Connection::new(server, LIMIT, &Phases::default());
        let error = connection.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_client_that_sent_its_preface_may_be_silent() {
        let (mut client, server) = tokio::io::duplex(64);
        client.write_all(&[b'P'; PREFACE_BYTES]).await.unwrap();
        let mut connection = Connection::new(server, LIMIT, &Phases::default());
        connection.read_exact(&mut [0; PREFACE_BYTES]).await.unwrap();
        assert!(tokio::time::timeout(LIMIT * 3, connection.read_u8()).await.is_err());
    }

    /// A drain must tell a slow client, whose last answer is still on its way, from a frozen one.
    #[tokio::test]
    async fn what_a_client_takes_is_counted_and_a_frozen_one_takes_nothing() {
        let phases = Phases::default();
        let (mut client, server) = tokio::io::duplex(8);
        let mut connection = Connection::new(server, LIMIT, &phases);
        assert!(tokio::time::timeout(LIMIT, connection.write_all(&[0; 20])).await.is_err());
        let taken_bytes = phases.taken_bytes();
        assert_eq!(taken_bytes, 8, "what fits on the way to a client that reads nothing");

        let mut bytes = [0; 8];
        let (taken, written) = tokio::join!(client.read_exact(&mut bytes), connection.write_all(&[0; 8]));
        taken.unwrap();
        written.unwrap();
        assert_eq!(phases.taken_bytes(), taken_bytes + 8);
    }

    #[tokio::test]
    async fn a_drain_ends_only_connections_without_a_preface_and_a_cut_ends_all() {
        let phases = Phases::default();
        let (_silent, server) = tokio::io::duplex(64);
        let mut without = Connection::new(server, Duration::from_secs(60), &phases);
        let (mut client, server) = tokio::io::duplex(64);
        client.write_all(&[b'P'; PREFACE_BYTES]).await.unwrap();
        let mut with = Connection::new(server, LIMIT, &phases);
        with.read_exact(&mut [0; PREFACE_BYTES]).await.unwrap();

        phases.drain.cancel();
        assert_eq!(without.read_u8().await.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
        assert!(tokio::time::timeout(LIMIT, with.read_u8()).await.is_err());

        phases.cut.cancel();
        assert_eq!(with.read_u8().await.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    }

    #[tokio::test]
    async fn a_cut_wakes_a_connection_that_waits_for_a_slow_reader() {
        let phases = Phases::default();
        let (_client, server) = tokio::io::duplex(1);
        let mut connection = Connection::new(server, LIMIT, &phases);
        tokio::join!(
            async {
                let error = connection.write_all(b"more than fits").await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::ConnectionAborted);
            },
            async {
                tokio::task::yield_now().await;
                phases.cut.cancel();
            },
        );
    }
}
