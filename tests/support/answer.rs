//! What came back from a call, in the same words whatever it came through.

use std::fmt::{self, Write as _};

use toolfs_core::version::Version;

/// Named facts in a fixed order. A fact that does not apply is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts(Vec<(&'static str, String)>);

impl Facts {
    pub(crate) fn add(&mut self, name: &'static str, value: impl ToString) {
        self.0.push((name, value.to_string()));
    }

    pub(crate) fn add_some(&mut self, name: &'static str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    /// A text that is empty where there is none.
    pub(crate) fn add_text(&mut self, name: &'static str, value: &str) {
        if !value.is_empty() {
            self.add(name, value);
        }
    }

    /// A list; an empty one is no fact.
    pub(crate) fn add_list(&mut self, name: &'static str, values: impl IntoIterator<Item = impl ToString>) {
        let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
        if !values.is_empty() {
            self.add(name, values.join("; "));
        }
    }

    /// The value of a fact that must be there.
    #[track_caller]
    pub(crate) fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("there is no `{name}` in\n{self}"))
    }

    /// The value of a fact.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.0 {
            match value.contains('\n') {
                true => writeln!(f, "{name}:\n  {}", value.trim_end().replace('\n', "\n  "))?,
                false => writeln!(f, "{name}: {value}")?,
            }
        }
        Ok(())
    }
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What the model reads.
    pub(crate) text: String,
    pub(crate) dry_run: bool,
    pub(crate) error: Option<Facts>,
    pub(crate) outcome: Option<Facts>,
}

impl Answer {
    /// The outcome of a call that must have worked.
    #[track_caller]
    pub(crate) fn ok(&self) -> &Facts {
        assert!(self.error.is_none(), "the call was refused: {}", self.text);
        self.outcome.as_ref().expect("a result without an error has an outcome")
    }

    /// The error of a call that must have been refused with this code, and nothing changed.
    #[track_caller]
    pub(crate) fn refused(&self, code: &str) -> &Facts {
        let Some(error) = &self.error else { panic!("the call was to be {code}, and worked: {}", self.text) };
        assert_eq!(error.get("code"), code, "{}", self.text);
        assert_eq!(error.get("published"), "No");
        assert!(self.outcome.is_none(), "a refusal has an outcome");
        assert!(self.text.starts_with(&format!("{code}: ")), "the model is not told the code: {}", self.text);
        error
    }

    /// The code of the error, or what says that there is none.
    pub(crate) fn code(&self) -> &str {
        self.error.as_ref().map_or("worked", |error| error.get("code"))
    }

    /// Everything, with versions hidden: a text to compare.
    pub(crate) fn show(&self) -> String {
        let mut shown = format!("{}\n--\n", self.text);
        if self.dry_run {
            shown.push_str("dry run\n");
        }
        for facts in self.error.iter().chain(&self.outcome) {
            let _ = write!(shown, "{facts}");
        }
        hide_versions(&shown)
    }
}

/// A call that reached no tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Why, as `ErrorInfo.reason` spells it.
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// The version of a content, as outcomes spell it.
pub(crate) fn version_of(content: impl AsRef<[u8]>) -> String {
    Version::of(content.as_ref()).to_string()
}

fn hide_versions(text: &str) -> String {
    let prefix = version_of("");
    let (length, prefix) = (prefix.len(), &prefix[..3]);
    let mut hidden = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(prefix) {
        let is_version = rest
            .get(at + prefix.len()..at + length)
            .is_some_and(|digest| digest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let (before, from) = rest.split_at(at);
        hidden.push_str(before);
        match is_version {
            true => hidden.push_str("<version>"),
            false => hidden.push_str(prefix),
        }
        rest = &from[if is_version { length } else { prefix.len() }..];
    }
    hidden + rest
}

#[test]
fn only_versions_are_hidden() {
    let text = format!("a b3- {} b3-xyz", version_of("x"));
    assert_eq!(hide_versions(&text), "a b3- <version> b3-xyz");
}
