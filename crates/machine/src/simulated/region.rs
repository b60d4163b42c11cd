//! Memory of the engine's arenas: the host's, known to the machine by its place.

use super::machine;
use crate::hardware::region as hardware;
pub use hardware::{HUGE_PAGE_BYTES, RegionError};
use std::ops::Range;

/// As [`hardware::Region`].
#[derive(Debug)]
pub struct Region(hardware::Region);

impl Region {
    /// As [`hardware::Region::reserve`].
    pub fn reserve(bytes: usize) -> Result<Region, RegionError> {
        let region = Region(hardware::Region::reserve(bytes)?);
        machine::with(|machine| machine.lines.borrow_mut().add_region(region.addresses()));
        Ok(region)
    }

    fn addresses(&self) -> Range<usize> {
        let first = self.base().addr();
        first..first + self.len()
    }

    /// As [`hardware::Region::base`].
    pub fn base(&self) -> *mut u8 {
        self.0.base()
    }

    /// As [`hardware::Region::len`].
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// As [`hardware::Region::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As [`hardware::Region::fault_in`].
    pub fn fault_in(&self, range: Range<usize>) {
        self.0.fault_in(range);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        machine::with(|machine| machine.lines.borrow_mut().remove_region(&self.addresses()));
    }
}
