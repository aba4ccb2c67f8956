//! A watch: the events of one session, one after the other.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::Notify;

use super::Event;
use super::hub::{EventHub, Next};

/// Watches a session until it ends. Dropping it ends the watch.
pub struct Watch {
    hub: Arc<EventHub>,
    feed: u64,
    /// The number of the last event that was told or missed.
    cursor: u64,
    changed: Arc<Notify>,
    /// What is told before anything else.
    opening: [Option<Event>; 2],
}

impl Watch {
    pub(super) fn new(
        hub: Arc<EventHub>,
        feed: u64,
        cursor: u64,
        changed: Arc<Notify>,
        opening: [Option<Event>; 2],
    ) -> Watch {
        Watch { hub, feed, cursor, changed, opening }
    }

    /// The next event; `None` once the session has ended. Nothing is lost when the future is dropped.
    ///
    /// The first one tells that the watch began. Events that left the ring before they were asked for are told as
    /// missed, in their place.
    pub async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.opening.iter_mut().find_map(Option::take) {
            return Some(event);
        }
        loop {
            let mut changed = pin!(self.changed.notified());
            // Before the look, so that an event between it and the waiting is heard of.
            changed.as_mut().enable();
            match self.hub.next(self.feed, &mut self.cursor) {
                Next::Event(event) => return Some(event),
                Next::Nothing => changed.await,
                Next::End => return None,
            }
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.hub.leave(self.feed);
    }
}
