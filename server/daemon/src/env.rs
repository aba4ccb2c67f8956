//! The environment, read once and passed on as a value.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::setting::Setting;

/// What every variable of ours begins with.
const PREFIX: &str = "TOOLFS_";

/// The variables of ours that stand for no setting of a server.
pub const OTHER_VARIABLES: &[(&str, &str)] = &[
    ("TOOLFS_CONFIG", "the configuration file"),
    ("TOOLFS_SERVER", "the server of `call` and `session`"),
    ("TOOLFS_SESSION", "the session of `call` and `session`: a secret"),
    ("TOOLFS_SESSION_FILE", "the session file of `call` and `session`"),
];

/// The variable that names a fault to plant, in builds that can.
pub const PLANTED_FAULT: &str = "TOOLFS_PLANTED_FAULT";

/// Every variable of ours, with what it is for. Beside these, RUST_LOG and those of OpenTelemetry are read, and HOME
/// and the XDG base directories.
pub fn known() -> Vec<(&'static str, &'static str)> {
    let settings = Setting::all().map(|setting| (setting.definition().variable, setting.definition().doc));
    settings.chain(OTHER_VARIABLES.iter().copied()).collect()
}

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

    /// A base directory of the desktop standard, which says that a relative one is to be ignored.
    pub fn directory(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The variables that begin as ours do and are none. Empty ones say nothing, and what Kubernetes and Docker set
    /// for a service called toolfs is nobody's mistake.
    pub fn unknown(&self) -> Vec<String> {
        let known = known();
        let is_known = |name: &str| {
            known.iter().any(|(known, _)| *known == name)
                || (cfg!(feature = "planted-faults") && name == PLANTED_FAULT)
        };
        let ours = self.0.iter().filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty());
        ours.filter(|(name, value)| !is_known(name) && !is_service_link(name, value))
            .map(|(name, _)| name.clone())
            .collect()
    }
}

/// `TOOLFS_SERVICE_HOST=10.0.0.1`, `TOOLFS_PORT=tcp://10.0.0.1:1`, `TOOLFS_PORT_1_TCP_ADDR=10.0.0.1` and the like.
fn is_service_link(name: &str, value: &str) -> bool {
    name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || (name.ends_with("_PORT") && value.contains("://"))
        || name.split_once("_PORT_").is_some_and(|(_, rest)| {
            let protocol = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            protocol.len() < rest.len() && (protocol.starts_with("_TCP") || protocol.starts_with("_UDP"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_orchestrator_sets_for_a_service_of_our_name_is_no_mistake() {
        let links = [
            ("TOOLFS_SERVICE_HOST", "10.0.0.1"),
            ("TOOLFS_SERVICE_PORT", "50051"),
            ("TOOLFS_SERVICE_PORT_GRPC", "50051"),
            ("TOOLFS_PORT", "tcp://10.0.0.1:50051"),
            ("TOOLFS_PORT_50051_TCP", "tcp://10.0.0.1:50051"),
            ("TOOLFS_PORT_50051_TCP_PROTO", "tcp"),
            ("TOOLFS_PORT_50051_TCP_PORT", "50051"),
            ("TOOLFS_PORT_50051_TCP_ADDR", "10.0.0.1"),
            ("TOOLFS_FILES_SERVICE_HOST", "10.0.0.1"),
        ];
        assert_eq!(Environment::of(&links).unknown(), Vec::<String>::new());
    }

    #[test]
    fn what_only_looks_like_a_setting_is_unknown() {
        let variables = [
            ("TOOLFS_PORT", "50051"),
            ("TOOLFS_ROOTS", "."),
            ("TOOLFS_X", ""),
            ("OTHER", "1"),
            ("TOOLFS_ROOT", "."),
        ];
        assert_eq!(Environment::of(&variables).unknown(), ["TOOLFS_PORT", "TOOLFS_ROOTS"]);
    }

    #[test]
    fn the_variable_of_planted_faults_is_known_only_where_faults_can_be_planted() {
        let environment = Environment::of(&[(PLANTED_FAULT, "gate-forgets-nothing")]);
        assert_eq!(environment.unknown().is_empty(), cfg!(feature = "planted-faults"));
    }
}
