//! What a drive remembers of writes until it is told to flush, and what a cut leaves of it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// The sector of the drive: written whole or not at all.
pub(in crate::power) const SECTOR: u32 = 4096;
const SECTOR_BYTES: usize = SECTOR as usize;

/// The sectors of one write, in their order.
type Write = Vec<(u64, Box<[u8]>)>;

/// A file behind a volatile cache.
#[derive(Debug)]
pub(super) struct Cache {
    medium: File,
    /// Since the last flush, in the order in which they came.
    pending: Vec<Write>,
    /// What a read finds: the newest of the pending ones, by sector.
    newest: HashMap<u64, Box<[u8]>>,
}

/// What became of the writes since the last flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::power) struct Toll {
    /// Writes that are there.
    pub(in crate::power) left: u64,
    /// Writes that are gone.
    pub(in crate::power) taken: u64,
    /// Writes of which some sectors are there.
    pub(in crate::power) torn: u64,
}

impl Order {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Order::Any => "any-order",
            Order::Kept => "order-kept",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Order> {
        [Order::Any, Order::Kept].into_iter().find(|order| order.as_str() == name)
    }
}

impl Cache {
    pub(super) fn new(medium: File) -> Cache {
        Cache { medium, pending: Vec::new(), newest: HashMap::new() }
    }

    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.medium.read_exact_at(buffer, offset)?;
        let first = offset / u64::from(SECTOR);
        // Reads come in whole sectors, as the device that is on top says that it has such.
        for (sector, bytes) in (first..).zip(buffer.chunks_mut(SECTOR_BYTES)) {
            if let Some(newest) = self.newest.get(&sector) {
                bytes.copy_from_slice(&newest[..bytes.len()]);
            }
        }
        Ok(())
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        if !offset.is_multiple_of(u64::from(SECTOR)) || !data.len().is_multiple_of(SECTOR_BYTES) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let first = offset / u64::from(SECTOR);
        let write: Write = (first..).zip(data.chunks(SECTOR_BYTES).map(Box::from)).collect();
        self.newest.extend(write.iter().cloned());
        self.pending.push(write);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        for (sector, bytes) in &self.newest {
            self.medium.write_all_at(bytes, sector * u64::from(SECTOR))?;
        }
        self.forget();
        Ok(())
    }

    /// Loses what was not flushed, but for a subset of it.
    pub(super) fn cut(&mut self, rng: &mut Rng, order: Order) -> io::Result<Toll> {
        let subset = Subset::draw(rng, order, self.pending.len());
        let mut toll = Toll::default();
        for (index, write) in self.pending.iter().enumerate() {
            let mut written = 0;
            for (sector, bytes) in write {
                if subset.keeps(rng, index) {
                    self.medium.write_all_at(bytes, sector * u64::from(SECTOR))?;
                    written += 1;
                }
            }
            match written {
                0 => toll.taken += 1,
                _ if written == write.len() => toll.left += 1,
                _ => toll.torn += 1,
            }
        }
        self.forget();
        Ok(toll)
    }

    fn forget(&mut self) {
        self.pending.clear();
        self.newest.clear();
    }
}

/// In which order a drive makes durable what nobody told it to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::power) enum Order {
    /// In any, which is what a file system must be prepared for.
    Any,
    /// In that of the writes: so, a file system that never flushes comes back whole, but as it was before.
    Kept,
}

/// Which sectors a cut leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subset {
    None,
    /// The writes before this one.
    Before(usize),
    /// The writes from this one on.
    From(usize),
    /// So many of ten sectors, of all writes.
    Tenths(u32),
}

impl Subset {
    fn draw(rng: &mut Rng, order: Order, count: usize) -> Subset {
        match (order, rng.u32(..5)) {
            (_, 0) => Subset::None,
            (Order::Kept, _) | (Order::Any, 1) => Subset::Before(rng.usize(..=count)),
            (Order::Any, 2) => Subset::From(rng.usize(..=count)),
            (Order::Any, _) => Subset::Tenths(rng.u32(1..=9)),
        }
    }

    fn keeps(self, rng: &mut Rng, index: usize) -> bool {
        match self {
            Subset::None => false,
            Subset::Before(end) => index < end,
            Subset::From(first) => index >= first,
            Subset::Tenths(tenths) => rng.u32(..10) < tenths,
        }
    }
}
