//! The attacks by name, and the right answer of every call to each of them.
//!
//! `{base}` is the directory in which the root and what is outside of it lie, `{root}` the root as it is shown.
//! What an attack lays is there before the search for the target, what it swaps is done between that and the call.

use toolfs_core::error::Code;

use super::call::Call;
use super::scene::Lay;

/// An attack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) path: Spelling,
    pub(crate) lays: &'static [Lay],
    pub(crate) swaps: &'static [Lay],
    pub(crate) right: Right,
    /// Where a mutation that works lands, below the root; the path itself when it is empty.
    pub(crate) lands: &'static str,
    /// Another directory of the host that is served instead of the root.
    pub(crate) serves: Option<&'static str>,
    /// Whether the root itself is under another name after the swap.
    pub(crate) moves_root: bool,
}

/// A path as it is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spelling {
    Plain(&'static [u8]),
    /// The first part so many times, then the second one.
    Repeated(&'static str, usize, &'static str),
}

/// The right code of each kind of call; `None` where it works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Right {
    read: Option<Code>,
    stat: Option<Code>,
    lstat: Option<Code>,
    list: Option<Code>,
    create: Option<Code>,
    write: Option<Code>,
    /// Edits, and writes of what was seen.
    change: Option<Code>,
}

impl Right {
    pub(crate) fn of(&self, call: Call) -> Option<Code> {
        match call {
            Call::ReadLines | Call::ReadText | Call::ReadBytes | Call::StatVersion => self.read,
            Call::Stat => self.stat,
            Call::Lstat => self.lstat,
            Call::ListDir => self.list,
            Call::Create | Call::PlanCreate => self.create,
            Call::Write | Call::PlanWrite => self.write,
            Call::Replace | Call::Edit | Call::PlanEdit => self.change,
        }
    }

    const fn all(code: Code) -> Right {
        let code = Some(code);
        Right { read: code, stat: code, lstat: code, list: code, create: code, write: code, change: code }
    }

    /// The link itself may be looked at.
    const fn but_lstat(self) -> Right {
        Right { lstat: None, ..self }
    }
}

/// A regular file.
const FILE: Right = Right {
    read: None,
    stat: None,
    lstat: None,
    list: Some(Code::NotDirectory),
    create: Some(Code::NotObserved),
    write: None,
    change: None,
};
/// Nothing, where something may be made.
const MISSING: Right =
    Right { create: None, write: None, change: Some(Code::StaleVersion), ..Right::all(Code::NotFound) };
const DIRECTORY: Right = Right { stat: None, lstat: None, list: None, ..Right::all(Code::NotRegularFile) };
/// A pipe, a socket, a device.
const SPECIAL: Right =
    Right { stat: None, lstat: None, list: Some(Code::NotDirectory), ..Right::all(Code::NotRegularFile) };
/// A file that may be read only.
const PROTECTED: Right = Right {
    create: Some(Code::SandboxDenied),
    write: Some(Code::SandboxDenied),
    change: Some(Code::SandboxDenied),
    ..FILE
};
/// `new/`
const NEW_DIRECTORY: Right = Right {
    create: Some(Code::NotRegularFile),
    write: Some(Code::NotRegularFile),
    change: Some(Code::NotRegularFile),
    ..MISSING
};
const OUT: Right = Right::all(Code::SandboxDenied);
const LINK_OUT: Right = OUT.but_lstat();
const INVALID: Right = Right::all(Code::InvalidArgument);
const NO_PATH: Right = Right::all(Code::NotFound);
const THROUGH_FILE: Right = Right::all(Code::NotDirectory);

const fn attack(name: &'static str, path: &'static [u8], right: Right) -> Attack {
    let path = Spelling::Plain(path);
    Attack { name, path, lays: &[], swaps: &[], right, lands: "", serves: None, moves_root: false }
}

impl Attack {
    const fn lays(self, lays: &'static [Lay]) -> Attack {
        Attack { lays, ..self }
    }

    const fn swaps(self, swaps: &'static [Lay]) -> Attack {
        Attack { swaps, ..self }
    }

    const fn lands(self, lands: &'static str) -> Attack {
        Attack { lands, ..self }
    }

    const fn links(name: &'static str, path: &'static [u8], link: &'static [Lay; 1], right: Right) -> Attack {
        attack(name, path, right).lays(link)
    }

    const fn repeats(
        name: &'static str,
        unit: &'static str,
        count: usize,
        end: &'static str,
        right: Right,
    ) -> Attack {
        Attack { path: Spelling::Repeated(unit, count, end), ..attack(name, b"", right) }
    }

    const fn serves(self, directory: &'static str) -> Attack {
        Attack { serves: Some(directory), ..self }
    }

    const fn moves_root(self) -> Attack {
        Attack { moves_root: true, ..self }
    }
}

const LEAK: &[Lay; 1] = &[Lay::Link { at: "l", to: "{base}/outside/f" }];
const LEAKED_DIRECTORY: &[Lay; 1] = &[Lay::Link { at: "l", to: "{base}/outside" }];
const LEAKED_MISSING: &[Lay; 1] = &[Lay::Link { at: "l", to: "{base}/outside/missing" }];
const TO_FILE: &[Lay; 1] = &[Lay::Link { at: "l", to: "f" }];
const PAIR: &[Lay] = &[Lay::Link { at: "l", to: "m" }, Lay::Link { at: "m", to: "l" }];
const MOUNT: &[Lay] = &[
    Lay::Link { at: "../bound/up", to: "../outside/f" },
    Lay::Link { at: "../bound/leak", to: "{base}/outside/f" },
    Lay::Directory("mount"),
    Lay::Bind { at: "mount", from: "../bound" },
];
const REPOSITORY: &[Lay] = &[
    Lay::Directory(".git"),
    Lay::File(".git/config"),
    Lay::Link { at: "l", to: ".git/config" },
    Lay::Link { at: "repository", to: ".git" },
];

/// Every attack.
pub(crate) const ATTACKS: &[Attack] = &[
    // Controls of the table: what is no attack works.
    attack("a file", b"f", FILE).lands("f"),
    attack("a file by its whole path", b"{root}/d/f", FILE).lands("d/f"),
    attack("a missing file", b"new", MISSING).lands("new"),
    attack("missing parents", b"new/deep/er", MISSING).lands("new/deep/er"),
    // Spellings.
    attack("sibling with the same beginning", b"../root-evil/f", OUT),
    attack("sibling with the same beginning, absolute", b"{base}/root-evil/f", OUT),
    attack("sibling that begins like the shown root", b"{root}-evil/f", OUT),
    attack("the root's name below the root", b"root/f", MISSING).lands("root/f"),
    attack("the root itself", b"{root}", DIRECTORY),
    attack("the root by a dot", b".", DIRECTORY),
    attack("nothing at all", b"", INVALID),
    attack("up", b"..", OUT),
    attack("up and into a file", b"../outside/f", OUT),
    attack("down, up and out", b"d/../../outside/f", OUT),
    attack("out and back in", b"../root/f", OUT),
    attack("out and back in, absolute", b"{root}/../root/f", OUT),
    attack("out over a missing directory", b"missing/../../outside/f", NO_PATH),
    attack("up over a missing directory", b"missing/../f", NO_PATH),
    attack("up over a file", b"f/../f", THROUGH_FILE),
    attack("up from the shown root", b"{root}/../../../../etc/passwd", OUT),
    attack("absolute", b"{base}/outside/f", OUT),
    attack("absolute, of the host", b"/etc/passwd", OUT),
    attack("absolute with two slashes", b"//etc/passwd", OUT),
    attack("the root of the host", b"/", OUT),
    attack("descriptors of the process", b"/proc/self/fd/0", OUT),
    attack("the host by the process", b"/proc/self/root/etc/passwd", OUT),
    attack("a NUL in the name", b"f\0", INVALID),
    attack("a NUL before the way out", b"f\0/../../outside/f", INVALID),
    attack("a newline", b"new\nline", MISSING).lands("new\nline"),
    attack("an escape sequence", b"\x1b[2Jnew", MISSING).lands("\x1b[2Jnew"),
    attack("a name that is not UTF-8", b"\xff\xfe", MISSING),
    attack("a parent that is not UTF-8", b"\xc3\x28/f", MISSING),
    attack("dots that lead nowhere", b".../f", MISSING).lands(".../f"),
    attack("backslashes", b"..\\outside\\f", MISSING).lands("..\\outside\\f"),
    attack("escaped dots", b"%2e%2e/outside/f", MISSING).lands("%2e%2e/outside/f"),
    attack("dots that look alike", b"\xe2\x80\xa5/outside/f", MISSING).lands("\u{2025}/outside/f"),
    attack("a slash after a file", b"f/", THROUGH_FILE),
    attack("a dot after a file", b"f/.", THROUGH_FILE),
    attack("a slash after a directory", b"d/", DIRECTORY),
    attack("a dot after a directory", b"d/.", DIRECTORY),
    attack("a slash after nothing", b"new/", NEW_DIRECTORY),
    attack("a dot after nothing", b"new/.", NEW_DIRECTORY),
    attack("a file as a directory", b"f/new", THROUGH_FILE),
    Attack::repeats("the longest name", "n", 255, "", MISSING),
    Attack::repeats("a name that is too long", "n", 256, "", INVALID),
    Attack::repeats("a parent whose name is too long", "n", 256, "/f", INVALID),
    Attack::repeats("a path that is too long", "d/../", 900, "f", INVALID),
    Attack::repeats("a deep path", "n/", 300, "f", MISSING),
    Attack::repeats("many steps up and down", "d/../", 600, "f", FILE).lands("f"),
    Attack::repeats("many dots", "./", 1_500, "f", FILE).lands("f"),
    Attack::repeats("many steps up", "../", 600, "outside/f", OUT),
    // Links.
    Attack::links("link to a file outside", b"l", LEAK, LINK_OUT),
    Attack::links("link to a file outside, a slash after it", b"l/", LEAK, OUT),
    Attack::links("link to a file outside as a directory", b"l/f", LEAK, OUT),
    Attack::links(
        "relative link to a file outside",
        b"l",
        &[Lay::Link { at: "l", to: "../outside/f" }],
        LINK_OUT,
    ),
    Attack::links("link to a sibling", b"l", &[Lay::Link { at: "l", to: "../root-evil/f" }], LINK_OUT),
    Attack::links(
        "link to a sibling, absolute",
        b"l",
        &[Lay::Link { at: "l", to: "{base}/root-evil/f" }],
        LINK_OUT,
    ),
    Attack::links("link to a directory outside", b"l", LEAKED_DIRECTORY, LINK_OUT),
    Attack::links("link to a directory outside, a slash after it", b"l/", LEAKED_DIRECTORY, OUT),
    Attack::links("through a link to a directory outside", b"l/f", LEAKED_DIRECTORY, OUT),
    Attack::links("a new file through a link to a directory outside", b"l/new", LEAKED_DIRECTORY, OUT),
    Attack::links("new parents through a link to a directory outside", b"l/new/deep", LEAKED_DIRECTORY, OUT),
    Attack::links("up from a directory outside", b"l/../root/f", LEAKED_DIRECTORY, OUT),
    Attack::links(
        "relative link to a directory outside",
        b"l/f",
        &[Lay::Link { at: "l", to: "../outside" }],
        OUT,
    ),
    Attack::links(
        "deep link out",
        b"d/deep/l",
        &[Lay::Link { at: "d/deep/l", to: "../../../outside/f" }],
        LINK_OUT,
    ),
    Attack::links("link to a missing file outside", b"l", LEAKED_MISSING, LINK_OUT),
    Attack::links("through a link to a missing directory outside", b"l/new", LEAKED_MISSING, OUT),
    Attack::links("link to the host", b"l/etc/passwd", &[Lay::Link { at: "l", to: "/" }], OUT),
    Attack::links("link up to where the root lies", b"l/outside/f", &[Lay::Link { at: "l", to: ".." }], OUT),
    Attack::links("link out and back in", b"l", &[Lay::Link { at: "l", to: "../root/f" }], LINK_OUT),
    Attack::links(
        "link out and back in, absolute",
        b"l",
        &[Lay::Link { at: "l", to: "{base}/outside/../root/f" }],
        LINK_OUT,
    ),
    Attack::links(
        "link into the root and out of it",
        b"l",
        &[Lay::Link { at: "l", to: "{base}/root/../outside/f" }],
        LINK_OUT,
    ),
    Attack::links("link to a descriptor", b"l", &[Lay::Link { at: "l", to: "/proc/self/fd/0" }], LINK_OUT),
    Attack::links("link to descriptors", b"l/0", &[Lay::Link { at: "l", to: "/proc/self/fd" }], OUT),
    Attack::links(
        "link into the root by the process",
        b"l",
        &[Lay::Link { at: "l", to: "/proc/self/root{base}/root/f" }],
        LINK_OUT,
    ),
    Attack::links("link to a device of the host", b"l", &[Lay::Link { at: "l", to: "/dev/zero" }], LINK_OUT),
    attack("link to a link out", b"m", LINK_OUT)
        .lays(&[Lay::Link { at: "l", to: "{base}/outside/f" }, Lay::Link { at: "m", to: "l" }]),
    Attack::links("link inside", b"l", TO_FILE, FILE).lands("f"),
    Attack::links("file through a link as a directory", b"l/new", TO_FILE, THROUGH_FILE),
    Attack::links("link up inside", b"d/l", &[Lay::Link { at: "d/l", to: "../f" }], FILE).lands("f"),
    Attack::links("absolute link into the root", b"l", &[Lay::Link { at: "l", to: "{base}/root/d/f" }], FILE)
        .lands("d/f"),
    Attack::links("absolute link to the root", b"l/d/f", &[Lay::Link { at: "l", to: "{base}/root" }], FILE)
        .lands("d/f"),
    Attack::links("link to a missing file", b"l", &[Lay::Link { at: "l", to: "d/new" }], MISSING.but_lstat())
        .lands("d/new"),
    Attack::links("link to a missing directory", b"l/f", &[Lay::Link { at: "l", to: "new" }], MISSING)
        .lands("new/f"),
    Attack::links("link to itself", b"l", &[Lay::Link { at: "l", to: "l" }], INVALID.but_lstat()),
    attack("links in a circle", b"l", INVALID.but_lstat()).lays(PAIR),
    attack("through links in a circle", b"l/f", INVALID).lays(PAIR),
    Attack::links("as many links as may be", b"c0", &[Lay::Chain { count: 40, to: "f" }], FILE).lands("f"),
    Attack::links("too many links", b"c0", &[Lay::Chain { count: 41, to: "f" }], INVALID.but_lstat()),
    attack("what is protected", b".git/config", PROTECTED).lays(REPOSITORY),
    attack("what is protected, by a link", b"l", PROTECTED).lays(REPOSITORY),
    attack("what is protected, through a link", b"repository/config", PROTECTED).lays(REPOSITORY),
    // The magic links of procfs, in a root that has them.
    attack("the host by the process, in the root", b"root/etc/passwd", OUT).serves("/proc/self"),
    attack("the working directory of the process", b"cwd", LINK_OUT).serves("/proc/self"),
    attack("the program of the process", b"exe", LINK_OUT).serves("/proc/self"),
    attack("up over the process", b"fd/../root/etc/passwd", OUT).serves("/proc/self"),
    // What has other names.
    attack("hard link to outside", b"h", FILE)
        .lays(&[Lay::HardLink { at: "h", of: "../outside/shared" }])
        .lands("h"),
    attack("mounted directory", b"mount/f", FILE).lays(MOUNT).lands("mount/f"),
    attack("a new file in a mounted directory", b"mount/new", MISSING).lays(MOUNT).lands("mount/new"),
    attack("out of a mounted directory", b"mount/../../outside/f", OUT).lays(MOUNT),
    attack("link up in a mounted directory", b"mount/up", MISSING.but_lstat()).lays(MOUNT).lands("outside/f"),
    attack("link out in a mounted directory", b"mount/leak", LINK_OUT).lays(MOUNT),
    // What is no file.
    attack("a pipe", b"p", SPECIAL).lays(&[Lay::Fifo("p")]),
    attack("a pipe as a directory", b"p/f", THROUGH_FILE).lays(&[Lay::Fifo("p")]),
    attack("link to a pipe", b"l", SPECIAL).lays(&[Lay::Fifo("p"), Lay::Link { at: "l", to: "p" }]),
    attack("a socket", b"s", SPECIAL).lays(&[Lay::Socket("s")]),
    attack("a device", b"z", SPECIAL).lays(&[Lay::Device("z")]),
    attack("link to a device", b"l", SPECIAL).lays(&[Lay::Device("z"), Lay::Link { at: "l", to: "z" }]),
    // Swaps between the search and the call.
    attack("file becomes a link out", b"f", LINK_OUT)
        .swaps(&[Lay::Remove("f"), Lay::Link { at: "f", to: "{base}/outside/f" }]),
    attack("file becomes a relative link out", b"d/f", LINK_OUT)
        .swaps(&[Lay::Remove("d/f"), Lay::Link { at: "d/f", to: "../../outside/f" }]),
    attack("nothing becomes a link out", b"new", LINK_OUT).swaps(LEAKED_NEW),
    attack("parent becomes a link out", b"d/f", OUT)
        .swaps(&[Lay::Move { from: "d", to: "aside" }, Lay::Link { at: "d", to: "{base}/outside" }]),
    attack("parent becomes a relative link out", b"d/f", OUT)
        .swaps(&[Lay::Move { from: "d", to: "aside" }, Lay::Link { at: "d", to: "../outside" }]),
    attack("grandparent becomes a link out", b"d/deep/f", OUT)
        .swaps(&[Lay::Move { from: "d", to: "aside" }, Lay::Link { at: "d", to: "{base}/outside/a" }]),
    attack("missing parent becomes a link out", b"new/f", OUT).swaps(LEAKED_NEW_DIRECTORY),
    attack("missing grandparent becomes a link out", b"new/deep/f", OUT).swaps(LEAKED_NEW_DIRECTORY),
    attack("link inside becomes a link out", b"l", LINK_OUT).lays(TO_FILE).swaps(&[
        Lay::Remove("l"),
        Lay::Link { at: "l", to: "{base}/outside/f" },
        Lay::Remove("f"),
        Lay::Link { at: "f", to: "{base}/outside/f" },
    ]),
    attack("file becomes an absolute link inside", b"f", FILE)
        .swaps(&[Lay::Remove("f"), Lay::Link { at: "f", to: "{base}/root/d/f" }])
        .lands("d/f"),
    attack("parent becomes a link inside", b"d/f", FILE)
        .swaps(&[Lay::Move { from: "d", to: "aside" }, Lay::Link { at: "d", to: "aside" }])
        .lands("aside/f"),
    attack("parent is moved out", b"d/f", MISSING)
        .swaps(&[Lay::Move { from: "d", to: "../away" }])
        .lands("d/f"),
    attack("grandparent is moved out", b"d/deep/f", MISSING)
        .swaps(&[Lay::Move { from: "d", to: "../away" }])
        .lands("d/deep/f"),
    attack("parent becomes a file", b"d/f", THROUGH_FILE)
        .swaps(&[Lay::Move { from: "d", to: "aside" }, Lay::File("d")]),
    attack("parent becomes a pipe", b"d/f", THROUGH_FILE)
        .swaps(&[Lay::Move { from: "d", to: "aside" }, Lay::Fifo("d")]),
    attack("file becomes a pipe", b"f", SPECIAL).swaps(&[Lay::Remove("f"), Lay::Fifo("f")]),
    attack("file becomes a socket", b"f", SPECIAL).swaps(&[Lay::Remove("f"), Lay::Socket("f")]),
    attack("file becomes a device", b"f", SPECIAL).swaps(&[Lay::Remove("f"), Lay::Device("f")]),
    attack("file becomes a directory", b"f", DIRECTORY).swaps(&[Lay::Remove("f"), Lay::Directory("f")]),
    attack("file becomes links in a circle", b"f", INVALID.but_lstat())
        .swaps(&[Lay::Remove("f"), Lay::Link { at: "f", to: "f" }]),
    attack("file goes", b"f", MISSING).swaps(&[Lay::Remove("f")]).lands("f"),
    attack("root becomes a link out", b"f", FILE)
        .swaps(&[
            Lay::Move { from: "../root", to: "../moved" },
            Lay::Link { at: "../root", to: "{base}/outside" },
        ])
        .lands("f")
        .moves_root(),
];

const LEAKED_NEW: &[Lay] = &[Lay::Link { at: "new", to: "{base}/outside/missing" }];
const LEAKED_NEW_DIRECTORY: &[Lay] = &[Lay::Link { at: "new", to: "{base}/outside" }];
