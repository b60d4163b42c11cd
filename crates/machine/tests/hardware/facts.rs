use machine::hardware::facts;
use machine::hardware::worker::cores;

/// That they are there and no nonsense; how large they are is the machine's business.
#[test]
fn facts_are_measured() {
    let facts = facts::measure(true);
    assert!(facts.clock_ticks_per_second > 1e6, "{facts:?}");
    assert!(
        facts.clock_read_ns > 0.0 && facts.pause_ns > 0.0 && facts.read_modify_write_ns > 0.0,
        "{facts:?}"
    );
    assert_eq!(facts.line_round_trips.is_empty(), cores() == 1, "{facts:?}");
    assert!(facts.line_round_trips.iter().all(|trip| trip.ns > 0.0), "{facts:?}");
    if let Some(read) = facts.random_read {
        assert!(read.dependent_ns > 0.0 && read.overlapped_ns > 0.0, "{facts:?}");
        assert!(read.huge_pages_bytes.is_none_or(|huge| huge <= read.bytes), "{facts:?}");
    }
    assert!(facts.copy_bytes_per_second.is_none_or(|rate| rate > 1e6), "{facts:?}");
}
