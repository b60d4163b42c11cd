//! What processors count of a run: of all its workers, in its interval, and of nothing else.
//!
//! Where the system gives no processor's counters, page faults may be there, which the kernel counts itself: they go the same way.

mod shared;

use contract::{
    ArchitectureName, Arrival, ArrivalsName, CountersName, Effort, Engine, EngineOptions, Events,
    Measurement, OpenLoop, PairName, Selection, Until,
};
use engine::ThisEngine;
use shared::arrivals::{Arrivals, always, serve_until};
use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

fn measured(pair: PairName, options: &EngineOptions, clients: Vec<Arrivals>, until: Until) -> Measurement {
    let (_, run) = serve_until::<ThisEngine>(Selection::Pair(pair), options, clients, until);
    run.measurement
}

fn asking(counters: CountersName) -> EngineOptions {
    EngineOptions { counters, ..EngineOptions::default() }
}

/// A pair of each architecture.
fn pairs() -> Vec<PairName> {
    let mut pairs = shared::supported::<ThisEngine>();
    pairs.dedup_by_key(|pair| pair.architecture);
    assert_eq!(pairs.len(), ArchitectureName::ALL.len(), "{pairs:?}");
    pairs
}

fn all(effort: &Effort) -> [Events; 6] {
    let Effort { instructions, cycles, cache_misses, tlb_misses, branch_misses, page_faults, .. } = *effort;
    [instructions, cycles, cache_misses, tlb_misses, branch_misses, page_faults]
}

#[test]
fn every_worker_is_counted_or_none_is() {
    let until = Until::Transactions(300);
    let open =
        OpenLoop { rate_per_s: NonZeroU64::new(20_000).expect("a rate"), arrivals: ArrivalsName::Poisson };
    for open_loop in [None, Some(open)] {
        let (mut given, mut servers) = (Vec::new(), 0);
        for pair in pairs() {
            let options = EngineOptions { open_loop, ..asking(CountersName::On) };
            let measurement = measured(pair, &options, vec![always(), always()], until);
            let threads = measurement.threads() as u64;
            servers += measurement.servers;
            for events in all(&measurement.effort) {
                assert!(events.threads == 0 || events.threads == threads, "{pair}: {events:?} of {threads}");
            }
            given.push(all(&measurement.effort).map(|events| events.threads > 0));
        }
        assert!(servers >= 2, "asymmetric delegation and ORTHRUS have threads that only serve");
        let instructions = ThisEngine::why_no_counters().is_none();
        assert!(given.iter().all(|of| *of == given[0] && of[0] == instructions), "{given:?}");
    }
}

#[test]
fn who_does_not_ask_is_told_nothing() {
    for pair in pairs() {
        let measurement =
            measured(pair, &asking(CountersName::Off), vec![always(), always()], Until::Transactions(100));
        assert_eq!(all(&measurement.effort), [Events::default(); 6], "{pair}");
    }
}

const PAGES: usize = 1 << 14;
/// Of the largest pages that the system may give of itself.
const HUGE_PAGES: u64 = (PAGES as u64 * 4096) >> 21;

/// Touches many pages of its own, once, so long after its worker began.
fn touching_pages(after: Duration) -> Arrivals {
    let (mut began, mut touched) = (None, false);
    Box::new(move || {
        let began = *began.get_or_insert_with(Instant::now);
        if !touched && began.elapsed() >= after {
            touched = true;
            let mut bytes = vec![0u8; PAGES * 4096];
            bytes.iter_mut().step_by(4096).for_each(|byte| *byte = black_box(1));
            drop(black_box(bytes));
        }
        Arrival::Ready
    })
}

/// In the warm-up, in the interval, and in a run that counts all.
#[test]
fn what_happens_in_the_interval_is_counted() {
    let interval =
        Until::Interval { warmup: Duration::from_millis(200), duration: Duration::from_millis(600) };
    let whole = Until::Transactions(1000);
    let [pair, ..] = pairs()[..] else { panic!("there are pairs") };
    let faults = |after, until| {
        let clients = vec![touching_pages(Duration::from_millis(after)), always()];
        measured(pair, &asking(CountersName::On), clients, until).effort.page_faults.of_all(2)
    };
    let Some(before) = faults(0, interval) else {
        let refusal = ThisEngine::why_no_counters().expect("who gives instructions gives page faults");
        assert!(!refusal.is_empty(), "not even the kernel's own are given");
        return;
    };
    let (within, all) = (faults(400, interval), faults(0, whole));
    let most = Some(before + HUGE_PAGES / 2);
    assert!(within > most && all > most, "{before}, {within:?} and {all:?} page faults");
}
