//! A miss leaves no timestamp behind: an older insert is let in after it, which it should have found.

use super::Lapse;
use crate::physical::Physical;
use crate::protocol::BasicTimestamp;
use crate::timestamp::Halves;

pub(crate) struct UnmarkedMisses;

impl Lapse<BasicTimestamp> for UnmarkedMisses {
    fn rely<P: Physical>(_: &P::SingleWriter, _: Halves) {}
}
