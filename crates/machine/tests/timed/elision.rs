//! Elided memory: charged in full, stored in part.

use super::machine;
use machine::hardware;
use machine::simulated::atomic::{AtomicU64, Ordering};
use machine::simulated::region::Region;
use machine::simulated::{Schedule, cpu, explore, payload, simulate, statistics, worker};

const STRIDE: usize = 1024;
const STORED: usize = 48;

/// A region of `records` elided records, and how far apart they lie.
fn elided(records: usize) -> (Region, usize) {
    let mut region = Region::reserve(records * STRIDE).expect("address space");
    let stride = region.elide(STRIDE, STORED).expect("address space");
    assert_eq!(stride, STORED);
    (region, stride)
}

fn rows_are_a_prefix_and_zeroes() {
    let (region, stride) = elided(100);
    for record in 0..100 {
        let base = region.base().wrapping_add(record * stride);
        // SAFETY: the record's bytes by way of `place`; nobody else has the region.
        unsafe {
            let whole: Vec<u8> = (0..1000).map(|n| (n + record) as u8 | 1).collect();
            payload::copy_in(payload::place(base, 16), &whole);
            // What is beyond the prefix is forgotten, and nobody else's.
            payload::copy_in(payload::place(base, 200), &[9; 100]);
            payload::view_mut(payload::place(base, 300), 500, |bytes| {
                assert!(bytes.iter().all(|&byte| byte == 0));
                bytes.fill(7);
            });
        }
    }
    for record in 0..100 {
        let base = region.base().wrapping_add(record * stride);
        let expected: Vec<u8> =
            (0..1000).map(|n| if n < STORED - 16 { (n + record) as u8 | 1 } else { 0 }).collect();
        let (mut copy, mut racing) = (vec![1; 1000], vec![1; 1000]);
        // SAFETY: as above.
        unsafe {
            payload::copy_out(payload::place(base, 16), &mut copy);
            payload::copy_out_racing(payload::place(base, 16), &mut racing);
            payload::view(payload::place(base, 16), 1000, |bytes| assert_eq!(bytes, expected));
            payload::view(payload::place(base, 20), 4, |bytes| assert_eq!(bytes, &expected[4..8]));
            payload::view(payload::place(base, 600), 400, |bytes| {
                assert_eq!(bytes, [0; 400]);
                // Another row meanwhile.
                payload::view(payload::place(region.base(), 16), 1000, |other| assert_eq!(other.len(), 1000));
            });
            payload::view_mut(payload::place(base, 16), 1000, |bytes| bytes.fill(record as u8));
            payload::view(payload::place(base, 16), 1000, |bytes| {
                assert!(bytes[..STORED - 16].iter().all(|&byte| byte == record as u8));
                assert!(bytes[STORED - 16..].iter().all(|&byte| byte == 0));
            });
            payload::copy_in_racing(payload::place(base, 16), &expected);
            payload::copy_out(payload::place(base, 16), &mut racing);
        }
        assert_eq!((&copy, &racing), (&expected, &expected));
    }
}

#[test]
fn elided_rows_are_a_prefix_and_zeroes_everywhere() {
    rows_are_a_prefix_and_zeroes();
    explore(Schedule::RoundRobin, || {
        worker::run(2, |_| rows_are_a_prefix_and_zeroes());
    });
    simulate(&machine("haswell-ex-4x18"), 1, || {
        worker::run(2, |_| rows_are_a_prefix_and_zeroes());
    });
}

/// The same accesses cost the same, elided or not.
#[test]
fn elided_rows_cost_what_whole_ones_do() {
    let cost = |elide: bool| {
        simulate(&machine("haswell-ex-4x18"), 1, || {
            let mut region = Region::reserve(2000 * STRIDE).expect("2 MB");
            let stride = if elide { region.elide(STRIDE, STORED).expect("address space") } else { STRIDE };
            let base = region.base().expose_provenance();
            worker::run(8, |core| {
                let mut draw = fastrand::Rng::with_seed(core as u64);
                for _ in 0..200 {
                    let record = base + draw.usize(..1000) * stride;
                    // SAFETY: a word of the region that is only accessed as such.
                    unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(record) }
                        .fetch_add(1, Ordering::Relaxed);
                    let record = std::ptr::with_exposed_provenance_mut::<u8>(record);
                    let (offset, len) = (16 + draw.usize(..500), draw.usize(1..500));
                    // SAFETY: the record's bytes by way of `place`; no two cores run at a time.
                    unsafe {
                        cpu::prefetch_read(payload::place(record, offset + len));
                        payload::view(payload::place(record, offset), len, |_| ());
                        payload::copy_in(payload::place(record, offset), &[1; 8]);
                    }
                }
            });
            let statistics = statistics();
            (statistics.simulated, statistics.events, statistics.lines)
        })
    };
    assert_eq!(cost(true), cost(false));
}

#[test]
fn twenty_gigabytes_fit() {
    const RECORDS: usize = 20_000_000;
    let (region, stride) = elided(RECORDS);
    assert!(RECORDS * stride < 1 << 30, "{} bytes are stored", RECORDS * stride);
    let base = region.base().expose_provenance();
    let lines = simulate(&machine("haswell-ex-4x18"), 1, || {
        worker::run(16, |core| {
            for n in 0..500 {
                let record = (core * 500 + n) * 2_477 % RECORDS;
                let record = std::ptr::with_exposed_provenance_mut::<u8>(base + record * stride);
                // SAFETY: the record's bytes by way of `place`.
                unsafe { payload::view(payload::place(record, 16), 1000, |row| assert_eq!(row.len(), 1000)) };
            }
        });
        statistics().lines
    });
    assert_eq!(lines.memory_reads, 16 * 500 * 16, "sixteen lines of every row");
}

#[test]
fn on_hardware_nothing_is_elided() {
    let mut region = hardware::region::Region::reserve(1 << 20).expect("1 MiB");
    assert_eq!(region.elide(STRIDE, STORED), Ok(STRIDE));
    // SAFETY: bytes of the region.
    let place = unsafe { hardware::payload::place(region.base(), 500) };
    assert_eq!(place, region.base().wrapping_add(500));
}
