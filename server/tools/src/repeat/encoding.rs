//! How the result of a call is kept: JSON with a format number.
//!
//! A result that another version of toolfs kept in another form is no reason to run its call again: the repeat is told
//! that it is remembered and cannot be shown.

use serde::{Deserialize, Serialize};
use toolfs_core::error::{ErrorKind, FsError, Published};
use toolfs_core::outcome::{EditOutcome, Outcome, ToolResult, WriteOutcome};
use toolfs_core::render;

use crate::call::ExecuteResponse;
use crate::remedy::{self, Attempt};

const FORMAT: u32 = 1;

/// What is looked at first.
#[derive(Serialize, Deserialize)]
struct Head {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    format: u32,
    text: String,
    result: KeptResult,
}

#[derive(Serialize, Deserialize)]
enum KeptResult {
    /// With the error where the effect could not be made durable.
    Write(WriteOutcome, Option<FsError>),
    /// Likewise.
    Edit(EditOutcome, Option<FsError>),
    Refused(FsError),
}

/// The result of a mutation as it is kept.
pub(super) fn encode(response: &ExecuteResponse) -> Vec<u8> {
    let result = match &response.result {
        ToolResult::Done(outcome) => published(outcome, None),
        ToolResult::PublishedNotDurable(outcome, error) => published(outcome, Some(error.clone())),
        ToolResult::Refused(error) => KeptResult::Refused(error.clone()),
    };
    let kept = Kept { format: FORMAT, text: response.text.clone(), result };
    serde_json::to_vec(&kept).expect("texts, numbers and lists of them are always JSON")
}

fn published(outcome: &Outcome, not_durable: Option<FsError>) -> KeptResult {
    match outcome {
        Outcome::Write(outcome) => KeptResult::Write(outcome.clone(), not_durable),
        Outcome::Edit(outcome) => KeptResult::Edit(outcome.clone(), not_durable),
        Outcome::Read(_) => unreachable!("only mutations are remembered"),
    }
}

/// What a repeat is answered.
pub(super) fn decode(kept: &[u8]) -> ExecuteResponse {
    let head: Result<Head, _> = serde_json::from_slice(kept);
    let Ok(Head { format: FORMAT }) = head else { return unreadable() };
    let Ok(Kept { format: _, text, result }) = serde_json::from_slice(kept) else { return unreadable() };
    let published = |outcome, not_durable| match not_durable {
        None => ToolResult::Done(outcome),
        Some(error) => ToolResult::PublishedNotDurable(outcome, error),
    };
    let result = match result {
        KeptResult::Write(outcome, not_durable) => published(Outcome::Write(outcome), not_durable),
        KeptResult::Edit(outcome, not_durable) => published(Outcome::Edit(outcome), not_durable),
        KeptResult::Refused(error) => ToolResult::Refused(error),
    };
    ExecuteResponse { text, result, dry_run: false }
}

fn unreadable() -> ExecuteResponse {
    let message =
        "this call was made before, and what it ended in is kept in a form that this server cannot read";
    let error = FsError::new(ErrorKind::Unsupported, message).with_published(Published::Maybe);
    let error = remedy::add(error, Attempt { tool: None, in_session: true });
    ExecuteResponse { text: render::error(&error), result: ToolResult::Refused(error), dry_run: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(error: FsError) -> ExecuteResponse {
        ExecuteResponse { text: render::error(&error), result: ToolResult::Refused(error), dry_run: false }
    }

    #[test]
    fn a_refusal_comes_back_as_it_was() {
        let kind = ErrorKind::NotFound { similar_names: vec!["\u{feff}\u{0}\u{2028}".into()] };
        let error = FsError::new(kind, "a `\u{1f600}`\r\n")
            .with_path("p")
            .with_remedy("r")
            .with_published(Published::Maybe)
            .with_rescue_path("q");
        let first = refused(error);
        let repeated = decode(&encode(&first));
        assert_eq!(format!("{repeated:?}"), format!("{first:?}"));
    }

    #[test]
    fn what_cannot_be_read_is_told_and_not_run_again() {
        let kept = encode(&refused(FsError::new(ErrorKind::NoSpace, "m")));
        let text = String::from_utf8(kept.clone()).unwrap();
        let newer = text.replace("\"format\":1", "\"format\":2");
        assert_ne!(newer, text);
        for unreadable in [newer.as_bytes(), b"", b"{}", &kept[..kept.len() - 1], b"{\"format\":1}"] {
            let ToolResult::Refused(error) = decode(unreadable).result else { panic!("{unreadable:?}") };
            assert_eq!((error.published(), error.is_retryable()), (Published::Maybe, false));
            assert!(error.remedy().is_some());
        }
    }
}
