//! The counted interval is one for all workers; what counts for throughput ends in it, what counts for latency begins in it.

use crate::rows::{Rows, RowsClient};
use crate::supported;
use contract::{
    Arrangement, Engine, EngineOptions, Measurement, PairName, ProtocolName, RunOutcome, Seat, Selection,
    Until, Workload,
};
use engine::ThisEngine;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_millis(20);

/// Shorter than a system lets a thread run, so that a worker that counted from its first transaction on would have it to itself.
const SHORT: Duration = Duration::from_millis(1);

/// Many more workers than there are cores.
const CROWD: usize = 64;

fn run(pair: PairName, workers: usize, workload: &Rows, options: &EngineOptions) -> RunOutcome<RowsClient> {
    run_for(INTERVAL, pair, workers, workload, options)
}

fn run_for(
    duration: Duration,
    pair: PairName,
    workers: usize,
    workload: &Rows,
    options: &EngineOptions,
) -> RunOutcome<RowsClient> {
    let Arrangement { layout, clients, .. } = ThisEngine::arrange(pair, workers, options).expect("it fits");
    let mut store = ThisEngine::load(workload, layout, &|_| ()).expect("a small table");
    let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
    let clients = (0..clients).map(|worker| workload.client(seat(worker))).collect();
    let until = Until::Interval { warmup: duration / 4, duration };
    ThisEngine::run_checked(&mut store, Selection::Pair(pair), clients, until, options)
        .expect("nothing is wrong")
}

/// The most transactions of all clients that ended within so long, wherever that lies.
fn most_that_ended_within(clients: &[RowsClient], length: Duration) -> u64 {
    let mut ends: Vec<u64> =
        clients.iter().flat_map(|client| client.committed_ns.iter().map(|(_, end)| *end)).collect();
    ends.sort_unstable();
    // A clock's ticks are rounded to nanoseconds.
    let length = length.as_nanos() as u64 + 2;
    let mut first = 0;
    let within = |(last, end): (usize, &u64)| {
        while ends[first] + length < *end {
            first += 1;
        }
        last + 1 - first
    };
    ends.iter().enumerate().map(within).max().unwrap_or(0) as u64
}

/// Workers that are let run late do not count in a time of their own: what is counted ended within one interval.
#[test]
fn all_workers_count_in_one_interval() {
    let looks_for_deadlocks =
        |pair: &PairName| [ProtocolName::DlDetect, ProtocolName::Dreadlocks].contains(&pair.protocol);
    for pair in supported().filter(|pair| !looks_for_deadlocks(pair)) {
        let RunOutcome { clients, measurement, .. } =
            run_for(SHORT, pair, CROWD, &Rows::taking(Duration::ZERO), &EngineOptions::default());
        // A clock's ticks are rounded.
        assert!(measurement.elapsed.abs_diff(SHORT) < Duration::from_micros(1), "{pair}");
        let most = most_that_ended_within(&clients, SHORT);
        assert!(
            measurement.commits <= most,
            "{pair}: {} counted, {most} in any one interval",
            measurement.commits
        );
        let per_s = measurement.commits as f64 / SHORT.as_secs_f64();
        assert!(
            (measurement.throughput_per_s() / per_s.max(1.0) - 1.0).abs() < 1e-3 || per_s == 0.0,
            "{pair}"
        );
    }
}

/// A transaction that takes longer than the interval is not dropped: it counts for latency, and not for throughput.
#[test]
fn what_outlasts_the_interval_is_followed_to_its_end() {
    let pace = 2 * INTERVAL;
    // With several in flight a worker has so much left that a core that is taken away is enough for one of them to be given up.
    let options = EngineOptions { in_flight: 1.into(), ..EngineOptions::default() };
    for pair in supported() {
        // What meets another aborts and takes its time once more, until it is given up.
        let RunOutcome { clients, measurement, .. } = run(pair, 2, &Rows::taking_apart(pace), &options);
        // The first ones began before the interval, and may have ended in it; some began in it, and none of these ended in it.
        let Measurement { commits, latency_ns, response, unfinished, .. } = &measurement;
        assert!(*commits <= clients.len() as u64, "{pair}: {commits}");
        assert_eq!(*unfinished, 0, "{pair}");
        assert_eq!(latency_ns.len(), response.samples, "{pair}: no stopwatch ran");
        if !latency_ns.is_empty() {
            let shortest = Duration::from_nanos(latency_ns.min());
            assert!(shortest > pace - pace / 100, "{pair}: {shortest:?}");
        }
    }
    // Of one worker it is known when its transactions begin: every 40 ms, so in an interval of 20 ms after 5 one or none.
    let options = EngineOptions::default();
    let workload = Rows::taking(INTERVAL / 2 + INTERVAL / 4);
    let pair = supported().find(|pair| pair.protocol == ProtocolName::Silo).expect("Silo is there");
    let RunOutcome { clients, measurement, .. } = run(pair, 1, &workload, &options);
    let began_in_it = measurement.response.samples;
    assert!(began_in_it >= 1, "one in every 15 ms");
    assert!(
        measurement.commits < clients[0].committed_ns.len() as u64,
        "the last one ended after the interval"
    );
}

/// Transactions that are timed class by class take longer: they are not among the latencies.
#[test]
fn a_stopwatch_stays_out_of_the_latencies() {
    let pairs = supported().filter(|pair| pair.protocol == ProtocolName::NoWait);
    for pair in pairs {
        for (sample_one_in, latencies) in [(0, 1.0), (1, 0.0), (4, 0.75)] {
            let options = EngineOptions { sample_one_in, ..EngineOptions::default() };
            let Measurement { latency_ns, response, time_share, .. } =
                run(pair, 2, &Rows::taking(Duration::ZERO), &options).measurement;
            let share = latency_ns.len() as f64 / response.samples.max(1) as f64;
            // Each slot begins to count anew, and few transactions may be all that a slow machine ends.
            let slack = 20.0 / response.samples.max(20) as f64;
            assert!(
                (share - latencies).abs() <= slack,
                "{pair}, 1 in {sample_one_in}: {share} of {response:?}"
            );
            assert!(sample_one_in > 0 || time_share.samples == 0, "{pair}");
        }
    }
}

/// Every transaction that begins in the interval has a latency, or was given up; and every one has a time before it.
#[test]
fn every_transaction_that_begins_in_the_interval_is_accounted_for() {
    for pair in supported() {
        let workload = Rows::taking(Duration::from_micros(50));
        let RunOutcome { clients, measurement, .. } = run(pair, 2, &workload, &EngineOptions::default());
        let Measurement { slots, response, between, unfinished, commits, .. } = measurement;
        assert_eq!(between.samples, response.samples, "{pair}");
        let committed: u64 = clients.iter().map(|client| client.committed_ns.len() as u64).sum();
        assert!(response.samples - unfinished <= committed, "{pair}");
        // At either end of the interval a slot has one transaction that ends in it and did not begin there, or the other way round.
        assert!(
            commits.abs_diff(response.samples - unfinished) <= slots as u64,
            "{pair}: {commits}, {response:?}"
        );
    }
}
