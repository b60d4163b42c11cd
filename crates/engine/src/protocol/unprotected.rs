//! No protocol, for an architecture in which a running transaction has its partitions to itself (*trireme* 3.3).
//!
//! State: none. Reads and writes are in place, and hold nothing; what is overwritten is kept for undo.

use super::Protocol;
use crate::architecture::Architecture;
use crate::physical::{Physical, Word};
use crate::record::header::Narrow;
use crate::transaction::access::Alone;
use contract::EngineOptions;

/// No protocol.
pub(crate) struct Unprotected;

impl Protocol for Unprotected {
    type Meta<P: Physical> = P::Word64;
    type Header = Narrow;
    type Gap<P: Physical> = P::Word64;
    type Common<P: Physical> = ();
    type Slot = ();
    type Access<A: Architecture<Protocol = Self>> = Alone;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(meta: &P::Word64) -> bool {
        meta.read() == 0
    }

    fn is_gap_quiescent<P: Physical>(gap: &P::Word64) -> bool {
        gap.read() == 0
    }
}
