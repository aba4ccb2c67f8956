//! Who said a value.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This flag, named without its dashes.
    Flag(&'static str),
    /// This environment variable.
    Variable(&'static str),
    /// The configuration file.
    File {
        /// Its path.
        path: Arc<PathBuf>,
        /// The line of the key, from 1.
        line: usize,
    },
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(f, "--{flag}"),
            Origin::Variable(name) => f.write_str(name),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Default => f.write_str("the default"),
        }
    }
}
