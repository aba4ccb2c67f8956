//! The promise: an edit changes the bytes of its match, and nothing else about a file.
//!
//! A case is a random content with random metadata and a random edit of it. What has to come of it an oracle says that
//! was written from the design's text alone. Bytes, mode, owner, access list and extended attributes of the file and of
//! its other hard link are compared, and so is what the answer says: its code, counts, lines, version and remarks.
//! Deliberately absent: what foreign writers or crashes do to an edit, which other proofs try, and diffs, ranges of
//! changed lines and near misses, which are `core`'s to test.

mod bench;
mod door;
mod draft;
mod metadata;
mod oracle;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use rustix::fs::removexattr;
use toolfs_core::error::Code;
use toolfs_core::planted::Fault;
use toolfs_core::version::Version;

use self::bench::{Bench, Benches, DIRECTORIES, Kind};
use self::door::{Answer, Asked, Done, Refusal, code};
use self::draft::Draft;
use self::metadata::{Kept, Metadata};
use self::oracle::{Edited, Expected, Remark, expect};
use crate::Promise;
use crate::control::Control;
use crate::sweep::{Case, Found, Task, sweep};

pub(crate) const PROMISE: Promise = Promise {
    name: "only-the-match",
    says: "an edit changes the bytes of its match and nothing else",
    full_size: 50_000,
    controls: &[
        Control::Planted(Fault::EditUnifiesLineEnds),
        Control::Planted(Fault::ReplaceDropsAttributes),
        Control::Planted(Fault::ReplaceDropsMode),
    ],
    control_size: 2_000,
    prove,
};

/// How many matches are told with their lines.
const TOLD_MATCHES: usize = 100;

fn prove(task: &Task) -> Found {
    let benches = Benches::default();
    sweep(task, |seed| {
        let mut rng = Rng::with_seed(seed);
        let kind = Kind::draw(&mut rng);
        let mut facts = Vec::new();
        let tried = benches.with(kind, |bench| try_one(bench, &mut rng, &mut facts));
        let violation = tried.err().map(|violation| format!("on {kind:?}: {violation}"));
        let facts = facts.into_iter().map(|fact| (fact, 1)).collect();
        Case { steps: 1, violation, facts }
    })
}

/// What is wrong with a case.
type Violation = String;

fn try_one(bench: &Bench, rng: &mut Rng, facts: &mut Vec<String>) -> Result<(), Violation> {
    let draft = Draft::draw(rng, bench.kind.takes_large_files());
    let directory = DIRECTORIES[usize::from(rng.u32(..5) == 0)];
    let asked = Asked {
        path: format!("{directory}/file"),
        edit: draft.edit.clone(),
        as_json: rng.u32(..4) == 0,
        dry_run: rng.u32(..20) == 0,
        guarded: rng.u32(..3) > 0 || bench.kind == Kind::Server,
    };
    let file =
        Laid::down(bench, directory, &draft, rng).map_err(|error| format!("laying it out: {error}"))?;
    let told = |violation| format!("{violation}; {}; {asked:?} of {}", file.told(), shown(&draft.content));
    let judged = judge(bench, &asked, &draft, &file, facts).map_err(told);
    let cleared = file.clear(facts).map_err(told);
    facts.push(format!("{:?} files", draft.size).to_lowercase());
    judged.and(cleared)
}

fn judge(
    bench: &Bench,
    asked: &Asked,
    draft: &Draft,
    file: &Laid,
    facts: &mut Vec<String>,
) -> Result<(), Violation> {
    let expected = expect(&draft.content, &asked.edit);
    if asked.guarded
        && let Some(code) = bench.door.read(&asked.path)?
    {
        let is_text =
            !matches!(expected, Expected::NotText(_)) && std::str::from_utf8(&draft.content).is_ok();
        facts.push("files that could not be read".to_owned());
        return if is_text && !draft.content.contains(&0) {
            Err(format!("the read before ended in {code}"))
        } else {
            file.expect_untouched()
        };
    }
    let answer = bench.door.edit(asked)?;
    match expected_refusal(&expected, file.kept.is_sealed()) {
        Some(refusal) => {
            facts.push(format!("refused: {}", refusal.code));
            compare("the answer", &answer, &Answer::Refused(refusal))?;
            file.expect_untouched()
        }
        None => {
            let Expected::Edited(edited) = &expected else {
                return Err("the oracle has no answer".to_owned());
            };
            let Answer::Done(done) = answer else { return Err(format!("it was answered {answer:?}")) };
            compare_answer(&done, edited, file)?;
            count(facts, asked, edited, file);
            if asked.dry_run { file.expect_untouched() } else { file.expect_edited(&edited.content) }
        }
    }
}

/// The refusal that has to come; `None` where the edit has to land.
fn expected_refusal(expected: &Expected, is_sealed: bool) -> Option<Refusal> {
    let refusal = |code_of, offset, matches| Some(Refusal { code: code(code_of), offset, matches });
    match expected {
        Expected::NoEdit => refusal(Code::InvalidArgument, None, None),
        Expected::NotText(_) | Expected::NotFound | Expected::Ambiguous { .. } | Expected::Edited(_)
            if is_sealed =>
        {
            refusal(Code::PermissionDenied, None, None)
        }
        Expected::NotText(offset) => refusal(Code::NotText, Some(*offset), None),
        Expected::NotFound => refusal(Code::EditNotFound, None, None),
        Expected::Ambiguous { count, lines } => {
            refusal(Code::AmbiguousEdit, None, Some((*count, lines.clone())))
        }
        Expected::Edited(_) => None,
    }
}

fn compare_answer(done: &Done, edited: &Edited, file: &Laid) -> Result<(), Violation> {
    let mut notices: BTreeSet<String> = edited.remarks.iter().map(|remark| remark_kind(*remark)).collect();
    if file.kept.has_privileges() {
        notices.insert("PrivilegeBitsDropped".to_owned());
    }
    if file.link.is_some() {
        notices.insert("HardLinksKeepOldContent".to_owned());
    }
    let lines: Vec<(u64, u64)> = edited.matches.iter().take(TOLD_MATCHES).copied().collect();
    let expected = Done {
        replacements: edited.matches.len() as u64,
        version: Version::of(&edited.content).as_str().to_owned(),
        notices,
        lines: done.lines.is_some().then_some(lines),
        size: done.size.is_some().then_some(edited.content.len() as u64),
    };
    compare("the outcome", done, &expected)
}

fn remark_kind(remark: Remark) -> String {
    match remark {
        Remark::LineEndings => "LineEndingsChanged",
        Remark::Bom => "BomChanged",
        Remark::FinalNewline => "FinalNewlineChanged",
    }
    .to_owned()
}

fn count(facts: &mut Vec<String>, asked: &Asked, edited: &Edited, file: &Laid) {
    let mut add = |is_so: bool, fact: &str| {
        if is_so {
            facts.push(fact.to_owned());
        }
    };
    add(true, "edits that landed or would have");
    add(edited.matches.len() > 1, "edits of several matches");
    add(edited.content.starts_with(b"\xef\xbb\xbf"), "edits of files with a byte order mark");
    add(!edited.content.is_ascii(), "edits of files with characters of several bytes");
    add(asked.guarded, "edits under a gate");
    add(file.kept.has_access_list(), "edits of files with an access list");
    add(file.kept.has_user_attributes(), "edits of files with attributes");
    add(file.kept.has_privileges(), "edits of files with privileges");
    add(file.link.is_some(), "edits of files with another hard link");
    for remark in &edited.remarks {
        add(true, &format!("remarks: {}", remark_kind(*remark)));
    }
}

/// A file of a case, as it was before the edit.
#[derive(Debug)]
struct Laid {
    path: PathBuf,
    /// Its other name, if it has one.
    link: Option<PathBuf>,
    content: Vec<u8>,
    kept: Kept,
    inode: u64,
}

impl Laid {
    fn down(bench: &Bench, directory: &str, draft: &Draft, rng: &mut Rng) -> std::io::Result<Laid> {
        let path = bench.root.join(directory).join("file");
        fs::write(&path, &draft.content)?;
        // Where new files are given a list, this one has its own or none.
        let _ = removexattr(&path, "system.posix_acl_access");
        Metadata::draw(rng).give(&path)?;
        let link = (rng.u32(..20) == 0).then(|| path.with_file_name("link"));
        if let Some(link) = &link {
            fs::hard_link(&path, link)?;
        }
        let (kept, inode) = (Kept::of(&path)?, fs::metadata(&path)?.ino());
        Ok(Laid { path, link, content: draft.content.clone(), kept, inode })
    }

    fn told(&self) -> String {
        format!("{:?}{}", self.kept, if self.link.is_some() { ", with another hard link" } else { "" })
    }

    fn expect_untouched(&self) -> Result<(), Violation> {
        let inode = fs::metadata(&self.path).map_err(|error| error.to_string())?.ino();
        compare("the inode after a refusal", &inode, &self.inode)?;
        self.expect(&self.path, &self.content, &self.kept)
    }

    fn expect_edited(&self, content: &[u8]) -> Result<(), Violation> {
        self.expect(&self.path, content, &self.kept.after_a_change())?;
        match &self.link {
            Some(link) => self.expect(link, &self.content, &self.kept),
            None => Ok(()),
        }
    }

    fn expect(&self, path: &Path, content: &[u8], kept: &Kept) -> Result<(), Violation> {
        let found = fs::read(path).map_err(|error| error.to_string())?;
        if found != content {
            return Err(format!(
                "it holds {}, not {}",
                shown_around(&found, content),
                shown_around(content, &found)
            ));
        }
        compare("what it has beside its content", &Kept::of(path).map_err(|error| error.to_string())?, kept)
    }

    /// Removes the file. Nothing else may be there.
    fn clear(&self, facts: &mut Vec<String>) -> Result<(), Violation> {
        let told = |error: std::io::Error| error.to_string();
        for path in self.link.iter().chain([&self.path]) {
            fs::remove_file(path).map_err(told)?;
        }
        let directory = self.path.parent().expect("it lies in a directory");
        if let Some(left) = fs::read_dir(directory).map_err(told)?.next() {
            return Err(format!("`{}` was left", left.map_err(told)?.file_name().to_string_lossy()));
        }
        facts.push(format!(
            "in the {} directory",
            directory.file_name().unwrap_or_default().to_string_lossy()
        ));
        Ok(())
    }
}

fn compare<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), Violation> {
    if found == expected { Ok(()) } else { Err(format!("{what} is {found:?}, not {expected:?}")) }
}

/// How much of a content is shown.
const SHOWN: usize = 400;

fn shown(content: &[u8]) -> String {
    let cut =
        if content.len() > SHOWN { format!(" and so on, {} bytes", content.len()) } else { String::new() };
    format!("\"{}\"{cut}", content[..content.len().min(SHOWN)].escape_ascii())
}

/// The part of a content around the first byte in which it differs from another.
fn shown_around(content: &[u8], other: &[u8]) -> String {
    let differs = content.iter().zip(other).take_while(|(one, other)| one == other).count();
    let start = differs.saturating_sub(SHOWN / 4);
    format!("{} from byte {start} of {}", shown(&content[start..]), content.len())
}
