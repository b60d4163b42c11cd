//! One worker's transactions against a model: a `BTreeMap` that is told the same.
//!
//! Random transactions of random operations over few keys, so that keys repeat, reads are upgraded to writes, rows are
//! read after they were written, deleted, inserted again, in every order; a third of the transactions roll back. Tables
//! that are ordered are scanned, too, in both directions, in parts of one partition and in all of them.
//! Everything that an operation answers or shows is compared at once, and what the store holds at the end.

use super::{arrange, supported};
use contract::{
    Abort, Client, Completion, Direction, Engine, EngineOptions, Indexing, Insertion, Key, Outcome, PairName,
    PartitionId, Plan, Presence, Procedure, Scan, Seat, Selection, Span, TableDescription, TableId,
    Transaction, Until, Workload,
};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

const ROW: usize = 43;
const T: TableId = TableId(1);
/// Keys of a group are in one partition.
const GROUP: u64 = 8;

type Rows = BTreeMap<Vec<u8>, [u8; ROW]>;

/// A table, and which keys it has.
#[derive(Clone, Copy, Debug)]
struct World {
    indexing: Indexing,
    /// Numbers that stand for keys; every second one is loaded.
    keys: u64,
}

impl World {
    fn has_byte_strings(self) -> bool {
        matches!(self.indexing, Indexing::OrderedBytes { .. })
    }

    /// The key, in bytes, that a number stands for. Byte strings have many lengths, and common beginnings.
    fn bytes(self, n: u64) -> Vec<u8> {
        if !self.has_byte_strings() {
            return Key(n).bytes().to_vec();
        }
        let (group, n) = ((n / GROUP) as u8, n % GROUP);
        match n {
            0 => vec![group],
            1 => vec![group, 0],
            2..5 => [&[group][..], b"warehouse", &[n as u8; 14][..n as usize * 2]].concat(),
            _ => [&[group][..], &[n as u8; 27][..n as usize * 3]].concat(),
        }
    }

    /// The key, as a transaction names it.
    fn name<X: Transaction + ?Sized>(self, txn: &mut X, n: u64) -> Key {
        if self.has_byte_strings() { txn.key(T, &self.bytes(n)) } else { Key(n) }
    }

    /// What a plan says of it.
    fn prefix(self, n: u64) -> Key {
        if self.has_byte_strings() { Key::prefix_of(&self.bytes(n)) } else { Key(n) }
    }

    fn partition(self) -> fn(Key, u32) -> PartitionId {
        match self.has_byte_strings() {
            true => |key, partitions| PartitionId((key.0 >> 56) as u32 % partitions),
            false => |key, partitions| PartitionId((key.0 / GROUP % u64::from(partitions)) as u32),
        }
    }
}

fn first_row(key: u64) -> [u8; ROW] {
    std::array::from_fn(|n| (key * 31 + n as u64) as u8)
}

struct ModelWorkload {
    world: World,
    committed: Arc<Mutex<Rows>>,
    operations: usize,
}

struct ModelClient {
    world: World,
    committed: Arc<Mutex<Rows>>,
    random: fastrand::Rng,
    operations: usize,
}

struct Random {
    world: World,
    seed: u64,
    operations: usize,
    committed: Arc<Mutex<Rows>>,
    after: Mutex<Option<Rows>>,
    merges: Mutex<Vec<(Vec<u8>, [u8; 16])>>,
}

/// Adds the argument's first half to the bytes, byte by byte, and leaves what was there in the second half.
fn add(current: &mut [u8], argument: &mut [u8]) {
    let (addends, before) = argument.split_at_mut(8);
    for ((byte, addend), before) in current.iter_mut().zip(addends).zip(before) {
        *before = *byte;
        *byte = byte.wrapping_add(*addend);
    }
}

impl Procedure for Random {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        let mut random = fastrand::Rng::with_seed(self.seed);
        let mut rows = self.committed.lock().expect("one worker").clone();
        let mut merges = Vec::new();
        for _ in 0..random.usize(0..=self.operations) {
            let number = random.u64(0..self.world.keys);
            let (key, name) = (self.world.bytes(number), self.world.name(txn, number));
            let offset = random.usize(0..ROW);
            let span = Span::new(offset, random.usize(0..=ROW - offset));
            let range = span.start()..span.end();
            let expected = if rows.contains_key(&key) { Presence::Present } else { Presence::Missing };
            let kinds = if self.world.indexing == Indexing::Hashed { 7 } else { 9 };
            match random.u8(0..kinds) {
                0 | 1 => {
                    let mut seen = None;
                    let presence = txn.read(T, name, span, &mut |bytes| seen = Some(bytes.to_vec()))?;
                    assert_eq!(presence, expected);
                    assert_eq!(seen.as_deref(), rows.get(&key).map(|row| &row[range]), "key {key:?}");
                }
                2 => {
                    let mut seen = None;
                    let presence = txn.update(T, name, span, &mut |bytes| {
                        seen = Some(bytes.to_vec());
                        bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1));
                    })?;
                    assert_eq!(presence, expected);
                    assert_eq!(seen.as_deref(), rows.get(&key).map(|row| &row[range.clone()]), "key {key:?}");
                    if let Some(row) = rows.get_mut(&key) {
                        row[range].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1));
                    }
                }
                3 => {
                    let bytes: Vec<u8> = range.clone().map(|_| random.u8(..)).collect();
                    assert_eq!(txn.write(T, name, offset, &bytes)?, expected);
                    if let Some(row) = rows.get_mut(&key) {
                        row[range].copy_from_slice(&bytes);
                    }
                }
                4 => {
                    let span = Span::new(offset.min(ROW - 8), 8);
                    let addends: [u8; 8] = std::array::from_fn(|_| random.u8(..));
                    let mut argument = [0; 16];
                    argument[..8].copy_from_slice(&addends);
                    assert_eq!(txn.merge(T, name, span, add, &argument)?, expected);
                    if let Some(row) = rows.get_mut(&key) {
                        add(&mut row[span.start()..span.end()], &mut argument);
                        merges.push((key, argument));
                    }
                }
                5 => {
                    let row: [u8; ROW] = std::array::from_fn(|_| random.u8(..));
                    let exists = rows.contains_key(&key);
                    let expected = if exists { Insertion::Exists } else { Insertion::Inserted };
                    assert_eq!(txn.insert(T, name, &row)?, expected);
                    rows.entry(key).or_insert(row);
                }
                6 => {
                    assert_eq!(txn.delete(T, name)?, expected);
                    rows.remove(&key);
                }
                _ => self.scan(txn, &mut random, &rows)?,
            }
        }
        *self.merges.lock().expect("one worker") = merges;
        if random.u8(0..3) == 0 {
            return Ok(Outcome::Rollback);
        }
        *self.after.lock().expect("one worker") = Some(rows);
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, txn: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        let keys = self.world.keys;
        (0..keys).for_each(|key| plan.declare(T, self.world.prefix(key)));
        // A look that reads, and one that finds nothing: neither may leave anything held.
        for key in [self.seed % keys, keys + 5] {
            let name = self.world.name(txn, key);
            let _ = txn.read(T, name, Span::whole(ROW), &mut |_| ())?;
            plan.touch(T, self.world.prefix(key), Span::whole(ROW), contract::Access::Read);
        }
        if self.world.indexing != Indexing::Hashed {
            // The plan is made ahead: others commit before the transaction runs.
            let rows = self.committed.lock().expect("one worker").clone();
            self.scan(txn, &mut fastrand::Rng::with_seed(self.seed ^ 1), &rows)?;
        }
        Ok(())
    }
}

impl Random {
    /// A scan of a random range, compared with the rows that there are.
    fn scan<X: Transaction + ?Sized>(
        &self,
        txn: &mut X,
        random: &mut fastrand::Rng,
        rows: &Rows,
    ) -> Result<(), Abort> {
        let world = self.world;
        let first = random.u64(0..world.keys);
        let is_within = random.bool();
        let last = match is_within {
            true => random.u64(first..(first / GROUP + 1) * GROUP),
            false => random.u64(0..world.keys + 3),
        };
        let mut ends = [world.bytes(first), world.bytes(last)];
        if is_within {
            // Numbers need not stand for keys in their own order.
            ends.sort();
        }
        let mut bound = |end: &[u8]| match random.u8(0..8) {
            0 if !is_within => Bound::Unbounded,
            1..4 => Bound::Excluded(end.to_vec()),
            _ => Bound::Included(end.to_vec()),
        };
        let (from, to) = (bound(&ends[0]), bound(&ends[1]));
        let offset = random.usize(0..ROW);
        let scan = Scan {
            table: T,
            from: from.as_ref().map(Vec::as_slice),
            to: to.as_ref().map(Vec::as_slice),
            direction: if random.bool() { Direction::Forward } else { Direction::Backward },
            limit: if random.bool() { usize::MAX } else { random.usize(0..30) },
            span: Span::new(offset, random.usize(0..=ROW - offset)),
            within: is_within.then(|| world.prefix(first)),
        };
        let mut seen = Vec::new();
        let shown = txn.scan(&scan, &mut |key, bytes| seen.push((key.to_vec(), bytes.to_vec())))?;
        let part = |row: &[u8; ROW]| row[scan.span.start()..scan.span.end()].to_vec();
        let mut expected: Vec<_> = rows
            .iter()
            .filter(|(key, _)| scan.covers(key))
            .map(|(key, row)| (key.clone(), part(row)))
            .collect();
        if scan.direction == Direction::Backward {
            expected.reverse();
        }
        expected.truncate(scan.limit);
        assert_eq!(shown, seen.len());
        assert_eq!(seen, expected, "{scan:?}");
        Ok(())
    }
}

impl Client for ModelClient {
    type Procedure = Random;

    fn next(&mut self) -> Random {
        Random {
            world: self.world,
            seed: self.random.u64(..),
            operations: self.operations,
            committed: self.committed.clone(),
            after: Mutex::new(None),
            merges: Mutex::new(Vec::new()),
        }
    }

    fn finished(&mut self, procedure: Random, completion: &Completion<'_>) {
        assert_eq!(completion.attempts, 1, "one worker never aborts");
        let after = procedure.after.into_inner().expect("one worker");
        assert_eq!(completion.outcome == Outcome::Commit, after.is_some());
        if let Some(after) = after {
            let merges = procedure.merges.into_inner().expect("one worker");
            for (nth, (key, expected)) in merges.iter().enumerate() {
                // A merge of a row that the transaction deleted in the end may never be applied.
                if after.contains_key(key) {
                    assert_eq!(completion.receipts.argument(nth), expected, "merge {nth}, of key {key:?}");
                }
            }
            *self.committed.lock().expect("one worker") = after;
        }
    }
}

impl Workload for ModelWorkload {
    type Client = ModelClient;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |name, row_bytes, rows, indexing, partition| TableDescription {
            name,
            row_bytes,
            kept_bytes: row_bytes,
            rows,
            capacity: rows,
            indexing,
            partition,
        };
        let world = self.world;
        let remainder: fn(Key, u32) -> PartitionId = TableDescription::partition_by_remainder;
        // A table of one bucket, so that chains and their metadata are shared by all keys.
        vec![
            table("other", 8, 3, Indexing::Hashed, remainder),
            table("rows", ROW, world.keys / 2, world.indexing, world.partition()),
        ]
    }

    fn loaded_key(&self, _: TableId, row: u64) -> Key {
        Key(row * 2)
    }

    fn loaded_bytes(&self, _: TableId, key: Key, bytes: &mut Vec<u8>) {
        bytes.extend(self.world.bytes(key.0));
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        if table == T {
            row.copy_from_slice(&first_row(key.0));
        }
    }

    fn client(&self, seat: Seat) -> ModelClient {
        let random = fastrand::Rng::with_seed(seat.seed);
        ModelClient {
            world: self.world,
            committed: self.committed.clone(),
            random,
            operations: self.operations,
        }
    }
}

/// Every pair agrees with the model, and leaves nothing behind.
pub fn agrees_with_the_model<E: Engine>(seeds: std::ops::Range<u64>, transactions: u64) {
    for pair in supported::<E>() {
        for indexing in [Indexing::Hashed, Indexing::Ordered, Indexing::OrderedBytes { most: 40 }] {
            for seed in seeds.clone() {
                // Large transactions in some runs: beyond what is scanned, and beyond the log's first buffer.
                let operations = if seed % 4 == 3 { 400 } else { 12 };
                // Many keys in some: leaves are split and emptied.
                let world = World { indexing, keys: if seed % 2 == 1 { 200 } else { 24 } };
                one_run::<E>(pair, world, seed, transactions * 12 / operations as u64 + 1, operations);
            }
        }
    }
}

fn one_run<E: Engine>(pair: PairName, world: World, seed: u64, transactions: u64, operations: usize) {
    let committed: Rows = (0..world.keys / 2).map(|row| (world.bytes(row * 2), first_row(row * 2))).collect();
    let workload = ModelWorkload { world, committed: Arc::new(Mutex::new(committed)), operations };
    let mut store =
        E::load(&workload, arrange::<E>(pair.architecture, 3).layout, &|_| ()).expect("a tiny table");
    let what = format!("{pair}, {world:?}, seed {seed}");
    for round in 0..2 {
        let client = workload.client(Seat::new(0, 1, seed * 2 + round));
        let options = EngineOptions { sample_one_in: 3, ..EngineOptions::default() };
        let until = Until::Transactions(transactions);
        let run = E::run_checked(&mut store, Selection::Pair(pair), vec![client], until, &options);
        let measurement = run.unwrap_or_else(|error| panic!("{what}: {error}")).measurement;
        assert_eq!(measurement.commits + measurement.user_rollbacks, transactions, "{what}");
    }
    let leaks = E::leak_check(&store);
    let rows = workload.committed.lock().expect("one worker").len() as u64 + 3;
    assert_eq!(leaks.linked_records, rows, "{what}: {leaks:?}");
    assert_eq!(leaks.allocated_records, rows, "{what}: {leaks:?}");
    assert_eq!(leaks.held, 0, "{what}: {leaks:?}");
}
