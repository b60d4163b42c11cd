//! Which region an address of the host belongs to.
//!
//! Regions start at multiples of 2 MiB and nothing else lies in their last 2 MiB, so a table by address over 2 MiB says it
//! with one look. The table spans all addresses that user programs have, as address space; the host's memory is behind the
//! parts of it that are in use.
//!
//! A region is known by a serial number, which no other region of the process ever has. Records of regions are used again
//! when a region is dropped and never freed, and they are made of atomics, so that a hint with any address may look one up.

use super::elision::Elision;
use crate::hardware::region::{HUGE_PAGE_BYTES, Region};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// User programs have addresses below this.
const ADDRESS_BITS: u32 = 48;
const GRANULE_BITS: u32 = HUGE_PAGE_BYTES.trailing_zeros();
const GRANULES: usize = 1 << (ADDRESS_BITS - GRANULE_BITS);

/// A region, as accesses see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Of all that were ever reserved, from 0.
    pub serial: u32,
    /// The first byte on the host.
    pub base: usize,
    /// Bytes that the simulated machine has of it.
    pub charged_bytes: usize,
    /// If only a part of it is stored: how.
    pub elision: Option<Elision>,
}

/// A [`Place`], word by word. All is written before the record can be found and read while its region lives; by a hint that
/// goes astray, at any time.
#[derive(Default)]
pub(super) struct Record {
    serial: AtomicU32,
    base: AtomicUsize,
    charged_bytes: AtomicUsize,
    charged_stride: AtomicUsize,
    /// 0 if the region is not elided.
    stored_stride: AtomicUsize,
    shadow_base: AtomicUsize,
    is_shadow: AtomicBool,
}

// Relaxed, all: ordered by the record's pointer in the table.
impl Record {
    fn set(&self, place: Place) {
        self.serial.store(place.serial, Ordering::Relaxed);
        self.base.store(place.base, Ordering::Relaxed);
        self.charged_bytes.store(place.charged_bytes, Ordering::Relaxed);
        let elision = place.elision.unwrap_or_default();
        self.charged_stride.store(elision.charged_stride, Ordering::Relaxed);
        self.stored_stride.store(elision.stored_stride, Ordering::Relaxed);
        self.shadow_base.store(elision.shadow_base, Ordering::Relaxed);
        self.is_shadow.store(elision.is_shadow, Ordering::Relaxed);
    }

    #[inline]
    pub fn serial(&self) -> usize {
        self.serial.load(Ordering::Relaxed) as usize
    }

    #[inline]
    pub fn charged_bytes(&self) -> usize {
        self.charged_bytes.load(Ordering::Relaxed)
    }

    #[inline]
    pub fn elision(&self) -> Option<Elision> {
        let stored_stride = self.stored_stride.load(Ordering::Relaxed);
        (stored_stride != 0).then(|| Elision {
            charged_stride: self.charged_stride.load(Ordering::Relaxed),
            stored_stride,
            stored_base: self.base.load(Ordering::Relaxed),
            shadow_base: self.shadow_base.load(Ordering::Relaxed),
            is_shadow: self.is_shadow.load(Ordering::Relaxed),
        })
    }

    /// The offset in simulated memory of an address in the region or in its shadow.
    #[inline]
    pub fn offset_of(&self, address: usize) -> usize {
        match self.elision() {
            None => address.wrapping_sub(self.base.load(Ordering::Relaxed)),
            Some(elision) => elision.charged_offset(address),
        }
    }
}

static TABLE: OnceLock<Region> = OnceLock::new();

fn granule(address: usize) -> Option<&'static AtomicPtr<Record>> {
    let number = address >> GRANULE_BITS;
    if number >= GRANULES {
        return None;
    }
    let table = TABLE.get_or_init(|| {
        Region::reserve_small_pages(GRANULES * size_of::<AtomicPtr<Record>>())
            .expect("address space for a table of all address space")
    });
    // SAFETY: the table has `GRANULES` zeroed words, of which this is one, and is never dropped; zero is a null pointer.
    Some(unsafe { &*table.base().cast::<AtomicPtr<Record>>().add(number) })
}

/// The region that an address lies in.
#[inline]
pub(super) fn record_of(address: usize) -> Option<&'static Record> {
    // Acquire: pairs with the Release in `enter`.
    let record = granule(address)?.load(Ordering::Acquire);
    // SAFETY: null, or a record that was leaked.
    unsafe { record.as_ref() }
}

/// A serial number.
pub(super) fn next_serial() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: only told apart.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Records that no region has.
static FREE: Mutex<Vec<&'static Record>> = Mutex::new(Vec::new());

/// Makes a region known for the addresses of `range`, which start at a multiple of 2 MiB.
pub(super) fn enter(range: Range<usize>, place: Place) {
    let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let record = free.unwrap_or_else(|| Box::leak(Box::default()));
    record.set(place);
    for address in range.step_by(HUGE_PAGE_BYTES) {
        // Release: publishes the record; pairs with the Acquire in `record_of`.
        granule(address)
            .expect("the host has lower addresses")
            .store(std::ptr::from_ref(record).cast_mut(), Ordering::Release);
    }
}

/// The addresses of `range`, as a region that is dropped had entered them, belong to none any more.
pub(super) fn leave(range: Range<usize>) {
    let record = record_of(range.start);
    for address in range.step_by(HUGE_PAGE_BYTES) {
        // Relaxed: no core may look for an address in a region that is dropped.
        granule(address)
            .expect("the host has lower addresses")
            .store(std::ptr::null_mut(), Ordering::Relaxed);
    }
    FREE.lock().unwrap_or_else(PoisonError::into_inner).extend(record);
}
