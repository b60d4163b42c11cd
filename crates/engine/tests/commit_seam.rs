//! Commit is to prepare and to decide. Between the two a transaction holds what it needs for either: nobody gets past what it wrote,
//! however long it stands; then it commits or aborts, as if it had done so at once, and nothing is held any more.

use contract::{
    Abort, Client, Engine, Indexing, Insertion, Key, Layout, Outcome, Presence, Procedure, ProtocolName,
    RowLength, Seat, Span, TableDescription, TableId, Transaction, Workload,
};
use engine::testing::seam::{Passed, stand_prepared};
use engine::{Store, ThisEngine};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const T: TableId = TableId(0);
const CHANGED: Key = Key(0);
const DELETED: Key = Key(1);
const INSERTED: Key = Key(10);
const FREE: Key = Key(2);
const MISSING: u64 = u64::MAX;

/// A table of four numbers, each its key; its client is never asked.
struct Numbers(Indexing);

enum Act {
    /// Changes one row, deletes one, inserts one.
    Write,
    /// Reads these three.
    Read([AtomicU64; 3]),
    /// Adds to a row.
    Add(Key),
}

fn number<X: Transaction + ?Sized>(txn: &mut X, key: Key) -> Result<u64, Abort> {
    let mut seen = MISSING;
    let presence =
        txn.read(T, key, Span::new(0, 8), &mut |row| seen = u64::from_le_bytes(row.try_into().unwrap()))?;
    Ok(if presence == Presence::Present { seen } else { MISSING })
}

impl Procedure for Act {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        match self {
            Act::Write => {
                assert_eq!(txn.write(T, CHANGED, 0, &77u64.to_le_bytes())?, Presence::Present);
                assert_eq!(txn.delete(T, DELETED)?, Presence::Present);
                assert_eq!(txn.insert(T, INSERTED, &88u64.to_le_bytes())?, Insertion::Inserted);
            }
            Act::Read(seen) => {
                for (key, seen) in [CHANGED, DELETED, INSERTED].into_iter().zip(seen) {
                    seen.store(number(txn, key)?, Ordering::Relaxed);
                }
            }
            Act::Add(key) => {
                let _ = txn.update(T, *key, Span::new(0, 8), &mut |row| row[0] += 1)?;
            }
        }
        Ok(Outcome::Commit)
    }
}

struct NoClient;

impl Client for NoClient {
    type Procedure = Act;

    fn next(&mut self) -> Act {
        unreachable!("the test runs procedures of its own")
    }
}

impl Workload for Numbers {
    type Client = NoClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "numbers",
            row_bytes: 8,
            length: RowLength::Fixed,
            kept_bytes: 8,
            rows: 4,
            capacity: 16,
            indexing: self.0,
            partition: contract::PartitionFunction::By(|_, _| contract::PartitionId(0)),
        }]
    }

    fn fill(&self, _: TableId, key: Key, row: &mut [u8]) {
        row.copy_from_slice(&key.0.to_le_bytes());
    }

    fn client(&self, _: Seat) -> NoClient {
        NoClient
    }
}

const KINDS: [Indexing; 2] = [Indexing::Hashed, Indexing::Ordered];

fn loaded(indexing: Indexing, protocol: ProtocolName) -> Store {
    ThisEngine::load(&Numbers(indexing), Layout::of(1).for_protocol(protocol), &|_| {}).expect("a page")
}

fn protocols() -> impl Iterator<Item = ProtocolName> {
    ProtocolName::ALL
        .iter()
        .copied()
        .filter(|protocol| ![ProtocolName::KeyValue, ProtocolName::Unprotected].contains(protocol))
}

fn stand(store: &mut Store, protocol: ProtocolName, second: &Act, commits: bool) -> Passed {
    stand_prepared(store, protocol, [&Act::Write, second], commits, Duration::from_millis(20))
}

/// What a transaction of the same protocol reads with nobody else around.
fn content(store: &mut Store, protocol: ProtocolName) -> [u64; 3] {
    let reader = Act::Read(Default::default());
    engine::testing::inner_steps::commit(store, protocol, &reader, 1);
    let Act::Read(seen) = reader else { unreachable!("it reads") };
    seen.map(AtomicU64::into_inner)
}

#[test]
fn nobody_passes_what_is_prepared_and_either_decision_is_whole() {
    for (protocol, indexing) in protocols().flat_map(|p| KINDS.map(|indexing| (p, indexing))) {
        for commits in [false, true] {
            let mut store = loaded(indexing, protocol);
            let before = ThisEngine::leak_check(&store);
            let reader = Act::Read(Default::default());
            let passed = stand(&mut store, protocol, &reader, commits);
            let said = format!("{protocol}, {indexing:?}, commits: {commits}");
            assert_eq!(passed, Passed::After, "{said}: a reader");
            let Act::Read(seen) = reader else { unreachable!("it reads") };
            let expected = if commits { [77, MISSING, 88] } else { [0, 1, MISSING] };
            assert_eq!(seen.map(AtomicU64::into_inner), expected, "{said}: what the reader saw");
            let after = ThisEngine::leak_check(&store);
            assert_eq!((after.held, after.linked_records), (0, before.linked_records), "{said}: {after:?}");
            store = loaded(indexing, protocol);
            let writer = Act::Add(CHANGED);
            assert_eq!(stand(&mut store, protocol, &writer, commits), Passed::After, "{said}: a writer");
            assert_eq!(ThisEngine::leak_check(&store).held, 0, "{said}");
            let expected = if commits { [78, MISSING, 88] } else { [1, 1, MISSING] };
            assert_eq!(content(&mut store, protocol), expected, "{said}: what is left");
        }
    }
}

#[test]
fn others_pass_beside_it() {
    for protocol in protocols() {
        let mut store = loaded(Indexing::Hashed, protocol);
        let beside = Act::Add(FREE);
        assert_eq!(stand(&mut store, protocol, &beside, true), Passed::While, "{protocol}");
    }
}
