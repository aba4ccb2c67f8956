//! What goes around every RPC.

pub(crate) mod compression;
pub(crate) mod drain;
pub(crate) mod metrics;
pub(crate) mod trace;
