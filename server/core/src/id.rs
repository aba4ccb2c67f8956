//! Names of sessions and calls.
//!
//! Core makes no randomness: whoever creates a secret passes the random bytes in.

use std::fmt;

/// The secret handle of a session. Whoever knows it may call in that session.
///
/// - unguessable: 128 random bits
/// - its `Debug` form hides it; logs show the [`SessionName`] instead
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(Box<str>);

impl SessionId {
    /// Makes a new secret out of 16 random bytes.
    pub fn from_random(bytes: [u8; 16]) -> SessionId {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        SessionId(format!("ses_{hex}").into_boxed_str())
    }

    /// Takes a handle that a caller presented. Nothing is checked: an unknown one is simply not found.
    pub fn from_caller(text: &str) -> SessionId {
        SessionId(text.into())
    }

    /// The secret itself, for the answer to the caller who opened the session.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What the policy gate sees instead of the secret: derived from it, and not reversible.
    pub fn key(&self) -> SessionKey {
        let digest = blake3::derive_key("toolfs session key v1", self.0.as_bytes());
        SessionKey(digest[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>().into_boxed_str())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(hidden)")
    }
}

/// The opaque name of a session for the policy gate and its stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey(Box<str>);

impl SessionKey {
    /// Wraps a key that came over the wire or out of a store.
    pub fn new(text: &str) -> SessionKey {
        SessionKey(text.into())
    }

    /// The key as it travels.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The public name of a session: unique on its server, never reused, safe to log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionName(Box<str>);

impl SessionName {
    /// Makes a name out of 8 random bytes, so that names stay unique across restarts without a counter.
    pub fn from_random(bytes: [u8; 8]) -> SessionName {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        SessionName(format!("session-{hex}").into_boxed_str())
    }

    /// Wraps a name that came over the wire or out of a store.
    pub fn new(text: &str) -> SessionName {
        SessionName(text.into())
    }

    /// The name as it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The caller's name of one logical call (AIP-155): a UUID in its canonical 36-character form, any version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(Box<str>);

impl RequestId {
    /// Reads a request id; `None` when it is no UUID. Letter case does not matter.
    pub fn parse(text: &str) -> Option<RequestId> {
        let shaped = text.len() == 36
            && text.bytes().enumerate().all(|(index, byte)| match index {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            });
        shaped.then(|| RequestId(text.to_ascii_lowercase().into_boxed_str()))
    }

    /// The id in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_never_shows_in_debug_output() {
        let id = SessionId::from_random([7; 16]);
        assert_eq!(format!("{id:?}"), "SessionId(hidden)");
        assert!(!id.reveal().contains(id.key().as_str()));
    }

    #[test]
    fn only_a_uuid_is_a_request_id() {
        assert!(RequestId::parse("5F0C1B2A-0000-4000-8000-00000000000a").is_some());
        for text in ["", "5f0c1b2a00004000800000000000000a", "5f0c1b2a-0000-4000-8000-00000000000g"] {
            assert_eq!(RequestId::parse(text), None);
        }
    }
}
