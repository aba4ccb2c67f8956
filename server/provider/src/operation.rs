//! Names of operations, by which a repeated mutation is told from another one.
//!
//! What a provider does with a name is written at [`OperationId`]. Deliberately absent: where records are kept, which
//! is each provider's own affair.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolfs_core::error::{FsError, Result};

use crate::request::{EditTextRequest, WriteTextRequest};

/// How long a record is kept at least, as long as no more than [`MIN_RECORDS`] are younger.
pub const RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// How many records are kept at least, as long as they are no older than [`RETENTION`].
pub const MIN_RECORDS: usize = 4_096;

/// A name of one mutation, by which its caller may repeat it after a lost answer or a crash.
///
/// It has 1 to [`OperationId::MAX_CHARS`] printable ASCII characters, blanks too, and is given to one operation
/// ever. Where [`crate::capability::Capabilities::operation_ids`] says so, a mutation that carries one is recorded with
/// a digest of its request, the version that it is to make and its report: before it is published, so that the record
/// survives a crash of the process. A power cut may lose records. A second call with the same name waits for the
/// first, and then:
///
/// - the same request, published: the recorded report is the answer, whatever is there by then
/// - the same request, recorded and not known to be published, because a process ended in between: what is there
///   tells. The intended version: it had happened, and the report is the answer. What it was to replace: it had not
///   happened, and it is carried out under the guard of the repetition; a content that somebody put back counts as
///   never left. Anything else: `FS_STALE_VERSION` with `published` maybe, and nothing changes. Each refusal before
///   that is known says maybe, too
/// - another request (kind of mutation, target, content, edited strings or `replace_all` differ; the guard and the
///   wish for a diff are no part of it): `FS_INVALID_ARGUMENT` that names `operation_id`, and nothing changes
///
/// A mutation that was refused is not recorded: the name is free again. A plan takes no notice of a name, for there is
/// nothing to record of it. Records hold no content: a report that is answered again has no diff, even if it is
/// wanted. They are kept for [`RETENTION`] or until there are more than [`MIN_RECORDS`], whichever ends first, and the
/// oldest go first. Then a repetition is a new operation, which its guard judges.
///
/// ```
/// use toolfs_provider::operation::OperationId;
///
/// assert!(OperationId::parse("call-7/write-1").is_ok());
/// assert!(OperationId::parse("").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OperationId(Box<str>);

impl OperationId {
    /// The longest name.
    pub const MAX_CHARS: usize = 128;

    /// Reads a name.
    ///
    /// # Errors
    /// `FS_INVALID_ARGUMENT` that names `operation_id`.
    pub fn parse(text: &str) -> Result<OperationId> {
        let is_printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let actual = match text.len() {
            0 => "an empty string",
            1..=OperationId::MAX_CHARS if is_printable => return Ok(OperationId(text.into())),
            1..=OperationId::MAX_CHARS => "a string with other characters",
            _ => "a longer string",
        };
        let expected = format!("1 to {} printable ASCII characters", OperationId::MAX_CHARS);
        Err(FsError::invalid_argument("operation_id", actual, expected))
    }

    /// The name as it travels.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What makes two requests the same operation: its kind, its target, and its content or its edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestDigest(String);

impl RequestDigest {
    fn of(kind: &str, parts: &[&[u8]]) -> RequestDigest {
        let mut hasher = blake3::Hasher::new();
        for part in [kind.as_bytes()].iter().chain(parts) {
            // Each part after its length: what ends where is a part of the digest.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        RequestDigest(hasher.finalize().to_hex().to_string())
    }
}

/// A mutation that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its name.
    pub id: OperationId,
    /// What it asks for.
    pub digest: RequestDigest,
}

impl WriteTextRequest {
    /// The operation that this request names, if it names one.
    pub fn operation(&self) -> Option<Operation> {
        let id = self.operation_id.clone()?;
        Some(Operation { id, digest: RequestDigest::of("write", &[self.target.as_bytes(), &self.content]) })
    }
}

impl EditTextRequest {
    /// The operation that this request names, if it names one.
    pub fn operation(&self) -> Option<Operation> {
        let id = self.operation_id.clone()?;
        let parts = [
            self.target.as_bytes(),
            self.edit.old_string().as_bytes(),
            self.edit.new_string().as_bytes(),
            &[u8::from(self.edit.replace_all())],
        ];
        Some(Operation { id, digest: RequestDigest::of("edit", &parts) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use toolfs_core::error::ErrorKind;

    use super::*;

    #[test]
    fn a_name_is_short_and_printable() {
        let longest = "x".repeat(OperationId::MAX_CHARS);
        for text in [" ", "~", "a b", "5f0c1b2a-0000-4000-8000-00000000000a", &longest] {
            assert_eq!(OperationId::parse(text).unwrap().as_str(), text);
        }
        let too_long = "x".repeat(OperationId::MAX_CHARS + 1);
        for text in ["", "a\n", "a\0", "\x7f", "\u{e4}", "\u{1f600}", &too_long] {
            let error = OperationId::parse(text).unwrap_err();
            let ErrorKind::InvalidArgument { field, .. } = error.kind() else { panic!("{error:?}") };
            assert_eq!(field, "operation_id", "{text:?}");
        }
    }

    #[test]
    fn parts_that_end_elsewhere_are_another_request() {
        let digests = [
            RequestDigest::of("write", &[b"ab", b"c"]),
            RequestDigest::of("write", &[b"a", b"bc"]),
            RequestDigest::of("write", &[b"abc"]),
            RequestDigest::of("write", &[b"abc", b""]),
            RequestDigest::of("edit", &[b"ab", b"c"]),
        ];
        let different: HashSet<&str> = digests.iter().map(|digest| digest.0.as_str()).collect();
        assert_eq!(different.len(), digests.len());
    }
}
