//! Accounts between which money moves, for systems that are not of the matrix: the sum stays, and rows are whole.

use crate::record::header::{Narrow, Versioned, Wide};
use crate::storage::Store;
use crate::system::{CountLeaks, Dispatch, Run, System};
use contract::{
    Abort, ArchitectureName, Client, EngineOptions, Header, Indexing, Key, Layout, Outcome, PairName,
    PartitionFunction, Presence, Procedure, ProtocolName, RowLength, Seat, Selection, TableDescription,
    TableId, Transaction, TransactionExt, Until, Workload,
};

pub(super) const T: TableId = TableId(0);
const ACCOUNTS: u64 = 6;
/// Keys that come and go.
const RING: u64 = 4;
/// Workers of a run.
pub const WORKERS: usize = 2;
const TRANSACTIONS: u64 = 3_000;

/// Accounts of three words: their balance stands in the first and in the last. Under the wide layout as under the narrow one.
pub(super) struct Accounts(pub(super) Indexing);

pub(super) type Row = [u64; 3];

/// Moves one from an account to another; deletes a key of the ring, or inserts it.
pub(super) struct Move {
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
            // An optimistic transaction that will not commit may find what it has just missed.
            let _ = txn.insert(T, ring, row.map(u64::to_le_bytes).as_flattened())?;
        }
        Ok(if balance == Some(0) { Outcome::Rollback } else { Outcome::Commit })
    }
}

pub(super) struct Mover(fastrand::Rng);

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
            length: RowLength::Fixed,
            kept_bytes: size_of::<Row>(),
            rows: ACCOUNTS,
            capacity: ACCOUNTS + RING,
            indexing: self.0,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.copy_from_slice([100, 0, 100u64].map(u64::to_le_bytes).as_flattened());
    }

    fn client(&self, seat: Seat) -> Mover {
        Mover(fastrand::Rng::with_seed(seat.seed + seat.worker as u64))
    }
}

/// The accounts, loaded.
pub fn load(indexing: Indexing, partitions: u32, header: Header) -> Store {
    Store::load(&Accounts(indexing), Layout { header, ..Layout::of(partitions) }, &|_| {})
        .expect("a few records")
}

/// The balances of a store over which nobody runs.
fn total(store: &Store) -> u64 {
    let mut total = 0;
    for partition in store.tables.iter().flat_map(crate::storage::Table::partitions) {
        partition.index.for_each_record(|record| {
            let whole = contract::Span::whole(size_of::<Row>());
            let balance = |row: &[u8]| u64::from_le_bytes(row[..8].try_into().expect("eight bytes"));
            // SAFETY: a record of the store's layout, and nobody runs.
            total += unsafe {
                match store.layout().header {
                    Header::Narrow => record.row::<Narrow>().view(whole, balance),
                    Header::Wide => record.row::<Wide>().view(whole, balance),
                    Header::Versioned => record.row::<Versioned>().view(whole, balance),
                }
            };
        });
    }
    total
}

/// Transactions of the system `S` over them; answers how many ended.
pub fn run<S: System>(store: &mut Store, architecture: ArchitectureName, seed: u64) -> u64 {
    let partitions = store.tables[0].partitions().len() as u32;
    let seat = |worker| Seat::new(worker, WORKERS, seed).over(partitions);
    let clients = (0..WORKERS).map(|worker| Accounts(Indexing::Hashed).client(seat(worker))).collect();
    let options = EngineOptions::default();
    // A name that stands for no protocol of the matrix: what is run is `S`.
    let selection = Selection::Pair(PairName { architecture, protocol: ProtocolName::NoWait });
    let until = Until::Transactions(TRANSACTIONS);
    let (_, reports, _) = Run { store, clients, until, options: &options, selection, part: None }.run::<S>();
    reports.hosts.iter().map(|report| report.counts.commits + report.counts.user_rollbacks).sum()
}

/// Runs the system over hashed and ordered tables, twice each, and looks at what is left.
pub fn keeps_the_sum<S: System>(architecture: ArchitectureName, partitions: u32) {
    for indexing in [Indexing::Hashed, Indexing::Ordered] {
        let mut store = load(indexing, partitions, S::HEADER);
        // Twice over one store: what the first run left in the metadata is forgotten, all three words.
        for seed in 1..3 {
            assert_eq!(run::<S>(&mut store, architecture, seed), WORKERS as u64 * TRANSACTIONS);
            assert_eq!(total(&store), ACCOUNTS * 100, "{architecture}, {indexing:?}, seed {seed}");
            let left = CountLeaks(&store).run::<S>();
            assert_eq!(left.held, 0, "{architecture}, {indexing:?}: {left:?}");
        }
    }
}
