//! A protocol with three words of metadata a record, over stores of the wide layout: NO_WAIT that knows its readers by name.
//!
//! It is there to show that a record's header is told apart from its row: nothing of storage, index or transaction knows how much
//! metadata there is but by the layout. Its gaps are NO_WAIT's, of one word: a gap's metadata is of a type of its own.
//!
//! State: the writer's slot and one, or DEAD; and a set of slots, the readers, in two words. A reader adds its bit and then looks for
//! a writer; a writer sets its slot and then looks for readers but itself. Of two that meet so, at least one sees the other and takes
//! back what it did, as in [`crate::protocol::semaphore`].

use super::accounts::{WORKERS, keeps_the_sum, load, run};
use crate::architecture::Architecture;
use crate::physical::{Metadata, Physical, Shared, Word};
use crate::protocol::semaphore::Semaphore;
use crate::protocol::{DlDetect, GapMode, Locking, Mode, NoWait, Protocol, Request, SlotId, Verdict, Waker};
use crate::record::header::Wide;
use crate::storage::Store;
use crate::system::{Delegation, Dora, SharedEverything};
use crate::transaction::access::Locked;
use contract::{AbortReason, ArchitectureName, EngineOptions, Header, Indexing};
use std::panic::{AssertUnwindSafe, catch_unwind};

struct NamedReaders;

const MOST_SLOTS: usize = 128;
const DEAD: u64 = u64::MAX;

#[repr(C)]
struct Readers<P: Physical> {
    writer: P::Word64,
    readers: [P::Word64; 2],
}

// SAFETY: three words.
unsafe impl<P: Physical> Metadata for Readers<P> {}

impl<P: Physical> Readers<P> {
    /// The word and the bit of a slot.
    fn place(&self, slot: SlotId) -> (&P::Word64, u64) {
        (&self.readers[slot.0 as usize / 64], 1 << (slot.0 % 64))
    }

    fn leave(&self, slot: SlotId) {
        let (word, bit) = self.place(slot);
        assert!(word.read() & bit != 0, "slot {} is no reader", slot.0);
        word.subtract(bit);
    }

    /// Makes `slot` the writer if nobody else is there. Readers other than itself, if `reads`.
    fn write(&self, slot: SlotId, reads: bool) -> Verdict {
        if let Err(found) = self.writer.replace(0, u64::from(slot.0) + 1) {
            return if found == DEAD { Verdict::Retry } else { Verdict::Abort(AbortReason::Conflict) };
        }
        let (_, bit) = self.place(slot);
        let own = |word: usize| if reads && word == slot.0 as usize / 64 { bit } else { 0 };
        if (0..2).all(|word| self.readers[word].read_in_order() == own(word)) {
            return Verdict::Granted;
        }
        self.writer.store(0);
        Verdict::Abort(AbortReason::Conflict)
    }
}

impl Protocol for NamedReaders {
    type Meta<P: Physical> = Readers<P>;
    type Header = Wide;
    type Gap<P: Physical> = Semaphore<P>;
    type Common<P: Physical> = ();
    type Slot = ();
    type Access<A: Architecture<Protocol = Self>> = Locked;

    fn common<P: Physical>(slots: usize, _: usize, _: &EngineOptions) {
        assert!(slots <= MOST_SLOTS, "a set of {MOST_SLOTS} readers");
    }

    fn is_quiescent<P: Physical>(meta: &Readers<P>) -> bool {
        meta.writer.read() == 0 && meta.readers.iter().all(|word| word.read() == 0)
    }

    fn is_gap_quiescent<P: Physical>(gap: &Semaphore<P>) -> bool {
        gap.is_quiescent()
    }
}

impl Locking for NamedReaders {
    fn acquire<P: Physical>(
        meta: &Readers<P>,
        mode: Mode,
        request: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        let slot = request.who.slot;
        if mode == Mode::Exclusive {
            return meta.write(slot, false);
        }
        let (word, bit) = meta.place(slot);
        assert!(word.add(bit) & bit == 0, "slot {} reads twice", slot.0);
        match meta.writer.read_in_order() {
            0 => Verdict::Granted,
            found => {
                meta.leave(slot);
                if found == DEAD { Verdict::Retry } else { Verdict::Abort(AbortReason::Conflict) }
            }
        }
    }

    fn upgrade<P: Physical>(meta: &Readers<P>, request: Request<'_, Self, P, impl Waker>) -> Verdict {
        let verdict = meta.write(request.who.slot, true);
        if verdict == Verdict::Granted {
            meta.leave(request.who.slot);
        }
        verdict
    }

    fn release<P: Physical>(meta: &Readers<P>, mode: Mode, request: Request<'_, Self, P, impl Waker>) {
        let slot = request.who.slot;
        match mode {
            Mode::Shared => meta.leave(slot),
            Mode::Exclusive => {
                assert_eq!(meta.writer.read(), u64::from(slot.0) + 1, "released without being held");
                meta.writer.store(0);
            }
        }
    }

    fn mark_deleted<P: Physical>(meta: &Readers<P>, _: Request<'_, Self, P, impl Waker>) {
        meta.writer.store(DEAD);
    }

    fn claim<P: Physical>(meta: &Readers<P>, request: Request<'_, Self, P, impl Waker>) {
        meta.writer.store(u64::from(request.who.slot.0) + 1);
    }

    fn hold_gap<P: Physical>(
        gap: &Semaphore<P>,
        mode: GapMode,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        gap.hold(mode)
    }

    fn upgrade_gap<P: Physical>(
        gap: &Semaphore<P>,
        from: GapMode,
        _: Request<'_, Self, P, impl Waker>,
    ) -> Verdict {
        gap.upgrade(from)
    }

    fn release_gap<P: Physical>(gap: &Semaphore<P>, mode: GapMode, _: Request<'_, Self, P, impl Waker>) {
        gap.let_go(mode);
    }

    fn retire_gap<P: Physical>(gap: &Semaphore<P>, (): &()) -> bool {
        gap.retire()
    }
}

#[test]
fn three_words_of_metadata_go_before_the_row() {
    assert_eq!(size_of::<Readers<Shared>>(), 24);
    keeps_the_sum::<SharedEverything<NamedReaders, Shared>>(ArchitectureName::SharedEverything, 1);
    keeps_the_sum::<Delegation<NamedReaders>>(ArchitectureName::Delegation, WORKERS as u32);
    keeps_the_sum::<Dora<NamedReaders>>(ArchitectureName::Dora, WORKERS as u32);
}

#[test]
fn a_store_is_for_the_protocols_of_its_layout() {
    let refuses = |header, run: fn(&mut Store, ArchitectureName, u64) -> u64| {
        let mut store = load(Indexing::Hashed, 1, header);
        catch_unwind(AssertUnwindSafe(|| run(&mut store, ArchitectureName::SharedEverything, 1))).is_err()
    };
    assert!(refuses(Header::Narrow, run::<SharedEverything<NamedReaders, Shared>>));
    assert!(refuses(Header::Wide, run::<SharedEverything<NoWait, Shared>>));
    assert!(!refuses(Header::Narrow, run::<SharedEverything<DlDetect, Shared>>));
}
