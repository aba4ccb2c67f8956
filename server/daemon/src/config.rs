//! Settings as meant: one value each, chosen among flag, environment and default, checked, with its origin in every
//! error.

use std::fmt;
use std::time::Duration;

use thiserror::Error;
use toolfs_core::error::FsError;
use toolfs_core::limit::Limits;
use toolfs_core::protect::ProtectedPatterns;
use toolfs_provider::capability::Durability;

use crate::address::{Address, AddressError};
use crate::cli::{LimitArgs, ServeArgs};
use crate::env::Environment;

/// Where a server listens unless told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:50051";

/// A server, as meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeConfig {
    /// What is served, `DIR[=NAME]` each; never empty.
    pub roots: Vec<String>,
    /// Where to listen; never empty.
    pub listen: Vec<Address>,
    /// The gate.
    pub policy: Policy,
    /// The provider.
    pub provider: ProviderKind,
    /// Where state is kept.
    pub state: State,
    /// What a success survives.
    pub durability: Durability,
    /// The names that mutations refuse.
    pub protected: ProtectedPatterns,
    /// How long an unused session lives; `None`: for ever.
    pub session_idle: Option<Duration>,
    /// How long calls in flight may go on at the end.
    pub drain_limit: Duration,
    /// The limits in force.
    pub limits: Limits,
}

/// The choices of `--policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Mutations land only on what the session saw.
    Observation,
    /// Mutations are unconditional.
    None,
}

/// The choices of `--provider`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// This host's disk.
    Local,
    /// Memory.
    Memory,
}

/// The choices of `--state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Memory: gone with the process.
    Memory,
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This flag.
    Flag(&'static str),
    /// This environment variable.
    Variable(&'static str),
    /// Nobody said anything.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(f, "--{flag}"),
            Origin::Variable(name) => f.write_str(name),
            Origin::Default => f.write_str("the default"),
        }
    }
}

/// A setting that cannot be used. The message names its origin and what would do.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// Nothing is to be served.
    #[error("there is nothing to serve: add --root DIR, for instance --root .")]
    NoRoot,
    /// A value is none of the choices.
    #[error("{origin}: `{value}` is not one of {choices}")]
    Choice {
        /// Who said it.
        origin: Origin,
        /// What.
        value: String,
        /// What would do.
        choices: String,
    },
    /// An address cannot be used.
    #[error("{origin}: {source}")]
    Address {
        /// Who said it.
        origin: Origin,
        /// Why.
        source: AddressError,
    },
    /// A limit or a protected name is out of range.
    #[error("{}", .0.message())]
    Value(FsError),
}

impl ServeConfig {
    /// Chooses and checks every setting.
    ///
    /// # Errors
    /// The first [`ConfigError`].
    pub fn resolve(args: ServeArgs, environment: &Environment) -> Result<ServeConfig, ConfigError> {
        let roots = choose_list(args.roots, environment, "root", "TOOLFS_ROOT", ':').0;
        if roots.is_empty() {
            return Err(ConfigError::NoRoot);
        }

        let (typed, origin) = choose_list(args.listen, environment, "listen", "TOOLFS_LISTEN", ',');
        let typed = if typed.is_empty() { vec![DEFAULT_LISTEN.to_owned()] } else { typed };
        let listen = typed
            .iter()
            .map(|text| Address::parse(text).and_then(|address| address.checked(args.allow_remote)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| ConfigError::Address { origin, source })?;

        let policy = one_of(
            choose(args.policy, environment, "policy", "TOOLFS_POLICY"),
            &[("observation", Policy::Observation), ("none", Policy::None)],
        )?;
        let provider = one_of(
            choose(args.provider, environment, "provider", "TOOLFS_PROVIDER"),
            &[("local", ProviderKind::Local), ("memory", ProviderKind::Memory)],
        )?;
        let state =
            one_of(choose(args.state, environment, "state", "TOOLFS_STATE"), &[("memory", State::Memory)])?;
        let durability = one_of(
            choose(args.durability, environment, "durability", "TOOLFS_DURABILITY"),
            &[("full", Durability::Full), ("data", Durability::Data), ("none", Durability::None)],
        )?;

        Ok(ServeConfig {
            roots,
            listen,
            policy,
            provider,
            state,
            durability,
            protected: protected(args.protect, args.protect_nothing)?,
            session_idle: match args.session_idle_s {
                None => Some(Duration::from_secs(86_400)),
                Some(0) => None,
                Some(seconds) => Some(Duration::from_secs(seconds)),
            },
            drain_limit: Duration::from_secs(args.drain_limit_s.unwrap_or(10)),
            limits: limits(&args.limits).validated().map_err(ConfigError::Value)?,
        })
    }
}

/// One setting: the flag beats the variable, which beats the default.
pub(crate) fn choose(
    typed: Option<String>,
    environment: &Environment,
    flag: &'static str,
    variable: &'static str,
) -> (Option<String>, Origin) {
    match (typed, environment.get(variable)) {
        (Some(value), _) => (Some(value), Origin::Flag(flag)),
        (None, Some(value)) => (Some(value.to_owned()), Origin::Variable(variable)),
        (None, None) => (None, Origin::Default),
    }
}

fn choose_list(
    typed: Vec<String>,
    environment: &Environment,
    flag: &'static str,
    variable: &'static str,
    separator: char,
) -> (Vec<String>, Origin) {
    if !typed.is_empty() {
        return (typed, Origin::Flag(flag));
    }
    match environment.get(variable) {
        Some(list) => {
            let values = list.split(separator).filter(|value| !value.is_empty()).map(str::to_owned).collect();
            (values, Origin::Variable(variable))
        }
        None => (Vec::new(), Origin::Default),
    }
}

/// The choice that a value names; the first one is the default.
fn one_of<T: Copy>(
    (value, origin): (Option<String>, Origin),
    choices: &[(&str, T)],
) -> Result<T, ConfigError> {
    let Some(value) = value else {
        return Ok(choices[0].1);
    };
    choices.iter().find(|(name, _)| *name == value).map(|(_, choice)| *choice).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        ConfigError::Choice { origin, value, choices: names.join(", ") }
    })
}

fn protected(names: Vec<String>, nothing: bool) -> Result<ProtectedPatterns, ConfigError> {
    match (nothing, names.is_empty()) {
        (false, true) => Ok(ProtectedPatterns::default()),
        (true, _) => ProtectedPatterns::new(Vec::new()).map_err(ConfigError::Value),
        (false, false) => ProtectedPatterns::new(names).map_err(ConfigError::Value),
    }
}

fn limits(typed: &LimitArgs) -> Limits {
    let default = Limits::DEFAULT;
    Limits {
        default_limit_lines: typed.default_limit_lines.unwrap_or_else(|| {
            // A lower maximum alone is a complete wish.
            default.default_limit_lines.min(typed.max_limit_lines.unwrap_or(u64::MAX)).max(1)
        }),
        max_limit_lines: typed.max_limit_lines.unwrap_or(default.max_limit_lines),
        max_window_bytes: typed.max_window_bytes.unwrap_or(default.max_window_bytes),
        max_line_chars: typed.max_line_chars.unwrap_or(default.max_line_chars),
        max_content_bytes: typed.max_content_bytes.unwrap_or(default.max_content_bytes),
        max_file_bytes: typed.max_file_bytes.or(default.max_file_bytes),
        max_diff_bytes: typed.max_diff_bytes.unwrap_or(default.max_diff_bytes),
        max_message_bytes: typed.max_message_bytes.unwrap_or(default.max_message_bytes),
        max_sessions: typed.max_sessions.unwrap_or(default.max_sessions),
        ..default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(change: impl FnOnce(&mut ServeArgs)) -> ServeArgs {
        let mut args = ServeArgs { roots: vec![".".into()], ..ServeArgs::default() };
        change(&mut args);
        args
    }

    fn resolve(
        change: impl FnOnce(&mut ServeArgs),
        variables: &[(&str, &str)],
    ) -> Result<ServeConfig, String> {
        ServeConfig::resolve(args(change), &Environment::of(variables)).map_err(|error| error.to_string())
    }

    #[test]
    fn flag_beats_variable_beats_default() {
        let cases = [
            (None, None, Policy::Observation),
            (None, Some(""), Policy::Observation),
            (None, Some("none"), Policy::None),
            (Some("observation"), Some("none"), Policy::Observation),
            (Some("none"), Some("observation"), Policy::None),
        ];
        for (flag, variable, expected) in cases {
            let variables: Vec<(&str, &str)> =
                variable.map(|value| ("TOOLFS_POLICY", value)).into_iter().collect();
            let config = resolve(|args| args.policy = flag.map(str::to_owned), &variables).unwrap();
            assert_eq!(config.policy, expected, "{flag:?} {variable:?}");
        }
    }

    #[test]
    fn a_wrong_value_is_told_with_its_origin_and_the_choices() {
        let flag = resolve(|args| args.durability = Some("ful".into()), &[]).unwrap_err();
        assert_eq!(flag, "--durability: `ful` is not one of `full`, `data`, `none`");
        let variable = resolve(|_| {}, &[("TOOLFS_PROVIDER", "disk")]).unwrap_err();
        assert_eq!(variable, "TOOLFS_PROVIDER: `disk` is not one of `local`, `memory`");
        let address = resolve(|_| {}, &[("TOOLFS_LISTEN", "0.0.0.0:1")]).unwrap_err();
        assert!(
            address.starts_with("TOOLFS_LISTEN: `0.0.0.0:1` can be reached from other hosts"),
            "{address}"
        );
        let limit = resolve(|args| args.limits.max_window_bytes = Some(10), &[]).unwrap_err();
        assert!(limit.contains("`max_window_bytes` was 10"), "{limit}");
    }

    #[test]
    fn lists_come_from_repeated_flags_or_one_variable() {
        let variables = [("TOOLFS_ROOT", "/a:/b=/w"), ("TOOLFS_LISTEN", "127.0.0.1:1,unix:/s")];
        let config = ServeConfig::resolve(ServeArgs::default(), &Environment::of(&variables)).unwrap();
        assert_eq!(config.roots, ["/a", "/b=/w"]);
        assert_eq!(config.listen.len(), 2);

        let config = resolve(|args| args.listen = vec!["unix:/t".into()], &variables).unwrap();
        assert_eq!(config.roots, ["."]);
        assert_eq!(config.listen, [Address::Unix("/t".into())]);
    }

    #[test]
    fn nothing_to_serve_says_what_to_add() {
        let error = ServeConfig::resolve(ServeArgs::default(), &Environment::default()).unwrap_err();
        assert!(error.to_string().contains("--root"));
    }

    #[test]
    fn a_lower_maximum_of_lines_lowers_the_default_too() {
        let config = resolve(|args| args.limits.max_limit_lines = Some(50), &[]).unwrap();
        assert_eq!(config.limits.default_limit_lines, 50);
        let zero = resolve(|args| args.limits.max_limit_lines = Some(0), &[]).unwrap_err();
        assert!(
            zero.contains("`max_limit_lines` was 0"),
            "the limit that was given is the one to blame: {zero}"
        );
    }

    #[test]
    fn protection_can_be_replaced_and_switched_off() {
        let names = |change: fn(&mut ServeArgs)| resolve(change, &[]).unwrap().protected.names().to_vec();
        assert_eq!(names(|_| {}), [".git"]);
        assert_eq!(names(|args| args.protect = vec![".svn".into()]), [".svn"]);
        assert_eq!(names(|args| args.protect_nothing = true), Vec::<String>::new());
    }
}
