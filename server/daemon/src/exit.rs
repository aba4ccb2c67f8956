//! What the exit codes of the command mean. They are part of its interface.

/// It did what was asked.
pub const SUCCESS: u8 = 0;
/// The server could not be reached, standard output took nothing, or something failed that is none of the cases below.
pub const FAILURE: u8 = 1;
/// The command line, the environment or the configuration is wrong. Nothing was served.
pub const USAGE: u8 = 2;
/// The server could not start: an address is taken, a root cannot be opened.
pub const CANNOT_START: u8 = 3;
/// `toolfs call`: the tool refused the call; the text that a model would read says why.
pub const REFUSED: u8 = 4;
/// `toolfs serve`: calls that were still running were cut, since the drain limit was over or a second signal came.
pub const DRAIN_LIMIT: u8 = 5;
