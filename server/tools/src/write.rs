//! `write`: locate, take the turn, ask for the intent, note it, publish once, record, report.

use toolfs_core::argument::WriteArguments;
use toolfs_core::error::{FsError, Result};
use toolfs_core::guard::Observation;
use toolfs_core::outcome::WriteOutcome;
use toolfs_provider::report::WriteReport;
use toolfs_provider::request::WriteTextRequest;

use crate::repeat::Stop;
use crate::scope::Scope;
use crate::store::DecidedGuard;

/// Runs a write. The second part is set when it is there and could not be made durable.
pub(crate) async fn run(
    scope: &Scope<'_>,
    arguments: WriteArguments,
) -> Result<(WriteOutcome, Option<FsError>), Stop> {
    let target = scope.locate_for_change(&arguments.file_path).await?;
    let _turn = scope.take_turn(&target).await?;
    let guard = scope.write_intent(&target).await?;
    let operation_id = scope.begin(DecidedGuard::Write(guard.clone())).await?;
    let request = WriteTextRequest {
        target: target.key.clone(),
        content: arguments.content.into(),
        guard: guard.clone(),
        want_diff: scope.wants_diff(),
        operation_id,
    };
    let report = publish(scope, request).await?;
    let seen = Observation::Present(report.version.clone());
    let not_recorded = scope.observed(&target, seen, scope.orders.take()).await;
    let (diff, no_diff) = scope.diff(report.diff);
    let outcome = WriteOutcome {
        path: target.display_path,
        operation: report.operation,
        size_bytes: report.size_bytes,
        previous_size_bytes: report.previous_size_bytes,
        version: report.version,
        notices: report.notices.into_iter().chain(not_recorded).chain(no_diff).collect(),
        diff,
        guard,
    };
    Ok((outcome, report.not_durable))
}

async fn publish(scope: &Scope<'_>, request: WriteTextRequest) -> Result<WriteReport> {
    if scope.dry_run {
        scope.provider.plan_write(scope.abort, request).await
    } else {
        scope.provider.write_text(scope.abort, request).await
    }
}
