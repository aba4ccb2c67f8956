//! A file of a case: what happens to it, and what the model knows of it.

use std::path::{Path, PathBuf};

use fastrand::Rng;
use toolfs_core::version::Version;

use super::act::Act;
use super::content::Contents;
use super::hand::{self, Marks};
use super::mapping::Mapping;
use super::model::{Content, Violation};
use super::repository::Repository;

/// A file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) now: Content,
    /// What was there before, for whoever brings it back.
    before: Vec<Content>,
    mapping: Option<Mapping>,
    /// What its other name holds, if it has one.
    link: Option<Content>,
    /// What `stat` said when it was looked at.
    marks: Marks,
    /// For each server, what a read there may tell instead of what is there: since then nothing
    /// changed that `stat` tells.
    remembered: Vec<Vec<Content>>,
}

impl File {
    pub(super) fn new(
        root: &Path,
        number: usize,
        content: Vec<u8>,
        servers: usize,
    ) -> Result<File, Violation> {
        let name = format!("file-{number}");
        let (path, now) = (root.join(&name), Content::new(content));
        std::fs::write(&path, &now.bytes)?;
        let (marks, remembered) = (hand::marks(&path)?, vec![Vec::new(); servers]);
        Ok(File { name, path, now, before: Vec::new(), mapping: None, link: None, marks, remembered })
    }

    pub(super) fn is_mapped(&self) -> bool {
        self.mapping.is_some()
    }

    /// Does an act to it. What came of that, [`File::look`] finds.
    pub(super) fn suffer(
        &mut self,
        act: Act,
        rng: &mut Rng,
        contents: &mut Contents,
        repository: Option<&Repository>,
    ) -> Result<(), Violation> {
        let (path, now) = (&self.path, &self.now.bytes);
        match act {
            Act::Touch(moment) => hand::touch(path, moment, rng)?,
            Act::ChangeMode => hand::change_mode(path, rng)?,
            Act::ChangeOwner => hand::change_owner(path, rng)?,
            Act::SetAttribute => hand::set_attribute(path, rng)?,
            Act::RemoveAttribute => hand::remove_attribute(path)?,
            Act::Link => {
                if self.link.is_none() {
                    std::fs::hard_link(path, hand::link_of(path))?;
                    self.link = Some(self.now.clone());
                }
            }
            Act::Unlink => {
                if self.link.take().is_some() {
                    std::fs::remove_file(hand::link_of(path))?;
                }
            }
            Act::RewriteSame(way) => hand::put(path, now, way)?,
            Act::ThereAndBack(way) => {
                hand::put(path, &contents.draw(rng), way)?;
                hand::put(path, now, way)?;
            }
            Act::MoveAwayAndBack => hand::move_away_and_back(path, &contents.draw(rng))?,
            Act::CutAndRestore => hand::cut_and_restore(path, rng)?,
            Act::Rewrite(way) => hand::put(path, &contents.draw(rng), way)?,
            Act::RewriteUnseen(way) => hand::put_unseen(path, &contents.of_same_size(now), way)?,
            Act::Return(way) => {
                if !self.before.is_empty() {
                    hand::put(path, &self.before[rng.usize(..self.before.len())].bytes, way)?;
                }
            }
            Act::Store { flush } => self.store(&contents.next_stamp(), flush)?,
            Act::StoreSame => self.store(&self.now.stamp(), false)?,
            Act::LetGo => self.mapping = None,
            Act::CheckOutAndBack => in_repository(repository).check_out_and_back()?,
            Act::CheckOutOther => in_repository(repository).check_out_other()?,
            Act::StashAndPop => in_repository(repository).stash_and_pop()?,
        }
        Ok(())
    }

    fn store(&mut self, stamp: &str, flush: bool) -> Result<(), Violation> {
        let mapping = match self.mapping.take() {
            Some(mapping) => mapping,
            None => Mapping::of(&self.path)?,
        };
        let mapping = self.mapping.insert(mapping);
        mapping.store(stamp.as_bytes());
        if flush {
            mapping.flush()?;
        }
        Ok(())
    }

    /// Looks what an act left. Content is what counts, and what the disk holds is what it is.
    pub(super) fn look(&mut self) -> Result<(), Violation> {
        let bytes = std::fs::read(&self.path)?;
        if let Some(link) = &mut self.link {
            *link = Content::new(std::fs::read(hand::link_of(&self.path))?);
        }
        let is_marked = self.note_marks()?;
        if bytes != *self.now.bytes {
            let before = std::mem::replace(&mut self.now, Content::new(bytes));
            if !is_marked {
                self.remembered.iter_mut().for_each(|contents| contents.push(before.clone()));
            }
            self.before.push(before);
        }
        Ok(())
    }

    /// Takes a change of the server's for what is there.
    pub(super) fn land(&mut self, content: Content) -> Result<(), Violation> {
        let before = std::mem::replace(&mut self.now, content);
        self.before.push(before);
        self.note_marks().map(drop)
    }

    /// Whether `stat` tells that something changed. Then nothing that was remembered before is remembered any more.
    fn note_marks(&mut self) -> Result<bool, Violation> {
        let marks = hand::marks(&self.path)?;
        let is_marked = marks != self.marks;
        if is_marked {
            self.marks = marks;
            self.remembered.iter_mut().for_each(Vec::clear);
        }
        Ok(is_marked)
    }

    /// A server forgets what it remembered.
    pub(super) fn forget_at(&mut self, server: usize) {
        self.remembered[server].clear();
    }

    /// An older content that a server may still take for what is there.
    pub(super) fn remembered_at(&self, server: usize, version: &Version) -> Option<Content> {
        self.remembered[server].iter().find(|content| content.version == *version).cloned()
    }

    /// The file and its other name hold what they have to.
    pub(super) fn compare(&self) -> Result<(), Violation> {
        let link = self.link.as_ref().map(|content| (hand::link_of(&self.path), content));
        for (path, content) in [(self.path.clone(), &self.now)].into_iter().chain(link) {
            if *std::fs::read(&path)? != *content.bytes {
                return Err(format!("`{}` does not hold what it has to", path.display()).into());
            }
        }
        Ok(())
    }
}

fn in_repository(repository: Option<&Repository>) -> &Repository {
    repository.expect("such acts are drawn in a repository only")
}
