//! Checkpoints: all rows, written beside running transactions, so that the log before them can go (SiloR: Zheng, Tu, Kohler and
//! Liskov, "Fast databases with fast durability and recovery through multicore parallelism", OSDI 2014, 4.2 and 4.3).
//!
//! ```text
//!   loggers begin files       epochs < s are complete       all parts walked; e: the epoch then     marks >= e are synced
//!   s: after all before them          |                              |                                |
//!   ----|-----------------------------|======= the walk =============|--------------------------------|--- the manifest names it
//!                                      rows go to files                files are synced                    what was before it goes
//! ```
//!
//! **The walk.** The tables' partitions are walked in [`Part`]s: ranges of buckets, or a whole ordered index from key to key. A
//! worker, between two transactions of its own, takes a part, does a step (which keys come next, `transaction/walk.rs`; then an
//! ordinary transaction that reads their rows, `session/walk.rs`), and gives it back. So it is right under every architecture and
//! protocol: a step is one more transaction, and what it reads is committed. A worker spends a quarter of its time with it at most. A
//! part fills a block with its rows; a service, the checkpointer, writes the blocks that are full to files.
//!
//! **Fuzzy rows are enough.** Rows are of different moments, between the end of epoch s - 1 and epoch e. The log is replayed over
//! them from epoch s on, in the order of epochs and ids, up to an epoch D >= e. For every key, what comes of it is what all
//! transactions up to D leave:
//! - What was written in an epoch < s is in the row that the walk read, as far as nothing later replaced it: these transactions had ended
//!   when the walk began.
//! - What was written in s..=D is in the log, and the log says bytes, not changes: the last record that names a byte gives it its value,
//!   whatever the row that was read had there. The row has nothing of a transaction after e <= D, since it reads its epoch before
//!   it installs.
//! - A key that has a row all through the walk is found by it ([`crate::index::WalkPosition`]). One that has none when the walk comes,
//!   and one at D, was inserted in s..=D. One that has a row when the walk comes, and none at D, was deleted in s..=D, and the log
//!   says so. One that was deleted before s is not found; and as a checkpoint has all rows, what else a store has goes before it is loaded.
//!
//! Before D = e the rows mean nothing. So a checkpoint counts only when all loggers have synced marks of epoch e or later, which they
//! are asked for, also under `buffered`, and a log that ends before is corrupt.
//!
//! **A crash at any point** finds the manifest with the checkpoint before, and all the log from that on; or with the new one. Files that
//! the manifest does not name are removed when a log is opened, and after every checkpoint ([`files::remove_outdated`]).
//!
//! A run that ends while a checkpoint is walked gives it up.

mod checkpointer;
pub(crate) mod files;

pub(super) use checkpointer::Checkpointer;

use super::format::BLOCK_HEADER_BYTES;
use super::log::Log;
use super::manifest::Manifest;
use crate::epoch::Epochs;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::disk::Folder;
use crate::facade::latched::Latched;
use crate::index::{KeyList, WalkPosition};
use contract::{LogOptions, LogReport, PartitionId, TableId};

/// Bytes at which a block of rows is handed over.
const FULL_BYTES: usize = 128 << 10;
/// Bytes that wait to be written before nobody walks any further.
const MOST_WAITING_BYTES: usize = 8 << 20;
/// Larger memory, of a block with a large row, is not kept for others.
const KEPT_BYTES: usize = 2 * FULL_BYTES;
/// Parts of a hashed partition, if it has so many buckets.
pub(crate) const PARTS_OF_PARTITION: u64 = 16;

/// Rows of one part, after room for a block's header.
#[derive(Default)]
struct Rows {
    bytes: Vec<u8>,
    rows: u64,
}

/// Where a part begins.
#[derive(Clone)]
pub(crate) struct Beginning {
    pub table: TableId,
    pub partition: PartitionId,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Whether keys are byte strings.
    pub has_byte_strings: bool,
    pub position: WalkPosition,
}

/// Some of the rows of a partition, of which a walk has told those before its position.
pub(crate) struct Part {
    pub table: TableId,
    pub partition: PartitionId,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Whether keys are byte strings.
    pub has_byte_strings: bool,
    pub position: WalkPosition,
    /// Keys before the position whose rows are still to be read.
    pub keys: KeyList,
    block: Rows,
}

impl Part {
    /// Adds rows: a payload of transactions that insert them.
    pub fn append(&mut self, payload: &[u8], rows: u64) {
        let bytes = &mut self.block.bytes;
        if bytes.is_empty() {
            bytes.resize(BLOCK_HEADER_BYTES, 0);
        }
        bytes.extend_from_slice(payload);
        self.block.rows += rows;
    }
}

/// What slots, loggers and the checkpointer of a log share.
pub(crate) struct Checkpoints {
    /// Where parts begin, of the store that is logged; `None`: nobody has said what its tables are.
    beginnings: Latched<Option<Vec<Beginning>>>,
    /// Parts that nobody has in hand.
    parts: Latched<Vec<Part>>,
    /// Parts that have not ended.
    unfinished: AtomicU64,
    /// Blocks to be written, and memory of those that were.
    full: Latched<Vec<Rows>>,
    empty: Latched<Vec<Vec<u8>>>,
    /// Checkpoints that somebody has asked for, and how many of them were taken.
    wanted: AtomicU64,
    taken: AtomicU64,
    /// Those who read the last one, so that none may take its place.
    readers: AtomicU64,
    checkpointer: Latched<Checkpointer>,
    /// What was taken. Whoever asks does not wait for the checkpointer.
    told: Latched<LogReport>,
}

impl Checkpoints {
    /// Of a log with this manifest in these folders.
    pub fn new(options: &LogOptions, folders: &[Folder], manifest: &Manifest) -> Checkpoints {
        Checkpoints {
            beginnings: Latched::default(),
            parts: Latched::default(),
            unfinished: AtomicU64::new(0),
            full: Latched::default(),
            empty: Latched::default(),
            wanted: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            readers: AtomicU64::new(0),
            checkpointer: Latched::new(Checkpointer::new(options, folders, manifest)),
            told: Latched::default(),
        }
    }

    /// From now on, all tables have these parts; nobody runs.
    pub fn provide(&self, beginnings: Vec<Beginning>) {
        self.beginnings.with(|old| *old = Some(beginnings));
    }

    /// Asks for one of all that has committed by now; it was taken once [`Checkpoints::taken`] is as much as the answer.
    pub fn want(&self) -> u64 {
        // Release: what the caller has committed comes before; pairs with the Acquire in `Checkpointer::is_due`.
        self.wanted.fetch_add(1, Ordering::Release) + 1
    }

    /// How many of those that were asked for were taken.
    pub fn taken(&self) -> u64 {
        // Acquire: its files are there; pairs with the Release in `Checkpointer::close`.
        self.taken.load(Ordering::Acquire)
    }

    /// While `read` runs, the checkpointer rests: the last checkpoint stays the last, with all of the log from that on.
    pub fn while_it_is_last<R>(&self, read: impl FnOnce() -> R) -> R {
        /// Ends it, also after a panic.
        struct Reader<'a>(&'a AtomicU64);
        impl Drop for Reader<'_> {
            fn drop(&mut self) {
                // Relaxed: who comes after it finds what it needs by the latch.
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        // Relaxed: under the latch, as in `round`.
        self.checkpointer.with(|_| self.readers.fetch_add(1, Ordering::Relaxed));
        let _reader = Reader(&self.readers);
        read()
    }

    /// A part to be walked by whoever takes it. `None`: others have all of them, or the checkpointer is behind.
    pub fn take_part(&self) -> Option<Part> {
        let waiting = self.full.with(|full| full.iter().map(|rows| rows.bytes.len()).sum::<usize>());
        if waiting >= MOST_WAITING_BYTES {
            return None;
        }
        self.parts.with(Vec::pop)
    }

    /// Gives a part back after a step.
    pub fn give_back(&self, mut part: Part) {
        let has_ended = part.position == WalkPosition::End && part.keys.is_empty();
        if part.block.bytes.len() >= FULL_BYTES || has_ended && part.block.rows > 0 {
            let fresh = Rows { bytes: self.empty.with(Vec::pop).unwrap_or_default(), rows: 0 };
            let full = std::mem::replace(&mut part.block, fresh);
            self.full.with(|blocks| blocks.push(full));
        }
        if has_ended {
            self.recycle(part.block.bytes);
            // Release: its blocks are there; pairs with the Acquire in `have_all_ended`.
            self.unfinished.fetch_sub(1, Ordering::Release);
        } else {
            self.parts.with(|parts| parts.push(part));
        }
    }

    /// Keeps a block's memory for another.
    fn recycle(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        if (1..=KEPT_BYTES).contains(&bytes.capacity()) {
            self.empty.with(|empty| empty.push(bytes));
        }
    }

    /// Lays the parts out.
    fn begin_walk(&self) {
        let part = |Beginning { table, partition, row_bytes, has_byte_strings, position }| Part {
            table,
            partition,
            row_bytes,
            has_byte_strings,
            position,
            keys: KeyList::default(),
            block: Rows::default(),
        };
        let beginnings = self.beginnings.with(|beginnings| beginnings.clone());
        let mut parts: Vec<Part> = beginnings.into_iter().flatten().map(part).collect();
        // The last is taken first.
        parts.reverse();
        // Relaxed: the latch orders it before any part is taken.
        self.unfinished.store(parts.len() as u64, Ordering::Relaxed);
        self.parts.with(|none| {
            assert!(none.is_empty(), "one walk at a time");
            *none = parts;
        });
    }

    /// Whether all parts have ended; their blocks are there.
    fn have_all_ended(&self) -> bool {
        // Acquire: pairs with the Release in `give_back`.
        self.unfinished.load(Ordering::Acquire) == 0
    }

    /// A round of the checkpointer's service.
    pub fn round(&self, log: &Log, epochs: &Epochs) {
        self.checkpointer.with(|checkpointer| {
            // Relaxed: see `while_it_is_last`.
            if self.readers.load(Ordering::Relaxed) == 0 {
                checkpointer.round(self, log, epochs);
            }
        });
    }

    /// Nobody runs any more, and everything that was logged is durable: one that was walked counts, any other is given up.
    pub fn finish(&self, log: &Log, epochs: &Epochs) {
        self.checkpointer.with(|checkpointer| checkpointer.finish(self, log, epochs));
        self.parts.with(Vec::clear);
        self.full.with(Vec::clear);
    }

    /// Adds what was taken.
    pub fn add_to(&self, report: &mut LogReport) {
        let told = self.told.with(|told| *told);
        report.checkpoints += told.checkpoints;
        report.last_checkpoint = told.last_checkpoint;
    }
}
