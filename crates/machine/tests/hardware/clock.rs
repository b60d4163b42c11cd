use machine::hardware::clock::{Ticks, calibrate, nanoseconds, now, ticks_of, ticks_per_second};
use std::time::{Duration, Instant};

#[test]
fn it_never_goes_back() {
    let mut last = now();
    for _ in 0..1_000_000 {
        let next = now();
        assert!(next >= last);
        last = next;
    }
    assert_eq!(Ticks(5).since(Ticks(7)), 0);
    assert_eq!(Ticks(7).since(Ticks(5)), 2);
}

/// One reading of the clock lies between two of the system's, so that no interruption makes this fail.
#[test]
fn it_agrees_with_the_systems_clock() {
    calibrate();
    let outer = Instant::now();
    let start = now();
    let inner = Instant::now();
    std::thread::sleep(Duration::from_millis(100));
    let inner = inner.elapsed().as_nanos() as f64;
    let measured = nanoseconds(now().since(start)) as f64;
    let outer = outer.elapsed().as_nanos() as f64;
    assert!(measured > inner * 0.99, "{measured} ns is less than {inner} ns");
    assert!(measured < outer * 1.01, "{measured} ns is more than {outer} ns");
}

#[test]
fn ticks_and_nanoseconds_are_inverse() {
    assert!(ticks_per_second() > 1e6);
    for ns in [0, 1, 1_000, 1_000_000, 1_000_000_000, 3_600_000_000_000_u64] {
        let back = nanoseconds(ticks_of(Duration::from_nanos(ns)));
        let tolerance = 1 + (1e9 / ticks_per_second()) as u64 + ns / 100_000_000;
        assert!(back.abs_diff(ns) <= tolerance, "{ns} ns came back as {back}");
    }
    assert_eq!(ticks_of(Duration::MAX), u64::MAX);
}
