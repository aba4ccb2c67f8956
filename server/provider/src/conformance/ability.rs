//! What a fixture cannot do, and why: the reasons for which cases are skipped.

use std::fmt;

/// Something that a case needs from the place under test or from the hand that changes it from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// The hand makes symbolic links, and the provider follows them.
    Symlinks,
    /// The hand makes hard links.
    HardLinks,
    /// The hand makes named pipes.
    SpecialFiles,
    /// The hand sets permission bits, and the provider keeps and tells them.
    Modes,
    /// Names may be any bytes but `/` and NUL.
    RawNames,
    /// The hand moves a file's time of change.
    Times,
    /// The provider tells what the messages of the seam do not carry: how often each line end occurs in a mixed file,
    /// and the numbers behind a diff that is left out.
    UncarriedFacts,
    /// The provider records operation ids. Its capabilities tell, so that a fixture need not.
    OperationIds,
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ability::Symlinks => "symbolic links",
            Ability::HardLinks => "hard links",
            Ability::SpecialFiles => "special files",
            Ability::Modes => "permission bits",
            Ability::RawNames => "raw names",
            Ability::Times => "times of change",
            Ability::UncarriedFacts => "facts that the seam does not carry",
            Ability::OperationIds => "operation ids",
        })
    }
}

/// The abilities of a fixture: all but those that it says it lacks.
#[derive(Clone, Debug, Default)]
pub struct Abilities {
    missing: Vec<(Ability, &'static str)>,
}

impl Abilities {
    /// Everything.
    pub fn all() -> Abilities {
        Abilities::default()
    }

    /// All that these are, without one. The reason is printed with every case that is skipped for it.
    #[must_use]
    pub fn without(mut self, ability: Ability, reason: &'static str) -> Abilities {
        self.missing.push((ability, reason));
        self
    }

    /// Why `ability` is missing, if it is.
    pub fn reason_against(&self, ability: Ability) -> Option<&'static str> {
        self.missing.iter().find(|(missing, _)| *missing == ability).map(|(_, reason)| *reason)
    }
}
