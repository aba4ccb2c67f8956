//! The command line.

use toolfs_core::planted::Fault;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    List,
    Prove { name: String, task: Task },
}

/// How a proof is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// How many cases; the proof's own full size when it is not given.
    pub(crate) size: Option<u64>,
    /// The seed of the first case; the others follow one by one.
    pub(crate) seed: u64,
    /// The fault that is planted.
    pub(crate) fault: Option<Fault>,
}

impl Arguments {
    /// Without arguments the proofs are listed, so that a run of all test targets ends well.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = arguments.into_iter();
        let name = match arguments.next().as_deref() {
            None | Some("--list") => return Ok(Arguments::List),
            Some(flag) if flag.starts_with('-') => return Err(format!("`{flag}` comes after the name")),
            Some(name) => name.to_owned(),
        };
        // Small enough to be typed again.
        let mut task = Task { size: None, seed: fastrand::u64(..1 << 32), fault: None };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{flag}` needs a value"))?;
            let number = || value.parse().map_err(|_| format!("`{flag}` needs a number, not `{value}`"));
            match flag.as_str() {
                "--size" => task.size = Some(number()?),
                "--seed" => task.seed = number()?,
                "--fault" => {
                    let fault = Fault::parse(&value).ok_or_else(|| format!("there is no fault `{value}`"))?;
                    task.fault = Some(fault);
                }
                _ => return Err(format!("there is no `{flag}`")),
            }
        }
        Ok(Arguments::Prove { name, task })
    }
}
