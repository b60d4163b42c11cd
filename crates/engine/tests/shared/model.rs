//! One worker's transactions against a model: a `BTreeMap` that is told the same.
//!
//! Random transactions of random operations over few keys, so that keys repeat, reads are raised to writes, rows are
//! read after they were written, deleted, inserted again, in every order; a third of the transactions roll back.
//! Everything that an operation answers or shows is compared at once, and what the store holds at the end.

use super::{arrange, supported};
use contract::{
    Abort, Client, Completion, Engine, EngineOptions, Insertion, Key, Outcome, PairName, Plan, Presence,
    Procedure, Seat, Selection, Span, TableDescription, TableId, Transaction, Until, Workload,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const ROW: usize = 43;
const KEYS: u64 = 24;
const LOADED: u64 = 12;
const T: TableId = TableId(1);

type Rows = BTreeMap<u64, [u8; ROW]>;

fn first_row(key: u64) -> [u8; ROW] {
    std::array::from_fn(|n| (key * 31 + n as u64) as u8)
}

struct ModelWorkload {
    committed: Arc<Mutex<Rows>>,
    operations: usize,
}

struct ModelClient {
    committed: Arc<Mutex<Rows>>,
    random: fastrand::Rng,
    operations: usize,
}

struct Random {
    seed: u64,
    operations: usize,
    committed: Arc<Mutex<Rows>>,
    after: Mutex<Option<Rows>>,
    merges: Mutex<Vec<(u64, [u8; 16])>>,
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
            let key = random.u64(0..KEYS);
            let offset = random.usize(0..ROW);
            let span = Span::new(offset, random.usize(0..=ROW - offset));
            let range = span.start()..span.end();
            let expected = if rows.contains_key(&key) { Presence::Present } else { Presence::Missing };
            match random.u8(0..7) {
                0 | 1 => {
                    let mut seen = None;
                    let presence = txn.read(T, Key(key), span, &mut |bytes| seen = Some(bytes.to_vec()))?;
                    assert_eq!(presence, expected);
                    assert_eq!(seen.as_deref(), rows.get(&key).map(|row| &row[range]), "key {key}");
                }
                2 => {
                    let mut seen = None;
                    let presence = txn.update(T, Key(key), span, &mut |bytes| {
                        seen = Some(bytes.to_vec());
                        bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1));
                    })?;
                    assert_eq!(presence, expected);
                    assert_eq!(seen.as_deref(), rows.get(&key).map(|row| &row[range.clone()]), "key {key}");
                    if let Some(row) = rows.get_mut(&key) {
                        row[range].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1));
                    }
                }
                3 => {
                    let bytes: Vec<u8> = range.clone().map(|_| random.u8(..)).collect();
                    assert_eq!(txn.write(T, Key(key), offset, &bytes)?, expected);
                    if let Some(row) = rows.get_mut(&key) {
                        row[range].copy_from_slice(&bytes);
                    }
                }
                4 => {
                    let span = Span::new(offset.min(ROW - 8), 8);
                    let addends: [u8; 8] = std::array::from_fn(|_| random.u8(..));
                    let mut argument = [0; 16];
                    argument[..8].copy_from_slice(&addends);
                    assert_eq!(txn.merge(T, Key(key), span, add, &argument)?, expected);
                    if let Some(row) = rows.get_mut(&key) {
                        add(&mut row[span.start()..span.end()], &mut argument);
                        merges.push((key, argument));
                    }
                }
                5 => {
                    let row: [u8; ROW] = std::array::from_fn(|_| random.u8(..));
                    let exists = rows.contains_key(&key);
                    let expected = if exists { Insertion::Exists } else { Insertion::Inserted };
                    assert_eq!(txn.insert(T, Key(key), &row)?, expected);
                    rows.entry(key).or_insert(row);
                }
                _ => {
                    assert_eq!(txn.delete(T, Key(key))?, expected);
                    rows.remove(&key);
                }
            }
        }
        *self.merges.lock().expect("one worker") = merges;
        if random.u8(0..3) == 0 {
            return Ok(Outcome::Rollback);
        }
        *self.after.lock().expect("one worker") = Some(rows);
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, look: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        (0..KEYS).for_each(|key| plan.declare(T, Key(key)));
        // A look that reads, and one that finds nothing: neither may leave anything held.
        for key in [self.seed % KEYS, KEYS + 5] {
            let _ = look.read(T, Key(key), Span::whole(ROW), &mut |_| ())?;
            plan.touch(T, Key(key), Span::whole(ROW), contract::Access::Read);
        }
        Ok(())
    }
}

impl Client for ModelClient {
    type Procedure = Random;

    fn next(&mut self) -> Random {
        Random {
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
                    assert_eq!(completion.receipts.argument(nth), expected, "merge {nth}, of key {key}");
                }
            }
            *self.committed.lock().expect("one worker") = after;
        }
    }
}

impl Workload for ModelWorkload {
    type Client = ModelClient;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |name, row_bytes, rows| TableDescription {
            name,
            row_bytes,
            kept_bytes: row_bytes,
            rows,
            capacity: rows,
            partition: TableDescription::partition_by_remainder,
        };
        // A table of one bucket, so that chains and their metadata are shared by all keys.
        vec![table("other", 8, 3), table("rows", ROW, LOADED)]
    }

    fn loaded_key(&self, _: TableId, row: u64) -> Key {
        Key(row * 2)
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        if table == T {
            row.copy_from_slice(&first_row(key.0));
        }
    }

    fn client(&self, seat: Seat) -> ModelClient {
        let random = fastrand::Rng::with_seed(seat.seed);
        ModelClient { committed: self.committed.clone(), random, operations: self.operations }
    }
}

/// Every pair agrees with the model, and leaves nothing behind.
pub fn agrees_with_the_model<E: Engine>(seeds: std::ops::Range<u64>, transactions: u64) {
    for pair in supported::<E>() {
        for seed in seeds.clone() {
            // Large transactions in some runs: beyond what is scanned, and beyond the log's first buffer.
            let operations = if seed % 4 == 3 { 400 } else { 12 };
            one_run::<E>(pair, seed, transactions * 12 / operations as u64 + 1, operations);
        }
    }
}

fn one_run<E: Engine>(pair: PairName, seed: u64, transactions: u64, operations: usize) {
    let committed: Rows = (0..LOADED).map(|row| (row * 2, first_row(row * 2))).collect();
    let workload = ModelWorkload { committed: Arc::new(Mutex::new(committed)), operations };
    let mut store =
        E::load(&workload, arrange::<E>(pair.architecture, 3).layout, &|_| ()).expect("a tiny table");
    for round in 0..2 {
        let client = workload.client(Seat::new(0, 1, seed * 2 + round));
        let options = EngineOptions { sample_one_in: 3, ..EngineOptions::default() };
        let until = Until::Transactions(transactions);
        let drive = E::drive(&mut store, Selection::Pair(pair), vec![client], until, &options);
        let measurement = drive.expect("plans are right").measurement;
        assert_eq!(measurement.commits + measurement.user_rollbacks, transactions, "{pair} seed {seed}");
    }
    let remains = E::remains(&store);
    let rows = workload.committed.lock().expect("one worker").len() as u64 + 3;
    assert_eq!(remains.linked_records, rows, "{pair} seed {seed}: {remains:?}");
    assert_eq!(remains.allocated_records, rows, "{pair} seed {seed}: {remains:?}");
    assert_eq!(remains.held, 0, "{pair} seed {seed}: {remains:?}");
}
