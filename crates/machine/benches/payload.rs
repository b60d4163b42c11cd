//! What a racing copy of a record costs against a plain one.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use machine::hardware::payload::{copy_in, copy_in_racing, copy_out, copy_out_racing};
use machine::hardware::region::Region;
use std::hint::black_box;
use std::time::Duration;

/// Offset in the row and length: whole words, fields of 100 bytes as YCSB has them, a row, an odd field.
const FIELDS: [(usize, usize); 7] = [(8, 8), (8, 80), (8, 100), (108, 100), (8, 1000), (9, 7), (11, 90)];

fn copies(criterion: &mut Criterion) {
    let region = Region::reserve(1 << 20).expect("1 MiB");
    region.fault_in(0..region.len());
    let mut buffer = vec![0u8; 1000];
    for (offset, len) in FIELDS {
        let at = black_box(region.base().wrapping_add(offset));
        let buffer = &mut buffer[..len];
        let name = format!("{len} bytes at {offset}");
        let mut group = criterion.benchmark_group("payload");
        group.throughput(Throughput::Bytes(len as u64));
        // SAFETY of all: the bytes lie in the region, with their words; this thread alone has it.
        group.bench_function(BenchmarkId::new("copy_out", &name), |bencher| {
            // SAFETY: see above.
            bencher.iter(|| unsafe { copy_out(at, black_box(&mut *buffer)) });
        });
        group.bench_function(BenchmarkId::new("copy_out_racing", &name), |bencher| {
            // SAFETY: see above.
            bencher.iter(|| unsafe { copy_out_racing(at, black_box(&mut *buffer)) });
        });
        group.bench_function(BenchmarkId::new("copy_in", &name), |bencher| {
            // SAFETY: see above.
            bencher.iter(|| unsafe { copy_in(at, black_box(&*buffer)) });
        });
        group.bench_function(BenchmarkId::new("copy_in_racing", &name), |bencher| {
            // SAFETY: see above.
            bencher.iter(|| unsafe { copy_in_racing(at, black_box(&*buffer)) });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .without_plots();
    targets = copies
}
criterion_main!(benches);
