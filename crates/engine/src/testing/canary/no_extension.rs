//! A read that has expired counts as valid: nobody looks whether its version is still there, and nobody extends it.

use super::{Flaw, Flawed};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{TicToc, Validating, Validity};
use crate::transaction::access::Validated;

pub(crate) struct NoExtension;

impl Flaw<TicToc> for NoExtension {
    type Access<A: Architecture<Protocol = Flawed<TicToc, Self>>> = Validated;

    fn validate<P: Physical>(meta: &P::SingleWriter, token: u64, mine: bool, slot: &(), id: u64) -> Validity {
        match mine {
            true => TicToc::validate::<P>(meta, token, mine, slot, id),
            false => Validity::Valid,
        }
    }
}
