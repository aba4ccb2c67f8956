//! The pure middle of toolfs: values in, values out.
//!
//! Nothing here touches a file, a clock, the environment, randomness, an async runtime or a wire type. Start
//! with [`argument`] (what a call asks for), [`outcome`] (what it reports) and [`error`] (how it is refused);
//! [`text`], [`window`], [`edit`] and [`diff`] do the work on bytes, [`render`] makes what a model sees.

pub mod argument;
pub mod clock;
pub mod diff;
pub mod edit;
pub mod error;
pub mod guard;
pub mod id;
pub mod limit;
pub mod name;
pub mod notice;
pub mod outcome;
pub mod planted;
pub mod protect;
pub mod render;
pub mod schema;
pub mod target;
pub mod text;
pub mod version;
pub mod window;
