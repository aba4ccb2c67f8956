//! The command line.

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    List,
    Prove(Asked),
}

/// A proof as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) name: String,
    /// How many cases; the proof's own full size when it is not given.
    pub(crate) size: Option<u64>,
    /// The seed of the first case; the others follow one by one.
    pub(crate) seed: u64,
    /// The name of the control that is to be run instead of the proof.
    pub(crate) fault: Option<String>,
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
        let mut asked = Asked { name, size: None, seed: fastrand::u64(..1 << 32), fault: None };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{flag}` needs a value"))?;
            let number = || value.parse().map_err(|_| format!("`{flag}` needs a number, not `{value}`"));
            match flag.as_str() {
                "--size" => asked.size = Some(number()?),
                "--seed" => asked.seed = number()?,
                "--fault" => asked.fault = Some(value),
                _ => return Err(format!("there is no `{flag}`")),
            }
        }
        Ok(Arguments::Prove(asked))
    }
}
