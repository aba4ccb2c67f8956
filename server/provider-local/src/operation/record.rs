//! The text of a record: what an operation is to do, and, in a second line, that it is published.
//!
//! Each line has a checksum and ends with a newline that is written last. A first line that breaks off was never
//! finished, so that nothing of its operation can be there. A second line that breaks off, or is not what it says, is
//! as good as none: then the disk is asked. Anything else that is not understood may stand for an effect, and is
//! refused. No content is in it: reports come without their diff.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolfs_core::version::Version;
use toolfs_provider::operation::RequestDigest;

const RECORDED: &str = "toolfs-operation-1 ";
const PUBLISHED: &str = "published ";

/// A record that is not understood.
#[derive(Debug)]
pub(super) struct Unreadable;

/// What an operation is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Intent<T> {
    /// What was asked for.
    pub(super) digest: RequestDigest,
    /// The version that it is to replace; absent when nothing was there.
    pub(super) replaced: Option<Version>,
    /// What it reports when it happens, with the version that it makes.
    pub(super) report: T,
}

/// What a record says.
#[derive(Debug)]
pub(super) enum Record {
    /// Nothing: its writer never came to an effect.
    Nothing,
    /// An operation was about to be published.
    Intended {
        intent: Intent<Value>,
        /// How many bytes of the record hold this.
        length: usize,
    },
    /// An operation was published.
    Published {
        digest: RequestDigest,
        /// What it reported.
        report: Value,
    },
}

/// The first line.
pub(super) fn intent_line<T: Serialize>(intent: &Intent<T>) -> Vec<u8> {
    line(RECORDED, intent)
}

/// The second line.
pub(super) fn published_line<T: Serialize>(report: &T) -> Vec<u8> {
    line(PUBLISHED, report)
}

fn line<T: Serialize>(start: &str, value: &T) -> Vec<u8> {
    let text = serde_json::to_string(value).expect("reports are plain values with text as keys");
    format!("{start}{} {text}\n", blake3::hash(text.as_bytes()).to_hex()).into_bytes()
}

/// Reads a record.
pub(super) fn parse(bytes: &[u8]) -> Result<Record, Unreadable> {
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
        let start = RECORDED.as_bytes();
        let is_beginning = start.starts_with(bytes) || bytes.starts_with(start);
        return if is_beginning { Ok(Record::Nothing) } else { Err(Unreadable) };
    };
    let (first, second) = (&bytes[..end], &bytes[end + 1..]);
    let intent: Intent<Value> = value_of(RECORDED, first).ok_or(Unreadable)?;
    let report = second.strip_suffix(b"\n").and_then(|second| value_of(PUBLISHED, second));
    Ok(match report {
        Some(report) => Record::Published { digest: intent.digest, report },
        None => Record::Intended { intent, length: end + 1 },
    })
}

fn value_of<T: DeserializeOwned>(start: &str, line: &[u8]) -> Option<T> {
    let rest = std::str::from_utf8(line).ok()?.strip_prefix(start)?;
    let (checksum, text) = rest.split_once(' ')?;
    let is_whole = blake3::hash(text.as_bytes()).to_hex().as_str() == checksum;
    if is_whole { serde_json::from_str(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use toolfs_core::diff::{ChangedRange, ChangedRanges};
    use toolfs_core::edit::{MatchRange, Matches};
    use toolfs_core::error::{ErrorKind, FsError, Published};
    use toolfs_core::notice::{Notice, NoticeKind};
    use toolfs_core::outcome::WriteOperation;
    use toolfs_provider::report::{EditReport, WriteReport};

    use super::*;

    fn digest() -> RequestDigest {
        serde_json::from_str("\"d1\"").unwrap()
    }

    fn lines() -> (Vec<u8>, Vec<u8>) {
        let intent = Intent { digest: digest(), replaced: Some(Version::of(b"old")), report: "foreseen" };
        (intent_line(&intent), published_line(&"real"))
    }

    #[test]
    fn a_record_that_breaks_off_anywhere_is_what_was_whole_of_it() {
        let (first, second) = lines();
        let whole = [first.clone(), second].concat();
        for end in 0..=whole.len() {
            match parse(&whole[..end]).unwrap() {
                Record::Nothing => assert!(end < first.len(), "{end}"),
                Record::Intended { intent, length } => {
                    assert!((first.len()..whole.len()).contains(&end), "{end}");
                    assert_eq!(intent.replaced, Some(Version::of(b"old")));
                    assert_eq!((intent.digest, intent.report), (digest(), "foreseen".into()));
                    assert_eq!(length, first.len());
                }
                Record::Published { digest: found, report } => {
                    assert_eq!((end, found, report), (whole.len(), digest(), "real".into()));
                }
            }
        }
    }

    /// A flipped byte may cost the mark, which the disk makes up for, and never makes a record of something else.
    #[test]
    fn a_record_that_was_changed_is_never_taken_for_none_or_for_another() {
        let (first, second) = lines();
        let whole = [first.clone(), second].concat();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x01;
            match parse(&changed) {
                Err(Unreadable) => assert!(at < first.len(), "{at}"),
                Ok(Record::Intended { intent, .. }) => {
                    assert!(at >= first.len(), "{at}");
                    assert_eq!(intent.digest, digest());
                }
                Ok(record @ (Record::Nothing | Record::Published { .. })) => panic!("{at}: {record:?}"),
            }
        }
        for foreign in [&b"something else"[..], b"\0\0\0\0", b"toolfs-operation-2 x\n", b"\n"] {
            assert!(parse(foreign).is_err(), "{foreign:?}");
        }
    }

    /// Records outlive the server that wrote them, and another version reads them. Whoever changes what is below
    /// raises the number in [`RECORDED`].
    #[test]
    fn the_form_of_a_record_does_not_change_under_its_name() {
        let version = |text: &str| Version::parse(text).unwrap();
        let write = Intent {
            digest: digest(),
            replaced: None,
            report: WriteReport {
                operation: WriteOperation::Create,
                size_bytes: 7,
                previous_size_bytes: Some(5),
                version: version("v2"),
                notices: vec![Notice::new(NoticeKind::NotAtomic, "a remark")],
                diff: None,
                not_durable: None,
            },
        };
        let error = FsError::new(ErrorKind::IoError, "it failed").with_published(Published::Yes);
        let edit = Intent {
            digest: digest(),
            replaced: Some(version("v1")),
            report: EditReport {
                matches: Matches { ranges: vec![MatchRange { start_line: 1, end_line: 2 }], total: 3 },
                changed: ChangedRanges {
                    ranges: vec![ChangedRange { old_start: 1, old_count: 2, new_start: 3, new_count: 4 }],
                    total: 5,
                },
                size_bytes: 7,
                version: version("v2"),
                notices: Vec::new(),
                diff: None,
                not_durable: Some(error),
            },
        };
        let record = [intent_line(&write), published_line(&write.report)].concat();
        assert_eq!(String::from_utf8(record).unwrap(), WRITE);
        let line = String::from_utf8(intent_line(&edit)).unwrap();
        let (start, text) = line.split_at(line.find('{').unwrap());
        assert!(start.starts_with(RECORDED), "{start}");
        assert_eq!(text, EDIT);
    }

    const WRITE: &str = concat!(
        "toolfs-operation-1 b6f5f33254fb288077a0d5af758b90a20ec0823c993f637a324c4b3c84525ea4 ",
        r#"{"digest":"d1","replaced":null,"report":{"operation":"Create","size_bytes":7,"previous_size_bytes":5,"#,
        r#""version":"v2","notices":[{"kind":"NotAtomic","text":"a remark"}],"diff":null,"not_durable":null}}"#,
        "\npublished b63a1a5ba78e1bfe01dd20b08881b7cd9f7cda5b5491ce5e6d694acb7df87e99 ",
        r#"{"operation":"Create","size_bytes":7,"previous_size_bytes":5,"#,
        r#""version":"v2","notices":[{"kind":"NotAtomic","text":"a remark"}],"diff":null,"not_durable":null}"#,
        "\n",
    );
    const EDIT: &str = concat!(
        r#"{"digest":"d1","replaced":"v1","report":{"matches":{"ranges":[{"start_line":1,"end_line":2}],"total":3},"#,
        r#""changed":{"ranges":[{"old_start":1,"old_count":2,"new_start":3,"new_count":4}],"total":5},"#,
        r#""size_bytes":7,"version":"v2","notices":[],"diff":null,"#,
        r#""not_durable":{"kind":"IoError","message":"it failed","path":null,"remedy":null,"published":"Yes","#,
        r#""rescue_path":null}}}"#,
        "\n",
    );
}
