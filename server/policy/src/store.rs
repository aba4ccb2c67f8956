//! Where observations live.

use std::fmt;

use async_trait::async_trait;
use toolfs_core::clock::Order;
use toolfs_core::error::Result;
use toolfs_core::guard::Observation;
use toolfs_core::id::SessionKey;
use toolfs_core::target::TargetKey;

use crate::gate::ForgetScope;

/// Keeps what sessions saw. The rules of [`crate::PolicyGate`] on orders and ended sessions are the store's to keep,
/// so that each of its operations is atomic.
///
/// Of two observations with the same order the first stays; a forget covers the observations of its own order. A
/// store may lose observations, to keep within its bounds or in a crash; what it must never do is to answer with one
/// that was not recorded, that a newer one replaced, that was forgotten, or whose session has ended.
#[async_trait]
pub trait ObservationStore: Send + Sync + fmt::Debug {
    /// Whether observations survive a restart.
    fn is_persistent(&self) -> bool;

    /// What a session last saw at a target.
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn get(&self, session: &SessionKey, target: &TargetKey) -> Result<Option<Observation>>;

    /// See [`crate::PolicyGate::record_observation`].
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn record(
        &self,
        session: &SessionKey,
        target: &TargetKey,
        observation: Observation,
        order: Order,
    ) -> Result<()>;

    /// See [`crate::PolicyGate::forget`].
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn forget(&self, session: &SessionKey, scope: ForgetScope, order: Order) -> Result<()>;

    /// See [`crate::PolicyGate::end_session`].
    ///
    /// # Errors
    /// `FS_UNAVAILABLE`
    async fn end_session(&self, session: &SessionKey) -> Result<()>;
}
