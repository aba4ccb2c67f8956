//! The command behind `toolfs`: from what was typed to a server that runs.
//!
//! Three steps: [`cli`], [`mod@env`] and the configuration file hold settings as typed, all after the one table in
//! [`setting`]; [`config`] has them as meant, [`wiring`] as running. [`serve`] puts them in order: configuration before
//! logging, since it says how to log; logging before binding, binding before ready.
//! Nothing imports this crate but the system tests.

pub mod address;
pub mod call;
pub mod cli;
pub mod clock;
pub mod config;
pub mod env;
pub mod exit;
pub mod manual;
mod output;
pub mod placement;
mod protobuf_json;
pub mod ready;
pub mod serve;
pub mod session;
mod session_file;
pub mod setting;
pub mod show;
mod signal;
pub mod stores;
pub mod telemetry;
pub mod tools;
pub mod wiring;
