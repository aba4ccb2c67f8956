//! The trait of the gate.

use std::fmt;

use async_trait::async_trait;
use toolfs_core::clock::Order;
use toolfs_core::error::Result;
use toolfs_core::guard::{EditGuard, Observation, WriteGuard};
use toolfs_core::id::SessionKey;
use toolfs_core::target::TargetKey;

/// What a gate says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateCapabilities {
    /// The policy's name: `observation`, ...
    pub policy: String,
    /// Whether observations survive a restart of the gate.
    pub persistent: bool,
}

/// What a session forgets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgetScope {
    /// These targets.
    Targets(Vec<TargetKey>),
    /// Everything.
    All,
}

/// Exactly one gate decides; there is no chain. Without a gate every mutation is unconditional.
///
/// A call without a session has seen nothing.
#[async_trait]
pub trait PolicyGate: Send + Sync + fmt::Debug {
    /// What this gate is.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE` when it lives elsewhere and cannot be reached.
    async fn capabilities(&self) -> Result<GateCapabilities>;

    /// The guard of a write.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE` when the observations cannot be reached; the write must not happen then.
    async fn decide_write(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<WriteGuard>;

    /// The guard of an edit.
    ///
    /// # Errors
    /// `FS_NOT_OBSERVED` when the session has not seen the target, `FS_NOT_FOUND` when it saw that nothing is there,
    /// `FS_UNAVAILABLE`.
    async fn decide_edit(&self, session: Option<&SessionKey>, target: &TargetKey) -> Result<EditGuard>;

    /// Records what a session saw. Of two observations of one target the one with the higher order stays. For a
    /// session that has ended nothing is recorded, and that is no error.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`; the observation may be lost then.
    async fn record_observation(
        &self,
        session: &SessionKey,
        target: &TargetKey,
        observation: Observation,
        order: Order,
    ) -> Result<()>;

    /// Forgets observations of a session: their targets are unseen again. An observation that began before is not
    /// recorded afterwards when its order is not above `order`.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn forget(&self, session: &SessionKey, scope: ForgetScope, order: Order) -> Result<()>;

    /// Drops everything of a session for good.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn end_session(&self, session: &SessionKey) -> Result<()>;
}
