//! 2V_NO_WAIT: NO_WAIT with certify locks, so that readers pass a writer until it commits (*trireme* 3.1, 3.2).
//!
//! A writer changes a private copy (the copy that an undo log would have made), readers go on reading the committed
//! version, and at commit each write lock becomes a certify lock, which excludes readers, too. If one cannot, the
//! transaction aborts.
//!
//! State: one counter word in the record ([`super::counter_word`]); CERTIFIED stands for the paper's read counter of -1.
//!
//! Invariants: at most one writer; CERTIFIED implies WRITER and no readers.
//!
//! A transaction that raises its read to a write trades its place among the readers for the write flag, which excludes
//! other writers just as well. Certifying therefore succeeds if the only reader is the transaction itself, as it must.
//!
//! A record that is being inserted has no committed version to show and is born certified. Missing keys: on buckets
//! the word works as in NO_WAIT.
//!
//! We differ: counter and flag are one word, so that certifying is one compare-and-swap and cannot be seen half done.

use super::counter_word::{self, CERTIFIED, DEAD, INSERTERS, READER, READERS, WRITER};
use super::{Mode, Protocol, Reads, Requester, Verdict, Waker, Writes};
use crate::physical::{Physical, Word};
use contract::AbortReason;

/// 2V_NO_WAIT.
pub(crate) struct TwoVersionNoWait;

/// A reader and a writer do not conflict before commit; on buckets, misses and inserters do.
const fn conflicts(mode: Mode) -> u64 {
    match mode {
        Mode::Shared => INSERTERS | CERTIFIED,
        Mode::Insert => READERS | WRITER | CERTIFIED,
        Mode::Exclusive => INSERTERS | WRITER | CERTIFIED,
    }
}

impl Protocol for TwoVersionNoWait {
    type Meta<P: Physical> = P::Word64;
    type Common<P: Physical> = ();

    const READS: Reads = Reads::Locked;
    const WRITES: Writes = Writes::Certified;

    fn common<P: Physical>(_: usize, _: usize) {}

    fn is_quiet<P: Physical>(meta: &P::Word64) -> bool {
        meta.read() == 0
    }

    #[inline(always)]
    fn acquire<P: Physical>((): &(), meta: &P::Word64, mode: Mode, _: Requester, _: &impl Waker) -> Verdict {
        counter_word::add(meta, conflicts(mode), counter_word::unit(mode))
    }

    fn raise<P: Physical>((): &(), meta: &P::Word64, _: Requester, _: &impl Waker) -> Verdict {
        // Other readers may stay until this transaction certifies.
        counter_word::add(meta, conflicts(Mode::Exclusive), WRITER - READER)
    }

    fn raise_bucket<P: Physical>(
        (): &(),
        meta: &P::Word64,
        from: Mode,
        _: Requester,
        _: &impl Waker,
    ) -> Verdict {
        counter_word::raise_if_alone(meta, from, WRITER | CERTIFIED)
    }

    #[inline(always)]
    fn release<P: Physical>((): &(), meta: &P::Word64, mode: Mode, _: Requester, _: &impl Waker) {
        match mode {
            Mode::Exclusive if meta.read() & CERTIFIED != 0 => meta.store(0),
            _ => counter_word::take(meta, mode),
        }
    }

    fn bury<P: Physical>((): &(), meta: &P::Word64, _: Requester, _: &impl Waker) {
        assert_eq!(meta.read(), WRITER | CERTIFIED, "buried without being certified");
        meta.store(DEAD);
    }

    fn claim<P: Physical>((): &(), meta: &P::Word64, _: Requester) {
        meta.store(WRITER | CERTIFIED);
    }

    fn prepare<P: Physical>(meta: &P::Word64, inserted: bool) -> Verdict {
        if inserted {
            return Verdict::Granted;
        }
        match meta.replace(WRITER, WRITER | CERTIFIED) {
            Ok(()) => Verdict::Granted,
            Err(_) => Verdict::Abort(AbortReason::Certify),
        }
    }

    fn unprepare<P: Physical>(meta: &P::Word64, inserted: bool) {
        // What was inserted was certified before.
        if !inserted {
            meta.store(WRITER);
        }
    }
}
