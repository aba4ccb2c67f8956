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
    use expect_test::{Expect, expect};
    use toolfs_core::diff::{
        ChangedRange, ChangedRanges, Diff, DiffLeftOut, DiffLine, DiffLineKind, DiffResult, Hunk,
    };
    use toolfs_core::edit::{MatchRange, Matches};
    use toolfs_core::guard::{EditGuard, WriteGuard};
    use toolfs_core::notice::{Notice, NoticeKind};
    use toolfs_core::outcome::WriteOperation;
    use toolfs_core::version::Version;

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

    fn line(kind: DiffLineKind, text: &str) -> DiffLine {
        DiffLine { kind, text: text.into(), has_newline: true }
    }

    /// Compares with the form that other versions of toolfs keep: one that differs needs another [`FORMAT`].
    #[track_caller]
    fn assert_kept_as(result: ToolResult, form: Expect) {
        let response = ExecuteResponse { text: "shown".into(), result, dry_run: false };
        let kept = encode(&response);
        let value: serde_json::Value = serde_json::from_slice(&kept).unwrap();
        form.assert_eq(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(format!("{:?}", decode(&kept)), format!("{response:?}"));
    }

    #[test]
    fn a_write_is_kept_in_the_form_that_others_read() {
        let outcome = WriteOutcome {
            path: "/workspace/a".into(),
            operation: WriteOperation::Update,
            size_bytes: 2,
            previous_size_bytes: Some(1),
            version: Version::of(b"new"),
            notices: vec![Notice::new(NoticeKind::Other, "remark")],
            diff: DiffResult::LeftOut(DiffLeftOut::TooLarge { limit_bytes: 3, size_bytes: 4 }),
            guard: WriteGuard::ReplaceIfVersion(Version::of(b"old")),
        };
        assert_kept_as(
            ToolResult::Done(Outcome::Write(outcome)),
            expect![[r#"
            {
              "format": 1,
              "result": {
                "Write": [
                  {
                    "diff": {
                      "LeftOut": {
                        "TooLarge": {
                          "limit_bytes": 3,
                          "size_bytes": 4
                        }
                      }
                    },
                    "guard": {
                      "ReplaceIfVersion": "b3-96a4257289f9ebcbc94bfc49276f89ed87f8c951e3fa832d44dceb9b220520a5"
                    },
                    "notices": [
                      {
                        "kind": "Other",
                        "text": "remark"
                      }
                    ],
                    "operation": "Update",
                    "path": "/workspace/a",
                    "previous_size_bytes": 1,
                    "size_bytes": 2,
                    "version": "b3-b20ab0a020a48d349e0c64d109c441f87c9bc43d49fc701c4a5f6f1b16aa4e32"
                  },
                  null
                ]
              },
              "text": "shown"
            }"#]],
        );
    }

    #[test]
    fn an_edit_is_kept_in_the_form_that_others_read() {
        let lines = vec![
            line(DiffLineKind::Context, "same"),
            line(DiffLineKind::Removed, "old"),
            DiffLine { has_newline: false, ..line(DiffLineKind::Added, "new") },
        ];
        let hunk = Hunk { old_start: 1, old_count: 2, new_start: 1, new_count: 2, lines };
        let range = ChangedRange { old_start: 2, old_count: 1, new_start: 2, new_count: 1 };
        let outcome = EditOutcome {
            path: "/workspace/a".into(),
            replacements: 1,
            replace_all: false,
            changed: ChangedRanges { ranges: vec![range], total: 1 },
            size_bytes: 8,
            version: Version::of(b"new"),
            notices: Vec::new(),
            diff: DiffResult::Computed(Diff { hunks: vec![hunk] }),
            matches: Matches { ranges: vec![MatchRange { start_line: 2, end_line: 2 }], total: 1 },
            guard: EditGuard::ReplaceIfVersion(Version::of(b"old")),
        };
        let not_durable = FsError::new(ErrorKind::IoError, "not synced").with_published(Published::Yes);
        let result = ToolResult::PublishedNotDurable(Outcome::Edit(outcome), not_durable);
        assert_kept_as(
            result,
            expect![[r#"
            {
              "format": 1,
              "result": {
                "Edit": [
                  {
                    "changed": {
                      "ranges": [
                        {
                          "new_count": 1,
                          "new_start": 2,
                          "old_count": 1,
                          "old_start": 2
                        }
                      ],
                      "total": 1
                    },
                    "diff": {
                      "Computed": {
                        "hunks": [
                          {
                            "lines": [
                              {
                                "has_newline": true,
                                "kind": "Context",
                                "text": "same"
                              },
                              {
                                "has_newline": true,
                                "kind": "Removed",
                                "text": "old"
                              },
                              {
                                "has_newline": false,
                                "kind": "Added",
                                "text": "new"
                              }
                            ],
                            "new_count": 2,
                            "new_start": 1,
                            "old_count": 2,
                            "old_start": 1
                          }
                        ]
                      }
                    },
                    "guard": {
                      "ReplaceIfVersion": "b3-96a4257289f9ebcbc94bfc49276f89ed87f8c951e3fa832d44dceb9b220520a5"
                    },
                    "matches": {
                      "ranges": [
                        {
                          "end_line": 2,
                          "start_line": 2
                        }
                      ],
                      "total": 1
                    },
                    "notices": [],
                    "path": "/workspace/a",
                    "replace_all": false,
                    "replacements": 1,
                    "size_bytes": 8,
                    "version": "b3-b20ab0a020a48d349e0c64d109c441f87c9bc43d49fc701c4a5f6f1b16aa4e32"
                  },
                  {
                    "kind": "IoError",
                    "message": "not synced",
                    "path": null,
                    "published": "Yes",
                    "remedy": null,
                    "rescue_path": null
                  }
                ]
              },
              "text": "shown"
            }"#]],
        );
    }

    #[test]
    fn a_refusal_is_kept_in_the_form_that_others_read() {
        let kind = ErrorKind::StaleVersion {
            expected: Some(Version::of(b"old")),
            actual: Some(Version::of(b"new")),
        };
        let error = FsError::new(kind, "it changed")
            .with_path("/workspace/a")
            .with_remedy("read it again")
            .with_published(Published::Maybe)
            .with_rescue_path("/workspace/b");
        assert_kept_as(
            ToolResult::Refused(error),
            expect![[r#"
            {
              "format": 1,
              "result": {
                "Refused": {
                  "kind": {
                    "StaleVersion": {
                      "actual": "b3-b20ab0a020a48d349e0c64d109c441f87c9bc43d49fc701c4a5f6f1b16aa4e32",
                      "expected": "b3-96a4257289f9ebcbc94bfc49276f89ed87f8c951e3fa832d44dceb9b220520a5"
                    }
                  },
                  "message": "it changed",
                  "path": "/workspace/a",
                  "published": "Maybe",
                  "remedy": "read it again",
                  "rescue_path": "/workspace/b"
                }
              },
              "text": "shown"
            }"#]],
        );
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
