//! Workers that have nothing to do take next to no time of the processor. Alone in its process, whose time it measures.
#![cfg(target_os = "linux")]

mod shared;

use contract::{
    ArchitectureName, Arrival, Engine, EngineOptions, InstanceEngine, Instances, PairName, ProtocolName,
    RunOutcome, Selection, Until,
};
use engine::{CommonMemory, Link, Part, SEGMENT_BYTES, ThisEngine};
use machine::hardware::segment::Segment;
use machine::hardware::socket::{Family, Socket};
use shared::arrivals::{Arrivals, Rows, Served, serve};
use std::fs;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

/// Time of the processor that the process has taken, in ticks of ten milliseconds.
fn processor_ticks() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux tells");
    let after_name = stat.rsplit_once(") ").expect("the name is in brackets").1;
    // User and system time are fields 14 and 15, the name being the second.
    after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
}

/// What leads from one process to another, at both ends.
fn links(shares_memory: bool) -> [Link; 2] {
    let (one, other) = Socket::pair(Family::Unix).expect("sockets");
    if !shares_memory {
        return [one.into(), other.into()];
    }
    let segment = Segment::new(SEGMENT_BYTES).expect("memory");
    let file = segment.as_fd().try_clone_to_owned().expect("a descriptor");
    let given = Segment::of(file, SEGMENT_BYTES).expect("a segment");
    [(&CommonMemory::new(segment, true, one)).into(), (&CommonMemory::new(given, false, other)).into()]
}

/// Runs two instances as processes do, with a worker each.
fn serve_apart(selection: Selection, arrivals: [Arrivals; 2], links: [Link; 2]) -> Vec<RunOutcome<Served>> {
    let options = &EngineOptions { instances: Instances::of(2), ..EngineOptions::default() };
    let layout = ThisEngine::arrange(selection, 2, options).expect("it fits").layout;
    let run = |instance: usize, arrivals, link| {
        let partitions = instance as u32..instance as u32 + 1;
        let mut store = ThisEngine::load_part(&Rows, layout, partitions, &|_| ()).expect("a few rows");
        let mut links = vec![Some(link), None];
        links.rotate_right(instance ^ 1);
        let part = Part { instance, instances: 2, links: vec![links] };
        let client = Served::new(arrivals, instance as u64);
        let until = Until::Transactions(u64::MAX);
        ThisEngine::run_part_checked(&mut store, selection, vec![client], until, options, part)
    };
    thread::scope(|scope| {
        let parts = (0..).zip(arrivals.into_iter().zip(links));
        let begin = |(instance, (arrivals, link))| scope.spawn(move || run(instance, arrivals, link));
        let running: Vec<_> = parts.map(begin).collect();
        running.into_iter().map(|part| part.join().expect("no panic").expect("memory")).collect()
    })
}

/// Of one or several workers, until the time is up.
fn nothing_until(end: Instant) -> Arrivals {
    Box::new(move || if Instant::now() < end { Arrival::NothingNow } else { Arrival::Closed })
}

const IDLE: Duration = Duration::from_millis(600);

#[test]
fn workers_without_transactions_sleep() {
    const WORKERS: usize = 4;
    for (architecture, protocol) in [
        (ArchitectureName::SharedEverything, ProtocolName::Silo),
        (ArchitectureName::PartitionedSerial, ProtocolName::Unprotected),
        (ArchitectureName::Delegation, ProtocolName::NoWait),
        (ArchitectureName::AsymmetricDelegation, ProtocolName::NoWait),
        (ArchitectureName::Dora, ProtocolName::NoWait),
        (ArchitectureName::Orthrus, ProtocolName::Unprotected),
    ] {
        let pair = PairName { architecture, protocol };
        let end = Instant::now() + IDLE;
        let before = processor_ticks();
        let (_, run) = serve::<ThisEngine>(
            Selection::Pair(pair),
            &EngineOptions::default(),
            (0..WORKERS).map(|_| nothing_until(end)).collect(),
        );
        let taken = processor_ticks() - before;
        assert_eq!(run.measurement.commits, 0);
        assert!(Instant::now() >= end, "{pair}: it waited for what might arrive");
        assert!(taken < 20, "{pair}: {taken} of 60 ticks of two processors");
    }
    // Nobody waits for bytes without end, whatever they come through.
    for shares_memory in [true, false] {
        let end = Instant::now() + IDLE;
        let pair =
            PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::NoWait };
        let before = processor_ticks();
        let nothing = [nothing_until(end), nothing_until(end)];
        let runs = serve_apart(Selection::Pair(pair), nothing, links(shares_memory));
        let taken = processor_ticks() - before;
        assert!(runs.iter().all(|run| run.measurement.commits == 0) && Instant::now() >= end);
        assert!(taken < 20, "shared memory {shares_memory}: {taken} of 60 ticks of two processors");
    }
}
