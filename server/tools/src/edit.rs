//! `edit`: locate, take the turn, ask for the intent, note it, match and publish once, record, report.
//!
//! Matching is the provider's, inside its critical section: this file never sees the content.

use toolfs_core::argument::EditArguments;
use toolfs_core::error::{FsError, Result};
use toolfs_core::guard::Observation;
use toolfs_core::outcome::EditOutcome;
use toolfs_provider::report::EditReport;
use toolfs_provider::request::EditTextRequest;

use crate::repeat::Stop;
use crate::scope::Scope;
use crate::store::DecidedGuard;

/// Runs an edit. The second part is set when it is there and could not be made durable.
pub(crate) async fn run(
    scope: &Scope<'_>,
    arguments: EditArguments,
) -> Result<(EditOutcome, Option<FsError>), Stop> {
    let target = scope.locate_for_change(&arguments.file_path).await?;
    let _turn = scope.take_turn(&target).await?;
    let guard = scope.edit_intent(&target).await?;
    let operation_id = scope.begin(DecidedGuard::Edit(guard.clone())).await?;
    let replace_all = arguments.edit.replace_all();
    let request = EditTextRequest {
        target: target.key.clone(),
        edit: arguments.edit,
        guard: guard.clone(),
        want_diff: scope.wants_diff(),
        operation_id,
    };
    let report = publish(scope, request).await?;
    let seen = Observation::Present(report.version.clone());
    let not_recorded = scope.observed(&target, seen, scope.orders.take()).await;
    let (diff, no_diff) = scope.diff(report.diff);
    let outcome = EditOutcome {
        path: target.display_path,
        replacements: report.matches.total,
        replace_all,
        changed: report.changed,
        size_bytes: report.size_bytes,
        version: report.version,
        notices: report.notices.into_iter().chain(not_recorded).chain(no_diff).collect(),
        diff,
        matches: report.matches,
        guard,
    };
    Ok((outcome, report.not_durable))
}

async fn publish(scope: &Scope<'_>, request: EditTextRequest) -> Result<EditReport> {
    if scope.dry_run {
        scope.provider.plan_edit(scope.abort, request).await
    } else {
        scope.provider.edit_text(scope.abort, request).await
    }
}
