//! Records that were read are not validated: lost updates and write skew.

use super::Flaw;
use crate::physical::Physical;
use crate::protocol::{LastId, Silo, Validity};

pub(crate) struct NoReadValidation;

impl Flaw<Silo> for NoReadValidation {
    fn validate<P: Physical>(_: &P::SingleWriter, _: u64, _: bool, _: &LastId, _: u64) -> Validity {
        Validity::Valid
    }
}
