//! How a client gives a call up.

use std::time::Duration;

use fastrand::Rng;

use crate::line::Line;

/// How a call is given up, if it is not answered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Nobody waits any longer.
    Dropped(Duration),
    /// The caller's time is over.
    Deadline(Duration),
    /// The connection ends, with all that is on its way.
    Cut(Duration),
}

impl End {
    /// One of them, at that time.
    pub(crate) fn draw(rng: &mut Rng, time: Duration) -> End {
        match rng.u32(..5) {
            0 | 1 => End::Dropped(time),
            2 | 3 => End::Deadline(time),
            _ => End::Cut(time),
        }
    }

    /// A moment from a microsecond to this long, each order of magnitude as often.
    pub(crate) fn soon(rng: &mut Rng, longest: Duration) -> Duration {
        Duration::from_secs_f64(1e-6 * (longest.as_secs_f64() * 1e6).powf(rng.f64()))
    }

    /// The deadline with which the call is sent.
    pub(crate) fn deadline(self) -> Option<Duration> {
        match self {
            End::Deadline(time) => Some(time),
            End::Dropped(_) | End::Cut(_) => None,
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            End::Dropped(_) => "dropped",
            End::Deadline(_) => "out of time",
            End::Cut(_) => "cut",
        }
    }

    /// Waits for what was sent over a line until it is given up; nothing when it was dropped.
    pub(crate) async fn bring<T>(self, line: &Line, sent: impl Future<Output = T>) -> Option<T> {
        match self {
            End::Deadline(_) => Some(sent.await),
            End::Dropped(time) => tokio::time::timeout(time, sent).await.ok(),
            End::Cut(time) => {
                let mut sent = std::pin::pin!(sent);
                match tokio::time::timeout(time, sent.as_mut()).await {
                    Ok(answer) => Some(answer),
                    Err(_) => {
                        line.cut();
                        Some(sent.await)
                    }
                }
            }
        }
    }
}
