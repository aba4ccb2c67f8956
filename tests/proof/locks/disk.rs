//! The table of turns of the local disk, compiled over other primitives.

use super::sync;

#[path = "../../../server/provider-local/src/lock.rs"]
#[allow(dead_code, unused_imports, reason = "the unit tests of the file do not run here")]
pub(crate) mod lock;
