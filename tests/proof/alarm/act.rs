//! What happens to a file outside of the server, drawn at random.

use fastrand::Rng;

/// How a content comes into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is written where the file stands.
    InPlace,
    /// A new file takes the name.
    ByRename,
}

/// Where a time stamp goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Now,
    Back,
    Forward,
    /// It is set to what it is.
    Same,
}

/// An act on one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    // What leaves the content as it is.
    Touch(Moment),
    ChangeMode,
    ChangeOwner,
    SetAttribute,
    RemoveAttribute,
    Link,
    Unlink,
    RewriteSame(Way),
    /// Another content, and the same one again.
    ThereAndBack(Way),
    /// The file is moved away, another one takes its name for a moment, and it comes back.
    MoveAwayAndBack,
    /// It is cut short, and written to its old length again.
    CutAndRestore,

    // What changes it.
    /// Another content of any size.
    Rewrite(Way),
    /// Another content of the same size, with the time stamps of the one before.
    RewriteUnseen(Way),
    /// A content that was there before.
    Return(Way),

    // Through a shared mapping, which lives on until it is let go.
    /// Stores another content of the same size.
    Store {
        flush: bool,
    },
    /// Stores what is there.
    StoreSame,
    LetGo,

    // By git, in a repository.
    CheckOutAndBack,
    CheckOutOther,
    StashAndPop,
}

impl Act {
    /// An act on a file, of which nothing is mapped.
    pub(super) fn draw(rng: &mut Rng, in_repository: bool) -> Act {
        if in_repository && rng.bool() {
            return match rng.u32(..5) {
                0..2 => Act::CheckOutAndBack,
                2..4 => Act::StashAndPop,
                _ => Act::CheckOutOther,
            };
        }
        match rng.u32(..100) {
            0..14 => Act::Touch(moment(rng)),
            14..19 => Act::ChangeMode,
            19..22 => Act::ChangeOwner,
            22..25 => Act::SetAttribute,
            25..27 => Act::RemoveAttribute,
            27..31 => Act::Link,
            31..33 => Act::Unlink,
            33..45 => Act::RewriteSame(way(rng)),
            45..52 => Act::ThereAndBack(way(rng)),
            52..57 => Act::MoveAwayAndBack,
            57..62 => Act::CutAndRestore,
            62..68 => Act::Rewrite(way(rng)),
            68..80 => Act::RewriteUnseen(way(rng)),
            80..89 => Act::Return(way(rng)),
            89..97 => Act::Store { flush: rng.bool() },
            _ => Act::StoreSame,
        }
    }

    /// An act on a file that is mapped: none that would cut it.
    pub(super) fn draw_while_mapped(rng: &mut Rng) -> Act {
        match rng.u32(..10) {
            0..5 => Act::LetGo,
            5..8 => Act::Store { flush: rng.bool() },
            8 => Act::StoreSame,
            _ => Act::Touch(moment(rng)),
        }
    }

    /// What it counts as.
    pub(super) fn counts_as(self) -> &'static str {
        match self {
            Act::Touch(_) => "touched",
            Act::ChangeMode | Act::ChangeOwner | Act::SetAttribute | Act::RemoveAttribute => {
                "other metadata changed"
            }
            Act::Link | Act::Unlink => "hard links made or removed",
            Act::RewriteSame(_) => "rewritten with the same bytes",
            Act::ThereAndBack(_) | Act::MoveAwayAndBack | Act::CutAndRestore => "changed and changed back",
            Act::Rewrite(_) => "rewritten",
            Act::RewriteUnseen(_) => "rewritten with the same size and times",
            Act::Return(_) => "brought back to an earlier content",
            Act::Store { .. } | Act::StoreSame => "stored into through a mapping",
            Act::LetGo => "mappings let go",
            Act::CheckOutAndBack | Act::CheckOutOther | Act::StashAndPop => "checked out or stashed by git",
        }
    }
}

fn moment(rng: &mut Rng) -> Moment {
    match rng.u32(..4) {
        0 => Moment::Now,
        1 => Moment::Back,
        2 => Moment::Forward,
        _ => Moment::Same,
    }
}

fn way(rng: &mut Rng) -> Way {
    if rng.bool() { Way::InPlace } else { Way::ByRename }
}
