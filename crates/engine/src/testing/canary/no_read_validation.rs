//! Records that were read are not validated: lost updates and write skew.

use super::Defect;
use crate::physical::Physical;
use crate::protocol::{Protocol, Silo};

pub(crate) struct NoReadValidation;

impl Defect<Silo> for NoReadValidation {
    fn validate<P: Physical>(_: &P::SingleWriter, _: u64, _: bool) -> bool {
        true
    }

    fn validate_missing<P: Physical>(meta: &P::SingleWriter, token: u64) -> bool {
        Silo::validate_missing::<P>(meta, token)
    }
}
