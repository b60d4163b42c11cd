//! Keys that were missing are not validated: phantoms. The check of the node set is what is removed.

use super::{Flaw, Flawed};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Silo, Validity};
use crate::transaction::access::Validated;

pub(crate) struct NoMissValidation;

impl Flaw<Silo> for NoMissValidation {
    type Access<A: Architecture<Protocol = Flawed<Silo, Self>>> = Validated;

    fn validate_gap<P: Physical>(_: &P::SingleWriter, _: u64, _: u64) -> Validity {
        Validity::Valid
    }
}
