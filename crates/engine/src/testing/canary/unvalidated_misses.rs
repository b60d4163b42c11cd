//! Keys that were found missing are taken to be so at the end: phantoms.

use super::Slip;
use crate::physical::Physical;
use crate::protocol::Hekaton;

pub(crate) struct UnvalidatedMisses;

impl Slip<Hekaton> for UnvalidatedMisses {
    fn is_gap_valid<P: Physical>(_: &P::SingleWriter, _: u64) -> bool {
        true
    }
}
