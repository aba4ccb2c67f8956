//! The configuration file: TOML with the keys of the settings, `[limits]` and `[log]` as tables.
//!
//! Every mistake is found in one reading and told with its line. Relative paths in it start where the command was
//! started, as those of flags and variables do: the same words mean the same, whoever says them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::chosen::{Said, did_you_mean, of_group, similar};
use super::origin::Origin;
use super::value::{Kind, Value, redacted};
use super::{Group, Setting};
use crate::env::Environment;

/// What a configuration file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSettings {
    /// The file.
    pub path: PathBuf,
    /// Its settings.
    pub said: Said,
}

/// A mistake in a configuration file. The message begins with file and line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileTrouble {
    /// It cannot be read.
    #[error("{origin}: cannot read `{}`: {cause}", .path.display())]
    Unreadable {
        /// Who named it.
        origin: Origin,
        /// The file.
        path: PathBuf,
        /// The system's words.
        cause: String,
    },
    /// It is no TOML.
    #[error("{at}: {message}")]
    Syntax {
        /// Where.
        at: Origin,
        /// What is wrong.
        message: String,
    },
    /// A key that does not exist.
    #[error("{at}: there is no setting `{key}`{hint}")]
    UnknownKey {
        /// Where.
        at: Origin,
        /// The key, with its table.
        key: String,
        /// What was meant perhaps, as the end of a sentence.
        hint: String,
    },
    /// A value of another kind.
    #[error("{at}: `{key}` was {actual}, must be {expected}")]
    Kind {
        /// Where.
        at: Origin,
        /// The key, with its table.
        key: String,
        /// What it was.
        actual: String,
        /// What it must be.
        expected: String,
    },
}

impl FileSettings {
    /// Reads the file that the flag names, or the variable, or the one at the usual place when there is one.
    ///
    /// # Errors
    /// [`FileTrouble::Unreadable`]; mistakes inside of the file come beside what could be read.
    pub fn find(
        config: Option<&Path>,
        environment: &Environment,
    ) -> Result<Option<(FileSettings, Vec<FileTrouble>)>, FileTrouble> {
        let (path, origin) = match (config, environment.get("TOOLFS_CONFIG")) {
            (Some(path), _) => (path.to_owned(), Origin::Flag("config")),
            (None, Some(path)) => (path.into(), Origin::Variable("TOOLFS_CONFIG")),
            (None, None) => match usual_place(environment) {
                Some(path) => (path, Origin::Default),
                None => return Ok(None),
            },
        };
        match read(&path) {
            Ok(text) => Ok(Some(FileSettings::parse(path, &text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && origin == Origin::Default => Ok(None),
            Err(error) => Err(FileTrouble::Unreadable { origin, path, cause: error.to_string() }),
        }
    }

    /// Reads the text of a file.
    pub fn parse(path: PathBuf, text: &str) -> (FileSettings, Vec<FileTrouble>) {
        let mut reading =
            Reading { path: Arc::new(path.clone()), text, said: Said::new(), troubles: Vec::new() };
        let (table, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            reading.top(table.get_ref());
        }
        for error in errors {
            let at = reading.at(error.span().map_or(0, |span| span.start));
            // The parser's words may have lines of their own.
            let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            reading.troubles.push(FileTrouble::Syntax { at, message });
        }
        reading.troubles.sort_by_key(FileTrouble::line);
        (FileSettings { path, said: reading.said }, reading.troubles)
    }
}

impl FileTrouble {
    fn line(&self) -> usize {
        let at = match self {
            FileTrouble::Unreadable { origin, .. } => origin,
            FileTrouble::Syntax { at, .. }
            | FileTrouble::UnknownKey { at, .. }
            | FileTrouble::Kind { at, .. } => at,
        };
        match at {
            Origin::File { line, .. } => *line,
            Origin::Flag(_) | Origin::Variable(_) | Origin::Default => 0,
        }
    }
}

/// Where the file is when nobody names one.
pub fn usual_place(environment: &Environment) -> Option<PathBuf> {
    let home = || Some(Path::new(environment.get("HOME")?).join(".config"));
    environment.directory("XDG_CONFIG_HOME").or_else(home).map(|place| place.join("toolfs/config.toml"))
}

#[expect(clippy::disallowed_methods, reason = "the daemon's own configuration")]
fn read(path: &Path) -> io::Result<String> {
    std::fs::read_to_string(path)
}

type Key<'a> = Spanned<DeString<'a>>;

struct Reading<'a> {
    path: Arc<PathBuf>,
    text: &'a str,
    said: Said,
    troubles: Vec<FileTrouble>,
}

impl Reading<'_> {
    fn at(&self, offset: usize) -> Origin {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        Origin::File { path: Arc::clone(&self.path), line }
    }

    fn top(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match Group::ALL.into_iter().find(|group| group.table() == Some(name)) {
                None => self.entry(Group::Server, key, value.get_ref()),
                Some(group) => match value.get_ref() {
                    DeValue::Table(table) => {
                        for (key, value) in table {
                            self.entry(group, key, value.get_ref());
                        }
                    }
                    other => {
                        let (at, actual) = (self.at(key.span().start), described(other));
                        let expected = format!("a table: [{name}]");
                        self.troubles.push(FileTrouble::Kind { at, key: name.to_owned(), actual, expected });
                    }
                },
            }
        }
    }

    fn entry(&mut self, group: Group, key: &Key<'_>, value: &DeValue<'_>) {
        let name = key.get_ref().as_ref();
        let at = self.at(key.span().start);
        let Some(setting) = of_group(group).find(|setting| setting.definition().key == name) else {
            let key = group.table().map_or_else(|| name.to_owned(), |table| format!("{table}.{name}"));
            self.troubles.push(FileTrouble::UnknownKey { at, key, hint: hint(group, name) });
            return;
        };
        let kind = setting.definition().kind;
        match of_kind(kind, value) {
            Some(value) => {
                self.said.insert(setting, (value, at));
            }
            None => self.troubles.push(FileTrouble::Kind {
                at,
                key: setting.path(),
                actual: described(value),
                expected: kind.expected(),
            }),
        }
    }
}

/// What somebody meant who wrote a key that is none.
fn hint(group: Group, name: &str) -> String {
    let mut elsewhere = Setting::all().filter(|setting| setting.definition().group != group);
    if let Some(setting) = elsewhere.find(|setting| setting.definition().key == name) {
        return match setting.definition().group.table() {
            Some(table) => format!(": it belongs below [{table}]"),
            None => ": it belongs at the top of the file, above all tables".to_owned(),
        };
    }
    let mut flags = Setting::all().filter(|setting| setting.definition().flag.replace('-', "_") == name);
    if let Some(setting) = flags.next() {
        return format!(": the key of --{} is `{}`", setting.definition().flag, setting.path());
    }
    let here: Vec<&str> = of_group(group).map(|setting| setting.definition().key).collect();
    let tables = Group::ALL.into_iter().filter(|_| group == Group::Server).filter_map(Group::table);
    did_you_mean(&similar(name, here.into_iter().chain(tables)))
}

fn of_kind(kind: Kind, value: &DeValue<'_>) -> Option<Value> {
    match (kind, value) {
        (Kind::Text | Kind::Choice(_), DeValue::String(text)) => kind.parse(text),
        (Kind::Whole { at_least }, DeValue::Integer(number)) => {
            u64::from_str_radix(number.as_str(), number.radix())
                .ok()
                .filter(|number| *number >= at_least)
                .map(Value::Whole)
        }
        (Kind::Switch, DeValue::Boolean(switch)) => Some(Value::Switch(*switch)),
        (Kind::List { .. }, DeValue::String(text)) => Some(Value::List(vec![text.clone().into_owned()])),
        (Kind::List { .. }, DeValue::Array(values)) => {
            let texts = values.iter().map(|value| match value.get_ref() {
                DeValue::String(text) => Some(text.clone().into_owned()),
                _ => None,
            });
            texts.collect::<Option<Vec<_>>>().map(Value::List)
        }
        _ => None,
    }
}

/// A value of the file in an error.
fn described(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text `{}`", redacted(text)),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(switch) => switch.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> (FileSettings, Vec<String>) {
        let (file, troubles) = FileSettings::parse("/c.toml".into(), text);
        (file, troubles.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_file_says_each_kind_of_value() {
        let (file, troubles) = parse(
            "roots = [\"/a\", \"/b=/w\"]\nlisten = \"unix:/s\"\nallow_remote = true\n\
             [log]\nformat = \"json\"\n[limits]\nmax_sessions = 1_000\n",
        );
        assert_eq!(troubles, Vec::<String>::new());
        let said =
            |setting| file.said.get(&setting).map(|(value, origin)| (value.to_string(), origin.to_string()));
        assert_eq!(said(Setting::Roots), Some(("/a /b=/w".into(), "/c.toml:1".into())));
        assert_eq!(said(Setting::Listen), Some(("unix:/s".into(), "/c.toml:2".into())));
        assert_eq!(said(Setting::AllowRemote), Some(("true".into(), "/c.toml:3".into())));
        assert_eq!(said(Setting::LogFormat), Some(("json".into(), "/c.toml:5".into())));
        let sessions = Setting::Limit(toolfs_core::limit::LimitName::MaxSessions);
        assert_eq!(said(sessions), Some(("1000".into(), "/c.toml:7".into())));
        assert_eq!(file.said.len(), 5);
    }

    #[test]
    fn every_mistake_is_told_with_its_line_and_what_was_meant() {
        let (file, troubles) = parse(
            "polcy = \"none\"\nmax_sessions = 3\nroot = \".\"\ndurability = \"ful\"\ndrain_limit_s = -1\n\
             listen = [1]\nlimits.max_line_chars = 0\nlimits.state = \"memory\"\nnonsense = 1\nprovider = \"memory\"\n\
             state = 7\nlog = \"debug\"\n",
        );
        assert_eq!(
            troubles,
            [
                "/c.toml:1: there is no setting `polcy`: did you mean `policy`?",
                "/c.toml:2: there is no setting `max_sessions`: it belongs below [limits]",
                "/c.toml:3: there is no setting `root`: the key of --root is `roots`",
                "/c.toml:4: `durability` was the text `ful`, must be one of `full`, `data`, `none`",
                "/c.toml:5: `drain_limit_s` was -1, must be a whole number, at least 0",
                "/c.toml:6: `listen` was an array, must be a list of texts",
                "/c.toml:7: `limits.max_line_chars` was 0, must be a whole number, at least 1",
                "/c.toml:8: there is no setting `limits.state`: it belongs at the top of the file, above all tables",
                "/c.toml:9: there is no setting `nonsense`",
                "/c.toml:11: `state` was 7, must be a text",
                "/c.toml:12: `log` was the text `debug`, must be a table: [log]",
            ]
        );
        assert_eq!(file.said.len(), 1, "what is right is heard: {:?}", file.said);
    }

    #[test]
    fn what_is_no_toml_is_told_with_its_line() {
        let (file, troubles) = parse("policy = \"none\"\nroots = [\"a\"\n");
        assert!(file.said.is_empty());
        assert!(!troubles.is_empty() && troubles[0].starts_with("/c.toml:"), "{troubles:?}");
        let (_, twice) = parse("policy = \"none\"\npolicy = \"none\"\n");
        assert!(twice[0].starts_with("/c.toml:2: "), "{twice:?}");
    }

    #[test]
    fn a_file_that_was_named_must_be_there_and_the_usual_one_need_not() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().to_str().unwrap();
        let nobody = Environment::of(&[("XDG_CONFIG_HOME", home)]);
        assert_eq!(FileSettings::find(None, &nobody), Ok(None));
        let missing = directory.path().join("missing.toml");
        let told = FileSettings::find(Some(&missing), &nobody).unwrap_err().to_string();
        assert!(told.starts_with("--config: cannot read `") && told.contains("missing.toml"), "{told}");
        let variable = Environment::of(&[("TOOLFS_CONFIG", missing.to_str().unwrap())]);
        let told = FileSettings::find(None, &variable).unwrap_err().to_string();
        assert!(told.starts_with("TOOLFS_CONFIG: "), "{told}");
    }

    #[test]
    fn the_usual_place_is_that_of_the_desktop_standard() {
        let place = |variables: &[(&str, &str)]| usual_place(&Environment::of(variables));
        let file = |text: &str| Some(PathBuf::from(text));
        assert_eq!(place(&[("HOME", "/h")]), file("/h/.config/toolfs/config.toml"));
        assert_eq!(place(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]), file("/x/toolfs/config.toml"));
        // The standard says that a relative path is to be ignored.
        assert_eq!(place(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "x")]), file("/h/.config/toolfs/config.toml"));
        assert_eq!(place(&[]), None);
    }
}
