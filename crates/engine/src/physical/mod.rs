//! Physical synchronisation: who may touch a record's metadata, and with which instructions.
//!
//! A protocol is written once over [`Physical`]; which synchronization policy it gets is the architecture's choice
//! (*trireme* table 1):
//!
//! | synchronization policy | who touches the metadata | a word is | a latch is |
//! |---|---|---|---|
//! | [`Shared`] | any thread | an atomic, changed by read-modify-write | a spin latch of a chosen kind |
//! | [`Owned`] | one thread | a plain cell | an assertion that nobody re-enters |
//!
//! A state that racing readers look at even where one thread owns it (Silo's TID word) is a
//! [`Physical::SingleWriter`] word: an atomic in both synchronization policies, but written with plain stores when owned.
//!
//! That one thread at a time touches owned metadata is the architecture's promise; debug builds and simulated machines
//! check it at every step ([`crate::facade::sole`]).
//!
//! A word's operations are named for what they mean, so that the orderings are argued here, once, and a
//! protocol's text is free of them.

pub mod latch;
pub(crate) mod node_state;
pub mod synchronization_policy;

use crate::facade::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::facade::cell::Cell;
use crate::facade::latch::NoLatch;
use latch::{ChosenLatch, MetadataLatch};
use std::marker::PhantomData;
use synchronization_policy::SynchronizationPolicy;

/// What a protocol keeps in a record, or in a gap.
///
/// # Safety
/// It consists of words with interior mutability, of which any bits are valid, and has no destructor: so bytes that are zero, or
/// that another protocol has left, are metadata, too.
pub unsafe trait Metadata: 'static {}

// SAFETY: no word.
unsafe impl Metadata for () {}
// SAFETY: a word.
unsafe impl Metadata for AtomicU64 {}
// SAFETY: a word.
unsafe impl Metadata for AtomicU32 {}
// SAFETY: a word.
unsafe impl Metadata for Cell<u64> {}
// SAFETY: a word.
unsafe impl Metadata for Cell<u32> {}
// SAFETY: a word.
unsafe impl Metadata for OwnedSingleWriter {}

/// One word of metadata. All-zero bytes are a valid word of value zero.
pub trait Word<T: Copy> {
    /// The value; whatever was written before the [`Word::store`] or [`Word::replace`] that set it is visible.
    fn read(&self) -> T;

    /// If the value is `old`, sets it to `new`. On success, everything before the change that set `old` is
    /// visible, and everything before this call is visible to a thread that reads `new`. On failure, the value found.
    fn replace(&self, old: T, new: T) -> Result<(), T>;

    /// The value, in one total order with [`Word::replace`], [`Word::add`] and [`SingleWriter::store_in_order`] everywhere.
    fn read_in_order(&self) -> T;

    /// Adds; answers the value before. What [`Word::replace`] makes visible, this does.
    fn add(&self, n: T) -> T;

    /// Sets the value; everything before this call is visible to a thread that reads it.
    fn store(&self, value: T);

    /// Subtracts, and answers what was there; everything before is visible to a thread that reads it.
    fn subtract(&self, n: T) -> T;
}

macro_rules! words {
    ($($atomic:ident, $value:ident;)+) => { $(
        impl Word<$value> for $atomic {
            #[inline(always)]
            fn read(&self) -> $value {
                // Acquire: pairs with the Release of `store`, `replace`, `add` and `subtract`.
                self.load(Ordering::Acquire)
            }

            #[inline(always)]
            fn replace(&self, old: $value, new: $value) -> Result<(), $value> {
                // SeqCst: Silo's write locks and its validation must fall into one order with those of every other
                // transaction (a store, then a load elsewhere: Dekker's pattern); pairs with the SeqCst of
                // `read_in_order`. It costs nothing over Acquire on x86-64. The Release half
                // publishes to the next `read`, its Acquire half pairs with the last holder's release.
                self.compare_exchange(old, new, Ordering::SeqCst, Ordering::Acquire).map(drop)
            }

            #[inline(always)]
            fn read_in_order(&self) -> $value {
                // SeqCst: see `replace`. A plain load on x86-64.
                self.load(Ordering::SeqCst)
            }

            #[inline(always)]
            fn add(&self, n: $value) -> $value {
                // SeqCst: a reader's addition and the look at the writer's flag that follows must fall into one order
                // with a writer's flag and its look at the counts; pairs with the SeqCst of `replace` and of
                // `read_in_order`. Like there, its halves publish and acquire, and it costs nothing more on x86-64.
                self.fetch_add(n, Ordering::SeqCst)
            }

            #[inline(always)]
            fn store(&self, value: $value) {
                // Release: publishes what the holder did; pairs with the Acquire of `read` and `replace`.
                $atomic::store(self, value, Ordering::Release);
            }

            #[inline(always)]
            fn subtract(&self, n: $value) -> $value {
                // Release: what the holder read stays before the next holder's writes; pairs with `replace`.
                self.fetch_sub(n, Ordering::Release)
            }
        }

        impl Word<$value> for Cell<$value> {
            #[inline(always)]
            fn read(&self) -> $value {
                self.get()
            }

            #[inline(always)]
            fn replace(&self, old: $value, new: $value) -> Result<(), $value> {
                let found = self.get();
                if found == old {
                    self.set(new);
                    Ok(())
                } else {
                    Err(found)
                }
            }

            #[inline(always)]
            fn read_in_order(&self) -> $value {
                self.get()
            }

            #[inline(always)]
            fn add(&self, n: $value) -> $value {
                let before = self.get();
                self.set(before + n);
                before
            }

            #[inline(always)]
            fn store(&self, value: $value) {
                self.set(value);
            }

            #[inline(always)]
            fn subtract(&self, n: $value) -> $value {
                let before = self.get();
                self.set(before - n);
                before
            }
        }
    )+ };
}

words! {
    AtomicU64, u64;
    AtomicU32, u32;
}

/// A word that racing readers look at, and that only its owner or the holder of its lock bit writes.
pub trait SingleWriter: Word<u64> {
    /// Sets the value, in one total order with [`Word::read_in_order`] everywhere.
    fn store_in_order(&self, value: u64);
}

/// The single-writer word of the `Shared` synchronization policy: writers are many, one at a time by compare-and-swap.
impl SingleWriter for AtomicU64 {
    #[inline(always)]
    fn store_in_order(&self, value: u64) {
        // SeqCst: see `Word::read_in_order`.
        AtomicU64::store(self, value, Ordering::SeqCst);
    }
}

/// The single-writer word of the `Owned` synchronization policy: only the owning thread writes, so it needs no
/// read-modify-write, but readers on other threads race with it.
#[repr(transparent)]
#[derive(Default)]
pub struct OwnedSingleWriter(AtomicU64, PhantomData<*const ()>);

impl Word<u64> for OwnedSingleWriter {
    #[inline(always)]
    fn read(&self) -> u64 {
        Word::read(&self.0)
    }

    #[inline(always)]
    fn replace(&self, old: u64, new: u64) -> Result<(), u64> {
        // Relaxed: the owner reads its own last store.
        let found = self.0.load(Ordering::Relaxed);
        if found != old {
            return Err(found);
        }
        self.store_in_order(new);
        Ok(())
    }

    #[inline(always)]
    fn read_in_order(&self) -> u64 {
        self.0.read_in_order()
    }

    #[inline(always)]
    fn add(&self, n: u64) -> u64 {
        // Relaxed: the owner reads its own last store.
        let before = self.0.load(Ordering::Relaxed);
        self.store_in_order(before + n);
        before
    }

    #[inline(always)]
    fn store(&self, value: u64) {
        Word::store(&self.0, value);
    }

    #[inline(always)]
    fn subtract(&self, n: u64) -> u64 {
        // Relaxed: the owner reads its own last store.
        let before = self.0.load(Ordering::Relaxed);
        Word::store(&self.0, before - n);
        before
    }
}

impl SingleWriter for OwnedSingleWriter {
    #[inline(always)]
    fn store_in_order(&self, value: u64) {
        self.0.store_in_order(value);
    }
}

/// Who may touch metadata, and with which instructions.
pub trait Physical: 'static {
    /// Whether what a transaction releases may still be on its way when its slot runs the next one.
    const RELEASES_TRAVEL: bool;

    /// A 64-bit word.
    type Word64: Word<u64> + Metadata;
    /// A 32-bit word.
    type Word32: Word<u32> + Metadata;
    /// A 64-bit word that racing readers look at.
    type SingleWriter: SingleWriter + Metadata;
    /// Protects metadata of more than one word; four bytes.
    type Latch: MetadataLatch;
    /// Whether it relies on one worker at a time being in a partition.
    const HAS_OWNER: bool;
    /// How ordered indexes are changed. Who else reads them, to ask for lines ahead or to observe, does so in either synchronization policy.
    type Ordered: SynchronizationPolicy<Word64 = AtomicU64, Word32 = AtomicU32>;
}

/// Any thread touches it.
pub struct Shared;

impl Physical for Shared {
    const RELEASES_TRAVEL: bool = false;

    type Word64 = AtomicU64;
    type Word32 = AtomicU32;
    type SingleWriter = AtomicU64;
    type Latch = ChosenLatch;
    const HAS_OWNER: bool = false;
    type Ordered = synchronization_policy::Shared;
}

/// One thread touches it.
pub struct Owned;

impl Physical for Owned {
    const RELEASES_TRAVEL: bool = true;

    type Word64 = Cell<u64>;
    type Word32 = Cell<u32>;
    type SingleWriter = OwnedSingleWriter;
    type Latch = NoLatch;
    const HAS_OWNER: bool = true;
    type Ordered = synchronization_policy::SingleWriter;
}

/// Flavours that many threads may use at once. Shared-everything accepts no other.
pub trait Concurrent: Physical {}

impl Concurrent for Shared {}
