//! Stopping a call in the middle, until a test lets it go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use event_listener::{Event, listener};

/// Two flags that are each raised once: a call arrived, and it may go on. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Hold {
    reached: Arc<Flag>,
    released: Arc<Flag>,
}

impl Hold {
    /// A hold that nobody has reached or released.
    pub fn new() -> Hold {
        Hold::default()
    }

    /// Waits until a call is held.
    pub async fn reached(&self) {
        self.reached.raised().await;
    }

    /// Lets the call go on, now or as soon as it arrives.
    pub fn release(&self) {
        self.released.raise();
    }

    /// The held call's side.
    pub(super) async fn wait(&self) {
        self.reached.raise();
        self.released.raised().await;
    }
}

#[derive(Debug, Default)]
struct Flag {
    raised: AtomicBool,
    event: Event,
}

impl Flag {
    fn raise(&self) {
        self.raised.store(true, Ordering::Release);
        self.event.notify(usize::MAX);
    }

    async fn raised(&self) {
        loop {
            if self.raised.load(Ordering::Acquire) {
                return;
            }
            listener!(self.event => raised);
            if self.raised.load(Ordering::Acquire) {
                return;
            }
            raised.await;
        }
    }
}
