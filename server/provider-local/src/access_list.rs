//! Access control lists as the kernel keeps them: pure, from bytes to bytes.
//!
//! A list has an entry for the owner, for named users, for the owning group, for named groups, a mask over all of these
//! but the owner, and one for everybody else. Deliberately absent: names of users, and the lists of other systems.

/// What an entry is about.
const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const OWNING_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHERS: u16 = 0x20;

/// The version of the form that Linux has.
const VERSION: [u8; 4] = 2_u32.to_le_bytes();
const ALL: u16 = 0o7;

/// An access control list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AccessList(Vec<Entry>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    tag: u16,
    permissions: u16,
    id: u32,
}

impl AccessList {
    /// Reads the value of the attribute; `None` for one that is not understood.
    pub(crate) fn parse(bytes: &[u8]) -> Option<AccessList> {
        let (entries, rest) = bytes.strip_prefix(&VERSION)?.as_chunks::<8>();
        let known = [OWNER, USER, OWNING_GROUP, GROUP, MASK, OTHERS];
        let entries: Vec<_> = entries.iter().map(Entry::read).collect();
        let is_known = |entry: &Entry| known.contains(&entry.tag) && entry.permissions <= ALL;
        let has = |tag| entries.iter().filter(|entry| entry.tag == tag).count() == 1;
        let is_whole = rest.is_empty() && [OWNER, OWNING_GROUP, OTHERS].into_iter().all(has);
        (is_whole && entries.iter().all(is_known)).then_some(AccessList(entries))
    }

    /// The value of the attribute.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let entries = self.0.iter().flat_map(|entry| entry.to_bytes());
        VERSION.into_iter().chain(entries).collect()
    }

    /// The mode that a file with this list shows: the group bits are the mask.
    pub(crate) fn mode(&self) -> u32 {
        let group = self.of(MASK).or_else(|| self.of(OWNING_GROUP));
        let bits = |permissions: Option<u16>| u32::from(permissions.unwrap_or(0));
        bits(self.of(OWNER)) << 6 | bits(group) << 3 | bits(self.of(OTHERS))
    }

    /// The list of a new file in a directory that has this one by default, when it is made with `mode`.
    pub(crate) fn of_new_file(&self, mode: u32) -> AccessList {
        let has_mask = self.of(MASK).is_some();
        self.with(|entry| {
            let bits = match entry.tag {
                OWNER => mode >> 6,
                OWNING_GROUP if !has_mask => mode >> 3,
                MASK => mode >> 3,
                OTHERS => mode,
                _ => u32::from(ALL),
            };
            entry.permissions & u16::try_from(bits & u32::from(ALL)).unwrap_or(0)
        })
    }

    /// A list for the same content when its group could not be kept: nobody gains by it.
    ///
    /// The group that it has now may do no more than everybody, and no more than any group that is named; who was in
    /// the group before may do as everybody does, so everybody may do no more than that group could.
    pub(crate) fn without_group(&self) -> AccessList {
        let others = self.of(OTHERS).unwrap_or(0);
        let before = self.of(OWNING_GROUP).unwrap_or(0);
        let named = self.0.iter().filter(|entry| entry.tag == GROUP);
        let now = named.fold(before & others, |least, entry| least & entry.permissions);
        self.with(|entry| match entry.tag {
            OWNING_GROUP => now,
            OTHERS => others & before & self.mask(),
            _ => entry.permissions,
        })
    }

    /// The bits of a mode for the same content where no list can be kept: nobody gains by it, named or not.
    pub(crate) fn mode_without_list(&self) -> u32 {
        let named = self.0.iter().filter(|entry| matches!(entry.tag, USER | GROUP));
        let least = named.fold(ALL, |least, entry| least & entry.permissions & self.mask());
        let group = self.of(OWNING_GROUP).unwrap_or(0) & self.mask() & least;
        let others = self.of(OTHERS).unwrap_or(0) & least;
        let owner = self.of(OWNER).unwrap_or(0);
        u32::from(owner) << 6 | u32::from(group) << 3 | u32::from(others)
    }

    fn of(&self, tag: u16) -> Option<u16> {
        self.0.iter().find(|entry| entry.tag == tag).map(|entry| entry.permissions)
    }

    fn mask(&self) -> u16 {
        self.of(MASK).unwrap_or(ALL)
    }

    fn with(&self, permissions: impl Fn(&Entry) -> u16) -> AccessList {
        let change = |entry: &Entry| Entry { permissions: permissions(entry), ..*entry };
        AccessList(self.0.iter().map(change).collect())
    }
}

impl Entry {
    fn read(bytes: &[u8; 8]) -> Entry {
        let [tag @ .., _, _, _, _, _, _] = *bytes;
        let [_, _, permissions @ .., _, _, _, _] = *bytes;
        let [_, _, _, _, id @ ..] = *bytes;
        Entry {
            tag: u16::from_le_bytes(tag),
            permissions: u16::from_le_bytes(permissions),
            id: u32::from_le_bytes(id),
        }
    }

    fn to_bytes(self) -> [u8; 8] {
        let ([a, b], [c, d]) = (self.tag.to_le_bytes(), self.permissions.to_le_bytes());
        let [e, f, g, h] = self.id.to_le_bytes();
        [a, b, c, d, e, f, g, h]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(entries: &[(u16, u16, u32)]) -> AccessList {
        let entry = |&(tag, permissions, id)| Entry { tag, permissions, id };
        AccessList(entries.iter().map(entry).collect())
    }

    fn any_list() -> impl Strategy<Value = AccessList> {
        let permissions = || 0..=ALL;
        let named = prop::collection::vec((permissions(), 0..4_u32), 0..3);
        (permissions(), named.clone(), permissions(), named, permissions(), permissions()).prop_map(
            |(owner, users, group, groups, mask, others)| {
                let mut entries = vec![(OWNER, owner, u32::MAX)];
                entries.extend(users.iter().map(|&(permissions, id)| (USER, permissions, id)));
                entries.push((OWNING_GROUP, group, u32::MAX));
                entries.extend(groups.iter().map(|&(permissions, id)| (GROUP, permissions, id)));
                if !users.is_empty() || !groups.is_empty() {
                    entries.push((MASK, mask, u32::MAX));
                }
                entries.push((OTHERS, others, u32::MAX));
                list(&entries)
            },
        )
    }

    /// Somebody who is not the owner: a user, and groups.
    #[derive(Clone, Debug)]
    struct Person {
        user: u32,
        groups: Vec<u32>,
    }

    /// What a list lets somebody do with a file of a group, as the kernel judges: one wish at a time.
    fn may(list: &AccessList, file_group: u32, person: &Person, wish: u16) -> bool {
        let named = list.0.iter().find(|entry| entry.tag == USER && entry.id == person.user);
        if let Some(entry) = named {
            return entry.permissions & list.mask() & wish == wish;
        }
        let is_in = |entry: &&Entry| match entry.tag {
            OWNING_GROUP => person.groups.contains(&file_group),
            GROUP => person.groups.contains(&entry.id),
            _ => false,
        };
        let mut matching = list.0.iter().filter(is_in).peekable();
        match matching.peek() {
            Some(_) => matching.any(|entry| entry.permissions & list.mask() & wish == wish),
            None => list.of(OTHERS).unwrap() & wish == wish,
        }
    }

    fn plain(mode: u32) -> AccessList {
        let bits = |shift: u32| u16::try_from(mode >> shift & 7).unwrap();
        list(&[(OWNER, bits(6), u32::MAX), (OWNING_GROUP, bits(3), u32::MAX), (OTHERS, bits(0), u32::MAX)])
    }

    fn person() -> impl Strategy<Value = Person> {
        (0..4_u32, prop::collection::vec(0..6_u32, 0..4)).prop_map(|(user, groups)| Person { user, groups })
    }

    proptest! {
        #[test]
        fn nobody_gains_when_the_group_is_another(
            list in any_list(), person in person(), before in 0..6_u32, now in 0..6_u32, wish in 1..=ALL,
        ) {
            let narrowed = list.without_group();
            prop_assert!(!may(&narrowed, now, &person, wish) || may(&list, before, &person, wish));
            prop_assert_eq!(narrowed.mode() & 0o770, list.mode() & 0o770 & (narrowed.mode() | 0o007));
        }

        #[test]
        fn nobody_gains_when_the_list_is_lost(
            list in any_list(), person in person(), group in 0..6_u32, wish in 1..=ALL,
        ) {
            let left = plain(list.mode_without_list());
            prop_assert!(!may(&left, group, &person, wish) || may(&list, group, &person, wish));
        }

        #[test]
        fn nobody_gains_when_both_are_lost(
            list in any_list(), person in person(), before in 0..6_u32, now in 0..6_u32, wish in 1..=ALL,
        ) {
            let left = plain(list.without_group().mode_without_list());
            prop_assert!(!may(&left, now, &person, wish) || may(&list, before, &person, wish));
        }

        #[test]
        fn a_list_is_the_same_after_a_round(list in any_list()) {
            prop_assert_eq!(AccessList::parse(&list.to_bytes()), Some(list));
        }

        #[test]
        fn any_bytes_are_a_list_or_none(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(list) = AccessList::parse(&bytes) {
                prop_assert_eq!(list.to_bytes(), bytes);
            }
        }
    }

    #[test]
    fn a_new_file_has_of_the_default_list_what_its_mode_leaves() {
        let default = list(&[
            (OWNER, 7, u32::MAX),
            (USER, 6, 1234),
            (OWNING_GROUP, 7, u32::MAX),
            (MASK, 7, u32::MAX),
            (OTHERS, 5, u32::MAX),
        ]);
        let made = list(&[
            (OWNER, 6, u32::MAX),
            (USER, 6, 1234),
            (OWNING_GROUP, 7, u32::MAX),
            (MASK, 6, u32::MAX),
            (OTHERS, 4, u32::MAX),
        ]);
        assert_eq!(default.of_new_file(0o666), made);
        assert_eq!(made.mode(), 0o664);
    }

    #[test]
    fn an_ordinary_mode_keeps_what_everybody_had() {
        for (mode, expected) in
            [(0o660, 0o600), (0o664, 0o644), (0o775, 0o755), (0o604, 0o600), (0o777, 0o777), (0o640, 0o600)]
        {
            assert_eq!(plain(mode).without_group().mode(), expected, "{mode:o}");
        }
    }
}
