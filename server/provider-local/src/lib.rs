//! The local disk provider of toolfs: confined opens, atomic durable publication, Linux 5.6 and later.
//!
//! [`LocalProvider`] serves directories of this host. `root` alone opens what lies beneath them, `resolve` finds where
//! paths lead, `read` and `stream` read, `write` and `edit` judge, `content` is what they want to be there, `publish`
//! makes it appear, with `copy_range` and `watch` for what memory is not to hold, `exchange` and `take_back` see to it
//! that nothing foreign is lost by that, `lock` and `host` take turns, `journal` and `recover` clean up after a crash,
//! `operation` keeps a mutation that is repeated from happening twice, and `io_error` alone knows what an errno means to
//! a caller. What is deliberately absent is said in each of them.
//!
//! What "atomic" means here: a reader sees the old or the new content, never a part of either, and what a foreign
//! writer put in the way between the judgement and the publication is put back, not lost. Where a file system cannot
//! exchange two names, the capabilities say so.

#[cfg(not(target_os = "linux"))]
compile_error!("the local disk provider of toolfs needs Linux 5.6 or later: build and run the server there");

mod access_list;
mod attribute;
mod content;
mod copy_range;
mod disk;
mod edit;
mod exchange;
mod facts;
mod fcntl;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod instance;
mod io_error;
mod journal;
mod leftover;
mod list;
mod location;
mod lock;
mod looked;
mod operation;
mod options;
mod own;
mod parents;
mod place;
mod positioned;
mod provider;
mod publish;
mod read;
mod recover;
mod remark;
mod resolve;
mod rewrite;
mod root;
mod stat;
mod stat_cache;
mod step;
mod stream;
mod sync;
mod take_back;
mod temporary;
#[cfg(test)]
mod tests;
#[cfg(test)]
#[path = "tests/mod.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests, with names looked up by the walk")]
mod tests_by_walk;
#[cfg(test)]
#[path = "tests/mod.rs"]
#[expect(clippy::duplicate_mod, reason = "the same tests, with files edited in a stream of small pieces")]
mod tests_streamed;
mod watch;
mod work;
mod write;

pub use options::LocalOptions;
pub use provider::LocalProvider;
pub use root::RootSpec;
pub use stat_cache::CacheStatistics;
