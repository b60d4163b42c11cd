//! A read leaves no timestamp behind: an older write is accepted after it, which it should have seen.

use super::Lapse;
use crate::physical::Physical;
use crate::protocol::{Answer, BasicTimestamp, Stamps};
use crate::timestamp::Halves;
use contract::AbortReason;

pub(crate) struct UnmarkedReads;

impl Lapse<BasicTimestamp> for UnmarkedReads {
    fn read<P: Physical>(meta: &Stamps<P>, by: Halves) -> Answer {
        match BasicTimestamp::look(meta, by.time()) {
            Answer::Older => Answer::Abort(AbortReason::Conflict),
            answer => answer,
        }
    }
}
