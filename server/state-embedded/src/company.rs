//! Whether a server is alone on its state, which is when it may write behind.
//!
//! What a server keeps in memory the others do not see. So it keeps something only while it is alone; in company it
//! writes before it answers, and what one server answered is what all know.
//!
//! - Each opening of a state is counted. A server that looked, and found nobody, was alone at that count, and is alone
//!   for as long as the count stays.
//! - Before it keeps something it says so in its own file, and then looks at the count. Who opens a state counts
//!   itself, and then waits for everybody who says that something is kept. So the first one sees the newcomer and
//!   writes, or the newcomer sees that something is kept and waits until it is written.
//! - A server that does not run is not waited for: the kernel has let go of its lock. One that does not get on, because
//!   somebody stopped its process, is waited for only so long. What it had kept is unknown to the newcomer then, until
//!   it runs again: a session may have to read again. Orders tell which observation is newer, whoever writes it first.
//!
//! The sequence of orders is here too: drawn by all servers from one number, each is above all that were drawn before,
//! on whichever server, in the same millisecond, and after the clock was set back.
//!
//! Deliberately absent: what is kept, and its writing, which are `pending`'s and the writer's.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering, fence};
use std::time::Duration;

use toolfs_core::clock::Order;

use crate::directory::open_own;
use crate::instance::Instance;
use crate::memory::SharedNumbers;

/// How often, and after which pauses, a server that keeps something is asked whether it was written: a second in all.
const ATTEMPTS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(2);

const ORDER: usize = 0;
const OPENINGS: usize = 1;

/// This server among those of its state.
#[derive(Debug)]
pub(crate) struct Company {
    common: SharedNumbers<2>,
    instance: Arc<Instance>,
}

impl Company {
    /// Joins the servers of a state. The caller holds the lock on opening.
    pub(crate) fn join(path: &Path, instance: Arc<Instance>) -> io::Result<Company> {
        let company = Company { common: SharedNumbers::map(&open_own(path)?)?, instance };
        company.common.get()[OPENINGS].fetch_add(1, Ordering::SeqCst);
        // What others say is read from their files next, and that is no atomic operation that would be kept in order.
        fence(Ordering::SeqCst);
        Ok(company)
    }

    /// The last order that was drawn, by whichever server.
    pub(crate) fn last_order(&self) -> &AtomicI64 {
        &self.common.get()[ORDER]
    }

    /// No order up to this one is drawn any more.
    pub(crate) fn raise_order(&self, order: Order) {
        self.last_order().fetch_max(order.0, Ordering::AcqRel);
    }

    /// The count of openings; looked at after what this server said of itself.
    pub(crate) fn openings(&self) -> i64 {
        self.common.get()[OPENINGS].load(Ordering::SeqCst)
    }

    /// Looks for others. `Some`: there are none, and until the count of openings is another one there will be none.
    pub(crate) fn alone_at(&self) -> io::Result<Option<i64>> {
        // First: who comes after that is counted, who came before is seen.
        let openings = self.openings();
        Ok(self.instance.others()?.is_empty().then_some(openings))
    }

    /// Says whether something is kept that others do not see.
    pub(crate) fn say_kept(&self, is_kept: bool) {
        self.instance.say_kept(is_kept);
    }

    /// Waits until what others keep is written, but for no server long; whether it is.
    pub(crate) fn wait_for_others(&self) -> io::Result<bool> {
        let mut others = self.instance.others()?;
        for attempt in 0..ATTEMPTS {
            others.retain(|id| self.instance.keeps_something(id));
            if others.is_empty() {
                return Ok(true);
            }
            if attempt + 1 < ATTEMPTS {
                std::thread::sleep(PAUSE);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use toolfs_core::clock::Order;
    use toolfs_policy::ObservationStore as _;
    use toolfs_policy::suite::{seen, session, target};

    use super::*;
    use crate::EmbeddedState;
    use crate::support::options;

    /// One that does not get on, as a process that is stopped.
    #[tokio::test]
    async fn a_server_that_does_not_write_is_waited_for_no_longer_than_a_second() {
        let directory = tempfile::tempdir().unwrap();
        drop(EmbeddedState::open(directory.path(), options()).unwrap());
        let instances = directory.path().join("instances");
        let stopped = Arc::new(Instance::begin(&instances, "abc".to_owned()).unwrap());
        let company = Company::join(&directory.path().join("common"), Arc::clone(&stopped)).unwrap();
        company.say_kept(true);
        let state = EmbeddedState::open(directory.path(), options()).unwrap();
        // It came up all the same, and keeps nothing beside one that runs.
        assert_eq!(state.company.instance.others().unwrap(), ["abc"]);
        state.record(&session("s"), &target("t"), seen("x"), Order(5)).await.unwrap();
        assert!(state.pending.waiting().is_empty());
        assert!(state.instance.keeps_something("abc"));
        stopped.end();
        assert!(!state.instance.keeps_something("abc"));
        assert!(state.company.wait_for_others().unwrap());
    }
}
