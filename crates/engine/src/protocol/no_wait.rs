//! NO_WAIT: two-phase locking in which a conflicting request aborts; nobody ever waits (*trireme* 3.1).
//!
//! State: one counter word in the record ([`super::counter_word`]).
//!
//! Invariant: of readers, inserters and a writer, at most one kind is there.
//!
//! Atomic instructions of an access under `Shared`: reading is one to acquire and one to release; writing is one to
//! acquire, and a plain store to release, because nobody changes a word that says WRITER.
//!
//! Missing keys: the bucket's counter of misses excludes inserters until commit.

use super::counter_word::{self, DEAD, INSERTERS, READERS, WRITER};
use super::{Mode, Protocol, Reads, Requester, Verdict, Waker, Writes};
use crate::physical::{Physical, Word};

/// NO_WAIT.
pub(crate) struct NoWait;

const fn conflicts(mode: Mode) -> u64 {
    match mode {
        Mode::Shared => INSERTERS | WRITER,
        Mode::Insert => READERS | WRITER,
        Mode::Exclusive => READERS | INSERTERS | WRITER,
    }
}

impl Protocol for NoWait {
    type Meta<P: Physical> = P::Word64;
    type Common<P: Physical> = ();

    const READS: Reads = Reads::Locked;
    const WRITES: Writes = Writes::InPlace;

    fn common<P: Physical>(_: usize, _: usize) {}

    fn is_quiet<P: Physical>(meta: &P::Word64) -> bool {
        meta.read() == 0
    }

    #[inline(always)]
    fn acquire<P: Physical>((): &(), meta: &P::Word64, mode: Mode, _: Requester, _: &impl Waker) -> Verdict {
        counter_word::add(meta, conflicts(mode), counter_word::unit(mode))
    }

    fn raise<P: Physical>((): &(), meta: &P::Word64, _: Requester, _: &impl Waker) -> Verdict {
        counter_word::raise_if_alone(meta, Mode::Shared, WRITER)
    }

    fn raise_bucket<P: Physical>(
        (): &(),
        meta: &P::Word64,
        from: Mode,
        _: Requester,
        _: &impl Waker,
    ) -> Verdict {
        counter_word::raise_if_alone(meta, from, WRITER)
    }

    #[inline(always)]
    fn release<P: Physical>((): &(), meta: &P::Word64, mode: Mode, _: Requester, _: &impl Waker) {
        match mode {
            Mode::Exclusive => {
                debug_assert_eq!(meta.read(), WRITER, "released without being held");
                meta.store(0);
            }
            Mode::Shared | Mode::Insert => counter_word::take(meta, mode),
        }
    }

    fn bury<P: Physical>((): &(), meta: &P::Word64, _: Requester, _: &impl Waker) {
        assert_eq!(meta.read(), WRITER, "buried without being held");
        meta.store(DEAD);
    }

    fn claim<P: Physical>((): &(), meta: &P::Word64, _: Requester) {
        meta.store(WRITER);
    }
}
