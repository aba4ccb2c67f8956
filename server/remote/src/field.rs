//! Fields of a peer's answer, each read with the rule that the contract has for it.

use std::fmt;

use toolfs_core::target::display_form;
use toolfs_core::version::Version;

/// The name of a field, as the contract spells it: `stat.size`.
pub type Field = &'static str;

/// How an answer breaks the contract: a field and what is wrong with it. It never holds what the peer sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    field: Field,
    fault: &'static str,
}

impl Broken {
    /// `field` is at fault: "is missing", "is negative".
    pub fn new(field: Field, fault: &'static str) -> Broken {
        Broken { field, fault }
    }

    /// `Ok` when the rule holds.
    ///
    /// # Errors
    /// This fault, when it does not.
    pub fn unless(rule_holds: bool, field: Field, fault: &'static str) -> Result<(), Broken> {
        if rule_holds { Ok(()) } else { Err(Broken::new(field, fault)) }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.field, self.fault)
    }
}

/// What must be set.
///
/// # Errors
/// [`Broken`] when it is not.
pub fn required<T>(field: Field, value: Option<T>) -> Result<T, Broken> {
    value.ok_or(Broken::new(field, "is missing"))
}

/// A number of something: set, and not negative.
///
/// # Errors
/// [`Broken`]
pub fn count(field: Field, value: Option<i64>) -> Result<u64, Broken> {
    u64::try_from(required(field, value)?).map_err(|_| Broken::new(field, "is negative"))
}

/// A version.
///
/// # Errors
/// [`Broken`]
pub fn version(field: Field, text: &str) -> Result<Version, Broken> {
    Version::parse(text).ok_or(Broken::new(field, "is no version of 1 to 128 ASCII characters"))
}

/// A text that is made to be shown on one line: not empty, and without what would break a line or hide text.
///
/// # Errors
/// [`Broken`]
pub fn display(field: Field, text: String) -> Result<String, Broken> {
    Broken::unless(!text.is_empty(), field, "is missing")?;
    Broken::unless(display_form(text.as_bytes()) == text, field, "is not made to be shown on one line")?;
    Ok(text)
}

/// How many bytes of a remark are kept.
const MAX_LINE_BYTES: usize = 4 << 10;

/// A remark of the peer in words, made safe to show on one line, and cut where it is very long. It may be empty.
pub fn line(text: &str) -> String {
    let kept = &text[..text.floor_char_boundary(MAX_LINE_BYTES)];
    let mut shown = display_form(kept.as_bytes());
    if kept.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_field_may_not_hold_is_named_and_not_shown() {
        let broken = [
            required::<()>("target", None).unwrap_err(),
            count("stat.size", None).unwrap_err(),
            count("stat.size", Some(-5)).unwrap_err(),
            version("version", "").unwrap_err(),
            version("version", &"secret".repeat(22)).unwrap_err(),
            version("version", "two words").unwrap_err(),
            display("display_path", String::new()).unwrap_err(),
            display("display_path", "secret\nline".into()).unwrap_err(),
        ];
        for broken in broken {
            let text = broken.to_string();
            assert!(text.starts_with('`') && !text.contains("secret") && !text.contains("-5"), "{text}");
        }
        assert_eq!(count("stat.size", Some(0)).unwrap(), 0);
        assert_eq!(display("display_path", r"/w/\u{a}".into()).unwrap(), r"/w/\u{a}");
    }

    #[test]
    fn a_remark_stays_on_one_line_and_is_bounded() {
        assert_eq!(line("one\ntwo\u{202e}"), r"one\u{a}two\u{202e}");
        let long = line(&"é".repeat(MAX_LINE_BYTES));
        assert_eq!(long.chars().count(), MAX_LINE_BYTES / 2 + 1);
        assert!(long.ends_with("é…"));
    }
}
