//! Who is heard: flags beat variables, variables beat the file, the file beats defaults.

use std::collections::BTreeMap;
use std::path::Path;

use super::file::{FileSettings, FileTrouble};
use super::origin::Origin;
use super::value::{Value, redacted};
use super::{Group, Setting};
use crate::env::Environment;

/// What one source says, by setting.
pub type Said = BTreeMap<Setting, (Value, Origin)>;

/// A setting that is not of its kind, a name that is none, or a file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The value is not of the setting's kind.
    #[error("{origin}: `{name}` was {actual}, must be {expected}")]
    Kind {
        /// Who said it.
        origin: Origin,
        /// The flag, the variable or the key.
        name: String,
        /// What it was.
        actual: String,
        /// What it must be.
        expected: String,
    },
    /// A variable of ours that does not exist.
    #[error("{name}: there is no such setting{}", did_you_mean(.similar))]
    UnknownVariable {
        /// The variable.
        name: String,
        /// Names that look like it.
        similar: Vec<String>,
    },
    /// Something of the file.
    #[error(transparent)]
    File(#[from] FileTrouble),
}

/// A sentence's end that names what was meant perhaps.
pub(crate) fn did_you_mean(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        [first @ .., last] => {
            let mut names: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
            names.push(format!("`{last}`"));
            format!(": did you mean {}?", names.join(" or "))
        }
    }
}

/// One value among those that were said. This is the only place that knows the order.
pub fn choose<T>(
    flag: Option<(T, Origin)>,
    variable: Option<(T, Origin)>,
    file: Option<(T, Origin)>,
    default: T,
) -> (T, Origin) {
    flag.or(variable).or(file).unwrap_or((default, Origin::Default))
}

/// Every setting with its value and where that came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    values: BTreeMap<Setting, (Option<Value>, Origin)>,
    /// The file that was read, if one was.
    pub file: Option<FileSettings>,
}

impl Chosen {
    /// Hears flags, environment and file. What cannot be used is told as trouble, and the rest is heard all the same.
    pub fn hear(flags: &Said, environment: &Environment, config: Option<&Path>) -> (Chosen, Vec<Trouble>) {
        let mut troubles = Vec::new();
        let variables = variables(environment, &mut troubles);
        let file = match FileSettings::find(config, environment) {
            Ok(None) => None,
            Ok(Some((file, found))) => {
                troubles.extend(found.into_iter().map(Trouble::File));
                Some(file)
            }
            Err(trouble) => {
                troubles.push(trouble.into());
                None
            }
        };
        let values = Setting::all().map(|setting| {
            let said =
                |said: &Said| said.get(&setting).map(|(value, origin)| (Some(value.clone()), origin.clone()));
            let in_file = file.as_ref().and_then(|file| said(&file.said));
            (setting, choose(said(flags), said(&variables), in_file, setting.default_value()))
        });
        (Chosen { values: values.collect(), file }, troubles)
    }

    /// The value of a setting; `None` where it has none.
    pub fn value(&self, setting: Setting) -> Option<&Value> {
        self.values.get(&setting).and_then(|(value, _)| value.as_ref())
    }

    /// Where the value of a setting came from.
    pub fn origin(&self, setting: Setting) -> &Origin {
        self.values.get(&setting).map_or(&Origin::Default, |(_, origin)| origin)
    }

    /// Fills in what a default depends on. A value that somebody said stays.
    pub fn derive(&mut self, setting: Setting, value: Value) {
        let entry = self.values.entry(setting).or_insert((None, Origin::Default));
        if entry.1 == Origin::Default {
            entry.0 = Some(value);
        }
    }

    /// The value of a setting whose kind is text.
    pub fn text(&self, setting: Setting) -> Option<&str> {
        match self.value(setting) {
            Some(Value::Text(text)) => Some(text),
            Some(Value::Whole(_) | Value::Switch(_) | Value::List(_)) | None => None,
        }
    }

    /// The value of a setting that is a number.
    pub fn whole(&self, setting: Setting) -> Option<u64> {
        match self.value(setting) {
            Some(Value::Whole(number)) => Some(*number),
            Some(Value::Text(_) | Value::Switch(_) | Value::List(_)) | None => None,
        }
    }

    /// The value of a setting that is a switch; one that says nothing is off.
    pub fn switch(&self, setting: Setting) -> bool {
        match self.value(setting) {
            Some(Value::Switch(switch)) => *switch,
            Some(Value::Text(_) | Value::Whole(_) | Value::List(_)) | None => false,
        }
    }

    /// The value of a setting that is a list; one that says nothing is empty.
    pub fn list(&self, setting: Setting) -> &[String] {
        match self.value(setting) {
            Some(Value::List(texts)) => texts,
            Some(Value::Text(_) | Value::Whole(_) | Value::Switch(_)) | None => &[],
        }
    }
}

/// What the environment says, and what it says in vain.
fn variables(environment: &Environment, troubles: &mut Vec<Trouble>) -> Said {
    for name in environment.unknown() {
        let similar = similar(&name, crate::env::known().into_iter().map(|(name, _)| name));
        troubles.push(Trouble::UnknownVariable { name, similar });
    }
    let mut said = Said::new();
    for setting in Setting::all() {
        let definition = setting.definition();
        let names = definition.wider_variable.into_iter().chain([definition.variable]);
        let Some((name, text)) = names.filter_map(|name| Some((name, environment.get(name)?))).next() else {
            continue;
        };
        match definition.kind.parse(text) {
            Some(value) => {
                said.insert(setting, (value, Origin::Variable(name)));
            }
            None => troubles.push(Trouble::Kind {
                origin: Origin::Variable(name),
                name: setting.path(),
                actual: format!("`{}`", redacted(text)),
                expected: definition.kind.expected(),
            }),
        }
    }
    said
}

/// The names that look like one that does not exist.
pub(crate) fn similar<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    toolfs_core::name::similar_names(name.as_bytes(), known.into_iter().map(str::as_bytes))
}

/// The settings of a group, in order.
pub fn of_group(group: Group) -> impl Iterator<Item = Setting> {
    Setting::all().filter(move |setting| setting.definition().group == group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_beats_variable_beats_file_beats_default() {
        let file = || Origin::File { path: std::sync::Arc::new("/c".into()), line: 3 };
        for bits in 0..8_u8 {
            let flag = (bits & 1 != 0).then_some(("flag", Origin::Flag("f")));
            let variable = (bits & 2 != 0).then_some(("variable", Origin::Variable("V")));
            let in_file = (bits & 4 != 0).then(|| ("file", file()));
            let expected = match bits {
                1 | 3 | 5 | 7 => ("flag", Origin::Flag("f")),
                2 | 6 => ("variable", Origin::Variable("V")),
                4 => ("file", file()),
                _ => ("default", Origin::Default),
            };
            assert_eq!(choose(flag, variable, in_file, "default"), expected, "{bits:03b}");
        }
    }

    /// The order holds for each setting of the table, whatever its kind.
    #[test]
    fn every_setting_can_be_said_in_each_way() {
        let directory = tempfile::tempdir().unwrap();
        for setting in Setting::all() {
            let definition = setting.definition();
            let (text, toml) = match definition.kind {
                super::super::value::Kind::Text => ("a-text", "\"a-text\""),
                super::super::value::Kind::Choice(choices) => {
                    (choices[1], ["\"data\"", "\"json\""][usize::from(choices[1] == "json")])
                }
                super::super::value::Kind::Whole { .. } => ("77", "77"),
                super::super::value::Kind::Switch => ("true", "true"),
                super::super::value::Kind::List { .. } => ("one", "[\"one\"]"),
            };
            let value = definition.kind.parse(text).unwrap();
            let table = definition.group.table().map(|table| format!("[{table}]\n")).unwrap_or_default();
            let path = directory.path().join("config.toml");
            write(&path, &format!("{table}{} = {toml}\n", definition.key));

            let (chosen, troubles) = Chosen::hear(&Said::new(), &Environment::default(), Some(&path));
            assert_eq!(troubles, []);
            assert_eq!(chosen.value(setting), Some(&value), "{}", setting.path());
            assert!(matches!(chosen.origin(setting), Origin::File { .. }));

            let environment = Environment::of(&[(definition.variable, text)]);
            let (chosen, troubles) = Chosen::hear(&Said::new(), &environment, Some(&path));
            assert_eq!(troubles, []);
            assert_eq!(chosen.value(setting), Some(&value));
            assert_eq!(*chosen.origin(setting), Origin::Variable(definition.variable));

            let flags = Said::from([(setting, (value.clone(), Origin::Flag(definition.flag)))]);
            let (chosen, _) = Chosen::hear(&flags, &environment, Some(&path));
            assert_eq!(*chosen.origin(setting), Origin::Flag(definition.flag));
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a test makes its files itself")]
    fn write(path: &Path, text: &str) {
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn an_empty_variable_says_nothing() {
        let environment = Environment::of(&[("TOOLFS_POLICY", ""), ("TOOLFS_DRAIN_LIMIT_S", "")]);
        let (chosen, troubles) = Chosen::hear(&Said::new(), &environment, None);
        assert_eq!(troubles, []);
        assert_eq!(*chosen.origin(Setting::Policy), Origin::Default);
        assert_eq!(chosen.whole(Setting::DrainLimit), Some(10));
    }

    #[test]
    fn rust_log_beats_our_own_variable() {
        let environment = Environment::of(&[("RUST_LOG", "warn"), ("TOOLFS_LOG", "error")]);
        let (chosen, _) = Chosen::hear(&Said::new(), &environment, None);
        assert_eq!(chosen.text(Setting::LogFilter), Some("warn"));
        assert_eq!(*chosen.origin(Setting::LogFilter), Origin::Variable("RUST_LOG"));
    }

    #[test]
    fn a_misspelt_variable_is_told_with_the_one_that_was_meant() {
        let environment = Environment::of(&[("TOOLFS_POLICI", "none"), ("TOOLFS_DRAIN_LIMIT_S", "soon")]);
        let (_, troubles) = Chosen::hear(&Said::new(), &environment, None);
        let told: Vec<String> = troubles.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "TOOLFS_POLICI: there is no such setting: did you mean `TOOLFS_POLICY`?",
                "TOOLFS_DRAIN_LIMIT_S: `drain_limit_s` was `soon`, must be a whole number, at least 0",
            ]
        );
    }
}
