//! NO_WAIT: two-phase locking in which a conflicting request aborts; nobody ever waits (*trireme* 3.1).
//!
//! State, one counter word in the record, as in VLL (*trireme* 3.2):
//!
//! | bits | what |
//! |---|---|
//! | 0..32 | readers; of a bucket, transactions that found a key missing |
//! | 32..62 | of a bucket, inserters |
//! | 62 | DEAD: unlinked, ask again |
//! | 63 | WRITER |
//!
//! Invariant: of readers, inserters and a writer, at most one kind is there.
//!
//! Atomic instructions of an access under `Shared`: reading is one to acquire and one to release; writing is one to
//! acquire, and a plain store to release, because nobody changes a word that says WRITER.
//!
//! Missing keys: the bucket's counter of misses excludes inserters until commit.
//!
//! We differ: the paper's semaphore has no inserters and no dead records, since its workloads have no inserts.

use super::{Mode, Protocol, Reads, Requester, Verdict, Waker, Writes};
use crate::physical::{Physical, Word};
use contract::AbortReason;

pub(super) const READER: u64 = 1;
const READERS: u64 = (1 << 32) - 1;
pub(super) const INSERTER: u64 = 1 << 32;
const INSERTERS: u64 = (1 << 62) - (1 << 32);
pub(super) const DEAD: u64 = 1 << 62;
const WRITER: u64 = 1 << 63;

/// NO_WAIT.
pub(crate) struct NoWait;

impl NoWait {
    const fn unit(mode: Mode) -> u64 {
        match mode {
            Mode::Shared => READER,
            Mode::Insert => INSERTER,
            Mode::Exclusive => WRITER,
        }
    }

    const fn conflicts(mode: Mode) -> u64 {
        match mode {
            Mode::Shared => INSERTERS | DEAD | WRITER,
            Mode::Insert => READERS | DEAD | WRITER,
            Mode::Exclusive => READERS | INSERTERS | DEAD | WRITER,
        }
    }

    fn raise_if_alone(meta: &impl Word<u64>, from: Mode) -> Verdict {
        match meta.replace(Self::unit(from), WRITER) {
            Ok(()) => Verdict::Granted,
            Err(_) => Verdict::Abort(AbortReason::Conflict),
        }
    }
}

impl Protocol for NoWait {
    type Meta<P: Physical> = P::Word64;
    type Common<P: Physical> = ();

    const READS: Reads = Reads::Locked;
    const WRITES: Writes = Writes::InPlace;

    fn common<P: Physical>(_slots: usize) {}

    fn is_quiet<P: Physical>(meta: &P::Word64) -> bool {
        meta.read() == 0
    }

    #[inline(always)]
    fn acquire<P: Physical>((): &(), meta: &P::Word64, mode: Mode, _: Requester, _: &impl Waker) -> Verdict {
        let mut found = meta.read();
        loop {
            if found & Self::conflicts(mode) != 0 {
                return if found & DEAD != 0 {
                    Verdict::Again
                } else {
                    Verdict::Abort(AbortReason::Conflict)
                };
            }
            match meta.replace(found, found + Self::unit(mode)) {
                Ok(()) => return Verdict::Granted,
                Err(now) => found = now,
            }
        }
    }

    fn raise<P: Physical>((): &(), meta: &P::Word64, _: Requester, _: &impl Waker) -> Verdict {
        Self::raise_if_alone(meta, Mode::Shared)
    }

    fn raise_bucket<P: Physical>(
        (): &(),
        meta: &P::Word64,
        from: Mode,
        _: Requester,
        _: &impl Waker,
    ) -> Verdict {
        Self::raise_if_alone(meta, from)
    }

    #[inline(always)]
    fn release<P: Physical>((): &(), meta: &P::Word64, mode: Mode, _: Requester, _: &impl Waker) {
        match mode {
            Mode::Exclusive => {
                debug_assert_eq!(meta.read(), WRITER, "released without being held");
                meta.store(0);
            }
            Mode::Shared | Mode::Insert => {
                debug_assert!(meta.read() & !Self::conflicts(mode) != 0, "released without being held");
                meta.subtract(Self::unit(mode));
            }
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
