//! A read that has expired counts as valid: nobody looks whether its version is still there, and nobody extends it.

use super::Flaw;
use crate::physical::Physical;
use crate::protocol::{TicToc, Validating, Validity};

pub(crate) struct NoExtension;

impl Flaw<TicToc> for NoExtension {
    fn validate<P: Physical>(meta: &P::SingleWriter, token: u64, mine: bool, slot: &(), id: u64) -> Validity {
        match mine {
            true => TicToc::validate::<P>(meta, token, mine, slot, id),
            false => Validity::Valid,
        }
    }
}
