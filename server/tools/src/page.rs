//! Pages of a list of sessions, and the tokens that lead from one to the next.
//!
//! A token is a place in the caller's own list: the serial number of the last session on the page, and a mark that binds
//! it to the caller. Nothing in it is secret or lasts only as long as a process, so that it is good at every server of one
//! state and after a restart; whoever makes one up gets a page of their own sessions.

use super::call::CallError;
use super::session::Caller;

const DEFAULT_SIZE: u32 = 100;
const MAX_SIZE: u32 = 1_000;

/// How many sessions a page has.
pub(crate) fn size(asked: Option<u32>) -> usize {
    usize::try_from(asked.unwrap_or(DEFAULT_SIZE).clamp(1, MAX_SIZE)).expect("a thousand fits")
}

/// The token of the page after a serial number.
pub(crate) fn token(caller: &Caller, serial: u64) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("toolfs page token v1");
    match caller {
        Caller::Local => hasher.update(b"local"),
        Caller::Named(name) => hasher.update(b"named").update(name.as_bytes()),
    };
    let digest = hasher.update(&serial.to_be_bytes()).finalize();
    let mark: String = digest.as_bytes()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{serial:x}-{mark}")
}

/// The serial number after which a page begins; without a token at the beginning.
pub(crate) fn read_token(caller: &Caller, given: Option<&str>) -> Result<u64, CallError> {
    let Some(given) = given.filter(|given| !given.is_empty()) else { return Ok(0) };
    let serial = given.split('-').next().and_then(|serial| u64::from_str_radix(serial, 16).ok());
    serial.filter(|serial| token(caller, *serial) == given).ok_or(CallError::PageTokenInvalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_caller_only_and_stays_so() {
        let named = |name: &str| Caller::Named(name.into());
        for caller in [Caller::Local, named(""), named("local"), named("x")] {
            let token = token(&caller, 258);
            assert_eq!(read_token(&caller, Some(&token)).unwrap(), 258);
            for other in [Caller::Local, named(""), named("local"), named("x"), named("y")] {
                assert_eq!(read_token(&other, Some(&token)).is_ok(), other == caller, "{other:?}");
            }
        }
        // The form lasts: clients keep tokens across restarts.
        assert_eq!(token(&Caller::Local, 258), "102-995395eaaa60d135");
        assert_eq!(token(&named("x"), 258), "102-1ae525238eb0e3ec");
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let good = token(&Caller::Local, 7);
        let mut bad: Vec<String> =
            ["7", "-", "7-", "zz-0", " ", "ffffffffffffffffff-0"].map(Into::into).into();
        bad.extend([format!("{good}0"), format!("0{good}"), good.to_uppercase(), good.replacen('7', "8", 1)]);
        for token in bad {
            let refused = read_token(&Caller::Local, Some(&token));
            assert!(matches!(refused, Err(CallError::PageTokenInvalid)), "{token}");
        }
        assert_eq!(read_token(&Caller::Local, Some("")).unwrap(), 0);
        assert_eq!(read_token(&Caller::Local, None).unwrap(), 0);
    }
}
