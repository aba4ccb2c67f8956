//! The caller's deadline: when to give up, so that the answer still arrives in time.
//!
//! The transport knows the deadline too, and at its end answers a bare `CANCELLED`. Ours comes a margin earlier, stops
//! the work through its signal, and is answered with `DEADLINE_EXCEEDED` and its reason. A call whose time is over
//! before its message has arrived has no work yet: [`InTime`] answers it.

use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use http::{HeaderMap, Request, Response};
use tokio::time::{Instant, sleep_until};
use tonic::body::Body;
use toolfs_contract::code::CallReason;
use tower_layer::Layer;
use tower_service::Service;

use crate::status;

/// The header in which gRPC carries how much time a caller gives.
const TIMEOUT_HEADER: &str = "grpc-timeout";

/// The longest time that is kept for stopping the work and sending the answer.
const MAX_MARGIN: Duration = Duration::from_millis(100);

/// The moments of a call with a deadline, all before the caller's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// When the work is told to stop.
    pub(crate) stop_at: Instant,
    /// When the caller is answered, whether or not the work has stopped.
    pub(crate) answer_at: Instant,
    /// When a call that has not begun is answered: later than any that has.
    pub(crate) late_at: Instant,
}

impl Deadline {
    /// The moments of a call that arrived at `arrival` and has `timeout`; `None` for a time that no clock can hold.
    fn of(arrival: Instant, timeout: Duration) -> Option<Deadline> {
        let margin = (timeout / 10).min(MAX_MARGIN);
        let end = arrival.checked_add(timeout)?;
        Some(Deadline { stop_at: end - margin, answer_at: end - margin / 2, late_at: end - margin / 4 })
    }
}

/// Notes the deadline when a request arrives: its body may take a while to follow.
pub(crate) fn note<B>(mut request: Request<B>) -> Request<B> {
    let deadline = timeout(request.headers()).and_then(|timeout| Deadline::of(Instant::now(), timeout));
    if let Some(deadline) = deadline {
        request.extensions_mut().insert(deadline);
    }
    request
}

/// The deadline that [`note`] found.
pub(crate) fn of<T>(request: &tonic::Request<T>) -> Option<Deadline> {
    request.extensions().get::<Deadline>().copied()
}

fn timeout(headers: &HeaderMap) -> Option<Duration> {
    parse(headers.get(TIMEOUT_HEADER)?.to_str().ok()?)
}

/// Reads a time as gRPC spells it: 1 to 8 digits and a unit. Anything else is no deadline, as the transport has it.
fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(value * 60 * 60)),
        "M" => Some(Duration::from_secs(value * 60)),
        "S" => Some(Duration::from_secs(value)),
        "m" => Some(Duration::from_millis(value)),
        "u" => Some(Duration::from_micros(value)),
        "n" => Some(Duration::from_nanos(value)),
        _ => None,
    }
}

/// Puts [`InTime`] around a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InTimeLayer;

impl<S> Layer<S> for InTimeLayer {
    type Service = InTime<S>;

    fn layer(&self, inner: S) -> InTime<S> {
        InTime(inner)
    }
}

/// A service that answers calls whose message is still on its way when their time is over.
#[derive(Clone, Debug)]
pub(crate) struct InTime<S>(S);

impl<S> Service<Request<Body>> for InTime<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let deadline = request.extensions().get::<Deadline>().copied();
        let answer = self.0.call(request);
        let Some(deadline) = deadline else { return answer.boxed() };
        let in_time = async move {
            tokio::select! {
                biased;
                answered = answer => answered,
                () = sleep_until(deadline.late_at) => {
                    let message = "the time was over before the call had arrived";
                    Ok(status::refused(CallReason::DeadlineExceeded, message).into_http())
                }
            }
        };
        in_time.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_read_as_grpc_spells_it() {
        for (text, expected) in [
            ("1H", Some(Duration::from_secs(3_600))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("250m", Some(Duration::from_millis(250))),
            ("7u", Some(Duration::from_micros(7))),
            ("99999999n", Some(Duration::from_nanos(99_999_999))),
            ("0m", Some(Duration::ZERO)),
            ("", None),
            ("S", None),
            ("5", None),
            ("-5S", None),
            ("+5S", None),
            ("1.5S", None),
            ("123456789S", None),
            ("5 S", None),
            ("5é", None),
        ] {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_answer_leaves_before_the_callers_time_is_over() {
        let now = Instant::now();
        let short = Deadline::of(now, Duration::from_millis(50)).unwrap();
        assert_eq!(short.stop_at - now, Duration::from_millis(45));
        assert_eq!(short.answer_at - now, Duration::from_micros(47_500));
        assert_eq!(short.late_at - now, Duration::from_micros(48_750));

        let long = Deadline::of(now, Duration::from_secs(60)).unwrap();
        assert_eq!(long.stop_at - now, Duration::from_millis(59_900));
        assert_eq!(long.answer_at - now, Duration::from_millis(59_950));
    }

    #[test]
    fn a_deadline_beyond_the_clock_is_none() {
        let now = Instant::now();
        assert!(Deadline::of(now, parse("99999999H").unwrap()).is_none_or(|deadline| deadline.stop_at > now));
        assert_eq!(Deadline::of(now, Duration::MAX), None);
    }
}
