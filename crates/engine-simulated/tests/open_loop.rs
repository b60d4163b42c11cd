//! Transactions that arrive at a rate, by a simulated clock.

#[path = "../../engine/tests/shared/mod.rs"]
mod shared;

use contract::{
    ArchitectureName, ArrivalsName, EngineOptions, Measurement, OpenLoop, PairName, Selection, Until,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Description, Simulation};
use shared::arrivals::{always, serve_until};
use std::num::NonZeroU64;
use std::time::Duration;

fn measured(pair: PairName, open_loop: Option<OpenLoop>) -> Measurement {
    let file = include_str!("../../../machines/haswell-ex-4x18.toml");
    let machine = Description::parse(file).expect("a machine");
    let options = EngineOptions { open_loop, series: true, sample_one_in: 0, ..EngineOptions::default() };
    let until = Until::Interval { warmup: Duration::from_micros(50), duration: Duration::from_micros(400) };
    Simulation::of(&machine).run(|| {
        let selection = Selection::Pair(pair);
        serve_until::<ThisEngine>(selection, &options, vec![always(), always()], until).1.measurement
    })
}

fn at(rate_per_s: u64) -> Option<OpenLoop> {
    let rate_per_s = NonZeroU64::new(rate_per_s)?;
    Some(OpenLoop { rate_per_s, arrivals: ArrivalsName::Constant })
}

/// At a tenth of what it can, a system does all that it is asked for, and who arrives hardly waits; at twice as much it does what it can, and the queue grows.
#[test]
fn a_system_does_what_it_is_asked_for_as_far_as_it_can() {
    for pair in shared::supported::<ThisEngine>() {
        let closed = measured(pair, None);
        let capacity = closed.throughput_per_s();
        let little = measured(pair, at((capacity / 10.0) as u64));
        let done = little.throughput_per_s() / (capacity / 10.0);
        assert!((0.9..=1.1).contains(&done), "{pair}: {done} of what arrived");
        let queues = |of: &Measurement| of.series.as_ref().expect("asked for").queues().collect::<Vec<_>>();
        assert!(queues(&little).iter().all(|queued| *queued <= 4), "{pair}: {:?}", queues(&little));
        let much = measured(pair, at(2 * capacity as u64));
        let done = much.throughput_per_s() / capacity;
        assert!((0.7..=1.5).contains(&done), "{pair}: {done} of what it can");
        let grown = queues(&much);
        assert!(grown.is_sorted() && grown[9] > 2 * grown[0].max(1), "{pair}: {grown:?}");
        // Of an ORTHRUS thread also while its transactions wait.
        let idle = |of: &Measurement| (of.effort.idle.ns + of.effort.rested.ns) as f64 / of.hosts_ns();
        let orthrus = pair.architecture == ArchitectureName::Orthrus;
        assert!((0.75..1.0).contains(&idle(&little)), "{pair}: idle for {} of its time", idle(&little));
        assert!(idle(&much) < if orthrus { 0.6 } else { 0.02 }, "{pair}: idle for {}", idle(&much));
        // Either is counted, and in a closed loop ORTHRUS's alone.
        assert_eq!(
            (little.effort.idle.samples > 0, little.effort.rested.samples > 0),
            (orthrus, !orthrus),
            "{pair}"
        );
        assert_eq!((closed.effort.idle.samples > 0, closed.effort.rested.samples), (orthrus, 0), "{pair}");
        assert!(much.unfinished == 0 || much.latency_ns.max() > little.latency_ns.max(), "{pair}");
        let again = measured(pair, at(2 * capacity as u64));
        assert_eq!((again.latency_ns, again.commits), (much.latency_ns, much.commits), "{pair}");
    }
}
