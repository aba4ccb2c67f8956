//! Resume tokens: where a watch of a session goes on.
//!
//! A token holds the run of the server, the number of the last event, and a mark that only somebody who knows the
//! session's key can make. So a token of another session is told from one of another run, and garbage from both.

use toolfs_core::id::SessionKey;

/// In which field width each part is written.
const PART_DIGITS: usize = 16;

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// With the next event.
    Now,
    /// After the event of this number.
    After(u64),
    /// After an event of another run of the server.
    AfterAnotherRun,
}

/// The token of an event.
pub(super) fn write(session: &SessionKey, run: u64, number: u64) -> String {
    format!("{run:016x}{number:016x}{:016x}", mark(session, run, number))
}

/// Reads a token that a caller sent; `None` when it is none of this session's.
pub(super) fn read(session: &SessionKey, run: u64, token: &str) -> Option<Start> {
    if token.is_empty() {
        return Some(Start::Now);
    }
    let part = |index: usize| {
        let digits = token.get(index * PART_DIGITS..(index + 1) * PART_DIGITS)?;
        u64::from_str_radix(digits, 16).ok()
    };
    let (its_run, number) = (part(0)?, part(1)?);
    // Compared as it is written, so that there is one spelling only.
    if token != write(session, its_run, number) {
        return None;
    }
    Some(if its_run == run { Start::After(number) } else { Start::AfterAnotherRun })
}

fn mark(session: &SessionKey, run: u64, number: u64) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("toolfs resume token v1");
    hasher.update(&run.to_le_bytes()).update(&number.to_le_bytes()).update(session.as_str().as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_event_and_no_other_text_does() {
        let (session, other) = (SessionKey::new("a"), SessionKey::new("b"));
        let token = write(&session, 7, 9);
        assert_eq!(read(&session, 7, &token), Some(Start::After(9)));
        assert_eq!(read(&session, 8, &token), Some(Start::AfterAnotherRun));
        assert_eq!(read(&session, 7, ""), Some(Start::Now));
        assert_eq!(read(&other, 7, &token), None, "another session's");
        let upper = token.to_uppercase();
        let (short, long) = (&token[1..], format!("{token}0"));
        for garbage in ["7", "token", "ééééééééééééééééééééééééé", short, &long, &upper]
        {
            assert_eq!(read(&session, 7, garbage), None, "{garbage}");
        }
        for index in 0..token.len() {
            let mut forged = token.clone().into_bytes();
            forged[index] = if forged[index] == b'0' { b'1' } else { b'0' };
            assert_eq!(read(&session, 7, std::str::from_utf8(&forged).unwrap()), None, "digit {index}");
        }
    }
}
