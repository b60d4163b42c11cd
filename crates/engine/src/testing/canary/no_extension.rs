//! A read that has expired counts as valid: nobody looks whether its version is still there, and nobody extends it.

use super::Flaw;
use crate::physical::Physical;
use crate::protocol::{TicToc, Validating, Validity};

pub(crate) struct NoExtension;

impl Flaw<TicToc> for NoExtension {
    fn validate<P: Physical>(meta: &P::SingleWriter, token: u64, mine: bool, id: u64) -> Validity {
        match mine {
            true => TicToc::validate::<P>(meta, token, mine, id),
            false => Validity::Valid,
        }
    }
}
