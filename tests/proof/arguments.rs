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
    pub(crate) size: Size,
    /// The seed of the first case; the others follow one by one.
    pub(crate) seed: u64,
    /// The name of the control that is to be run instead of the proof.
    pub(crate) fault: Option<String>,
}

/// How many cases a proof is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// So many.
    Cases(u64),
    /// The full size, or one of so many parts of it.
    OneOf(u64),
}

impl Size {
    /// Reads `N` or `1/N`.
    fn parse(text: &str) -> Option<Size> {
        match text.strip_prefix("1/") {
            Some(parts) => parts.parse().ok().filter(|&parts| parts > 0).map(Size::OneOf),
            None => text.parse().ok().filter(|&cases| cases > 0).map(Size::Cases),
        }
    }

    /// The number of cases of a proof that has so many in full.
    pub(crate) fn of(self, full_size: u64) -> u64 {
        match self {
            Size::Cases(cases) => cases,
            Size::OneOf(parts) => full_size.div_ceil(parts),
        }
    }
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
        let mut asked = Asked { name, size: Size::OneOf(1), seed: fastrand::u64(..1 << 32), fault: None };
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("`{flag}` needs a value"))?;
            match flag.as_str() {
                "--size" => {
                    let size = Size::parse(&value);
                    asked.size =
                        size.ok_or_else(|| format!("`--size` needs N or 1/N, N from 1, not `{value}`"))?;
                }
                "--seed" => {
                    let seed = value.parse();
                    asked.seed = seed.map_err(|_| format!("`--seed` needs a number, not `{value}`"))?;
                }
                "--fault" => asked.fault = Some(value),
                _ => return Err(format!("there is no `{flag}`")),
            }
        }
        Ok(Arguments::Prove(asked))
    }
}
