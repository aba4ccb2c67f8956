//! Snapshots of what a model sees, and the bounds of it.

mod bound;
mod change;
mod read;
mod refusal;
