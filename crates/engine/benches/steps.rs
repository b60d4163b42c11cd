//! The inner steps of a transaction: index probe, lock and unlock, commit, clock reading.
//!
//! `cargo bench -p trireme-engine`. Figures belong into `docs/results/`, with the machine and the spread.

use contract::{
    Abort, Client, Engine, Indexing, Key, Layout, Outcome, PartitionFunction, Procedure, ProtocolName,
    RowLength, Seat, Span, TableDescription, TableId, Transaction, Workload,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use engine::testing::inner_steps;
use engine::{Store, ThisEngine};
use std::hint::black_box;

const T: TableId = TableId(0);

/// A table of 100-byte rows; its client is never asked.
struct Rows(u64);

struct NoClient;

/// Reads or updates 16 bytes of some rows.
struct Touch {
    keys: Vec<Key>,
    update: bool,
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for &key in &self.keys {
            let _ = if self.update {
                txn.update(T, key, Span::new(0, 16), &mut |bytes| bytes[0] = bytes[0].wrapping_add(1))?
            } else {
                txn.read(T, key, Span::new(0, 16), &mut |bytes| {
                    black_box(bytes[0]);
                })?
            };
        }
        Ok(Outcome::Commit)
    }
}

impl Client for NoClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        unreachable!("the benches run procedures of their own")
    }
}

impl Workload for Rows {
    type Client = NoClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: 100,
            length: RowLength::Fixed,
            kept_bytes: 100,
            rows: self.0,
            capacity: self.0,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, _: Seat) -> NoClient {
        NoClient
    }
}

fn load(rows: u64, protocol: ProtocolName) -> Store {
    ThisEngine::load(&Rows(rows), Layout::of(1).for_protocol(protocol), &|_| ()).expect("fits in memory")
}

fn probes(c: &mut Criterion) {
    for rows in [10_000u64, 4_000_000] {
        let store = load(rows, ProtocolName::NoWait);
        let mut random = fastrand::Rng::with_seed(1);
        let keys: Vec<Key> = (0..1 << 16).map(|_| Key(random.u64(0..rows))).collect();
        let mut group = c.benchmark_group(format!("index/{rows} rows"));
        group.throughput(Throughput::Elements(16));
        let mut next = 0;
        let mut draw = || {
            next = (next + 16) % keys.len();
            &keys[next..next + 16]
        };
        group.bench_function("16 probes, one after the other", |b| {
            b.iter(|| draw().iter().filter(|&&key| inner_steps::probe(&store, T, key)).count());
        });
        group.bench_function("16 probes, lines asked for ahead", |b| {
            b.iter(|| inner_steps::probe_ahead(&store, T, draw()));
        });
    }
}

/// The protocols that have something to do.
fn measured() -> impl Iterator<Item = ProtocolName> {
    ProtocolName::ALL
        .iter()
        .copied()
        .filter(|protocol| ![ProtocolName::KeyValue, ProtocolName::Unprotected].contains(protocol))
}

fn locks(c: &mut Criterion) {
    let mut group = c.benchmark_group("lock and unlock");
    for protocol in measured() {
        for (mode, exclusive) in [("shared", false), ("exclusive", true)] {
            group.bench_function(format!("{protocol}/{mode}"), |b| {
                b.iter_custom(|repeat| {
                    let began = std::time::Instant::now();
                    inner_steps::lock_and_unlock(protocol, exclusive, repeat);
                    began.elapsed()
                });
            });
        }
    }
}

fn lock_sets(c: &mut Criterion) {
    c.bench_function("ten locks in a lock table of ORTHRUS", |b| {
        b.iter_custom(|repeat| {
            let began = std::time::Instant::now();
            inner_steps::lock_set_in_table(10, repeat);
            began.elapsed()
        });
    });
}

fn commits(c: &mut Criterion) {
    for protocol in measured() {
        let mut store = load(1_000, protocol);
        let mut group = c.benchmark_group(format!("commit/{protocol}"));
        for records in [1u64, 16] {
            for update in [false, true] {
                let procedure = Touch { keys: (0..records).map(|n| Key(n * 37 % 1_000)).collect(), update };
                let what = if update { "updates" } else { "reads" };
                group.bench_function(format!("{records} {what}"), |b| {
                    b.iter_custom(|repeat| {
                        let began = std::time::Instant::now();
                        inner_steps::commit(&mut store, protocol, &procedure, repeat);
                        began.elapsed()
                    });
                });
            }
        }
    }
}

fn clock(c: &mut Criterion) {
    c.bench_function("clock reading", |b| b.iter(machine::hardware::clock::now));
}

criterion_group!(steps, probes, locks, lock_sets, commits, clock);
criterion_main!(steps);
