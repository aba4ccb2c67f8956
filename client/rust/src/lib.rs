//! The Rust client of toolfs: file tools for language-model agents, over gRPC.
//!
//! ```no_run
//! use toolfs_client::{Client, Edit, OpenSession, Read};
//!
//! # async fn example() -> Result<(), toolfs_client::Error> {
//! let client = Client::connect("127.0.0.1:50051").await?;
//! let session = client.open_session(OpenSession::default()).await?;
//!
//! let notes = session.read(Read::new("notes.txt")).await?;
//! println!("{}", notes.text());
//! session.edit(Edit::new("notes.txt", "draft", "final")).await?;
//! session.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Typed calls ([`Session::read`], [`Session::write`], [`Session::edit`]) return a typed outcome or an [`Error`];
//! [`Session::call`] is the model's door: it takes a name and JSON as a model produced them, and a refusal is a
//! reply that the model reads. Every call carries a fresh `request_id`. [`Session::watch`] follows what the calls of a
//! session do.
//!
//! Deliberately absent: retries, which are the caller's (a mutation that is sent again with its own
//! [`CallOptions::request_id`] takes effect once), and anything that looks at files itself. The messages of the
//! contract are re-exported as [`v1`].

mod call;
mod channel;
mod client;
mod error;
mod reply;
mod session;
mod watch;

pub use call::{CallOptions, Edit, Read, Write};
pub use channel::connect_lazily;
pub use client::{Client, ConnectOptions, OpenSession};
pub use error::{CallFailure, Error, ErrorCode, Reason, ToolError};
pub use reply::{ModelReply, Reply};
pub use session::Session;
pub use toolfs_contract::v1;
pub use watch::Watch;
