//! Stores that write down what becomes of calls, and fail or wait where a test says so.

use std::sync::Arc;

use async_trait::async_trait;
use toolfs_core::clock::{Order, Timestamp};
use toolfs_core::error::Result;
use toolfs_core::id::SessionKey;
use toolfs_tools::{
    Beginning, CallKey, CallRecord, CallStore, Caller, DecidedGuard, Ending, Fingerprint, Insertion,
    SessionRecord, SessionStore,
};

use super::recorder::Script;

/// Sessions are not written down: each call asks for them.
#[derive(Debug)]
pub(crate) struct RecordingSessions {
    pub(crate) inner: Arc<dyn SessionStore>,
    pub(crate) script: Arc<Script>,
    pub(crate) is_persistent: bool,
}

#[async_trait]
impl SessionStore for RecordingSessions {
    fn is_persistent(&self) -> bool {
        self.is_persistent
    }

    fn removals(&self) -> u64 {
        self.inner.removals()
    }

    fn next_order(&self, now: Timestamp) -> Order {
        self.inner.next_order(now)
    }

    async fn insert(&self, session: SessionRecord, max_sessions: u64) -> Result<Insertion> {
        self.script.failure("insert")?;
        self.inner.insert(session, max_sessions).await
    }

    async fn find(&self, key: &SessionKey) -> Result<Option<SessionRecord>> {
        self.script.failure("find session")?;
        self.inner.find(key).await
    }

    async fn touch(&self, key: &SessionKey, last_used: Timestamp) -> Result<()> {
        self.script.note("touch".into());
        self.script.failure("touch")?;
        self.inner.touch(key, last_used).await
    }

    async fn remove(&self, key: &SessionKey) -> Result<bool> {
        self.script.failure("remove")?;
        self.inner.remove(key).await
    }

    async fn remove_unused(&self, key: &SessionKey, time: Timestamp) -> Result<bool> {
        self.inner.remove_unused(key, time).await
    }

    async fn unused_since(&self, time: Timestamp, count: usize) -> Result<Vec<SessionRecord>> {
        self.inner.unused_since(time, count).await
    }

    async fn page(&self, owner: &Caller, after: u64, count: usize) -> Result<Vec<(u64, SessionRecord)>> {
        self.inner.page(owner, after, count).await
    }

    async fn ending(&self, count: usize) -> Result<Vec<SessionKey>> {
        self.inner.ending(count).await
    }

    async fn ended(&self, key: &SessionKey) -> Result<()> {
        self.inner.ended(key).await
    }
}

#[derive(Debug)]
pub(crate) struct RecordingCalls {
    pub(crate) inner: Arc<dyn CallStore>,
    pub(crate) script: Arc<Script>,
}

#[async_trait]
impl CallStore for RecordingCalls {
    async fn find(&self, key: &CallKey) -> Result<Option<CallRecord>> {
        self.script.note("find call".into());
        self.script.failure("find call")?;
        let found = self.inner.find(key).await;
        self.script.pause("find call").await;
        found
    }

    async fn begin(
        &self,
        key: &CallKey,
        fingerprint: &Fingerprint,
        guard: &DecidedGuard,
        now: Timestamp,
    ) -> Result<Beginning> {
        self.script.note("begin call".into());
        self.script.failure("begin call")?;
        let beginning = self.inner.begin(key, fingerprint, guard, now).await;
        self.script.pause("begin call").await;
        self.script.failure("begin call, its answer")?;
        beginning
    }

    async fn end(
        &self,
        key: &CallKey,
        fingerprint: &Fingerprint,
        result: Vec<u8>,
        resumes: bool,
        now: Timestamp,
    ) -> Result<Ending> {
        self.script.note("end call".into());
        self.script.failure("end call")?;
        self.inner.end(key, fingerprint, result, resumes, now).await
    }

    async fn release(&self, key: &CallKey) -> Result<()> {
        self.script.note("release call".into());
        self.inner.release(key).await
    }

    async fn abandon(&self, key: &CallKey) -> Result<()> {
        self.script.note("abandon call".into());
        self.inner.abandon(key).await
    }

    async fn end_session(&self, session: &SessionKey) -> Result<()> {
        self.inner.end_session(session).await
    }
}
