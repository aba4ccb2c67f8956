//! `toolfs.v1.EventService`: what the calls of a session do, as a stream.
//!
//! A watcher is sent what it has room for, as its connection says; what it does not take in time is counted by the
//! executor and told as missed. So a watcher that reads nothing costs its connection's buffers and no call waits for it.
//! There is no limit on watchers of their own: each is a stream of a connection, and these are limited.
//! A stream ends with `OK` when its session ends, with `DEADLINE_EXCEEDED` when its caller's time is over, and with
//! `SHUTTING_DOWN` when the server drains (`layers::drain`).

use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{self, Stream};
use tokio::time::{Instant, sleep_until};
use tonic::{Request, Response, Status};
use toolfs_contract::v1;
use toolfs_contract::v1::event_service_server::EventService as Service;
use toolfs_core::error::Published;
use toolfs_tools::{Caller, Executor, Happening, Watch};

use crate::convert::event;
use crate::layers::compression;
use crate::layers::metrics::Metrics;
use crate::task::{Calls, Effect};
use crate::{deadline, status};

/// The service.
#[derive(Debug)]
pub(crate) struct EventService {
    executor: Arc<Executor>,
    calls: Calls,
    metrics: Metrics,
}

impl EventService {
    /// A service over an executor.
    pub(crate) fn new(executor: Arc<Executor>, calls: Calls, metrics: Metrics) -> EventService {
        EventService { executor, calls, metrics }
    }
}

#[tonic::async_trait]
impl Service for EventService {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<v1::WatchResponse, Status>> + Send>>;

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let reply = compression::as_asked(&request);
        let deadline = deadline::of(&request);
        let (session, resume_token) = event::watch_request(request.into_inner())?;
        let executor = Arc::clone(&self.executor);
        let watch = self
            .calls
            .run(deadline, Effect::None, |_| async move {
                let watch = executor.watch(&Caller::Local, &session, &resume_token).await;
                watch.map_err(|error| status::from_call_error(&error))
            })
            .await?;
        let (stop_at, metrics) = (deadline.map(|deadline| deadline.stop_at), self.metrics.clone());
        let events = stream::unfold(Some(watch), move |watch| told(watch, stop_at, metrics.clone()));
        let events: Self::WatchStream = Box::pin(events);
        Ok(reply(events))
    }
}

/// The next event, and the watch that goes on after it; none after an error.
async fn told(
    watch: Option<Watch>,
    stop_at: Option<Instant>,
    metrics: Metrics,
) -> Option<(Result<v1::WatchResponse, Status>, Option<Watch>)> {
    let mut watch = watch?;
    let over = async {
        match stop_at {
            Some(stop_at) => sleep_until(stop_at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = over => Some((Err(status::aborted(&status::out_of_time(Published::No))), None)),
        event = watch.next() => {
            let event = event?;
            if let Happening::EventsMissed { count: Some(count) } = *event.happening {
                metrics.events_missed(count);
            }
            Some((Ok(event::watch_response(event)), Some(watch)))
        }
    }
}
