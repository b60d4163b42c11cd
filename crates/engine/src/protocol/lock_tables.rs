//! No protocol at the records, for an architecture that locks what a transaction has planned in lock tables of its own (*orthrus* 3.1, 3.2).
//!
//! State: none in records and gaps. A transaction holds the locks of keys, whether they have rows or not, and of ranges of keys, before it begins;
//! it reads and writes in place, and what is overwritten is kept for undo. A key that is not locked aborts it ([`contract::AbortReason::Undeclared`]).
//!
//! What makes that serializable is stated as constants, which canaries deny.

use super::Protocol;
use crate::architecture::Architecture;
use crate::physical::{Physical, Word};
use crate::record::header::Narrow;
use crate::transaction::access::Planned;
use contract::EngineOptions;

/// A protocol whose locks are planned, and are not at the records.
pub(crate) trait Planning: Protocol {
    /// Whether a lock waits for those before it that conflict with it.
    const HEEDS_EARLIER: bool = true;
    /// Whether ranges are locked.
    const LOCKS_RANGES: bool = true;
    /// Whether a transaction notices that it has not locked what it comes to.
    const NOTICES_UNPLANNED: bool = true;
}

/// See the module.
pub(crate) struct LockTables;

impl Planning for LockTables {}

impl Protocol for LockTables {
    type Meta<P: Physical> = P::Word64;
    type Header = Narrow;
    type Gap<P: Physical> = P::Word64;
    type Common<P: Physical> = ();
    type Slot = ();
    type Access<A: Architecture<Protocol = Self>> = Planned;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(meta: &P::Word64) -> bool {
        meta.read() == 0
    }

    fn is_gap_quiescent<P: Physical>(gap: &P::Word64) -> bool {
        gap.read() == 0
    }
}
