//! No protocol at the records, for an architecture that locks what a transaction has planned in lock tables of its own (*orthrus* 3.1, 3.2).
//!
//! A transaction holds the locks of keys, whether they have rows or not, and of ranges of keys, before it begins; it reads and writes in place, and what
//! is overwritten is kept for undo. A key that is not locked aborts it ([`contract::AbortReason::Undeclared`]).
//!
//! State, of a record: a version of its bytes, for those who plan, and read without locks. It is odd while who has the key locked writes them. So they
//! see a row as one write has left it, committed or not. Gaps have none.
//!
//! What makes it serializable is stated as constants ([`Rules`]), which canaries deny.
//!
//! We differ: the paper's transactions that plan read what they find.

use super::Protocol;
use crate::architecture::Architecture;
use crate::facade::atomic::{Ordering, fence};
use crate::physical::{Physical, Word};
use crate::record::header::Narrow;
use crate::transaction::access::Planned;
use contract::EngineOptions;
use std::marker::PhantomData;

/// What lock tables keep to.
pub(crate) trait Rules: 'static {
    /// A lock to read waits for those before it that conflict with it, as one to write does anyhow.
    const READERS_WAIT: bool = true;
    /// Ranges to read are locked, as those to write are anyhow.
    const LOCKS_RANGES: bool = true;
    /// A transaction notices that it has not locked what it comes to read, as it does of what it comes to write anyhow.
    const NOTICES_UNPLANNED: bool = true;
    /// Who had to wait is told once it has all.
    const TELLS_WHO_WAITED: bool = true;
}

/// All of it.
pub(crate) enum AllRules {}

impl Rules for AllRules {}

/// A protocol whose locks are planned, and are not at the records.
pub(crate) trait Planning: Protocol {
    /// What its lock tables keep to.
    type Rules: Rules;

    /// Who has the record locked is about to write its row.
    fn begin_to_write<P: Physical>(meta: &Self::Meta<P>);

    /// It has.
    fn end_to_write<P: Physical>(meta: &Self::Meta<P>);

    /// The version of a row that is about to be copied without a lock; `None`: it is being written.
    fn observe<P: Physical>(meta: &Self::Meta<P>) -> Option<u64>;

    /// Whether what was copied since then is of that version.
    fn is_still<P: Physical>(meta: &Self::Meta<P>, version: u64) -> bool;
}

/// See the module.
pub(crate) struct LockTables<R = AllRules>(PhantomData<R>);

impl<R: Rules> Protocol for LockTables<R> {
    type Meta<P: Physical> = P::SingleWriter;
    type Header = Narrow;
    type Gap<P: Physical> = P::Word64;
    type Common<P: Physical> = ();
    type Slot = ();
    type Access<A: Architecture<Protocol = Self>> = Planned;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(version: &P::SingleWriter) -> bool {
        version.read().is_multiple_of(2)
    }

    fn is_gap_quiescent<P: Physical>(gap: &P::Word64) -> bool {
        gap.read() == 0
    }
}

impl<R: Rules> Planning for LockTables<R> {
    type Rules = R;

    #[inline(always)]
    fn begin_to_write<P: Physical>(version: &P::SingleWriter) {
        let before = version.read();
        assert!(before.is_multiple_of(2), "two write one row");
        version.store(before + 1);
        // Release: whoever copies any of the bytes that follow finds the version odd; pairs with the Acquire fence before `is_still`.
        fence(Ordering::Release);
    }

    #[inline(always)]
    fn end_to_write<P: Physical>(version: &P::SingleWriter) {
        // The store publishes the bytes, and what they lead to, to `observe`.
        version.store(version.read() + 1);
    }

    #[inline(always)]
    fn observe<P: Physical>(version: &P::SingleWriter) -> Option<u64> {
        Some(version.read()).filter(|version| version.is_multiple_of(2))
    }

    #[inline(always)]
    fn is_still<P: Physical>(meta: &P::SingleWriter, version: u64) -> bool {
        meta.read() == version
    }
}
