//! Memory that two processes have together: a simulated machine's instances are in one, so nobody can make any.

/// As [`crate::hardware::segment::Segment`]; there is none.
#[derive(Debug)]
pub enum Segment {}

impl Segment {
    /// As [`crate::hardware::segment::Segment::base`].
    pub fn base(&self) -> *mut u8 {
        match *self {}
    }

    /// As [`crate::hardware::segment::Segment::len`].
    pub fn len(&self) -> usize {
        match *self {}
    }

    /// As [`crate::hardware::segment::Segment::is_empty`].
    pub fn is_empty(&self) -> bool {
        match *self {}
    }
}
