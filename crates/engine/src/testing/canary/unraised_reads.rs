//! What was read is validated, and its read timestamp is not raised: an older write is accepted after it, which the reader should have seen.

use super::{Amiss, Lapse};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Answer, Chained, Cicada, Mvcc};
use crate::timestamp::Halves;
use crate::transaction::access::ValidatedByTime;

pub(crate) struct UnraisedReads;

impl Lapse<Cicada> for UnraisedReads {
    type Access<A: Architecture<Protocol = Amiss<Cicada, Self>>> = ValidatedByTime;

    fn read<P: Physical>(meta: &Chained<P>, by: Halves) -> Answer {
        Mvcc::look(meta, by.time())
    }
}
