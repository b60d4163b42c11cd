use machine::hardware::facts::Bench;
use machine::hardware::worker::cores;

/// That they are there and no nonsense; how large they are is the machine's business.
#[test]
fn facts_are_measured() {
    let mut bench = Bench::new(true);
    let rounds = [bench.round(), bench.round()];
    let facts = bench.facts(&rounds);
    assert!(facts.clock_ticks_per_second > 1e6, "{facts:?}");
    for fact in [facts.clock_read_ns, facts.pause_ns, facts.read_modify_write_ns] {
        assert!(0.0 < fact.low && fact.low <= fact.median && fact.median <= fact.high, "{facts:?}");
        assert_eq!(fact.rounds, 2, "{facts:?}");
    }
    assert_eq!(facts.line_round_trips.is_empty(), cores() == 1, "{facts:?}");
    assert!(facts.line_round_trips.iter().all(|trip| trip.ns.low > 0.0), "{facts:?}");
    if let Some(read) = facts.random_read {
        assert!(read.dependent_ns.low > 0.0 && read.overlapped_ns.low > 0.0, "{facts:?}");
        assert!(read.huge_pages_bytes.is_none_or(|huge| huge <= read.bytes), "{facts:?}");
    }
    assert!(facts.copy_bytes_per_second.is_none_or(|rate| rate.low > 1e6), "{facts:?}");
}
