//! How a worker is to serve: its flags.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use toolfs_core::planted::Fault;
use toolfs_provider::capability::Durability;

/// How a worker is to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) root: PathBuf,
    pub(crate) recovery: Option<PathBuf>,
    pub(crate) runtime: Option<PathBuf>,
    pub(crate) durability: Durability,
    /// With one thread, calls are answered in their order.
    pub(crate) threads: usize,
    pub(crate) walk: bool,
    pub(crate) named_temporaries: bool,
    pub(crate) plain_rename: bool,
    /// Edits in a stream, in pieces of so many bytes.
    pub(crate) streaming: Option<NonZeroUsize>,
    /// What is planted in the worker.
    pub(crate) fault: Option<Fault>,
    /// A command that runs the worker, with its arguments.
    pub(crate) prefix: Vec<OsString>,
}

impl Settings {
    /// One thread, full durability, nothing kept for a restart.
    pub(crate) fn new(root: impl Into<PathBuf>) -> Settings {
        Settings {
            root: root.into(),
            recovery: None,
            runtime: None,
            durability: Durability::Full,
            threads: 1,
            walk: false,
            named_temporaries: false,
            plain_rename: false,
            streaming: None,
            fault: None,
            prefix: Vec::new(),
        }
    }

    pub(super) fn to_arguments(&self) -> Vec<OsString> {
        let durability = match self.durability {
            Durability::Full => "full",
            Durability::Data => "data",
            Durability::None => "none",
        };
        let mut arguments: Vec<OsString> = ["--durability", durability].map(OsString::from).into();
        let mut value = |flag: &str, value: OsString| arguments.extend([flag.into(), value]);
        value("--root", self.root.clone().into());
        value("--threads", self.threads.to_string().into());
        for (flag, directory) in [("--recovery", &self.recovery), ("--runtime", &self.runtime)] {
            if let Some(directory) = directory {
                value(flag, directory.clone().into());
            }
        }
        if let Some(bytes) = self.streaming {
            value("--streaming", bytes.to_string().into());
        }
        if let Some(fault) = self.fault {
            value("--fault", fault.as_str().into());
        }
        let switches = [
            ("--walk", self.walk),
            ("--named-temporaries", self.named_temporaries),
            ("--plain-rename", self.plain_rename),
        ];
        arguments.extend(switches.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (*flag).into()));
        arguments
    }

    /// Reads what [`Settings::to_arguments`] wrote. Which words are missing or wrong is told.
    pub(super) fn parse(arguments: &[String]) -> Result<Settings, String> {
        let mut settings = Settings::new(PathBuf::new());
        let mut arguments = arguments.iter();
        while let Some(flag) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("`{flag}` needs a value"));
            match flag.as_str() {
                "--root" => settings.root = PathBuf::from(value()?),
                "--recovery" => settings.recovery = Some(PathBuf::from(value()?)),
                "--runtime" => settings.runtime = Some(PathBuf::from(value()?)),
                "--durability" => settings.durability = durability(value()?)?,
                "--threads" => {
                    settings.threads =
                        value()?.parse().map_err(|_| "`--threads` needs a number".to_owned())?;
                }
                "--streaming" => {
                    let bytes = value()?.parse();
                    let bytes = bytes.map_err(|_| "`--streaming` needs a number above 0".to_owned())?;
                    settings.streaming = Some(bytes);
                }
                "--fault" => {
                    let name = value()?;
                    let fault = Fault::parse(name).ok_or_else(|| format!("there is no fault `{name}`"))?;
                    settings.fault = Some(fault);
                }
                "--walk" => settings.walk = true,
                "--named-temporaries" => settings.named_temporaries = true,
                "--plain-rename" => settings.plain_rename = true,
                _ => return Err(format!("a worker has no `{flag}`")),
            }
        }
        if settings.root == Path::new("") {
            return Err("a worker needs a `--root`".to_owned());
        }
        Ok(settings)
    }
}

fn durability(name: &str) -> Result<Durability, String> {
    [("full", Durability::Full), ("data", Durability::Data), ("none", Durability::None)]
        .into_iter()
        .find_map(|(known, durability)| (known == name).then_some(durability))
        .ok_or_else(|| format!("there is no durability `{name}`"))
}
