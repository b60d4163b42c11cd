//! Memory of the engine's arenas: the host's, known to the machine by its place.

use super::elision::{self, Elision};
use super::exploration::machine;
use super::memory_map::{self, Place};
use crate::hardware::region as hardware;
pub use hardware::{HUGE_PAGE_BYTES, Pages, RegionError};
use std::ops::Range;

/// As [`hardware::HAS_PAGES`]: the model has no pages, and nothing that keeps where they are.
pub const HAS_PAGES: bool = false;

/// As [`hardware::Region`].
#[derive(Debug)]
pub struct Region {
    region: hardware::Region,
    serial: u32,
    /// If the region is elided: address space for what is not stored.
    shadow: Option<hardware::Region>,
}

impl Region {
    /// As [`hardware::Region::reserve`].
    pub fn reserve(bytes: usize) -> Result<Region, RegionError> {
        hardware::Region::reserve(bytes).map(Region::of)
    }

    /// As [`hardware::Region::reserve_to_grow`].
    pub fn reserve_to_grow(bytes: usize, expected: usize, pages: Pages) -> Result<Region, RegionError> {
        hardware::Region::reserve_to_grow(bytes, expected, pages).map(Region::of)
    }

    fn of(region: hardware::Region) -> Region {
        let serial = memory_map::next_serial();
        let region = Region { region, serial, shadow: None };
        let addresses = region.addresses();
        let (base, charged_bytes) = (addresses.start, region.len());
        memory_map::enter(addresses.clone(), Place { serial, base, charged_bytes, elision: None });
        machine::with(|machine| machine.lines.borrow_mut().add_region(addresses));
        region
    }

    /// How far apart records of `stride` bytes lie once [`Region::elide`] has laid a region out.
    pub fn spacing(stride: usize, stored_bytes: usize) -> usize {
        Elision::new(stride, stored_bytes).stored_stride
    }

    /// Lays the region out in records of `stride` bytes, of which the machine is charged for all and only the first
    /// `stored_bytes` need be stored; answers how far apart they really lie, which is what the code that computes a record's place
    /// must use. The bytes of a record beyond are reached by `payload::place` only.
    ///
    /// To be called before the region is used. Panics unless `stride` is a multiple of 16.
    pub fn elide(&mut self, stride: usize, stored_bytes: usize) -> Result<usize, RegionError> {
        let elision = Elision::new(stride, stored_bytes);
        if elision.stored_stride == stride {
            return Ok(stride);
        }
        elision::is_used();
        let shadow = hardware::Region::reserve_small_pages(self.len())?;
        let (base, shadow_base) = (self.base().addr(), shadow.base().addr());
        let elision = Elision { stored_base: base, shadow_base, ..elision };
        let (serial, charged_bytes) = (self.serial, self.len());
        let place = |is_shadow| {
            let elision = Elision { is_shadow, ..elision };
            Place { serial, base, charged_bytes, elision: Some(elision) }
        };
        memory_map::leave(self.addresses());
        memory_map::enter(self.addresses(), place(false));
        memory_map::enter(shadow_base..shadow_base + self.len(), place(true));
        self.shadow = Some(shadow);
        Ok(elision.stored_stride)
    }

    fn addresses(&self) -> Range<usize> {
        let first = self.base().addr();
        first..first + self.len()
    }

    /// As [`hardware::Region::base`].
    pub fn base(&self) -> *mut u8 {
        self.region.base()
    }

    /// As [`hardware::Region::len`].
    pub fn len(&self) -> usize {
        self.region.len()
    }

    /// As [`hardware::Region::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.region.is_empty()
    }

    /// As [`hardware::Region::fault_in`].
    pub fn fault_in(&self, range: Range<usize>) {
        self.region.fault_in(range);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        memory_map::leave(self.addresses());
        if let Some(shadow) = &self.shadow {
            let first = shadow.base().addr();
            memory_map::leave(first..first + shadow.len());
        }
        machine::with(|machine| machine.lines.borrow_mut().remove_region(&self.addresses()));
    }
}
