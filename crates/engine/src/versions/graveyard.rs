//! The graveyard of a partition: the last versions of rows that were deleted, in the order of their keys, until no snapshot shows them.
//!
//! State. An ordered index that finds, by key, a *tomb*: a word that points to the key's newest *grave*. A grave says since which
//! snapshot there is no row, which was its last version, and which grave of the same key came before, and since when there was none
//! by that one. Nothing of a grave is ever changed. The row that a snapshot shows is that of the oldest grave that is later.
//!
//! Who deletes puts a grave before what a tomb has, or links a tomb with it; deletes of one key come one after the other, as
//! transactions that write one record do. A slot digs its own graves up again, in the order of their snapshots, when nobody needs them any
//! more: if the tomb's newest is the one, it closes the tomb for ever and unlinks it; if there is a newer one, nobody who reads a
//! snapshot that is needed follows that to the older one, because it says by itself that it is too old.
//!
//! Tombs and graves that were dug up are freed when their epoch has passed, as records are: a reader may still look at when
//! somebody died. They do not wait for each other; only who buries waits, for a tomb that was closed to leave the index, which takes its
//! digger a few steps.
//!
//! **Who may look at what.** A *grave* is there until its slot digs it up, whenever that is: slots may rest. A *tomb* is there while it is
//! linked, and for whoever has found it in the index until the end of the epoch. So nobody keeps the place of a tomb, nor does a slot for the
//! graves that it has put there: whoever has a newer one may have closed the tomb and freed it, and there may be another one of that
//! key by now. Who digs finds the tomb by the key that its grave has. If what it finds has this grave for its newest, it
//! is the tomb that the grave was put in, for the grave has its place until it is dug up, and so nobody else unlinks that.

use super::Version;
use crate::facade::atomic::{AtomicU64, Ordering};
use crate::facade::cpu;
use crate::facade::heap::Heap;
use crate::facade::payload;
use crate::index::ordered::{AllocationCache, Direction, LeafCopy, Unlinked};
use crate::index::{Linked, Memory, Ordered};
use crate::record::RecordRef;
use std::ops::Bound;
use std::ptr::NonNull;

/// Of a tomb that is closed.
const CLOSED: u64 = 0;

/// What a grave has before its key.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    /// The first snapshot that does not show the row.
    since: u64,
    last: u64,
    /// The grave before; 0: there is none.
    older: u64,
    /// Its `since`.
    older_since: u64,
    key_bytes: u64,
}

/// A grave's place.
#[derive(Clone, Copy)]
pub(crate) struct Grave(NonNull<u8>);

// SAFETY: a place in the heap means the same to every thread; when it may be looked at is told in the module.
unsafe impl Send for Grave {}

/// A tomb's place: what the index has for a record.
#[derive(Clone, Copy)]
struct Tomb(RecordRef);

/// Bytes of a tomb.
const TOMB_BYTES: usize = size_of::<u64>();

/// See the module.
pub(crate) struct Graveyard {
    index: Ordered,
}

/// A piece of the heap: its bytes go back to it when nobody can look at them any more.
pub(crate) type Piece = (NonNull<u8>, usize);

impl Tomb {
    fn newest(&self) -> &AtomicU64 {
        let bits = self.0.to_bits() as usize;
        // SAFETY: made by `Graveyard::bury` of a word of the heap, aligned, which lives until the epoch in which it was unlinked has
        // passed; it is only ever accessed as this atomic once it is linked.
        unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(bits) }
    }

    fn piece(self) -> Piece {
        let at = std::ptr::with_exposed_provenance_mut(self.0.to_bits() as usize);
        (NonNull::new(at).expect("the heap is not at address 0"), TOMB_BYTES)
    }
}

impl Grave {
    fn of(bits: u64) -> Option<Self> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(bits as usize)).map(Grave)
    }

    fn bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// # Safety
    /// It was not freed.
    unsafe fn head(self) -> Head {
        // SAFETY: put there when it was made, and not written since it could be found.
        unsafe { payload::take(self.0.as_ptr().cast::<Head>().cast_const()) }
    }

    /// # Safety
    /// It was not freed.
    unsafe fn with_key<R>(self, see: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: so many bytes follow the head.
        unsafe {
            let head = self.head();
            payload::view(self.0.as_ptr().byte_add(size_of::<Head>()), head.key_bytes as usize, see)
        }
    }

    /// Frees it.
    ///
    /// # Safety
    /// It was made of this heap, was not freed, and nobody looks at it any more.
    pub unsafe fn free(self, heap: &Heap) {
        // SAFETY: by the caller's contract.
        unsafe {
            let (piece, bytes) = self.piece();
            heap.give_back(piece, bytes);
        }
    }

    /// # Safety
    /// It was not freed.
    unsafe fn piece(self) -> Piece {
        // SAFETY: by the caller's contract.
        (self.0, size_of::<Head>() + unsafe { self.head() }.key_bytes as usize)
    }
}

impl Graveyard {
    /// An empty one.
    pub fn within(memory: &Memory, nodes: &mut AllocationCache) -> Self {
        let Memory::Ordered(memory) = memory else { unreachable!("graveyards are in order") };
        Graveyard { index: Ordered::within(memory, nodes) }
    }

    /// Buries the last version of the row of `key`, which no snapshot from `since` on shows.
    pub fn bury(
        &self,
        nodes: &mut AllocationCache,
        heap: &Heap,
        key: &[u8],
        since: u64,
        last: Version,
    ) -> Grave {
        let grave = Grave(heap.take(size_of::<Head>() + key.len()));
        let head =
            Head { since, last: last.to_bits(), older: 0, older_since: 0, key_bytes: key.len() as u64 };
        // SAFETY: the piece has so many bytes, is aligned, and nobody else's.
        unsafe {
            payload::put(grave.0.as_ptr().cast::<Head>(), head);
            payload::copy_in(grave.0.as_ptr().byte_add(size_of::<Head>()), key);
        }
        let piece = heap.take(TOMB_BYTES);
        // SAFETY: aligned, and nobody else's; an address of the heap, which outlives the index.
        let tomb = unsafe {
            payload::put(piece.as_ptr().cast::<u64>(), grave.bits());
            Tomb(RecordRef::new(piece))
        };
        let mut spin = cpu::Spin::new();
        loop {
            let Linked::Exists(there) = self.index.link(nodes, key, tomb.0, |_, _| ()) else {
                return grave;
            };
            let there = Tomb(there);
            // Acquire: pairs with the Release that put the grave there.
            let newest = there.newest().load(Ordering::Acquire);
            if let Some(older) = Grave::of(newest) {
                // SAFETY: the transaction has found it within its epoch; its own grave nobody has found yet.
                unsafe {
                    let older_since = older.head().since;
                    let head = Head { older: newest, older_since, ..head };
                    payload::put(grave.0.as_ptr().cast::<Head>(), head);
                }
                // Release: the grave is whole. Relaxed, if it fails: nothing is read.
                let put = there.newest().compare_exchange(
                    newest,
                    grave.bits(),
                    Ordering::Release,
                    Ordering::Relaxed,
                );
                if put.is_ok() {
                    // SAFETY: taken above, never linked.
                    unsafe { heap.give_back(piece, TOMB_BYTES) };
                    return grave;
                }
            }
            spin.pause();
        }
    }

    /// Nobody needs a grave any more. Answers what is to be freed when the epoch has passed: the grave, and its tomb if that goes, too.
    pub fn dig_up(&self, nodes: &mut AllocationCache, grave: Grave) -> (Piece, Option<Piece>) {
        // SAFETY: it is dug up once, here.
        unsafe { (grave.piece(), grave.with_key(|key| self.close_tomb(nodes, key, grave))) }
    }

    /// Unlinks the tomb of a key if its newest grave is this one.
    fn close_tomb(&self, nodes: &mut AllocationCache, key: &[u8], newest: Grave) -> Option<Piece> {
        // None: whoever had a newer one has closed the tomb.
        let tomb = Tomb(self.index.find(key).record?);
        // Relaxed, both: nothing is published, and nothing is read. If there is a newer one, whoever has that closes the tomb.
        tomb.newest().compare_exchange(newest.bits(), CLOSED, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        if self.index.unlink(nodes, key, tomb.0, |_| ()) == Unlinked::Emptied {
            let _ = self.index.prune(nodes, key, |_| true, |_, _| ());
        }
        Some(tomb.piece())
    }

    /// The last version of the row of `key` that snapshot `snapshot` shows, or none of whose versions it shows.
    pub fn find(&self, key: &[u8], snapshot: u64) -> Option<Version> {
        self.index.find(key).record.and_then(|tomb| Self::last_of(tomb, snapshot))
    }

    /// The same of a tomb that was found.
    pub fn last_of(tomb: RecordRef, snapshot: u64) -> Option<Version> {
        // Acquire: pairs with the Release that put the grave there.
        let mut grave = Grave::of(Tomb(tomb).newest().load(Ordering::Acquire))?;
        loop {
            // SAFETY: found within the epoch; older ones are followed only if they are needed.
            let head = unsafe { grave.head() };
            if head.since <= snapshot {
                return None;
            }
            if head.older_since <= snapshot {
                // SAFETY: the grave has it.
                return Some(unsafe { Version::from_bits(head.last) });
            }
            grave = Grave::of(head.older).expect("a grave that was since a snapshot");
        }
    }

    /// Visits tombs from a bound on, until `visit` says that it is enough; within an epoch.
    pub fn for_each_from(
        &self,
        bound: Bound<&[u8]>,
        direction: Direction,
        copy: &mut LeafCopy,
        mut visit: impl FnMut(&[u8], RecordRef) -> bool,
    ) {
        self.index.read_leaf(bound, direction, usize::MAX, copy);
        while copy.entries().all(|(key, tomb)| visit(key, tomb))
            && self.index.read_on(direction, usize::MAX, copy)
        {}
    }

    /// Frees the tombs: the table goes, and nobody runs.
    pub fn free_tombs(&self, heap: &Heap) {
        self.index.for_each_record(|tomb| {
            let (piece, bytes) = Tomb(tomb).piece();
            // SAFETY: made of the store's heap, and linked, so that it was not given back.
            unsafe { heap.give_back(piece, bytes) };
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{AllocationCache, Grave, Graveyard, Piece, Version};
    use crate::facade::heap::{Heap, Pieces};
    use crate::facade::payload;
    use crate::facade::region::Pages;
    use crate::facade::shared::Arc;
    use crate::index::Memory;
    use contract::Indexing;

    const KEY: &[u8] = b"a key of more than eight bytes";

    struct Cemetery {
        heap: Arc<Heap>,
        pieces: Pieces,
        nodes: AllocationCache,
        graveyard: Graveyard,
        versions: Vec<Version>,
        dug_up: Vec<Piece>,
    }

    impl Cemetery {
        fn new() -> Self {
            let memory = Memory::reserve(Indexing::OrderedBytes { most: 40 }, 16, 1, 0, Pages::Huge);
            let memory = memory.expect("a small index");
            let mut nodes = AllocationCache::default();
            let graveyard = Graveyard::within(&memory, &mut nodes);
            let heap = Arc::new(Heap::new());
            let pieces = Pieces::new(&heap);
            Cemetery { heap, pieces, nodes, graveyard, versions: Vec::new(), dug_up: Vec::new() }
        }

        /// A row that was deleted in this snapshot, and which was its last version.
        fn bury(&mut self, since: u64) -> (Grave, Version) {
            let last = Version::make(&mut self.pieces, since - 1, None, &since.to_le_bytes());
            self.versions.push(last);
            (self.graveyard.bury(&mut self.nodes, &self.heap, KEY, since, last), last)
        }

        /// Whether the tomb went, too.
        fn dig_up(&mut self, grave: Grave) -> Option<Piece> {
            let (grave, tomb) = self.graveyard.dig_up(&mut self.nodes, grave);
            self.dug_up.extend([Some(grave), tomb].into_iter().flatten());
            tomb
        }

        fn shown(&self, snapshots: std::ops::Range<u64>) -> Vec<Option<Version>> {
            snapshots.map(|snapshot| self.graveyard.find(KEY, snapshot)).collect()
        }
    }

    impl Drop for Cemetery {
        fn drop(&mut self) {
            for version in self.versions.drain(..) {
                // SAFETY: made of this heap, once, and nobody looks at it any more.
                unsafe { version.free(&mut self.pieces, 8) };
            }
            for (piece, bytes) in self.dug_up.drain(..) {
                // SAFETY: taken of this heap, and dug up once.
                unsafe { self.heap.give_back(piece, bytes) };
            }
        }
    }

    #[test]
    fn a_snapshot_is_shown_who_died_next_after_it() {
        let mut cemetery = Cemetery::new();
        let (first, one) = cemetery.bury(3);
        let (second, two) = cemetery.bury(5);
        assert_eq!(cemetery.shown(2..6), [Some(one), Some(two), Some(two), None]);
        assert!(cemetery.dig_up(first).is_none(), "there is a newer one");
        assert_eq!(cemetery.shown(3..6), [Some(two), Some(two), None]);
        assert!(cemetery.dig_up(second).is_some());
        assert_eq!(cemetery.shown(3..6), [None; 3]);
    }

    /// A slot that rests has a grave in a tomb that has been closed by whoever had the next one.
    #[test]
    fn who_digs_late_does_not_touch_a_tomb_that_has_gone() {
        for is_buried_again in [false, true] {
            let mut cemetery = Cemetery::new();
            let (first, _) = cemetery.bury(3);
            let (second, _) = cemetery.bury(5);
            let (gone, _) = cemetery.dig_up(second).expect("the newest");
            let third = is_buried_again.then(|| cemetery.bury(7));
            // Its memory is somebody else's by now, and has in it what would mislead whoever took it for a tomb.
            let word = gone.as_ptr().cast::<u64>();
            // SAFETY: a word that nobody else has any more, and that is not given back yet.
            unsafe { payload::put(word, first.bits()) };
            let misled = first.bits();
            assert!(cemetery.dig_up(first).is_none());
            // SAFETY: as above.
            assert_eq!(unsafe { payload::take(word.cast_const()) }, misled);
            if let Some((third, last)) = third {
                assert_eq!(cemetery.shown(6..8), [Some(last), None]);
                assert!(cemetery.dig_up(third).is_some());
            }
        }
    }
}
