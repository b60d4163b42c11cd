//! Keys that were missing are not validated: phantoms. The check of the node set is what is removed.

use super::Flaw;
use crate::physical::Physical;
use crate::protocol::{Silo, Validity};

pub(crate) struct NoMissValidation;

impl Flaw<Silo> for NoMissValidation {
    fn validate_gap<P: Physical>(_: &P::SingleWriter, _: u64, _: u64) -> Validity {
        Validity::Valid
    }
}
