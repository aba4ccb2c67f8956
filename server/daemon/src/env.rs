//! The environment, read once and passed on as a value.

use std::collections::BTreeMap;

/// The variables of the command's own, which the help of its flags repeats. Flags beat them, they beat defaults.
///
/// Beside these, RUST_LOG and those of OpenTelemetry are read.
pub const VARIABLES: &[(&str, &str)] = &[
    ("TOOLFS_ROOT", "what `serve` serves: DIR[=NAME], several separated by `:`"),
    ("TOOLFS_LISTEN", "where `serve` listens: addresses separated by `,`"),
    ("TOOLFS_POLICY", "the policy gate of `serve`"),
    ("TOOLFS_PROVIDER", "the provider of `serve`"),
    ("TOOLFS_STATE", "where `serve` keeps sessions and observations"),
    ("TOOLFS_DURABILITY", "what a success of `serve` survives"),
    ("TOOLFS_LOG", "log filter, as RUST_LOG, which beats it"),
    ("TOOLFS_LOG_FORMAT", "log format"),
    ("TOOLFS_SERVER", "the server of `call`"),
    ("TOOLFS_SESSION", "the session of `call`: a secret"),
];

/// The environment as a map, so that tests need none of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// The environment of this process. Variables that are no Unicode text do not exist for the command.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    pub fn of_this_process() -> Environment {
        let text = |value: std::ffi::OsString| value.into_string().ok();
        Environment(
            std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect(),
        )
    }

    /// An environment of these variables.
    pub fn of(variables: &[(&str, &str)]) -> Environment {
        Environment(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// The value of a variable; an empty one counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}
