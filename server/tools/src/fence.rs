//! The fence around a session that is narrowed to some directories.
//!
//! Where a path ends is not enough: what a path answers on its way would tell a session what lies outside. So every
//! step of it must stay beneath the session's roots, or on the way up from them and down to them.
//! Deliberately absent: the server's own roots, which the provider keeps.

use toolfs_core::argument::FilePath;
use toolfs_core::error::{ErrorKind, FsError, Result};
use toolfs_core::target::{Target, TargetKey, display_form};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::request::ResolveRequest;

use crate::remedy::SESSION_ROOTS_RULE;

/// How the paths of one session are resolved.
#[derive(Debug)]
pub(crate) struct Fence<'a> {
    pub(crate) provider: &'a dyn Provider,
    pub(crate) abort: &'a AbortSignal,
    /// Where relative paths start; `None` without a session.
    pub(crate) cwd: Option<&'a Target>,
    /// What the session is narrowed to; none: nothing keeps it from the server's roots.
    pub(crate) roots: &'a [Target],
}

impl Fence<'_> {
    /// Finds what a path leads to.
    ///
    /// # Errors
    /// Those of [`Provider::resolve`]; `FS_SANDBOX_DENIED` for a path that leaves the roots of the session, whatever
    /// it would have found there.
    pub(crate) async fn resolve(&self, path: &FilePath) -> Result<Target> {
        let path = path.as_str();
        let resolved = self.find(path).await;
        if self.roots.is_empty() {
            return resolved;
        }
        if !resolved.as_ref().is_ok_and(|target| self.is_plain(path, target)) {
            self.check_steps(path).await?;
        }
        let target = resolved?;
        if self.holds(&target.key).await? { Ok(target) } else { Err(denied(path)) }
    }

    /// Follows a path step by step, as far as it leads anywhere.
    async fn check_steps(&self, path: &str) -> Result<()> {
        let ends = path.match_indices('/').map(|(end, _)| end);
        for step in ends.map(|end| &path[..end]).filter(|step| !step.is_empty() && !step.ends_with('/')) {
            // The error of this step is also that of the whole path, and comes from inside the fence.
            let Ok(target) = self.find(step).await else { return Ok(()) };
            if !self.holds(&target.key).await? && !self.is_above(&target.key).await? {
                return Err(denied(path));
            }
        }
        Ok(())
    }

    async fn find(&self, path: &str) -> Result<Target> {
        let cwd = self.cwd.map(|directory| directory.raw_path.clone());
        self.provider.resolve(self.abort, &ResolveRequest { cwd, path: path.as_bytes().to_vec() }).await
    }

    /// Whether a path led straight to its target: its steps are then the target's parents.
    fn is_plain(&self, path: &str, target: &Target) -> bool {
        let base = match self.cwd {
            Some(cwd) if !path.starts_with('/') => cwd.raw_path.as_slice(),
            Some(_) | None => b"",
        };
        let asked = components(base).chain(components(path.as_bytes()));
        // A `..` is a component of no canonical path.
        asked.eq(components(&target.raw_path))
    }

    async fn holds(&self, target: &TargetKey) -> Result<bool> {
        for root in self.roots {
            if self.provider.contains(self.abort, &root.key, target).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn is_above(&self, target: &TargetKey) -> Result<bool> {
        for root in self.roots {
            if self.provider.contains(self.abort, target, &root.key).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|component| !component.is_empty() && *component != b".")
}

fn denied(path: &str) -> FsError {
    let asked = display_form(path.as_bytes());
    let message = format!("`{asked}` leads outside of the roots of this session");
    FsError::new(ErrorKind::SandboxDenied { rule: SESSION_ROOTS_RULE.to_owned() }, message)
}
