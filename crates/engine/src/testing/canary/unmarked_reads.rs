//! A read leaves no timestamp behind: an older write is accepted after it, which it should have seen.

use super::{Amiss, Lapse};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Answer, BasicTimestamp, Stamps};
use crate::timestamp::Halves;
use crate::transaction::access::Timestamped;
use contract::AbortReason;

pub(crate) struct UnmarkedReads;

impl Lapse<BasicTimestamp> for UnmarkedReads {
    type Access<A: Architecture<Protocol = Amiss<BasicTimestamp, Self>>> = Timestamped;

    fn read<P: Physical>(meta: &Stamps<P>, by: Halves) -> Answer {
        match BasicTimestamp::look(meta, by.time()) {
            Answer::Older => Answer::Abort(AbortReason::Conflict),
            answer => answer,
        }
    }
}
