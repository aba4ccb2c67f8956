//! The promises that hold when a server is killed.

pub(crate) mod boundary;
pub(crate) mod exchange;
mod foreign;
pub(crate) mod load;
