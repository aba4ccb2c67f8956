//! `read`: locate, read once, record, report.
//!
//! A read asks the gate nothing and waits for no other call. What it saw is recorded with the order of its beginning.

use toolfs_core::argument::ReadArguments;
use toolfs_core::error::{Code, ErrorKind, FsError, Result};
use toolfs_core::guard::Observation;
use toolfs_core::limit::Limits;
use toolfs_core::outcome::ReadOutcome;
use toolfs_core::text::TextSummary;
use toolfs_core::window::LineWindow;

use crate::scope::Scope;

/// Runs a read. That nothing is there is an observation too; no other failure is.
///
/// A path that does not resolve (`missing/../x`) has no identity that anything could be recorded under.
pub(crate) async fn run(scope: &Scope<'_>, arguments: ReadArguments) -> Result<ReadOutcome> {
    let began = scope.orders.take();
    let target = scope.locate(&arguments.file_path).await?;
    let window = window(&arguments, scope.limits);
    let report = match scope.provider.read_lines(scope.abort, &target.key, window).await {
        Ok(report) => report,
        Err(error) => {
            if error.code() == Code::NotFound {
                // An absence that is not recorded is as good as unseen: nobody needs to be told.
                scope.observed(&target, Observation::Absent, began).await;
            }
            return Err(error);
        }
    };
    refuse_past_the_end(&arguments, &report.summary)?;
    let seen = Observation::Present(report.version.clone());
    let not_recorded = scope.observed(&target, seen, began).await;
    Ok(ReadOutcome {
        path: target.display_path,
        total_lines: report.summary.total_lines,
        size_bytes: report.summary.size_bytes,
        line_endings: report.summary.line_endings(),
        ends_with_newline: report.summary.ends_with_newline,
        bom: report.summary.bom,
        block: report.window.block,
        stop: report.window.stop,
        version: report.version,
        notices: not_recorded.into_iter().collect(),
    })
}

fn window(arguments: &ReadArguments, limits: &Limits) -> LineWindow {
    LineWindow {
        first_line: arguments.offset,
        max_lines: arguments.limit,
        max_bytes: limits.max_window_bytes,
        max_line_chars: limits.max_line_chars,
    }
}

/// The first line of an empty file is not past its end: there is nothing more to see, and that was seen.
fn refuse_past_the_end(arguments: &ReadArguments, summary: &TextSummary) -> Result<()> {
    let (offset, total_lines) = (arguments.offset, summary.total_lines);
    if offset <= total_lines.max(1) {
        return Ok(());
    }
    let lines = if total_lines == 1 { "line" } else { "lines" };
    let message = format!("line {offset} is past the end: the file has {total_lines} {lines}");
    Err(FsError::new(ErrorKind::OutOfRange { total_lines }, message))
}
