//! What a slot keeps of versions: those that it has made, until they may be freed; see the [module](super).
//!
//! A slot's transactions commit in epochs that do not go back, so what waits is in the order in which it may go.

use super::Version;
use super::graveyard::{Grave, Piece};
use crate::facade::heap::{Heap, Pieces};
use crate::facade::shared::Arc;
use crate::record::value::{Value, ValueCache, WORD};
use contract::{PartitionId, TableId};
use std::collections::VecDeque;

/// A slot tells what was unlinked takes when that is so many bytes more, or less.
const TOLD_BYTES: u64 = 1 << 20;

/// A version that was superseded.
#[derive(Clone, Copy)]
pub(crate) struct Superseded {
    pub version: Version,
    pub row_bytes: u32,
    /// Whether its row is the word of a value that nothing else has.
    pub has_value: bool,
}

/// The last version of a row that was deleted.
#[derive(Clone, Copy)]
pub(crate) struct Buried {
    pub table: TableId,
    pub partition: PartitionId,
    pub grave: Grave,
}

/// See the module.
#[derive(Default)]
pub(crate) struct VersionCache {
    heap: Arc<Heap>,
    /// For versions.
    pieces: Pieces,
    /// With the snapshots since which something else is shown.
    superseded: VecDeque<(u64, Superseded)>,
    buried: VecDeque<(u64, Buried)>,
    /// Graves that were dug up, and replaced rows where rows are not overwritten: with the epochs in which that was.
    unlinked: VecDeque<(u64, Piece)>,
    /// Of those.
    unlinked_bytes: u64,
    /// Of the versions that wait.
    bytes: u64,
    /// The most that ever waited.
    most_bytes: u64,
    /// What `unlinked_bytes` was when the heap was told last.
    told: u64,
}

// SAFETY: pieces of the heap, which nobody else frees.
unsafe impl Send for VersionCache {}

/// What waits longest, if its time has come.
fn due<T>(waiting: &mut VecDeque<(u64, T)>, now: u64) -> Option<T> {
    let &(time, _) = waiting.front()?;
    if time > now { None } else { waiting.pop_front().map(|(_, due)| due) }
}

impl VersionCache {
    /// Nothing, of this heap.
    pub fn new(heap: &Arc<Heap>) -> Self {
        let mut cache = VersionCache::default();
        cache.heap = Arc::clone(heap);
        cache.pieces = Pieces::new(heap);
        cache
    }

    /// So many versions may wait at once: there is room for them from now on, and for more once more are there.
    pub fn expect(&mut self, versions: usize) {
        self.superseded.reserve(versions.saturating_sub(self.superseded.len()));
    }

    /// Where graves and tombs come from.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// A version of this row, which is so since this snapshot, and what it was before.
    pub fn make(&mut self, snapshot: u64, previous: Option<Version>, row: &[u8]) -> Version {
        Version::make(&mut self.pieces, snapshot, previous, row)
    }

    /// Takes back a version that was never linked.
    pub fn unmake(&mut self, unlinked: Superseded) {
        // SAFETY: made of this heap for rows of so many bytes, and nobody has found it. Its value is the row's.
        unsafe { unlinked.version.free(&mut self.pieces, unlinked.row_bytes as usize) }
    }

    /// Snapshots from `snapshot` on show something else.
    pub fn supersede(&mut self, snapshot: u64, superseded: Superseded) {
        assert!(self.superseded.back().is_none_or(|&(last, _)| last <= snapshot));
        self.bytes += Version::bytes(superseded.row_bytes as usize) as u64;
        self.most_bytes = self.most_bytes.max(self.bytes);
        self.superseded.push_back((snapshot, superseded));
    }

    /// Snapshots from `snapshot` on show nothing.
    pub fn bury(&mut self, snapshot: u64, buried: Buried) {
        assert!(self.buried.back().is_none_or(|&(last, _)| last <= snapshot));
        self.buried.push_back((snapshot, buried));
    }

    /// Frees what only snapshots before `needed` show.
    pub fn reclaim(&mut self, needed: u64, values: &mut ValueCache) {
        while let Some(Superseded { version, row_bytes, has_value }) = due(&mut self.superseded, needed) {
            self.bytes -= Version::bytes(row_bytes as usize) as u64;
            // SAFETY: superseded once, and by the module nobody looks at it any more, nor at the value that only it has.
            unsafe {
                if has_value {
                    values.free(version.view(WORD, |word| Value::of(word)));
                }
                version.free(&mut self.pieces, row_bytes as usize);
            }
        }
    }

    /// Tells the heap what was taken or given back, if that is much.
    #[inline]
    fn tell(&mut self) {
        let bytes = self.unlinked_bytes;
        if bytes.abs_diff(self.told) >= TOLD_BYTES {
            self.heap.tell(bytes as i64 - self.told as i64);
            self.told = bytes;
        }
    }

    /// A grave that only snapshots before `needed` look at.
    pub fn next_to_dig_up(&mut self, needed: u64) -> Option<Buried> {
        due(&mut self.buried, needed)
    }

    /// A transaction of local epoch `epoch` has unlinked a piece.
    pub fn retire(&mut self, epoch: u64, piece: Piece) {
        assert!(self.unlinked.back().is_none_or(|&(last, _)| last <= epoch));
        self.unlinked_bytes += piece.1 as u64;
        self.tell();
        self.unlinked.push_back((epoch, piece));
    }

    /// Frees what was unlinked at epoch `reclaimable` or before.
    pub fn reclaim_unlinked(&mut self, reclaimable: u64) {
        while let Some((piece, bytes)) = due(&mut self.unlinked, reclaimable) {
            self.unlinked_bytes -= bytes as u64;
            // SAFETY: of this heap, unlinked once, and its epoch has passed.
            unsafe { self.heap.give_back(piece, bytes) };
        }
        self.tell();
    }

    /// Bytes of what was unlinked and waits for its epoch.
    pub fn unlinked_bytes(&self) -> u64 {
        self.unlinked_bytes
    }

    /// Bytes of the versions that wait, and the most that ever did.
    pub fn bytes(&self) -> (u64, u64) {
        (self.bytes, self.most_bytes)
    }

    /// A table is gone, with its graveyards.
    pub fn forget_table(&mut self, table: TableId) {
        let heap = &self.heap;
        self.buried.retain(|(_, buried)| {
            if buried.table == table {
                // SAFETY: nobody runs who could find it.
                unsafe { buried.grave.free(heap) };
            }
            buried.table != table
        });
    }
}

/// Nobody runs any more, and the tables are gone.
impl Drop for VersionCache {
    fn drop(&mut self) {
        self.reclaim(u64::MAX, &mut ValueCache::new(&self.heap.clone()));
        self.reclaim_unlinked(u64::MAX);
        for (_, buried) in self.buried.drain(..) {
            // SAFETY: as the comment above says.
            unsafe { buried.grave.free(&self.heap) };
        }
    }
}
