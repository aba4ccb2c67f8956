//! Sessions: a working directory, narrowed roots, a mode and a memory of what was observed.
//!
//! The memory itself is the policy gate's, under the session's key. Which sessions are open is the registry's, and who
//! is in one the handle's.

use std::collections::BTreeMap;
use std::fmt;

use toolfs_core::clock::Timestamp;
use toolfs_core::id::{SessionId, SessionName};

/// Where unguessable bytes come from.
pub trait Random: Send + Sync + fmt::Debug {
    /// 16 fresh bytes from the operating system's generator.
    fn bytes(&self) -> [u8; 16];
}

/// The identity of a caller. Another identity's session does not exist for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Caller {
    /// Anyone who reaches a server without authentication: all of them are one identity.
    Local,
    /// Somebody whom the server authenticated.
    Named(String),
}

/// What a session may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SessionMode {
    /// Read, write and edit.
    #[default]
    WorkspaceWrite,
    /// Mutations are refused with `FS_SANDBOX_DENIED`.
    ReadOnly,
}

/// What a new session asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenSession {
    /// Where relative paths start; the first root when absent.
    pub cwd: Option<String>,
    /// Paths beneath the server's roots to which the session is narrowed; none: all roots.
    pub roots: Vec<String>,
    /// Labels for operators; never interpreted.
    pub labels: BTreeMap<String, String>,
    /// What it may do.
    pub mode: SessionMode,
}

/// What is public about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its public name.
    pub name: SessionName,
    /// Where relative paths start, in display form.
    pub cwd: String,
    /// Its roots, in display form.
    pub roots: Vec<String>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What it may do.
    pub mode: SessionMode,
    /// When it was opened.
    pub created: Timestamp,
    /// When it ends unless it is used; `None`: never.
    pub expires: Option<Timestamp>,
}

/// A session and its secret.
#[derive(Clone, Debug)]
pub struct OpenedSession {
    /// The secret, told once.
    pub id: SessionId,
    /// What is public about it.
    pub info: SessionInfo,
}

/// A page of sessions.
#[derive(Clone, Debug)]
pub struct SessionPage {
    /// The sessions of the page, oldest first.
    pub sessions: Vec<SessionInfo>,
    /// The token of the next page; `None` at the end.
    pub next_page_token: Option<String>,
}

/// Closes a session.
#[derive(Clone, Debug)]
pub struct CloseSession {
    /// Who closes.
    pub caller: Caller,
    /// Which.
    pub session: SessionId,
}

/// Which observations to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetPaths {
    /// Those of these paths, resolved as a tool's would be.
    Paths(Vec<String>),
    /// All.
    All,
}

/// Makes a session forget, for hosts that drop file contents from a model's context.
#[derive(Clone, Debug)]
pub struct ForgetObservations {
    /// Who asks.
    pub caller: Caller,
    /// Of which session.
    pub session: SessionId,
    /// What.
    pub scope: ForgetPaths,
}
