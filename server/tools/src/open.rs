//! The paths of session operations: where a session stands, what it is narrowed to, what it forgets.
//!
//! Directories are looked at here, once. A session whose directories change later is told so by the calls in it.

use toolfs_core::argument::FilePath;
use toolfs_core::error::{ErrorKind, FsError, Result};
use toolfs_core::limit::Limits;
use toolfs_core::target::{FileKind, Target, TargetKey, display_form};
use toolfs_provider::Provider;
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::request::ResolveRequest;

use crate::fence::Fence;
use crate::handle::Session;
use crate::remedy;
use crate::scope::in_terms_of;
use crate::session::OpenSession;

/// Where a new session stands.
#[derive(Debug)]
pub(crate) struct Standing {
    /// Where relative paths start.
    pub(crate) cwd: Target,
    /// What it is narrowed to; none: all roots of the server.
    pub(crate) roots: Vec<Target>,
    /// The roots in effect, to be shown.
    pub(crate) shown_roots: Vec<String>,
}

/// Finds the directories that a session asks for.
///
/// - `roots` that are relative start at the first root of the server
/// - a relative `cwd` starts at the first root of the session; without one the session stands there
pub(crate) async fn stand(
    provider: &dyn Provider,
    abort: &AbortSignal,
    limits: &Limits,
    request: &OpenSession,
) -> Result<Standing> {
    let opening = Opening { provider, abort, limits };
    let mut roots = Vec::new();
    for path in &request.roots {
        roots.push(opening.directory("roots", None, path).await?);
    }
    if roots.is_empty() {
        return opening.stand_anywhere(request.cwd.as_deref()).await;
    }
    let cwd = match &request.cwd {
        None => roots[0].clone(),
        Some(path) => opening.directory_beneath(&roots, path).await?,
    };
    let shown_roots = roots.iter().map(|root| root.display_path.clone()).collect();
    Ok(Standing { cwd, roots, shown_roots })
}

/// The targets of paths, resolved as a tool's would be in a session.
pub(crate) async fn find_all(
    provider: &dyn Provider,
    abort: &AbortSignal,
    limits: &Limits,
    session: &Session,
    paths: &[String],
) -> Result<Vec<TargetKey>> {
    let session = &session.record;
    let fence = Fence { provider, abort, cwd: Some(&session.cwd), roots: &session.roots };
    let mut found = Vec::with_capacity(paths.len());
    for path in paths {
        let path = FilePath::parse("paths", path, limits)?;
        let resolved = fence.resolve(&path).await;
        let shown = display_form(path.as_str().as_bytes());
        found.push(resolved.map_err(|error| in_terms_of("paths", error).with_path(shown))?.key);
    }
    Ok(found)
}

struct Opening<'a> {
    provider: &'a dyn Provider,
    abort: &'a AbortSignal,
    limits: &'a Limits,
}

impl Opening<'_> {
    /// The standing of a session that is not narrowed.
    async fn stand_anywhere(&self, cwd: Option<&str>) -> Result<Standing> {
        let served = self.provider.capabilities(self.abort).await?.roots;
        let cwd = match (cwd, served.first()) {
            (Some(path), _) => self.directory("cwd", None, path).await?,
            (None, Some(first)) => {
                let request = ResolveRequest { cwd: None, path: first.raw_path.clone() };
                self.provider.resolve(self.abort, &request).await?
            }
            (None, None) => {
                return Err(FsError::new(ErrorKind::Unsupported, "the server has no root to stand in"));
            }
        };
        let shown_roots = served.into_iter().map(|root| root.display_path).collect();
        Ok(Standing { cwd, roots: Vec::new(), shown_roots })
    }

    /// A `cwd` of a session that is narrowed.
    async fn directory_beneath(&self, roots: &[Target], path: &str) -> Result<Target> {
        let cwd = self.directory("cwd", Some(&roots[0]), path).await?;
        for root in roots {
            if self.provider.contains(self.abort, &root.key, &cwd.key).await? {
                return Ok(cwd);
            }
        }
        let asked = display_form(path.as_bytes());
        let message = format!("the `cwd` `{asked}` lies outside of the `roots` that the session asks for");
        let kind = ErrorKind::SandboxDenied { rule: remedy::SESSION_ROOTS_RULE.to_owned() };
        Err(remedy::add_for_directory(FsError::new(kind, message).with_path(asked), "cwd"))
    }

    /// The directory that a path of the request names.
    async fn directory(&self, field: &str, cwd: Option<&Target>, path: &str) -> Result<Target> {
        let asked = display_form(path.as_bytes());
        self.find_directory(field, cwd, path)
            .await
            .map_err(|error| remedy::add_for_directory(in_terms_of(field, error).with_path(asked), field))
    }

    async fn find_directory(&self, field: &str, cwd: Option<&Target>, path: &str) -> Result<Target> {
        let path = FilePath::parse(field, path, self.limits)?;
        let cwd = cwd.map(|directory| directory.raw_path.clone());
        let request = ResolveRequest { cwd, path: path.as_str().as_bytes().to_vec() };
        let target = self.provider.resolve(self.abort, &request).await?;
        let kind = self.provider.stat(self.abort, &target.key, false).await?.kind;
        if kind == FileKind::Directory {
            return Ok(target);
        }
        let message =
            format!("`{field}` must name a directory, `{}` is {}", target.display_path, kind.noun());
        Err(FsError::new(ErrorKind::NotDirectory, message))
    }
}
