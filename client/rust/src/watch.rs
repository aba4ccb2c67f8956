//! Watching a session.
//!
//! Deliberately absent: reconnecting. Whoever watches for long keeps the `resume_token` of the last event and watches
//! again with it; what was missed meanwhile is told as an event of its own.

use std::fmt;

use tonic::Streaming;
use toolfs_contract::v1;

use crate::error::Error;

/// The events of a session, as they happen. Dropping it ends the watch.
///
/// ```no_run
/// use toolfs_client::Session;
/// use toolfs_client::v1::watch_response::Happening;
///
/// # async fn example(session: &Session) -> Result<(), toolfs_client::Error> {
/// let mut watch = session.watch("").await?;
/// while let Some(event) = watch.next().await? {
///     if let Some(Happening::CallEnded(ended)) = event.happening {
///         println!("call {} took {:?}", ended.call_number(), ended.elapsed);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct Watch {
    events: Streaming<v1::WatchResponse>,
}

impl Watch {
    pub(crate) fn new(events: Streaming<v1::WatchResponse>) -> Watch {
        Watch { events }
    }

    /// The next event, the first of which is `WatchBegan`; `None` once the session has ended.
    ///
    /// # Errors
    /// [`Error::Call`] when the server goes away or shuts down: go on with the last `resume_token`.
    pub async fn next(&mut self) -> Result<Option<v1::WatchResponse>, Error> {
        self.events.message().await.map_err(Error::from_status)
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
