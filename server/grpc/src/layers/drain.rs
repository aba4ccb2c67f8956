//! Ends the streams that would never end by themselves when the server drains.
//!
//! Health and sessions are watched and reflection is talked to over streams that stay open as long as the client likes;
//! a drain would wait for them until its limit. So what a client of theirs sends ends, and what it is sent ends with
//! `SHUTTING_DOWN`. The other RPCs of toolfs are not touched.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::future::{FutureExt, Map};
use http::{HeaderMap, Request, Response};
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use toolfs_contract::code::CallReason;
use tower_layer::Layer;
use tower_service::Service;

use crate::{status, task};

/// The paths of our RPCs, which end by themselves.
const OUR_PATHS: &str = "/toolfs.v1.";
/// But for these.
const WATCHED_PATHS: &str = "/toolfs.v1.EventService/";

/// Puts [`Drain`] around a service.
#[derive(Clone, Debug)]
pub(crate) struct DrainLayer {
    /// Fired when the drain begins.
    pub(crate) drain: CancellationToken,
}

impl<S> Layer<S> for DrainLayer {
    type Service = Drain<S>;

    fn layer(&self, inner: S) -> Drain<S> {
        Drain { inner, drain: self.drain.clone() }
    }
}

/// A service whose endless streams end with the drain.
#[derive(Clone, Debug)]
pub(crate) struct Drain<S> {
    inner: S,
    drain: CancellationToken,
}

type Wrap<B, E> = Box<dyn FnOnce(Result<Response<B>, E>) -> Result<Response<DrainBody<B>>, E> + Send>;

impl<S, B> Service<Request<tonic::body::Body>> for Drain<S>
where
    S: Service<Request<tonic::body::Body>, Response = Response<B>>,
{
    type Response = Response<DrainBody<B>>;
    type Error = S::Error;
    type Future = Map<S::Future, Wrap<B, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<tonic::body::Body>) -> Self::Future {
        let path = request.uri().path();
        let ends_by_itself = path.starts_with(OUR_PATHS) && !path.starts_with(WATCHED_PATHS);
        let drain = (!ends_by_itself).then(|| self.drain.clone());
        if let Some(drain) = &drain {
            // Both halves of a stream have to end before its connection may.
            request = request.map(|body| {
                tonic::body::Body::new(DrainBody::new(body, Half::Received, Some(drain.clone())))
            });
        }
        self.inner.call(request).map(Box::new(|response| {
            response.map(|response| response.map(|body| DrainBody::new(body, Half::Sent, drain)))
        }))
    }
}

/// Which half of a stream a body is.
#[derive(Clone, Copy, Debug)]
enum Half {
    Received,
    Sent,
}

/// A body that ends with the drain.
#[derive(Debug)]
pub(crate) struct DrainBody<B> {
    inner: B,
    half: Half,
    drain: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    ended: bool,
}

impl<B> DrainBody<B> {
    fn new(inner: B, half: Half, drain: Option<CancellationToken>) -> DrainBody<B> {
        DrainBody { inner, half, drain: drain.map(|drain| Box::pin(drain.cancelled_owned())), ended: false }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for DrainBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // What is there already is sent first: a watcher of health hears that it is no longer serving.
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        let Some(drain) = &mut self.drain else { return Poll::Pending };
        ready!(drain.as_mut().poll(cx));
        self.ended = true;
        Poll::Ready(match self.half {
            Half::Received => None,
            Half::Sent => Some(Ok(Frame::trailers(shutting_down()))),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn shutting_down() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    status::refused(CallReason::ShuttingDown, task::SHUTTING_DOWN)
        .add_header(&mut trailers)
        .expect("the percent-encoded message and the base64 of the details are header values");
    trailers
}
