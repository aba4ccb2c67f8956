//! Settings as meant: what was chosen, checked, with its origin in every error.

mod limit;

use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use toolfs_core::error::FsError;
use toolfs_core::limit::Limits;
use toolfs_core::protect::ProtectedPatterns;
use toolfs_provider::capability::Durability;

use crate::address::{Address, AddressError};
use crate::cli::ServeArgs;
use crate::env::Environment;
use crate::placement::{self, PlacementError};
use crate::setting::Setting;
use crate::setting::chosen::{Chosen, Trouble};
use crate::setting::origin::Origin;
use crate::setting::value::{Value, redacted};
use crate::telemetry::{self, TelemetryError};

/// Where a server listens unless told otherwise.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:50051";

/// A server, as meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeConfig {
    /// What is served, `DIR[=NAME]` each; empty when the provider has roots of its own.
    pub roots: Vec<String>,
    /// Where to listen; never empty.
    pub listen: Vec<Address>,
    /// Where the provider is served too.
    pub seam: Option<Address>,
    /// Where the gate is served too.
    pub gate: Option<Address>,
    /// The gate.
    pub policy: Policy,
    /// The provider.
    pub provider: ProviderKind,
    /// Where state is kept.
    pub state: State,
    /// Where the servers of the host take turns; `None` for a provider elsewhere, and where there is no such place.
    pub runtime: Option<Runtime>,
    /// What a success survives.
    pub durability: Durability,
    /// The names that mutations refuse.
    pub protected: ProtectedPatterns,
    /// How long an unused session lives; `None`: for ever.
    pub session_idle: Option<Duration>,
    /// How long a result is remembered under its `request_id`.
    pub request_id_window: Duration,
    /// How long calls in flight may go on at the end.
    pub drain_limit: Duration,
    /// Whether the server ends when its standard input does.
    pub until_stdin_closes: bool,
    /// What is logged, and how.
    pub log: LogConfig,
    /// The limits in force.
    pub limits: Limits,
    /// The configuration file, if one was read.
    pub file: Option<PathBuf>,
    /// A directory outside of every root for what must be on disk although state is not kept; `None`: there is none.
    pub scratch: Option<PathBuf>,
}

/// The choices of `--policy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Mutations land only on what the session saw.
    Observation,
    /// Mutations are unconditional.
    None,
    /// A gate in another process, at `HOST:PORT` or `unix:PATH`.
    Remote(String),
}

/// The choices of `--provider`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// This host's disk.
    Local,
    /// Memory.
    Memory,
    /// A provider in another process, at `HOST:PORT` or `unix:PATH`.
    Remote(String),
}

/// The choices of `--state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Memory: gone with the process.
    Memory,
    /// This directory.
    Directory(PathBuf),
}

/// Where the servers of a host take turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The directory.
    pub path: PathBuf,
    /// Whether somebody named it. The usual place is done without where it cannot be had: a home may be read-only.
    pub is_named: bool,
}

/// Logging, as meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogConfig {
    /// A filter that was read once already.
    pub filter: String,
    /// Who gave it.
    pub filter_origin: Origin,
    /// Whether lines are JSON.
    pub is_json: bool,
}

/// A setting that cannot be used. The message names its origin and what would do.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It cannot even be read.
    #[error(transparent)]
    Read(#[from] Trouble),
    /// Nothing is to be served.
    #[error("there is nothing to serve: add --root DIR, for instance --root .")]
    NoRoot,
    /// Roots are given for a provider that has its own.
    #[error("{0}: a provider in another process has its own roots: leave them out")]
    RootsOfAnother(Origin),
    /// Nowhere to listen.
    #[error("{0}: there is nowhere to listen: name an address, IP:PORT or unix:PATH")]
    NoAddress(Origin),
    /// A value is none of the choices.
    #[error("{origin}: `{}` is not {choices}", redacted(.value))]
    Choice {
        /// Who said it.
        origin: Origin,
        /// What.
        value: String,
        /// What would do.
        choices: &'static str,
    },
    /// An address cannot be used.
    #[error("{origin}: {source}")]
    Address {
        /// Who said it.
        origin: Origin,
        /// Why.
        source: AddressError,
    },
    /// An address is given twice.
    #[error(
        "{origin}: `{address}` is where something else is served already: the {face} needs an address of its own"
    )]
    AddressTwice {
        /// Who said it.
        origin: Origin,
        /// The address.
        address: Address,
        /// What was to be served there.
        face: &'static str,
    },
    /// There is no gate that could be served.
    #[error("{0}: there is no gate to serve with `--policy none`")]
    NoGate(Origin),
    /// There is no place for state.
    #[error(
        "there is no home directory to keep state in: add --state PATH, or --state memory to keep it to the process"
    )]
    NoStatePlace,
    /// A limit or a protected name is out of range.
    #[error("{origin}: {}", .error.message())]
    Value {
        /// Who said it.
        origin: Origin,
        /// Why.
        error: FsError,
    },
    /// A filter is none.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// A file of the server would lie where agents write.
    #[error(transparent)]
    Placement(#[from] PlacementError),
}

/// What is wrong, while the rest is looked at all the same.
#[derive(Debug, Default)]
struct Complaints(Vec<ConfigError>);

impl Complaints {
    /// The value, or a stand-in beside a complaint, with which nothing is ever run.
    fn or<T, E: Into<ConfigError>>(&mut self, result: Result<T, E>, stand_in: T) -> T {
        result.unwrap_or_else(|error| {
            self.0.push(error.into());
            stand_in
        })
    }
}

/// What was chosen and what it means, or everything that is wrong with it.
#[derive(Debug)]
pub struct Resolved {
    /// Each setting with its origin.
    pub chosen: Chosen,
    /// The server, or why there is none; never an empty list.
    pub config: Result<ServeConfig, Vec<ConfigError>>,
}

impl Resolved {
    /// Hears flags, environment and file, and checks what they say. Nothing is opened, but for the file.
    pub fn of(args: &ServeArgs, environment: &Environment) -> Resolved {
        let (mut chosen, troubles) = Chosen::hear(&args.said, environment, args.config.as_deref());
        let mut complaints = Complaints(troubles.into_iter().map(ConfigError::Read).collect());
        let config = ServeConfig::check(&mut chosen, environment, &mut complaints);
        let config = if complaints.0.is_empty() { Ok(config) } else { Err(complaints.0) };
        Resolved { chosen, config }
    }
}

/// The limits alone, for commands that need nothing else.
///
/// # Errors
/// Everything that is wrong.
pub fn limits_of(
    args: &crate::cli::LimitArgs,
    environment: &Environment,
) -> Result<Limits, Vec<ConfigError>> {
    let (mut chosen, troubles) = Chosen::hear(&args.said, environment, args.config.as_deref());
    let mut complaints = Complaints(troubles.into_iter().map(ConfigError::Read).collect());
    let limits = limit::limits(&mut chosen, &mut complaints);
    if complaints.0.is_empty() { Ok(limits) } else { Err(complaints.0) }
}

impl ServeConfig {
    /// Chooses and checks every setting.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn resolve(args: &ServeArgs, environment: &Environment) -> Result<ServeConfig, Vec<ConfigError>> {
        Resolved::of(args, environment).config
    }

    fn check(chosen: &mut Chosen, environment: &Environment, complaints: &mut Complaints) -> ServeConfig {
        let provider = complaints.or(provider(chosen), ProviderKind::Local);
        let policy = complaints.or(policy(chosen), Policy::Observation);
        let roots = chosen.list(Setting::Roots).to_vec();
        let of_roots = match (&provider, roots.is_empty()) {
            (ProviderKind::Remote(_), false) => {
                Err(ConfigError::RootsOfAnother(chosen.origin(Setting::Roots).clone()))
            }
            (ProviderKind::Local | ProviderKind::Memory, true) => Err(ConfigError::NoRoot),
            (ProviderKind::Remote(_), true) | (ProviderKind::Local | ProviderKind::Memory, false) => Ok(()),
        };
        complaints.or(of_roots, ());

        let listen = listen(chosen, complaints);
        let seam = own_address(chosen, Setting::ServeSeam, "seam", &listen, complaints);
        let others: Vec<Address> = listen.iter().chain(&seam).cloned().collect();
        let gate = own_address(chosen, Setting::ServeGate, "gate", &others, complaints);
        if gate.is_some() && policy == Policy::None {
            complaints.0.push(ConfigError::NoGate(chosen.origin(Setting::ServeGate).clone()));
        }

        let state = complaints.or(state(chosen, environment, &provider, &roots), State::Memory);
        let runtime = complaints.or(runtime(chosen, environment, &provider, &roots), None);
        let protected = ProtectedPatterns::new(chosen.list(Setting::Protect).to_vec())
            .map_err(|error| ConfigError::Value { origin: chosen.origin(Setting::Protect).clone(), error });
        let seconds = |setting| Duration::from_secs(chosen.whole(setting).unwrap_or_default());
        let idle = seconds(Setting::SessionIdle);
        let scratch = match provider {
            ProviderKind::Local => placement::scratch(environment, &roots),
            ProviderKind::Memory | ProviderKind::Remote(_) => None,
        };
        let config = ServeConfig {
            roots,
            listen,
            seam,
            gate,
            policy,
            provider,
            state,
            runtime,
            durability: match chosen.text(Setting::Durability) {
                Some("none") => Durability::None,
                Some("data") => Durability::Data,
                Some(_) | None => Durability::Full,
            },
            protected: complaints.or(protected, ProtectedPatterns::default()),
            session_idle: (!idle.is_zero()).then_some(idle),
            request_id_window: seconds(Setting::RequestIdWindow),
            drain_limit: seconds(Setting::DrainLimit),
            until_stdin_closes: chosen.switch(Setting::UntilStdinCloses),
            log: LogConfig {
                filter: chosen.text(Setting::LogFilter).unwrap_or_default().to_owned(),
                filter_origin: chosen.origin(Setting::LogFilter).clone(),
                is_json: chosen.text(Setting::LogFormat) == Some("json"),
            },
            limits: limit::limits(chosen, complaints),
            file: chosen.file.as_ref().map(|file| file.path.clone()),
            scratch,
        };
        complaints.or(telemetry::check(&config.log, environment), ());
        complaints.0.extend(placement::check(&config).into_iter().map(ConfigError::Placement));
        config
    }
}

fn provider(chosen: &Chosen) -> Result<ProviderKind, ConfigError> {
    match chosen.text(Setting::Provider).unwrap_or_default() {
        "local" => Ok(ProviderKind::Local),
        "memory" => Ok(ProviderKind::Memory),
        other => peer(
            chosen,
            Setting::Provider,
            other,
            "one of `local`, `memory`, or grpc://HOST:PORT or unix:PATH",
        )
        .map(ProviderKind::Remote),
    }
}

fn policy(chosen: &Chosen) -> Result<Policy, ConfigError> {
    match chosen.text(Setting::Policy).unwrap_or_default() {
        "observation" => Ok(Policy::Observation),
        "none" => Ok(Policy::None),
        other => peer(
            chosen,
            Setting::Policy,
            other,
            "one of `observation`, `none`, or grpc://HOST:PORT or unix:PATH",
        )
        .map(Policy::Remote),
    }
}

/// The address of another process, as the clients of this workspace spell it.
fn peer(chosen: &Chosen, setting: Setting, text: &str, choices: &'static str) -> Result<String, ConfigError> {
    let host = ["grpc://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_host = |host: &&str| {
        host.rsplit_once(':').is_some_and(|(name, port)| {
            !name.is_empty()
                && !name.contains(['/', '@', '?', '#'])
                && port.parse::<u16>().is_ok_and(|port| port > 0)
        })
    };
    match (host.map(|host| host.trim_end_matches('/')).filter(is_host), text.strip_prefix("unix:")) {
        (Some(host), _) => Ok(host.to_owned()),
        (None, Some(path)) if !path.is_empty() => {
            Ok(format!("unix:{}", path.strip_prefix("//").unwrap_or(path)))
        }
        (None, _) => {
            let origin = chosen.origin(setting).clone();
            Err(ConfigError::Choice { origin, value: text.to_owned(), choices })
        }
    }
}

fn listen(chosen: &Chosen, complaints: &mut Complaints) -> Vec<Address> {
    let origin = chosen.origin(Setting::Listen);
    let typed = chosen.list(Setting::Listen);
    if typed.is_empty() {
        complaints.0.push(ConfigError::NoAddress(origin.clone()));
    }
    let mut listen = Vec::new();
    for text in typed {
        match address(chosen, text) {
            Ok(address) => listen.push(address),
            Err(source) => complaints.0.push(ConfigError::Address { origin: origin.clone(), source }),
        }
    }
    listen
}

/// An address for one thing alone: whoever may reach the tools is not to reach past them by mistake.
fn own_address(
    chosen: &Chosen,
    setting: Setting,
    face: &'static str,
    others: &[Address],
    complaints: &mut Complaints,
) -> Option<Address> {
    let text = chosen.text(setting)?;
    let origin = chosen.origin(setting).clone();
    match address(chosen, text) {
        Ok(address) if others.iter().any(|other| other.is_same(&address)) => {
            complaints.0.push(ConfigError::AddressTwice { origin, address, face });
            None
        }
        Ok(address) => Some(address),
        Err(source) => {
            complaints.0.push(ConfigError::Address { origin, source });
            None
        }
    }
}

fn address(chosen: &Chosen, text: &str) -> Result<Address, AddressError> {
    Address::parse(text)?.checked(chosen.switch(Setting::AllowRemote))
}

/// `memory`, a path, or the usual place. A word without a slash is no path: it would rather be a mistyped `memory`.
fn state(
    chosen: &mut Chosen,
    environment: &Environment,
    provider: &ProviderKind,
    roots: &[String],
) -> Result<State, ConfigError> {
    if chosen.value(Setting::State).is_none() {
        let directory = |identities| {
            placement::usual_state_directory(environment, identities).ok_or(ConfigError::NoStatePlace)
        };
        let place = match provider {
            ProviderKind::Memory => "memory".to_owned(),
            ProviderKind::Local => directory(placement::identities(roots))?.display().to_string(),
            ProviderKind::Remote(address) => {
                directory(vec![address.clone().into_bytes()])?.display().to_string()
            }
        };
        chosen.derive(Setting::State, Value::Text(place));
    }
    match chosen.text(Setting::State).unwrap_or_default() {
        "memory" => Ok(State::Memory),
        path if path.contains('/') && !path.contains("://") => Ok(State::Directory(path.into())),
        other => Err(ConfigError::Choice {
            origin: chosen.origin(Setting::State).clone(),
            value: other.to_owned(),
            choices: "`memory`, nor the path of a directory: write ./NAME for one here",
        }),
    }
}

/// The place that servers share. Where a user has none outside of the roots, there is none unless one is named.
fn runtime(
    chosen: &mut Chosen,
    environment: &Environment,
    provider: &ProviderKind,
    roots: &[String],
) -> Result<Option<Runtime>, ConfigError> {
    match provider {
        ProviderKind::Local => {}
        ProviderKind::Memory | ProviderKind::Remote(_) => return Ok(None),
    }
    if chosen.value(Setting::RuntimeDir).is_none()
        && let Some(place) = placement::usual_runtime_directory(environment, roots)
    {
        chosen.derive(Setting::RuntimeDir, Value::Text(place.display().to_string()));
    }
    match chosen.text(Setting::RuntimeDir) {
        None => Ok(None),
        Some(path) if path.contains('/') && !path.contains("://") => Ok(Some(Runtime {
            path: path.into(),
            is_named: *chosen.origin(Setting::RuntimeDir) != Origin::Default,
        })),
        Some(other) => Err(ConfigError::Choice {
            origin: chosen.origin(Setting::RuntimeDir).clone(),
            value: other.to_owned(),
            choices: "the path of a directory: write ./NAME for one here",
        }),
    }
}

/// What a command line means in an environment that says nothing.
#[cfg(test)]
pub(crate) fn of_arguments(arguments: &[&str]) -> ServeConfig {
    use clap::Parser as _;

    match crate::cli::Cli::parse_from(["toolfs", "serve"].iter().chain(arguments)).command {
        crate::cli::Command::Serve(args) => ServeConfig::resolve(&args, &Environment::default()).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[cfg(test)]
mod tests;
