//! The cases that a program need not pass, and why.
//!
//! A list is text: each line is the name of a case, a colon, and the reason. Empty lines, and those that start with `#`,
//! are for its readers.

use std::collections::BTreeMap;
use std::path::Path;

/// The reasons by the names of the cases.
#[derive(Debug, Default)]
pub(crate) struct Exceptions(BTreeMap<String, String>);

impl Exceptions {
    /// Reads a list. Panics where it is none: a test whose list is broken has failed.
    pub(crate) fn read(path: &Path) -> Exceptions {
        #[expect(clippy::disallowed_methods, reason = "the list is a file of the test")]
        let text = std::fs::read_to_string(path);
        let text =
            text.unwrap_or_else(|error| panic!("the list `{}` cannot be read: {error}", path.display()));
        Exceptions::parse(&text).unwrap_or_else(|fault| panic!("the list `{}`: {fault}", path.display()))
    }

    fn parse(text: &str) -> Result<Exceptions, String> {
        let mut reasons = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = number + 1;
            let (name, reason) = line.split_once(':').ok_or(format!("line {number} has no colon"))?;
            let (name, reason) = (name.trim(), reason.trim());
            if name.is_empty() || reason.is_empty() {
                return Err(format!("line {number} needs a name and a reason"));
            }
            if reasons.insert(name.to_owned(), reason.to_owned()).is_some() {
                return Err(format!("line {number} names `{name}` a second time"));
            }
        }
        Ok(Exceptions(reasons))
    }

    /// The names that are listed.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Why a case need not pass; `None` when it must.
    pub(crate) fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

#[test]
fn a_list_has_names_and_reasons() {
    let list = Exceptions::parse("# a remark\n\n a_case : it has a reason: this\nother: that\n").unwrap();
    assert_eq!(list.names().collect::<Vec<_>>(), ["a_case", "other"]);
    assert_eq!(list.reason("a_case"), Some("it has a reason: this"));
    assert_eq!(list.reason("third"), None);
}

#[test]
fn a_list_that_is_broken_is_no_list() {
    for (text, fault) in [
        ("a_case", "line 1 has no colon"),
        ("# x\na_case:", "line 2 needs a name and a reason"),
        (": why", "line 1 needs a name and a reason"),
        ("a: x\na: y", "line 2 names `a` a second time"),
    ] {
        assert_eq!(Exceptions::parse(text).unwrap_err(), fault);
    }
}
