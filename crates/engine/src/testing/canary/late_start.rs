//! What was read is valid if the version that is there is older than the transaction's end, as every committed one is: lost updates and
//! write skew.

use super::{Flaw, Flawed};
use crate::architecture::Architecture;
use crate::physical::{Physical, Word};
use crate::protocol::{Occ, OccStart, Validity};
use crate::transaction::access::Validated;

pub(crate) struct LateStart;

impl Flaw<Occ> for LateStart {
    type Access<A: Architecture<Protocol = Flawed<Occ, Self>>> = Validated;

    fn validate<P: Physical>(meta: &P::SingleWriter, _: u64, _: bool, _: &OccStart, end: u64) -> Validity {
        if meta.read_in_order() < end { Validity::Valid } else { Validity::Invalid }
    }
}
