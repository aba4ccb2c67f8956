//! The settings of a server: the one table of them.
//!
//! The flags of `serve`, the variables, the keys of the configuration file, `config show` and the reference page all
//! come from here, so that no setting can be missing somewhere. What a value means is decided in [`crate::config`];
//! who is heard when several say something is decided in [`chosen`].

pub mod chosen;
pub mod file;
mod limit;
pub mod origin;
pub mod reference;
pub mod value;

use toolfs_core::limit::{LimitName, Limits};

use self::value::{Kind, Value};

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Setting {
    /// What is served.
    Roots,
    /// Where to listen.
    Listen,
    /// Whether other hosts may reach it.
    AllowRemote,
    /// Where files are.
    Provider,
    /// What decides whether a mutation may land.
    Policy,
    /// Where sessions, observations and results are kept.
    State,
    /// Where the servers of a host take turns.
    RuntimeDir,
    /// Where the provider is served to other servers.
    ServeSeam,
    /// Where the gate is served to other servers.
    ServeGate,
    /// What a success survives.
    Durability,
    /// Names that no mutation may touch.
    Protect,
    /// When an unused session ends.
    SessionIdle,
    /// How long results are remembered.
    RequestIdWindow,
    /// How long calls may go on at the end.
    DrainLimit,
    /// Whether the server ends with its standard input.
    UntilStdinCloses,
    /// What is logged.
    LogFilter,
    /// How log lines look.
    LogFormat,
    /// One of the limits that `GetCapabilities` announces.
    Limit(LimitName),
}

/// A group of settings: a heading of the help, a table of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What is served, where and how.
    Server,
    /// Logging.
    Log,
    /// Limits.
    Limits,
}

impl Group {
    /// Every group, in the order of the file.
    pub const ALL: [Group; 3] = [Group::Server, Group::Log, Group::Limits];

    /// The table of the configuration file; the top of the file has none.
    pub fn table(self) -> Option<&'static str> {
        match self {
            Group::Server => None,
            Group::Log => Some("log"),
            Group::Limits => Some("limits"),
        }
    }

    /// The heading in the help.
    pub fn heading(self) -> &'static str {
        match self {
            Group::Server => "Options",
            Group::Log => "Logging",
            Group::Limits => "Limits",
        }
    }
}

/// What a setting is when nobody says anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// This value, spelled as it would be typed.
    Is(&'static str),
    /// That of [`Limits::DEFAULT`].
    Limit(LimitName),
    /// No value; the words say what that means.
    Nothing(&'static str),
}

/// Everything that is told about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Where it belongs.
    pub group: Group,
    /// Its key in the file, in the table of its group.
    pub key: &'static str,
    /// Its flag, without the dashes.
    pub flag: &'static str,
    /// A flag that says the empty list, with its own words.
    pub empty_flag: Option<(&'static str, &'static str)>,
    /// Its variable.
    pub variable: &'static str,
    /// A variable of wider use that beats its own.
    pub wider_variable: Option<&'static str>,
    /// What its values look like.
    pub kind: Kind,
    /// What stands for its value in the help.
    pub value_name: &'static str,
    /// What holds otherwise.
    pub default: Default,
    /// What it does.
    pub doc: &'static str,
}

impl Setting {
    /// Every setting, in the order of the help.
    pub fn all() -> impl Iterator<Item = Setting> {
        const FIRST: [Setting; 17] = [
            Setting::Roots,
            Setting::Listen,
            Setting::AllowRemote,
            Setting::Provider,
            Setting::Policy,
            Setting::State,
            Setting::RuntimeDir,
            Setting::ServeSeam,
            Setting::ServeGate,
            Setting::Durability,
            Setting::Protect,
            Setting::SessionIdle,
            Setting::RequestIdWindow,
            Setting::DrainLimit,
            Setting::UntilStdinCloses,
            Setting::LogFilter,
            Setting::LogFormat,
        ];
        FIRST.into_iter().chain(LimitName::ALL.map(Setting::Limit))
    }

    /// Its key with its table: `limits.max_sessions`.
    pub fn path(self) -> String {
        let definition = self.definition();
        match definition.group.table() {
            Some(table) => format!("{table}.{}", definition.key),
            None => definition.key.to_owned(),
        }
    }

    /// Its value when nobody says anything; `None` where that is none.
    pub fn default_value(self) -> Option<Value> {
        let definition = self.definition();
        match definition.default {
            Default::Is(text) => {
                Some(definition.kind.parse(text).expect("a test reads every default of the table"))
            }
            Default::Limit(name) => Limits::DEFAULT.value(name).map(Value::Whole),
            Default::Nothing(_) => None,
        }
    }

    /// Its default in words.
    pub fn default_text(self) -> String {
        match self.definition().default {
            Default::Is(text) => text.to_owned(),
            Default::Limit(name) => match Limits::DEFAULT.value(name) {
                Some(value) => value.to_string(),
                None => "no limit".to_owned(),
            },
            Default::Nothing(words) => words.to_owned(),
        }
    }

    /// What is told about it.
    pub fn definition(self) -> Definition {
        match self {
            Setting::Roots => Definition {
                kind: Kind::List { separator: ':' },
                ..server(
                    "roots",
                    "root",
                    "TOOLFS_ROOT",
                    "DIR[=NAME]",
                    Default::Nothing("none: one at least is due"),
                    "A directory to serve, and the absolute path under which agents see it (else its real path); \
                     nested roots are fine. With `--provider memory`: the name of a tree. With a provider in another \
                     process: none, it has its own",
                )
            },
            Setting::Listen => Definition {
                kind: Kind::List { separator: ',' },
                ..server(
                    "listen",
                    "listen",
                    "TOOLFS_LISTEN",
                    "IP:PORT|unix:PATH",
                    Default::Is("127.0.0.1:50051"),
                    "Where to listen",
                )
            },
            Setting::AllowRemote => Definition {
                kind: Kind::Switch,
                ..server(
                    "allow_remote",
                    "allow-remote",
                    "TOOLFS_ALLOW_REMOTE",
                    "BOOL",
                    Default::Is("false"),
                    "Allow addresses that other hosts can reach. Nothing authenticates callers there: only behind \
                     something that does",
                )
            },
            Setting::Provider => server(
                "provider",
                "provider",
                "TOOLFS_PROVIDER",
                "PROVIDER",
                Default::Is("local"),
                "Where files are: `local` (this disk), `memory` (scratch, gone at the end), or another process that \
                 serves the seam: grpc://HOST:PORT or unix:PATH",
            ),
            Setting::Policy => server(
                "policy",
                "policy",
                "TOOLFS_POLICY",
                "POLICY",
                Default::Is("observation"),
                "What decides whether a mutation may land: `observation` (only on what the session saw), `none`, or \
                 a gate in another process: grpc://HOST:PORT or unix:PATH",
            ),
            Setting::State => server(
                "state",
                "state",
                "TOOLFS_STATE",
                "PATH|memory",
                Default::Nothing(
                    "a directory in $XDG_STATE_HOME/toolfs, one for each set of roots; `memory` with `--provider \
                     memory`",
                ),
                "Where sessions, observations, results of calls and what a crash must not take are kept: a directory \
                 of this server and of others with the same roots on this host, or `memory` (gone at the end: then \
                 nothing is recovered at a start, and nothing rewritten in place). Never inside a root",
            ),
            Setting::RuntimeDir => server(
                "runtime_dir",
                "runtime-dir",
                "TOOLFS_RUNTIME_DIR",
                "PATH",
                Default::Nothing("$XDG_STATE_HOME/toolfs/runtime with `--provider local`"),
                "Where the servers of this host that serve the same files take turns, and see which of them live: one \
                 directory for all of them. Never inside a root",
            ),
            Setting::ServeSeam => server(
                "serve_seam",
                "serve-seam",
                "TOOLFS_SERVE_SEAM",
                "IP:PORT|unix:PATH",
                Default::Nothing("not served"),
                "Serve the provider itself (toolfs.v1.FileSystemService) at this address of its own. Its clients write \
                 past the policy",
            ),
            Setting::ServeGate => server(
                "serve_gate",
                "serve-gate",
                "TOOLFS_SERVE_GATE",
                "IP:PORT|unix:PATH",
                Default::Nothing("not served"),
                "Serve the policy gate itself (toolfs.v1.PolicyService) at this address of its own. Its clients can \
                 claim to have seen what they have not",
            ),
            Setting::Durability => Definition {
                kind: Kind::Choice(&["full", "data", "none"]),
                ..server(
                    "durability",
                    "durability",
                    "TOOLFS_DURABILITY",
                    "LEVEL",
                    Default::Is("full"),
                    "What a success survives: `full` (a power cut), `data` (a power cut, but for the directory entry), \
                     `none` (a crash of the server)",
                )
            },
            Setting::Protect => Definition {
                kind: Kind::List { separator: ':' },
                empty_flag: Some(("protect-nothing", "Protect no names at all")),
                ..server(
                    "protect",
                    "protect",
                    "TOOLFS_PROTECT",
                    "NAME",
                    Default::Is(".git"),
                    "A name that no mutation may touch, with all below it, at any depth; given once it replaces the \
                     default",
                )
            },
            Setting::SessionIdle => seconds(
                "session_idle_s",
                "session-idle-s",
                "TOOLFS_SESSION_IDLE_S",
                0,
                Default::Is("86400"),
                "End a session that was not used for so many seconds; 0: never",
            ),
            Setting::RequestIdWindow => seconds(
                "request_id_window_s",
                "request-id-window-s",
                "TOOLFS_REQUEST_ID_WINDOW_S",
                1,
                Default::Is("3600"),
                "How long the result of a mutation is remembered for a retry with the same request_id, in seconds",
            ),
            Setting::DrainLimit => seconds(
                "drain_limit_s",
                "drain-limit-s",
                "TOOLFS_DRAIN_LIMIT_S",
                0,
                Default::Is("10"),
                "How long calls in flight may go on after SIGTERM, in seconds",
            ),
            Setting::UntilStdinCloses => Definition {
                kind: Kind::Switch,
                ..server(
                    "until_stdin_closes",
                    "until-stdin-closes",
                    "TOOLFS_UNTIL_STDIN_CLOSES",
                    "BOOL",
                    Default::Is("false"),
                    "Drain and end when standard input ends, as on SIGTERM: for a program that starts a server of its \
                     own, holds the other end of a pipe, and may be killed",
                )
            },
            Setting::LogFilter => Definition {
                group: Group::Log,
                wider_variable: Some("RUST_LOG"),
                ..server(
                    "filter",
                    "log",
                    "TOOLFS_LOG",
                    "FILTER",
                    Default::Is("info"),
                    "What to log to standard error: a level, or a filter as in RUST_LOG",
                )
            },
            Setting::LogFormat => Definition {
                group: Group::Log,
                kind: Kind::Choice(&["text", "json"]),
                ..server(
                    "format",
                    "log-format",
                    "TOOLFS_LOG_FORMAT",
                    "FORMAT",
                    Default::Is("text"),
                    "How log lines look: `text` for people, `json` for programs",
                )
            },
            Setting::Limit(name) => limit::definition(name),
        }
    }
}

/// A setting of the first group whose values are texts: what most of the others differ from in little.
const fn server(
    key: &'static str,
    flag: &'static str,
    variable: &'static str,
    value_name: &'static str,
    default: Default,
    doc: &'static str,
) -> Definition {
    Definition {
        group: Group::Server,
        key,
        flag,
        empty_flag: None,
        variable,
        wider_variable: None,
        kind: Kind::Text,
        value_name,
        default,
        doc,
    }
}

const fn seconds(
    key: &'static str,
    flag: &'static str,
    variable: &'static str,
    at_least: u64,
    default: Default,
    doc: &'static str,
) -> Definition {
    Definition { kind: Kind::Whole { at_least }, ..server(key, flag, variable, "SECONDS", default, doc) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_setting_is_missing_from_the_list() {
        let listed: BTreeSet<Setting> = Setting::all().collect();
        assert_eq!(listed.len(), Setting::all().count(), "none is listed twice");
        for setting in Setting::all() {
            // A variant that is added stops this from compiling until it is listed.
            match setting {
                Setting::Roots
                | Setting::Listen
                | Setting::AllowRemote
                | Setting::Provider
                | Setting::Policy
                | Setting::State
                | Setting::RuntimeDir
                | Setting::ServeSeam
                | Setting::ServeGate
                | Setting::Durability
                | Setting::Protect
                | Setting::SessionIdle
                | Setting::RequestIdWindow
                | Setting::DrainLimit
                | Setting::UntilStdinCloses
                | Setting::LogFilter
                | Setting::LogFormat
                | Setting::Limit(_) => {}
            }
        }
        assert_eq!(listed.len(), 17 + LimitName::ALL.len());
    }

    #[test]
    fn flag_key_and_variable_of_a_setting_are_one_name_in_three_spellings() {
        let exceptions = [Setting::Roots, Setting::LogFilter, Setting::LogFormat];
        for setting in Setting::all().filter(|setting| !exceptions.contains(setting)) {
            let Definition { key, flag, variable, .. } = setting.definition();
            assert_eq!(flag, key.replace('_', "-"));
            assert_eq!(variable, format!("TOOLFS_{}", key.to_uppercase()));
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names = BTreeSet::new();
        for setting in Setting::all() {
            let definition = setting.definition();
            assert!(names.insert(setting.path()), "{}", setting.path());
            assert!(names.insert(format!("--{}", definition.flag)), "{}", definition.flag);
            assert!(names.insert(definition.variable.to_owned()), "{}", definition.variable);
        }
    }

    #[test]
    fn each_default_is_a_value_of_its_kind() {
        for setting in Setting::all() {
            match (setting.definition().default, setting.default_value()) {
                (Default::Nothing(_), None) | (Default::Is(_), Some(_)) => {}
                (Default::Limit(name), value) => {
                    assert_eq!(value, Limits::DEFAULT.value(name).map(Value::Whole))
                }
                (default, value) => panic!("{default:?} {value:?}"),
            }
        }
    }

    #[test]
    fn docs_are_plain_phrases() {
        for setting in Setting::all() {
            let doc = setting.definition().doc;
            assert!(!doc.ends_with('.') && !doc.contains("  "), "{doc}");
            assert!(doc.starts_with(char::is_uppercase), "{doc}");
        }
    }
}
