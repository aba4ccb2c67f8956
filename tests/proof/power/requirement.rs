//! What the proofs of power cuts need of the system that they run on.

use rustix::process::geteuid;

use super::command::exists;
use super::scratch::Scratch;
use super::volume::Kind;

/// The kinds of file systems on which a proof can run here, and why not on the others.
#[derive(Debug)]
pub(super) struct Usable {
    kinds: Vec<Kind>,
    pub(super) skipped: Option<String>,
}

impl Usable {
    /// Finds it out by trying: `make` makes a volume and drops it again.
    pub(super) fn find(make: impl Fn(Kind, &Scratch) -> Result<(), String>) -> Usable {
        let (mut kinds, mut reasons) = (Vec::new(), Vec::new());
        for kind in Kind::ALL {
            let made = lacking(kind).and_then(|()| Scratch::make()).and_then(|scratch| make(kind, &scratch));
            match made {
                Ok(()) => kinds.push(kind),
                Err(reason) => reasons.push(format!("{}: {reason}", kind.as_str())),
            }
        }
        let skipped = (!reasons.is_empty()).then(|| reasons.join("; "));
        Usable { kinds, skipped }
    }

    /// The kind for a number: all in turn; none when there is none.
    pub(super) fn kind(&self, number: u64) -> Option<Kind> {
        let count = self.kinds.len() as u64;
        let index = number.checked_rem(count)?;
        usize::try_from(index).ok().map(|index| self.kinds[index])
    }
}

fn lacking(kind: Kind) -> Result<(), String> {
    if !geteuid().is_root() {
        return Err("only root may mount a loop device".to_owned());
    }
    let tools = ["mount", "umount", "losetup", "unshare", "xfs_io", kind.tool()];
    match tools.into_iter().find(|tool| !exists(tool)) {
        Some(tool) => Err(format!("there is no `{tool}`")),
        None => Ok(()),
    }
}
