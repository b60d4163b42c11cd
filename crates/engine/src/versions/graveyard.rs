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
pub(crate) struct Tomb(RecordRef);

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
    ) -> (Tomb, Grave) {
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
                return (tomb, grave);
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
                    return (there, grave);
                }
            }
            spin.pause();
        }
    }

    /// Nobody needs a grave any more. Answers what of it is to be freed when the epoch has passed.
    pub fn dig_up(&self, nodes: &mut AllocationCache, tomb: Tomb, grave: Grave) -> (Piece, Option<Piece>) {
        // SAFETY: it is dug up once, here.
        let piece = unsafe { grave.piece() };
        // Relaxed, both: nothing is published, and nothing is read.
        let closed =
            tomb.newest().compare_exchange(grave.bits(), CLOSED, Ordering::Relaxed, Ordering::Relaxed);
        if closed.is_err() {
            // Whoever has the newer one closes the tomb.
            return (piece, None);
        }
        let unlink = |key: &[u8]| {
            if self.index.unlink(nodes, key, tomb.0, |_| ()) == Unlinked::Emptied {
                let _ = self.index.prune(nodes, key, |_| true, |_, _| ());
            }
        };
        // SAFETY: as above.
        unsafe { grave.with_key(unlink) };
        (piece, Some(tomb.piece()))
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
