//! Which provider a hidden file belongs to, in which start of which system.
//!
//! An instance is a number that no other provider has. Its upper half tells the boot of the system apart, so that
//! what another boot left on a disk that only one system can have mounted is nobody's any more. Deliberately absent:
//! whether an instance lives, which `host` knows.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use crate::root;

/// The name of one provider for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Instance(u64);

impl Instance {
    /// An instance of this boot.
    pub(crate) fn new() -> Instance {
        // The keys of a hasher are random: that is all the uniqueness that a hidden name needs.
        let random = RandomState::new().build_hasher().finish();
        Instance(u64::from(boot()) << 32 | random & 0xffff_ffff)
    }

    /// Reads sixteen hexadecimal digits.
    pub(crate) fn parse(text: &[u8]) -> Option<Instance> {
        let is_plain = |&byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 16 || !text.iter().all(is_plain) {
            return None;
        }
        u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok().map(Instance)
    }

    /// Whether both are known to be of different boots.
    pub(crate) fn is_of_another_boot(self, other: Instance) -> bool {
        let (here, there) = (self.0 >> 32, other.0 >> 32);
        here != 0 && there != 0 && here != there
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What tells this boot apart; 0 where the system does not say.
fn boot() -> u32 {
    let mut text = [0; 64];
    let id = root::read_system("/proc/sys/kernel/random/boot_id", &mut text).filter(|id| !id.is_empty());
    let number = |id| Some(u32::from_le_bytes(*blake3::hash(id).as_bytes().first_chunk()?));
    id.and_then(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_read_as_it_is_written() {
        let instance = Instance::new();
        assert_eq!(Instance::parse(instance.to_string().as_bytes()), Some(instance));
        for text in ["", "0", "00000000000000000", "000000000000000G", "000000000000000A", "+00000000000000f"]
        {
            assert_eq!(Instance::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn two_instances_of_one_boot_differ_and_are_of_one_boot() {
        let (one, two) = (Instance::new(), Instance::new());
        assert_ne!(one, two);
        assert!(!one.is_of_another_boot(two));
        assert!(one.is_of_another_boot(Instance(one.0 ^ 1 << 40)));
        assert!(!one.is_of_another_boot(Instance(one.0 & 0xffff_ffff)), "unknown is not another");
    }
}
