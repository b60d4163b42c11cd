//! One worker's transactions against a model: a `BTreeMap` that is told the same.
//!
//! Random transactions of random operations over few keys, so that keys repeat, reads are upgraded to writes, rows are
//! read after they were written, deleted, inserted again, in every order; a third of the transactions roll back. Tables
//! that are ordered are scanned, too, in both directions, in parts of one partition and in all of them. Rows have one length, or
//! vary between nothing and a MiB.
//! Everything that an operation answers or shows is compared at once, and what the store holds at the end.

use super::{arrange, supported};
use contract::{
    Abort, Client, Completion, Direction, Engine, EngineOptions, Indexing, Insertion, Key, Outcome, PairName,
    PartitionFunction, PartitionId, Plan, PlannedRange, Presence, Procedure, RowLength, Scan, Seat,
    Selection, Span, TableDescription, TableId, Transaction, TransactionExt, Until, Workload,
};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

const ROW: usize = 43;
const T: TableId = TableId(1);
/// Keys of a group are in one partition.
const GROUP: u64 = 8;

/// Of rows that vary: around a word, around what a record may have, and large.
const LENGTHS: [usize; 7] = [0, 1, 15, 16, 17, 4095, 1 << 20];

type Row = Arc<[u8]>;
type Rows = BTreeMap<Vec<u8>, Row>;

/// A table, and which keys it has.
#[derive(Clone, Copy, Debug)]
struct World {
    indexing: Indexing,
    length: RowLength,
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

    fn partition(self) -> PartitionFunction {
        match self.has_byte_strings() {
            true => PartitionFunction::By(|key, partitions| PartitionId((key.0 >> 56) as u32 % partitions)),
            false => PartitionFunction::Quotient(NonZeroU64::new(GROUP).expect("keys")),
        }
    }
}

impl World {
    /// The loaded row of a key.
    fn first_row(self, key: u64) -> Row {
        let bytes = match self.length {
            RowLength::Fixed => ROW,
            RowLength::Varying => LENGTHS[key as usize % (LENGTHS.len() - 1)],
        };
        (0..bytes).map(|n| (key * 31 + n as u64) as u8).collect()
    }

    /// A row that was not there before. Few are large, for each is copied again and again.
    fn row(self, random: &mut fastrand::Rng) -> Row {
        let bytes = match self.length {
            RowLength::Fixed => ROW,
            RowLength::Varying if random.u8(..) == 0 => LENGTHS[LENGTHS.len() - 1],
            RowLength::Varying => LENGTHS[random.usize(..LENGTHS.len() - 1)],
        };
        let first = random.u8(..);
        (0..bytes).map(|n| first.wrapping_add((n as u8).wrapping_mul(7))).collect()
    }
}

/// Another row, of another length if that may be.
fn changed(world: World, row: &[u8]) -> Vec<u8> {
    let mut row: Vec<u8> = row.iter().map(|byte| byte.wrapping_mul(3).wrapping_add(1)).collect();
    if world.length == RowLength::Varying {
        row.resize((row.len() * 2 + 1) % 5000, 0xA5);
    }
    row
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
            if random.u8(0..3) == 0 {
                // The key may come next, or after others, or not at all; and nothing depends on it.
                let before = random.usize(0..3);
                let numbers =
                    (0..20).map(|nth| if nth == before { number } else { random.u64(0..self.world.keys) });
                let names: Vec<Key> =
                    numbers.collect::<Vec<_>>().iter().map(|&n| self.world.name(txn, n)).collect();
                txn.ahead(T, &names[random.usize(0..=before)..random.usize(before..=20)]);
            }
            let kinds = if self.world.indexing == Indexing::Hashed { 10 } else { 13 };
            // Those before name spans.
            let first = if self.world.length == RowLength::Varying { 5 } else { 0 };
            match random.u8(first..kinds) {
                0 | 1 => {
                    let mut seen = None;
                    let presence = txn.read(T, name, span, &mut |bytes| seen = Some(bytes.to_vec()))?;
                    assert_eq!(presence, expected);
                    assert_eq!(seen.as_deref(), rows.get(&key).map(|row| &row[range]), "key {key:?}");
                }
                2 if random.bool() => {
                    let offset = random.usize(0..ROW);
                    let shown = Span::new(offset, random.usize(0..=ROW - offset));
                    let (mut seen, mut before) = (None, None);
                    let change = &mut |bytes: &mut [u8]| {
                        seen = Some(bytes.to_vec());
                        bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(5).wrapping_add(1));
                    };
                    let see = &mut |bytes: &[u8]| before = Some(bytes.to_vec());
                    assert_eq!(txn.update_seeing(T, name, span, change, shown, see)?, expected);
                    let row = rows.get(&key);
                    assert_eq!(seen.as_deref(), row.map(|row| &row[range.clone()]), "key {key:?}");
                    let shown = shown.start()..shown.end();
                    assert_eq!(before.as_deref(), row.map(|row| &row[shown]), "key {key:?}");
                    if let Some(row) = rows.get_mut(&key).map(Arc::make_mut) {
                        row[range].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(5).wrapping_add(1));
                    }
                }
                2 => {
                    let mut seen = None;
                    let presence = txn.update(T, name, span, &mut |bytes| {
                        seen = Some(bytes.to_vec());
                        bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1));
                    })?;
                    assert_eq!(presence, expected);
                    assert_eq!(seen.as_deref(), rows.get(&key).map(|row| &row[range.clone()]), "key {key:?}");
                    if let Some(row) = rows.get_mut(&key).map(Arc::make_mut) {
                        row[range].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1));
                    }
                }
                3 => {
                    let bytes: Vec<u8> = range.clone().map(|_| random.u8(..)).collect();
                    assert_eq!(txn.write(T, name, offset, &bytes)?, expected);
                    if let Some(row) = rows.get_mut(&key).map(Arc::make_mut) {
                        row[range].copy_from_slice(&bytes);
                    }
                }
                4 => {
                    let span = Span::new(offset.min(ROW - 8), 8);
                    let addends: [u8; 8] = std::array::from_fn(|_| random.u8(..));
                    let mut argument = [0; 16];
                    argument[..8].copy_from_slice(&addends);
                    assert_eq!(txn.merge(T, name, span, add, &argument)?, expected);
                    if let Some(row) = rows.get_mut(&key).map(Arc::make_mut) {
                        add(&mut row[span.start()..span.end()], &mut argument);
                        merges.push((key, argument));
                    }
                }
                5 => {
                    let row = self.world.row(&mut random);
                    let exists = rows.contains_key(&key);
                    let expected = if exists { Insertion::Exists } else { Insertion::Inserted };
                    assert_eq!(txn.insert(T, name, &row)?, expected);
                    rows.entry(key).or_insert(row);
                }
                6 => {
                    assert_eq!(txn.delete(T, name)?, expected);
                    rows.remove(&key);
                }
                7 => {
                    let mut seen = None;
                    let presence = txn.read_whole(T, name, &mut |bytes| seen = Some(bytes.to_vec()))?;
                    assert_eq!(presence, expected);
                    assert!(seen.as_deref() == rows.get(&key).map(|row| &row[..]), "key {key:?}");
                }
                8 => {
                    let row = self.world.row(&mut random);
                    assert_eq!(txn.replace(T, name, &row)?, expected);
                    rows.entry(key).and_modify(|there| *there = row);
                }
                9 => {
                    let change = |row: &[u8]| changed(self.world, row);
                    assert_eq!(txn.change_whole(T, name, change)?, expected);
                    rows.entry(key).and_modify(|row| *row = change(row).into());
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
        for table in [TableId(0), T] {
            let (first, last) = (Key(0), Key(u64::MAX));
            plan.range(PlannedRange {
                table,
                first,
                last,
                access: contract::Access::Structure,
                within: None,
            });
        }
        // A look that reads, and one that finds nothing: neither may leave anything held.
        for key in [self.seed % keys, keys + 5] {
            let name = self.world.name(txn, key);
            let _ = txn.read_whole(T, name, &mut |_| ())?;
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
        let part = |row: &Row| match world.length {
            RowLength::Fixed => row[scan.span.start()..scan.span.end()].to_vec(),
            RowLength::Varying => row.to_vec(),
        };
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
        assert!(seen == expected, "{scan:?}");
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
            length: if name == "rows" { self.world.length } else { RowLength::Fixed },
            kept_bytes: row_bytes,
            rows,
            capacity: rows,
            indexing,
            partition,
        };
        let world = self.world;
        let row_bytes = if world.length == RowLength::Fixed { ROW } else { LENGTHS[LENGTHS.len() - 1] };
        let remainder = PartitionFunction::Remainder;
        // A table of one bucket, so that chains and their metadata are shared by all keys.
        vec![
            table("other", 8, 3, Indexing::Hashed, remainder),
            table("rows", row_bytes, world.keys / 2, world.indexing, world.partition()),
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
            row.copy_from_slice(&self.world.first_row(key.0));
        }
    }

    fn fill_varying(&self, _: TableId, key: Key, row: &mut Vec<u8>) {
        row.extend_from_slice(&self.world.first_row(key.0));
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
        let indexings = [Indexing::Hashed, Indexing::Ordered, Indexing::OrderedBytes { most: 40 }];
        for (indexing, length) in indexings
            .iter()
            .flat_map(|&indexing| [RowLength::Fixed, RowLength::Varying].map(|length| (indexing, length)))
        {
            for seed in seeds.clone() {
                // Large transactions in some runs: beyond what is scanned, and beyond the log's first buffer.
                let operations = if seed % 4 == 3 { 400 } else { 12 };
                // Many keys in some: leaves are split and emptied.
                let world = World { indexing, length, keys: if seed % 2 == 1 { 200 } else { 24 } };
                // Rows of a MiB take their time.
                let transactions = if length == RowLength::Fixed { transactions } else { transactions / 4 };
                one_run::<E>(pair, world, seed, transactions * 12 / operations as u64 + 1, operations);
            }
        }
    }
}

fn one_run<E: Engine>(pair: PairName, world: World, seed: u64, transactions: u64, operations: usize) {
    let committed: Rows =
        (0..world.keys / 2).map(|row| (world.bytes(row * 2), world.first_row(row * 2))).collect();
    let workload = ModelWorkload { world, committed: Arc::new(Mutex::new(committed)), operations };
    let mut store = E::load(&workload, arrange::<E>(pair, 3).layout, &|_| ()).expect("a tiny table");
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
    let values = if world.length == RowLength::Varying { rows - 3 } else { 0 };
    assert_eq!((leaks.linked_values, leaks.allocated_values), (values, values), "{what}: {leaks:?}");
    assert_eq!(leaks.held, 0, "{what}: {leaks:?}");
}
