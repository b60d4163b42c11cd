//! A miss leaves no timestamp behind: an older insert is let in after it, which it should have found.

use super::{Amiss, Lapse};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::BasicTimestamp;
use crate::timestamp::Halves;
use crate::transaction::access::Timestamped;

pub(crate) struct UnmarkedMisses;

impl Lapse<BasicTimestamp> for UnmarkedMisses {
    type Access<A: Architecture<Protocol = Amiss<BasicTimestamp, Self>>> = Timestamped;

    fn rely<P: Physical>(_: &P::SingleWriter, _: Halves) {}
}
