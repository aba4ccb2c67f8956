//! The executor's tables of turns and of sessions, compiled over other primitives.
//!
//! The types that callers and stores exchange are the executor's own.

use toolfs_tools as call;
use toolfs_tools as session;
use toolfs_tools as store;
use toolfs_tools::{Caller, Insertion, SessionRecord, SessionStore, next_order};

use super::sync;

#[path = "../../../server/tools/src/handle.rs"]
mod handle;
#[path = "../../../server/tools/src/lock.rs"]
#[allow(dead_code, unused_imports, reason = "the unit tests of the file do not run here")]
pub(crate) mod lock;
#[path = "../../../server/tools/src/store/memory_session.rs"]
#[allow(unreachable_pub, reason = "the executor offers it to others")]
pub(crate) mod memory_session;
#[path = "../../../server/tools/src/page.rs"]
#[allow(dead_code, unused_imports, reason = "the unit tests of the file do not run here")]
mod page;
#[path = "../../../server/tools/src/registry.rs"]
#[allow(dead_code, unused_imports, reason = "the unit tests of the file do not run here")]
pub(crate) mod registry;
