//! A protocol with three words of metadata a record, over stores of the wide layout: NO_WAIT that knows its readers by name.
//!
//! It is there to show that a record's header is told apart from its row: nothing of storage, index or transaction knows how much
//! metadata there is but by the layout. Its gaps are NO_WAIT's, of one word: a gap's metadata is of a type of its own.
//!
//! State: the writer's slot and one, or DEAD; and a set of slots, the readers, in two words. A reader adds its bit and then looks for
//! a writer; a writer sets its slot and then looks for readers but itself. Of two that meet so, at least one sees the other and takes
//! back what it did, as in [`crate::protocol::semaphore`].

use crate::architecture::Architecture;
use crate::physical::{Metadata, Physical, Shared, Word};
use crate::protocol::semaphore::Semaphore;
use crate::protocol::{DlDetect, GapMode, Locking, Mode, NoWait, Protocol, Request, SlotId, Verdict, Waker};
use crate::record::header::Wide;
use crate::storage::Store;
use crate::system::{CountLeaks, Delegation, Dispatch, Dora, Run, SharedEverything, System};
use crate::transaction::access::Locked;
use contract::{
    Abort, AbortReason, ArchitectureName, Client, EngineOptions, Header, Indexing, Insertion, Key, Layout,
    Outcome, PairName, PartitionId, Presence, Procedure, ProtocolName, Seat, Selection, TableDescription,
    TableId, Transaction, TransactionExt, Until, Workload,
};
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

    fn common<P: Physical>(slots: usize, _: usize) {
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

const T: TableId = TableId(0);
const ACCOUNTS: u64 = 6;
/// Keys that come and go.
const RING: u64 = 4;
const WORKERS: usize = 2;
const TRANSACTIONS: u64 = 3_000;

/// Accounts of three words: their balance stands in the first and in the last. Under the wide layout as under the narrow one.
struct Accounts(Indexing);

type Row = [u64; 3];

/// Moves one from an account to another; deletes a key of the ring, or inserts it.
struct Move {
    from: u64,
    to: u64,
    ring: u64,
}

impl Procedure for Move {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        // Read first, so that the lock is upgraded.
        let balance = txn.read_row::<Row, _>(T, Key(self.from), |row| {
            assert_eq!(row[0], row[2], "a row is whole, wherever it begins");
            row[0]
        })?;
        for (key, add) in [(self.from, u64::MAX), (self.to, 1)] {
            let _ = txn.update_row::<Row, _>(T, Key(key), |row| {
                row[0] = row[0].wrapping_add(add);
                row[2] = row[0];
            })?;
        }
        let ring = Key(ACCOUNTS + self.ring);
        if txn.delete(T, ring)? == Presence::Missing {
            let row: Row = [0; 3];
            assert_eq!(txn.insert(T, ring, row.map(u64::to_le_bytes).as_flattened())?, Insertion::Inserted);
        }
        Ok(if balance == Some(0) { Outcome::Rollback } else { Outcome::Commit })
    }
}

struct Mover(fastrand::Rng);

impl Client for Mover {
    type Procedure = Move;

    fn next(&mut self) -> Move {
        let from = self.0.u64(0..ACCOUNTS);
        let to = (from + self.0.u64(1..ACCOUNTS)) % ACCOUNTS;
        Move { from, to, ring: self.0.u64(0..RING) }
    }
}

impl Workload for Accounts {
    type Client = Mover;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "accounts",
            row_bytes: size_of::<Row>(),
            kept_bytes: size_of::<Row>(),
            rows: ACCOUNTS,
            capacity: ACCOUNTS + RING,
            indexing: self.0,
            partition: |key, partitions| PartitionId(key.0 as u32 % partitions),
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.copy_from_slice([100, 0, 100u64].map(u64::to_le_bytes).as_flattened());
    }

    fn client(&self, seat: Seat) -> Mover {
        Mover(fastrand::Rng::with_seed(seat.seed + seat.worker as u64))
    }
}

fn load(indexing: Indexing, partitions: u32, header: Header) -> Store {
    Store::load(&Accounts(indexing), Layout { partitions, header }, &|_| {}).expect("a few records")
}

/// The balances of a store over which nobody runs.
fn total(store: &Store) -> u64 {
    let mut total = 0;
    for partition in store.tables.iter().flat_map(crate::storage::Table::partitions) {
        partition.index.for_each_record(|record| {
            let whole = contract::Span::whole(size_of::<Row>());
            // SAFETY: a record of the wide layout, and nobody runs.
            total += unsafe {
                record.row::<Wide>().view(whole, |row| u64::from_le_bytes(row[..8].try_into().unwrap()))
            };
        });
    }
    total
}

fn run<S: System>(store: &mut Store, architecture: ArchitectureName, seed: u64) -> u64 {
    let partitions = store.tables[0].partitions().len() as u32;
    let seat = |worker| Seat::new(worker, WORKERS, seed).over(partitions);
    let clients = (0..WORKERS).map(|worker| Accounts(Indexing::Hashed).client(seat(worker))).collect();
    let options = EngineOptions::default();
    // A name that stands for no protocol of the matrix: what is run is `S`.
    let selection = Selection::Pair(PairName { architecture, protocol: ProtocolName::NoWait });
    let until = Until::Transactions(TRANSACTIONS);
    let (reports, _) = Run { store, clients, until, options: &options, selection }.run::<S>();
    reports.hosts.iter().map(|report| report.counts.commits + report.counts.user_rollbacks).sum()
}

fn keeps_the_sum<S: System>(architecture: ArchitectureName, partitions: u32) {
    for indexing in [Indexing::Hashed, Indexing::Ordered] {
        let mut store = load(indexing, partitions, Header::Wide);
        // Twice over one store: what the first run left in the metadata is forgotten, all three words.
        for seed in 1..3 {
            assert_eq!(run::<S>(&mut store, architecture, seed), WORKERS as u64 * TRANSACTIONS);
            assert_eq!(total(&store), ACCOUNTS * 100, "{architecture}, {indexing:?}, seed {seed}");
            let left = CountLeaks(&store).run::<S>();
            assert_eq!(left.held, 0, "{architecture}, {indexing:?}: {left:?}");
        }
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
