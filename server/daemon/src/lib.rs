//! The command behind `toolfs`: from what was typed to a server that runs.
//!
//! Three steps, one file each: [`cli`] and [`mod@env`] hold settings as typed, [`config`] as meant, [`wiring`] as running.
//! [`serve`] puts them in order: logging before configuration, configuration before binding, binding before ready.
//! Nothing imports this crate but the system tests.

pub mod address;
pub mod call;
pub mod cli;
pub mod clock;
pub mod config;
pub mod env;
pub mod exit;
mod output;
pub mod ready;
pub mod serve;
mod signal;
pub mod telemetry;
pub mod wiring;
