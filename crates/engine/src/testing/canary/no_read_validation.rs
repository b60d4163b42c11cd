//! Records that were read are not validated: lost updates and write skew.

use super::{Flaw, Flawed};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{LastId, Silo, Validity};
use crate::transaction::access::Validated;

pub(crate) struct NoReadValidation;

impl Flaw<Silo> for NoReadValidation {
    type Access<A: Architecture<Protocol = Flawed<Silo, Self>>> = Validated;

    fn validate<P: Physical>(_: &P::SingleWriter, _: u64, _: bool, _: &LastId, _: u64) -> Validity {
        Validity::Valid
    }
}
