//! KEY_VALUE: no transactions. One record is read, or one is written, and that is atomic; nothing is validated, ordered or kept
//! (*silo* 5.2: *Key-Value*, "simply the concurrent tree underneath Silo").
//!
//! State, one word in the record: bit 0 LATCHED, above it a version.
//!
//! A read copies the row between two looks at the word, as under SILO, and keeps nothing of what it has seen. A write latches the record,
//! changes a copy of the bytes that it names, copies them in, and unlatches the record as the next version: so a put that
//! depends on what it finds is one step, too. Who finds the latch taken asks again; nobody aborts.
//!
//! Invariant: an odd word has one holder, and nobody else changes the word or the row. So each operation by itself takes effect at one
//! moment, between its beginning and its end, and transactions of one operation are serializable in that order. Those of more would not be:
//! who touches a second record panics, and workloads that do are refused before that (`EngineOptions::single_records`).
//!
//! Keys neither come nor go, so that nothing protects those that are missing.
//!
//! We differ: the paper's store replaces a value that it cannot overwrite in place; here rows are of a fixed size, and a reader may have to copy again. The
//! text of a transaction runs around the operation, which keeps its access set, of one entry at most, and its epoch, by which memory is freed.

use super::{Attempt, Protocol, SlotState};
use crate::architecture::Architecture;
use crate::physical::{Physical, Word};
use crate::record::header::Narrow;
use crate::timestamp::Timestamp;
use crate::transaction::access::Single;
use contract::EngineOptions;

const LATCHED: u64 = 1;
/// One version further.
const NEXT: u64 = 2;

/// KEY_VALUE.
pub(crate) struct KeyValue;

/// Whether the transaction has touched its record.
pub(crate) struct Touched(bool);

impl SlotState for Touched {
    type Stamp = ();

    fn new() -> Self {
        Touched(false)
    }

    #[inline(always)]
    fn begin(&mut self, _: Attempt, _: impl FnOnce() -> Timestamp) {
        self.0 = false;
    }

    #[inline(always)]
    fn stamp(&self) {}
}

impl Protocol for KeyValue {
    type Meta<P: Physical> = P::SingleWriter;
    type Header = Narrow;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = ();
    type Slot = Touched;
    type Access<A: Architecture<Protocol = Self>> = Single;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(meta: &P::SingleWriter) -> bool {
        meta.read() & LATCHED == 0
    }

    fn is_gap_quiescent<P: Physical>(_: &P::SingleWriter) -> bool {
        true
    }
}

/// Steps of a protocol whose transactions touch one record.
///
/// # Safety
/// As for [`super::Validating`]: any thread may observe while others change the metadata by the other steps.
pub(crate) unsafe trait Latching: Protocol {
    /// The transaction is about to touch a record; panics if it has touched one.
    fn touch(slot: &mut Self::Slot);

    /// The version of the record; `None`: somebody writes it. What it showed before the version was set is visible. Of any thread.
    fn observe<P: Physical>(meta: &Self::Meta<P>) -> Option<u64>;

    /// Whether the record has the version that was observed before a copy of its row: then the copy is of that version. Of any thread.
    fn is_still<P: Physical>(meta: &Self::Meta<P>, version: u64) -> bool {
        Self::observe(meta) == Some(version)
    }

    /// Latches the record, or not: ask again.
    #[must_use]
    fn latch<P: Physical>(meta: &Self::Meta<P>) -> bool;

    /// Unlatches it as it was.
    fn unlatch<P: Physical>(meta: &Self::Meta<P>);

    /// Unlatches it as the next version, which was copied in.
    fn publish<P: Physical>(meta: &Self::Meta<P>);
}

// SAFETY: the metadata is single-writer words.
unsafe impl Latching for KeyValue {
    #[inline(always)]
    fn touch(slot: &mut Touched) {
        assert!(!std::mem::replace(&mut slot.0, true), "a second operation of a transaction under key-value");
    }

    #[inline(always)]
    fn observe<P: Physical>(meta: &P::SingleWriter) -> Option<u64> {
        let word = meta.read();
        (word & LATCHED == 0).then_some(word)
    }

    #[inline(always)]
    fn latch<P: Physical>(meta: &P::SingleWriter) -> bool {
        let word = meta.read();
        word & LATCHED == 0 && meta.replace(word, word | LATCHED).is_ok()
    }

    #[inline(always)]
    fn unlatch<P: Physical>(meta: &P::SingleWriter) {
        meta.store(meta.read() & !LATCHED);
    }

    #[inline(always)]
    fn publish<P: Physical>(meta: &P::SingleWriter) {
        meta.store((meta.read() & !LATCHED) + NEXT);
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyValue, Latching, SlotState, Touched};
    use crate::physical::{Physical, Shared};
    use crate::protocol::Attempt;
    use std::panic::catch_unwind;

    type Meta = <Shared as Physical>::SingleWriter;

    #[test]
    fn a_record_has_one_writer_and_a_version_for_each_write() {
        let meta = Meta::default();
        let before = KeyValue::observe::<Shared>(&meta).expect("nobody has it");
        assert!(KeyValue::latch::<Shared>(&meta));
        assert!(!KeyValue::latch::<Shared>(&meta));
        assert_eq!(KeyValue::observe::<Shared>(&meta), None);
        KeyValue::unlatch::<Shared>(&meta);
        assert_eq!(KeyValue::observe::<Shared>(&meta), Some(before), "nothing was written");
        assert!(KeyValue::latch::<Shared>(&meta));
        KeyValue::publish::<Shared>(&meta);
        assert!(KeyValue::observe::<Shared>(&meta).expect("nobody has it") > before);
    }

    #[test]
    fn a_second_operation_is_refused_until_the_next_attempt() {
        let mut slot = Touched::new();
        KeyValue::touch(&mut slot);
        assert!(catch_unwind(move || KeyValue::touch(&mut slot)).is_err());
        let mut slot = Touched(true);
        slot.begin(Attempt::Retry, || unreachable!("it draws no timestamps"));
        KeyValue::touch(&mut slot);
    }
}
