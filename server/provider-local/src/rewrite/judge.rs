//! Whether what stands in the place of a rewrite is our own half-done work: pure, and sure or not at all.
//!
//! A rewrite goes from the front to the back and then cuts off what is too much; putting back does the same the other
//! way round. What a power cut leaves of either is any choice of blocks, each as it was or as it was to be. So each
//! block must be explained by the old and the new content; one byte that neither has at its place, and it is
//! somebody else's.

/// The blocks in which a file reaches a disk.
pub(super) const BLOCK_BYTES: usize = 4096;

/// What a content is to a rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// What was there before.
    Old,
    /// All of what was to be written.
    New,
    /// A part of the work, done or put back.
    HalfDone,
    /// Somebody else's.
    Foreign,
}

/// A comparison of three contents, block by block from the front.
#[derive(Debug)]
pub(super) struct Judge {
    is_old: bool,
    is_new: bool,
    is_half_done: bool,
}

impl Judge {
    /// Begins with what the lengths tell: of the content before, of the one to be written, and of what is there now.
    pub(super) fn new(old_bytes: u64, new_bytes: u64, now_bytes: u64) -> Judge {
        let between = old_bytes.min(new_bytes)..=old_bytes.max(new_bytes);
        Judge {
            is_old: now_bytes == old_bytes,
            is_new: now_bytes == new_bytes,
            is_half_done: between.contains(&now_bytes),
        }
    }

    /// Looks at the next block of each: [`BLOCK_BYTES`], or fewer where a content ends.
    pub(super) fn feed(&mut self, old: &[u8], new: &[u8], now: &[u8]) {
        self.is_old &= old == now;
        self.is_new &= new == now;
        self.is_half_done = self.is_half_done && is_explained(old, new, now);
    }

    /// What it is; final once the blocks of all three are used up.
    pub(super) fn verdict(&self) -> Verdict {
        match (self.is_old, self.is_new, self.is_half_done) {
            (true, _, _) => Verdict::Old,
            (false, true, _) => Verdict::New,
            (false, false, true) => Verdict::HalfDone,
            (false, false, false) => Verdict::Foreign,
        }
    }
}

/// Whether one block is the front of one thing that could be there and the back of another.
fn is_explained(old: &[u8], new: &[u8], now: &[u8]) -> bool {
    let at = |content: &[u8], index: usize| content.get(index).copied();
    // Where a content does not reach, a file that was made longer than it has zeros.
    let as_it_was = |index| at(old, index).unwrap_or(0);
    let overwritten = |index| at(new, index).unwrap_or_else(|| as_it_was(index));
    let cut_off = |index| at(new, index).unwrap_or(0);
    let (mut front, mut back) = (0, now.len());
    for candidate in [&as_it_was as &dyn Fn(usize) -> u8, &overwritten, &cut_off] {
        let is_same = |&index: &usize| now[index] == candidate(index);
        front = front.max((0..now.len()).take_while(is_same).count());
        back = back.min(now.len() - (0..now.len()).rev().take_while(is_same).count());
    }
    front >= back
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judge(old: &[u8], new: &[u8], now: &[u8]) -> Verdict {
        let mut judge = Judge::new(old.len() as u64, new.len() as u64, now.len() as u64);
        let block = |content: &'_ [u8], index: usize| -> Vec<u8> {
            content.chunks(BLOCK_BYTES).nth(index).unwrap_or_default().to_vec()
        };
        let longest = old.len().max(new.len()).max(now.len());
        for index in 0..longest.div_ceil(BLOCK_BYTES) {
            judge.feed(&block(old, index), &block(new, index), &block(now, index));
        }
        judge.verdict()
    }

    /// Contents of up to some blocks, of few different bytes, so that old and new agree here and there.
    fn content() -> impl Strategy<Value = Vec<u8>> {
        let piece = (prop::collection::vec(1..4_u8, 1..40), 1..200_usize)
            .prop_map(|(bytes, count)| bytes.iter().copied().cycle().take(count * 64).collect::<Vec<u8>>());
        (prop::collection::vec(piece, 0..4), 0..70_usize).prop_map(|(pieces, cut)| {
            let mut all = pieces.concat();
            all.truncate(all.len().saturating_sub(cut));
            all
        })
    }

    /// What a power cut leaves: each block as it was or as it was to be, one of them torn, the length anywhere between.
    fn half_done(old: &[u8], new: &[u8], choices: &[bool], torn: usize, length: usize) -> Vec<u8> {
        let length = old.len().min(new.len()) + length % (old.len().abs_diff(new.len()) + 1);
        let mut now = vec![0; length];
        for (index, block) in now.chunks_mut(BLOCK_BYTES).enumerate() {
            let is_new = choices.get(index).copied().unwrap_or(false);
            for (within, byte) in block.iter_mut().enumerate() {
                let at = index * BLOCK_BYTES + within;
                let takes_new = is_new ^ (index == torn / BLOCK_BYTES && at > torn);
                let (before, after) = (old.get(at).copied(), new.get(at).copied());
                *byte = if takes_new { after.or(before) } else { before }.unwrap_or(0);
            }
        }
        now
    }

    proptest! {
        #[test]
        fn whatever_a_power_cut_leaves_of_a_rewrite_is_known(
            old in content(),
            new in content(),
            choices in prop::collection::vec(any::<bool>(), 12),
            torn in 0..40_000_usize,
            length in any::<usize>(),
        ) {
            let now = half_done(&old, &new, &choices, torn, length);
            prop_assert_ne!(judge(&old, &new, &now), Verdict::Foreign);
        }

        #[test]
        fn whatever_a_kill_leaves_of_a_rewrite_is_known(
            old in content(),
            new in content(),
            blocks in 0..12_usize,
            at in any::<prop::sample::Index>(),
        ) {
            let written = new.len().min(blocks * BLOCK_BYTES);
            let now = [&new[..written], old.get(written..).unwrap_or_default()].concat();
            prop_assert_ne!(judge(&old, &new, &now), Verdict::Foreign);
            // And what a power cut leaves of putting it back.
            let put_back = at.index(old.len().min(now.len()) + 1);
            let again = [&old[..put_back], &now[put_back..]].concat();
            prop_assert_ne!(judge(&old, &new, &again), Verdict::Foreign);
        }

        #[test]
        fn a_foreign_byte_never_passes_for_ours(
            old in content(),
            new in content(),
            choices in prop::collection::vec(any::<bool>(), 12),
            torn in 0..40_000_usize,
            length in any::<usize>(),
            at in any::<prop::sample::Index>(),
        ) {
            let mut now = half_done(&old, &new, &choices, torn, length);
            prop_assume!(!now.is_empty());
            let at = at.index(now.len());
            // Neither content has this byte anywhere, nor has a hole.
            now[at] = 0xff;
            prop_assert_eq!(judge(&old, &new, &now), Verdict::Foreign);
        }

        #[test]
        fn a_length_that_neither_had_nor_passed_is_foreign(old in content(), new in content(), more in 1..50_usize) {
            let mut now = if old.len() > new.len() { old.clone() } else { new.clone() };
            now.resize(now.len() + more, 0);
            prop_assert_eq!(judge(&old, &new, &now), Verdict::Foreign);
        }

        #[test]
        fn the_old_and_the_new_are_known_as_what_they_are(old in content(), new in content()) {
            prop_assert_eq!(judge(&old, &new, &old), Verdict::Old);
            if old != new {
                prop_assert_eq!(judge(&old, &new, &new), Verdict::New);
            }
        }
    }

    #[test]
    fn a_content_that_takes_turns_between_old_and_new_within_a_block_is_foreign() {
        assert_eq!(judge(b"a=1\nb=1\nc=1\n", b"a=2\nb=2\nc=2\n", b"a=1\nb=2\nc=1\n"), Verdict::Foreign);
        assert_eq!(judge(b"a=1\nb=1\nc=1\n", b"a=2\nb=2\nc=2\n", b"a=2\nb=2\nc=1\n"), Verdict::HalfDone);
    }

    #[test]
    fn zeros_are_known_only_where_the_file_grew_or_shrank() {
        let (short, long) = (vec![b'a'; 100], vec![b'b'; 9_000]);
        let mut grown = short.clone();
        grown.resize(9_000, 0);
        assert_eq!(judge(&short, &long, &grown), Verdict::HalfDone);
        assert_eq!(judge(&long, &short, &grown), Verdict::HalfDone);
        grown[50] = 0;
        assert_eq!(judge(&short, &long, &grown), Verdict::Foreign);
    }
}
