//! What a client costs in the measured loop, and what filling a table costs before it.

use contract::{Client, Key, Seat, TableId, Workload};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::Distribution;
use std::hint::black_box;
use workloads::zipf::Zipf;
use workloads::{Micro, Parameters, SmallBank, Tatp, Tpcc, Ycsb};

const SEAT: Seat = Seat::new(0, 1, 1);

/// One rank, beside the rejection sampler of `rand_distr`.
fn zipf(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("zipf");
    for (ranks, theta) in [
        (16, 0.8),
        (1_000_000, 0.0),
        (1_000_000, 0.8),
        (1_000_000, 0.99),
        (100_000_000, 0.8),
        (1_000_000_000, 0.99),
    ] {
        let ours = Zipf::new(ranks, theta).expect("in range");
        let mut rng = fastrand::Rng::with_seed(1);
        group.bench_function(format!("ours/{ranks}/{theta}"), |bencher| bencher.iter(|| ours.draw(&mut rng)));
        let theirs = rand_distr::Zipf::new(ranks as f64, theta).expect("in range");
        let mut rng = SmallRng::seed_from_u64(1);
        group.bench_function(format!("rand_distr/{ranks}/{theta}"), |bencher| {
            bencher.iter(|| theirs.sample(&mut rng))
        });
    }
    group.bench_function("new/100000000/0.8", |bencher| {
        bencher.iter(|| Zipf::new(black_box(100_000_000), 0.8))
    });
    group.finish();
}

/// One transaction.
fn next(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("next");
    for order in ["hot-first", "random", "key"] {
        let mut client = micro(&[("order", order)]).client(SEAT);
        group.bench_function(format!("micro/{order}"), |bencher| bencher.iter(|| client.next()));
    }
    for given in
        [[("order", "drawn")], [("order", "key")], [("distinct", "yes")], [("theta", "0.99")], [("mix", "D")]]
    {
        let mut client = ycsb(&given).client(SEAT);
        let (name, value) = given[0];
        group.bench_function(format!("ycsb/{name}={value}"), |bencher| bencher.iter(|| client.next()));
    }
    let mut client = SmallBank::new(&Parameters::new()).expect("valid").client(SEAT);
    group.bench_function("smallbank", |bencher| bencher.iter(|| client.next()));
    let mut client = Tatp::new(&Parameters::new()).expect("valid").client(SEAT);
    group.bench_function("tatp", |bencher| bencher.iter(|| client.next()));
    let mut client = ycsb(&[("mix", "E")]).client(SEAT);
    group.bench_function("ycsb/mix=E", |bencher| bencher.iter(|| client.next()));
    let mut client = Tpcc::new(&Parameters::new()).expect("valid").client(SEAT);
    group.bench_function("tpcc", |bencher| bencher.iter(|| client.next()));
    group.finish();
}

/// One row's first content.
fn fill(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fill");
    fill_rows(&mut group, "micro", &micro(&[]));
    fill_rows(&mut group, "ycsb/1000", &ycsb(&[]));
    fill_rows(&mut group, "ycsb/100", &ycsb(&[("field-bytes", "10")]));
    group.finish();
}

/// The first content of a thousand rows of each table of TPC-C.
fn fill_tpcc(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fill/tpcc");
    let tpcc = Tpcc::new(&Parameters::new()).expect("valid");
    for (id, table) in tpcc.tables().iter().enumerate().filter(|(_, table)| table.rows >= 1000) {
        let (id, mut row) = (TableId(id as u16), vec![0; table.row_bytes]);
        group.throughput(Throughput::Elements(1000));
        group.bench_function(table.name, |bencher| {
            bencher.iter(|| {
                (0..1000).for_each(|nth| tpcc.fill(id, tpcc.loaded_key(id, nth), black_box(&mut row)))
            });
        });
    }
    group.finish();
}

fn fill_rows<W: Workload>(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    workload: &W,
) {
    let mut row = vec![0; workload.tables()[0].row_bytes];
    let mut key = 0;
    group.throughput(Throughput::Bytes(row.len() as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            key += 1;
            workload.fill(TableId(0), Key(key), black_box(&mut row));
        });
    });
}

fn micro(given: &[(&str, &str)]) -> Micro {
    Micro::new(&given.iter().copied().collect::<Parameters>()).expect("valid")
}

fn ycsb(given: &[(&str, &str)]) -> Ycsb {
    Ycsb::new(&given.iter().copied().collect::<Parameters>()).expect("valid")
}

criterion_group!(benches, zipf, next, fill, fill_tpcc);
criterion_main!(benches);
