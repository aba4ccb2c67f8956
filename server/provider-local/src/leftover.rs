//! What a hidden file of ours is called, and what is to be done with one that a crash left behind.
//!
//! A name tells whose it is, what its content was meant to be and what it was to replace, so that a later look needs
//! nothing but the directory: the file beneath it is either one of these two contents, or somebody else's. Nothing
//! here touches a disk. Deliberately absent: age, which tells nothing.

use toolfs_core::version::Version;

use crate::instance::Instance;

const PREFIX: &[u8] = b".toolfs-";
const PARTIAL: &[u8] = b"partial";
const RESCUE: &str = ".toolfs-rescue-";
/// How many hexadecimal digits of a content's digest a name carries, and of a target's name.
const CONTENT_DIGITS: usize = 32;
const TARGET_DIGITS: usize = 16;

/// The beginning of a digest: of a content, or of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digits<const N: usize>([u8; N]);

/// What is left of a version in a hidden name.
pub(crate) type ContentDigits = Digits<CONTENT_DIGITS>;

/// What is left of a target's name in a hidden name.
pub(crate) type TargetDigits = Digits<TARGET_DIGITS>;

impl<const N: usize> Digits<N> {
    fn parse(text: &[u8]) -> Option<Digits<N>> {
        let is_plain = text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        Some(Digits(*text.first_chunk::<N>().filter(|_| is_plain && text.len() == N)?))
    }

    fn of_hash(hash: &blake3::Hash) -> Digits<N> {
        Digits(*hash.to_hex().as_bytes().first_chunk().expect("a hash has 64 digits"))
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits are ASCII")
    }
}

impl TargetDigits {
    /// Those of a name.
    pub(crate) fn of_name(name: &[u8]) -> TargetDigits {
        Digits::of_hash(&blake3::hash(name))
    }
}

impl ContentDigits {
    /// Those of a version of this provider.
    pub(crate) fn of(version: &Version) -> ContentDigits {
        let digits =
            version.as_str().rsplit('-').next().and_then(|text| text.as_bytes().get(..CONTENT_DIGITS));
        digits
            .and_then(Digits::parse)
            .unwrap_or_else(|| Digits::of_hash(&blake3::hash(version.as_str().as_bytes())))
    }
}

/// What a hidden file stands for once it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// The content that is published.
    pub(crate) ours: ContentDigits,
    /// The content that it is to replace.
    pub(crate) expected: ContentDigits,
    /// The name whose content is replaced.
    pub(crate) target: TargetDigits,
}

impl Label {
    /// For a replacement of `expected` with `ours` under the name `target`.
    pub(crate) fn new(ours: &Version, expected: &Version, target: &[u8]) -> Label {
        let (ours, expected) = (ContentDigits::of(ours), ContentDigits::of(expected));
        Label { ours, expected, target: TargetDigits::of_name(target) }
    }
}

/// The name of a hidden file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// The provider that made it.
    pub(crate) instance: Instance,
    /// Tells the files of an instance apart.
    pub(crate) serial: u64,
    /// Absent while it is partial: such a file is never exchanged, so that nothing but ours can be in it.
    pub(crate) label: Option<Label>,
}

impl Hidden {
    /// The rule that keeps callers from such names: what lies beneath one may be taken for a leftover, and removed.
    pub(crate) const RULE: &str = ".toolfs-INSTANCE-SERIAL-…";

    /// Reads a name; `None` for one that is none of ours.
    pub(crate) fn parse(name: &[u8]) -> Option<Hidden> {
        let mut parts = name.strip_prefix(PREFIX)?.split(|&byte| byte == b'-');
        let instance = Instance::parse(parts.next()?)?;
        let serial = std::str::from_utf8(parts.next()?).ok()?;
        let serial = u64::from_str_radix(serial, 16).ok().filter(|number| format!("{number:x}") == serial)?;
        let first = parts.next()?;
        let label = if first == PARTIAL {
            None
        } else {
            let (ours, expected) = (Digits::parse(first)?, Digits::parse(parts.next()?)?);
            Some(Label { ours, expected, target: Digits::parse(parts.next()?)? })
        };
        parts.next().is_none().then_some(Hidden { instance, serial, label })
    }

    /// The name itself.
    pub(crate) fn name(&self) -> Vec<u8> {
        let Hidden { instance, serial, label } = self;
        match label {
            None => format!(".toolfs-{instance}-{serial:x}-partial"),
            Some(Label { ours, expected, target }) => {
                let (ours, expected, target) = (ours.text(), expected.text(), target.text());
                format!(".toolfs-{instance}-{serial:x}-{ours}-{expected}-{target}")
            }
        }
        .into_bytes()
    }

    /// The same file before it was whole.
    pub(crate) fn partial(self) -> Hidden {
        Hidden { label: None, ..self }
    }

    /// The name under which a foreign content is kept that was found beneath this one.
    pub(crate) fn rescue_name(&self) -> Vec<u8> {
        format!("{RESCUE}{}-{:x}", self.instance, self.serial).into_bytes()
    }
}

/// What is beneath a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beneath {
    /// Nothing.
    Nothing,
    /// A regular file with this content.
    Content(ContentDigits),
    /// Something else: a directory, a link.
    Other,
}

/// What is to be done with a hidden file that nobody works with any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// There is nothing to do.
    Nothing,
    /// It is litter: our own content, or the one that was to be replaced.
    Remove,
    /// It is a foreign content that was displaced, and ours is in its place.
    PutBack,
    /// It is a foreign content, and its place is not ours to change any more.
    Rescue,
}

/// Decides by contents alone. `target` is asked for only where it matters.
pub(crate) fn decide<E>(
    label: Option<&Label>,
    hidden: Beneath,
    target: impl FnOnce() -> Result<Beneath, E>,
) -> Result<Decision, E> {
    let Some(label) = label else {
        return Ok(if hidden == Beneath::Nothing { Decision::Nothing } else { Decision::Remove });
    };
    match hidden {
        Beneath::Nothing => Ok(Decision::Nothing),
        Beneath::Content(digits) if digits == label.ours || digits == label.expected => Ok(Decision::Remove),
        Beneath::Content(_) | Beneath::Other => Ok(match target()? {
            Beneath::Content(digits) if digits == label.ours => Decision::PutBack,
            Beneath::Content(_) | Beneath::Other | Beneath::Nothing => Decision::Rescue,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::of(text.as_bytes())
    }

    fn whole() -> Hidden {
        let label = Label::new(&version("ours"), &version("old"), b"f");
        Hidden { instance: Instance::new(), serial: 0x1f, label: Some(label) }
    }

    #[test]
    fn a_name_is_read_as_it_is_written_and_fits_everywhere() {
        let longest = Hidden { serial: u64::MAX, ..whole() };
        for hidden in [whole(), whole().partial(), longest] {
            let name = hidden.name();
            assert_eq!(Hidden::parse(&name), Some(hidden));
            assert!(name.len() < 143, "some file systems keep no longer names: {}", name.len());
        }
        let target = whole().label.unwrap().target;
        assert!(target == TargetDigits::of_name(b"f") && target != TargetDigits::of_name(b"g"));
    }

    #[test]
    fn a_name_that_is_not_exactly_ours_is_nobodys_business() {
        let name = whole().name();
        for end in 0..name.len() {
            assert_eq!(Hidden::parse(&name[..end]), None, "{end}");
        }
        for other in
            [[name.clone(), b"-".to_vec()].concat(), [b"x".to_vec(), name].concat(), whole().rescue_name()]
        {
            assert_eq!(Hidden::parse(&other), None);
        }
        for other in
            [".toolfs-", ".toolfs-0123456789abcdef-01-partial", ".toolfs-0123456789abcdef-+1-partial"]
        {
            assert_eq!(Hidden::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn contents_decide() {
        let label = whole().label.unwrap();
        let content = |text| Beneath::Content(ContentDigits::of(&version(text)));
        let all = [Beneath::Nothing, content("ours"), content("old"), content("theirs"), Beneath::Other];
        for hidden in all {
            for target in all {
                let decided = decide(Some(&label), hidden, || Ok::<_, ()>(target)).unwrap();
                let expected = if hidden == Beneath::Nothing {
                    Decision::Nothing
                } else if hidden == content("ours") || hidden == content("old") {
                    Decision::Remove
                } else if target == content("ours") {
                    Decision::PutBack
                } else {
                    Decision::Rescue
                };
                assert_eq!(decided, expected, "{hidden:?} {target:?}");
            }
            let partial = decide(None, hidden, || Ok::<_, ()>(Beneath::Nothing)).unwrap();
            assert_eq!(partial == Decision::Nothing, hidden == Beneath::Nothing);
        }
    }
}
