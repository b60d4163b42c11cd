//! What a record tells of its versions, and what they are; what for, and why it is right, is told in [`crate::versions`].

use crate::facade::atomic::{AtomicU64, Ordering, fence};
use crate::facade::heap::{ALIGNMENT, Pieces};
use crate::facade::payload;
use contract::Span;
use std::ptr::NonNull;

/// Of a row that no snapshot shows: it was inserted, and that has not committed.
const NEVER: u64 = u64::MAX;

/// What a record tells of its versions. All zero: it was loaded, and has no others.
#[repr(C)]
pub(crate) struct Lineage {
    /// The first snapshot that shows the row as it is.
    snapshot: AtomicU64,
    /// The address of the row's previous version; 0: there is none.
    previous: AtomicU64,
}

impl Lineage {
    /// Of a record that is about to be linked by an insert.
    pub fn insert(&self) {
        // Relaxed, both: the record is private until it is linked, with Release.
        self.snapshot.store(NEVER, Ordering::Relaxed);
        self.previous.store(0, Ordering::Relaxed);
    }

    /// The first snapshot that shows the row as it is.
    #[inline]
    pub fn snapshot(&self) -> u64 {
        // Acquire: pairs with the Release in `is_since`: the row, and the version before it, were there.
        self.snapshot.load(Ordering::Acquire)
    }

    /// Who has the row to itself, and has made a version of it as it is, is about to change it for this snapshot.
    #[inline]
    pub fn supersede(&self, version: Version, snapshot: u64) {
        // Release: the version is whole; pairs with the Acquire in `previous`.
        self.previous.store(version.to_bits(), Ordering::Release);
        self.is_since(snapshot);
        // Release: the words come before the changes; pairs with the Acquire fence in `still_is`.
        fence(Ordering::Release);
    }

    /// The row is shown from this snapshot on.
    #[inline]
    pub fn is_since(&self, snapshot: u64) {
        // Release: pairs with the Acquire in `snapshot`.
        self.snapshot.store(snapshot, Ordering::Release);
    }

    /// After the row was copied: whether all of that was what [`Lineage::snapshot`] said.
    #[inline]
    pub fn still_is(&self, snapshot: u64) -> bool {
        // Acquire: the copy comes before the second look; pairs with the Release fence in `supersede`.
        fence(Ordering::Acquire);
        // And if it has changed, the version that was made before is what `previous` answers, or a later one.
        self.snapshot() == snapshot
    }

    /// The row's previous version, which may have been freed.
    #[inline]
    pub fn previous(&self) -> Option<Version> {
        // Acquire: pairs with the Release in `supersede`.
        Version::of(self.previous.load(Ordering::Acquire))
    }
}

/// A version's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(NonNull<u8>);

// SAFETY: a place in the heap means the same to every thread; when it may be looked at is told in `crate::versions`.
unsafe impl Send for Version {}

/// What a version has before its row.
#[derive(Clone, Copy)]
#[repr(C)]
struct Head {
    snapshot: u64,
    previous: u64,
}

const HEAD_BYTES: usize = size_of::<Head>();

const _: () = assert!(ALIGNMENT >= align_of::<Head>(), "rows are aligned to eight bytes");

impl Version {
    /// A version of this row, which is so since this snapshot.
    pub fn make(pieces: &mut Pieces, snapshot: u64, previous: Option<Version>, row: &[u8]) -> Self {
        let piece = pieces.take(Self::bytes(row.len()));
        let head = Head { snapshot, previous: previous.map_or(0, Version::to_bits) };
        // SAFETY: the piece has so many bytes, is aligned, and nobody else's.
        unsafe {
            payload::put(piece.as_ptr().cast::<Head>(), head);
            payload::copy_in(piece.as_ptr().byte_add(HEAD_BYTES), row);
        }
        Version(piece)
    }

    /// Bytes that it takes.
    pub fn bytes(row_bytes: usize) -> usize {
        HEAD_BYTES + row_bytes
    }

    /// Its address.
    pub fn to_bits(self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    /// The version of which [`Version::to_bits`] says this, if it is not 0.
    ///
    /// # Safety
    /// They are 0, or the bits of a version.
    pub unsafe fn maybe(bits: u64) -> Option<Self> {
        Self::of(bits)
    }

    /// Since when its row is what it is, as it was made.
    ///
    /// # Safety
    /// It was not freed.
    pub unsafe fn since(self) -> u64 {
        // SAFETY: by the caller's contract.
        unsafe { self.head() }.snapshot
    }

    fn of(bits: u64) -> Option<Self> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(bits as usize)).map(Version)
    }

    /// The version of which [`Version::to_bits`] says this.
    ///
    /// # Safety
    /// They are the bits of a version.
    pub unsafe fn from_bits(bits: u64) -> Self {
        Self::of(bits).expect("the bits of a version")
    }

    /// # Safety
    /// It was not freed.
    unsafe fn head(self) -> Head {
        // SAFETY: put there when it was made, and not written since.
        unsafe { payload::take(self.0.as_ptr().cast::<Head>().cast_const()) }
    }

    /// Of this version and those before it, the one that a snapshot shows.
    ///
    /// # Safety
    /// It, and every version whose next one is later than the snapshot, was not freed.
    pub unsafe fn shown_by(self, snapshot: u64) -> Option<Self> {
        let mut version = self;
        loop {
            // SAFETY: by the caller's contract, and because those before it were later.
            let head = unsafe { version.head() };
            if head.snapshot <= snapshot {
                return Some(version);
            }
            version = Self::of(head.previous)?;
        }
    }

    /// Shows bytes of its row.
    ///
    /// # Safety
    /// The span lies in the row, and the version is not freed before `see` returns.
    pub unsafe fn view<R>(self, span: Span, see: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: as the caller says; nobody writes it.
        unsafe { payload::view(self.0.as_ptr().byte_add(HEAD_BYTES + span.start()), span.length(), see) }
    }

    /// Puts bytes of its row back to what they were.
    ///
    /// # Safety
    /// The bytes lie in the row, and nobody else has found the version yet.
    pub unsafe fn put_back(self, offset: u32, bytes: &[u8]) {
        // SAFETY: by the caller's contract.
        unsafe { payload::copy_in(self.0.as_ptr().byte_add(HEAD_BYTES + offset as usize), bytes) }
    }

    /// Frees it.
    ///
    /// # Safety
    /// It was made of pieces of this heap for rows of so many bytes, was not freed, and nobody looks at it any more.
    pub unsafe fn free(self, pieces: &mut Pieces, row_bytes: usize) {
        // SAFETY: by the caller's contract.
        unsafe { pieces.give_back(self.0, Self::bytes(row_bytes)) }
    }
}
