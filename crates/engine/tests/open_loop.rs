//! Transactions that arrive at a rate, whatever the workers do.

mod shared;

use contract::{
    ArchitectureName, Arrival, ArrivalsName, Arrived, Engine, EngineOptions, InFlight, Measurement, OpenLoop,
    PairName, ProtocolName, Selection, Until,
};
use engine::ThisEngine;
use shared::arrivals::{Arrivals, always, serve_until};
use std::num::NonZeroU64;
use std::thread;
use std::time::Duration;

const SILO: PairName =
    PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };

fn options(rate_per_s: u64, arrivals: ArrivalsName) -> EngineOptions {
    let rate_per_s = NonZeroU64::new(rate_per_s).expect("a rate");
    let open_loop = Some(OpenLoop { rate_per_s, arrivals });
    EngineOptions { open_loop, series: true, ..EngineOptions::default() }
}

const WARMUP: Duration = Duration::from_millis(20);

fn measured(
    pair: PairName,
    options: &EngineOptions,
    clients: Vec<Arrivals>,
    duration: Duration,
) -> Measurement {
    let until = Until::Interval { warmup: WARMUP, duration };
    let (store, run) = serve_until::<ThisEngine>(Selection::Pair(pair), options, clients, until);
    assert_eq!(ThisEngine::leak_check(&store).held, 0, "{pair}");
    run.measurement
}

fn arrived(measurement: &Measurement) -> &Arrived {
    measurement.arrived.as_ref().expect("an open loop")
}

/// How many arrive does not depend on how fast anybody is; and none of them is left out.
#[test]
fn whatever_runs_them_as_many_arrive_and_each_has_a_latency() {
    for pair in shared::supported::<ThisEngine>() {
        as_many_arrive_and_each_has_a_latency(pair, InFlight::Default);
    }
}

/// Nor on how many of them a worker has in flight.
#[test]
fn however_many_are_in_flight_as_many_arrive_and_each_has_a_latency() {
    let shared_everything = |pair: &PairName| pair.architecture == ArchitectureName::SharedEverything;
    for pair in shared::supported::<ThisEngine>().into_iter().filter(shared_everything) {
        for in_flight in [InFlight::Told(4), InFlight::Auto] {
            as_many_arrive_and_each_has_a_latency(pair, in_flight);
        }
    }
}

fn as_many_arrive_and_each_has_a_latency(pair: PairName, in_flight: InFlight) {
    let options = EngineOptions { sample_one_in: 0, in_flight, ..options(20_000, ArrivalsName::Constant) };
    let measurement = measured(pair, &options, vec![always(), always()], Duration::from_millis(50));
    let all = arrived(&measurement);
    assert!(all.arrived.abs_diff(1_000) <= 2, "{pair}: {} arrived", all.arrived);
    assert_eq!(measurement.latency_ns.len(), all.arrived, "{pair}, {in_flight} in flight");
    let series = measurement.series.as_ref().expect("it is asked for");
    assert_eq!(series.slices.len(), 10, "{pair}");
    let by_slices: u64 = series.slices.iter().map(|slice| slice.arrived).sum();
    assert_eq!(by_slices, all.arrived, "{pair}, {in_flight} in flight");
    let committed: u64 = series.slices.iter().map(|slice| slice.commits).sum();
    assert_eq!(committed, measurement.commits, "{pair}, {in_flight} in flight");
}

/// The worker does nothing for 200 ms, between two transactions: who arrives meanwhile waits. From the first attempt to the commit nothing took longer than otherwise, so that a closed loop,
/// which asks for nothing meanwhile, would show nothing.
#[test]
fn a_stall_is_in_the_response_times_and_in_no_service_time() {
    const STALL: Duration = Duration::from_millis(200);
    let mut drawn = 0;
    let stalls: Arrivals = Box::new(move || {
        drawn += 1;
        if drawn == 1_000 {
            thread::sleep(STALL);
        }
        Arrival::Ready
    });
    let options = options(2_000, ArrivalsName::Poisson);
    let measurement = measured(SILO, &options, vec![stalls], Duration::from_secs(2));
    let all = arrived(&measurement);
    let p999 = |of: &contract::LatencyHistogram| Duration::from_nanos(of.value_at_quantile(0.999));
    let (response, service) = (p999(&measurement.latency_ns), p999(&all.service_ns));
    assert!(response > STALL * 3 / 4, "{response:?}");
    // Four hundred of four thousand waited for up to 200 ms.
    let waited = measurement.latency_ns.len() - measurement.latency_ns.count_between(0, 50_000_000);
    assert!(waited > 200, "{waited} transactions waited for longer than 50 ms");
    assert!(service < STALL / 4, "{service:?}: the machine stalled by itself");
    let series = measurement.series.expect("it is asked for");
    let longest = series.queues().max().expect("slices");
    assert!(longest > 100, "{longest} transactions waited at the end of a slice");
}

/// Each takes a millisecond, and twenty of them arrive in that time.
#[test]
fn what_is_asked_for_beyond_what_can_be_done_waits_and_counts() {
    let slow: Arrivals = Box::new(|| {
        thread::sleep(Duration::from_millis(1));
        Arrival::Ready
    });
    let options = options(20_000, ArrivalsName::Constant);
    let measurement = measured(SILO, &options, vec![slow], Duration::from_millis(100));
    let all = arrived(&measurement);
    assert!(all.arrived.abs_diff(2_000) <= 1 && all.queued > 1_500, "{} {}", all.arrived, all.queued);
    assert!(measurement.commits < 200 && measurement.unfinished > 500, "{}", measurement.unfinished);
    assert_eq!(measurement.latency_ns.len() + sampled(&measurement), all.arrived);
    // Those that never began had waited until the run was over.
    assert!(measurement.latency_ns.max() > 300_000_000, "{}", measurement.latency_ns.max());
}

/// Transactions that carried a stopwatch are not among the latencies.
fn sampled(measurement: &Measurement) -> u64 {
    arrived(measurement).arrived - measurement.unfinished - arrived(measurement).service_ns.len()
}
