//! The coherence model by itself: costs are the description's, copies are good until somebody takes the line.

use machine::simulated::description::{Description, Layout};
use machine::simulated::model::{Kind, Line, Model, picoseconds};
use std::collections::{HashMap, HashSet};

/// A machine file, with the literature's numbers alone.
fn text(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines");
    let file = std::fs::read_to_string(format!("{folder}/{name}.toml")).expect("a machine of the repository");
    file.split("\n[fitted]").next().expect("a beginning").to_owned()
}

fn haswell() -> Description {
    Description::parse(&text("haswell-ex-4x18")).expect("a machine")
}

/// Late enough that nothing is on its way any more.
const LATER: u64 = 1_000_000_000;

/// A model, and the cycles that its machine takes.
struct Tried {
    description: Description,
    model: Model,
    now: u64,
}

impl Tried {
    fn new(description: Description) -> Tried {
        Tried { model: Model::new(&description, 1), description, now: 0 }
    }

    /// Long after all that was before; in picoseconds.
    fn access(&mut self, core: usize, kind: Kind, line: u64) -> u64 {
        self.now += LATER;
        self.model.access(core, self.now, kind, Line(line))
    }

    fn cycles(&self, cycles: u64) -> u64 {
        picoseconds(&self.description, cycles)
    }
}

#[test]
fn levels_cost_what_the_description_says() {
    let mut tried = Tried::new(haswell());
    let from_memory = tried.access(0, Kind::Load, 7);
    assert!([135_000, 197_000].contains(&from_memory), "{from_memory}");
    assert_eq!(tried.access(0, Kind::Load, 7), tried.cycles(4));
    // A thousand lines later it is in the second level; ten thousand later in the last.
    (1000..2000).for_each(|line| _ = tried.access(0, Kind::Load, line));
    assert_eq!(tried.access(0, Kind::Load, 7), tried.cycles(12));
    (10_000..20_000).for_each(|line| _ = tried.access(0, Kind::Load, line));
    assert_eq!(tried.access(0, Kind::Load, 7), tried.cycles(53));
}

#[test]
fn transfers_cost_what_the_table_says() {
    let mut tried = Tried::new(haswell());
    let (load, store) = (Kind::Load, Kind::ReadModifyWrite);
    // The extra 20 cycles are the atomic instruction's own.
    for (core, modified, taken) in [(1, 133, 133 + 20), (40, 283, 283 + 20)] {
        tried.access(0, store, 5);
        assert_eq!(tried.access(core, load, 5), tried.cycles(modified), "modified at 0, read by {core}");
        tried.access(0, store, 5);
        let cost = tried.access(core, store, 5);
        assert_eq!(cost, tried.cycles(taken - 20) + tried.cycles(20), "modified at 0, taken by {core}");
    }
    for (core, exclusive) in [(1, 111), (40, 260)] {
        let line = 100 + core as u64;
        tried.access(0, load, line);
        assert_eq!(tried.access(core, load, line), tried.cycles(exclusive), "exclusive at 0, read by {core}");
        // Shared from now on: the last level has it.
        let third = if core == 1 { 2 } else { 41 };
        assert_eq!(tried.access(third, load, line), tried.cycles(53));
    }
    // A core that takes a line which others share waits for the farthest.
    for (sharer, given_up) in [(1, 111), (40, 260)] {
        let line = 200 + sharer as u64;
        tried.access(0, load, line);
        tried.access(sharer, load, line);
        assert_eq!(tried.access(0, store, line), tried.cycles(given_up) + tried.cycles(20));
    }
    let statistics = tried.model.statistics();
    assert_eq!((statistics.transfers_within, statistics.transfers_across), (5, 4));
    assert_eq!((statistics.upgrades, statistics.invalidations), (4, 4));
}

#[test]
fn stores_wait_in_the_buffer_and_read_modify_writes_for_it() {
    let mut tried = Tried::new(haswell());
    let cycle = tried.cycles(1);
    tried.access(40, Kind::ReadModifyWrite, 1);
    let now = tried.now + LATER;
    assert_eq!(tried.model.access(0, now, Kind::Store, Line(1)), cycle, "the store waits, not the core");
    // Its line is on its way: the core may read what it stored, but an atomic instruction waits for it.
    assert_eq!(tried.model.access(0, now + cycle, Kind::Load, Line(1)), tried.cycles(4));
    let waits = tried.model.access(0, now + cycle, Kind::ReadModifyWrite, Line(1));
    assert_eq!(waits, tried.cycles(283) - cycle + tried.cycles(4) + tried.cycles(20));
    assert_eq!(tried.model.fence(0, now + LATER), tried.cycles(33), "nothing is in the buffer");
    // A buffer of 42 stores is full.
    let now = tried.now + 3 * LATER;
    let costs: Vec<u64> =
        (0..43).map(|n| tried.model.access(0, now + n * cycle, Kind::Store, Line(1000 + 64 * n))).collect();
    assert!(costs[..42].iter().all(|&cost| cost == cycle), "{costs:?}");
    assert!(costs[42] > 50 * cycle, "{costs:?}");
}

#[test]
fn an_in_order_core_waits_for_stores_and_for_every_line() {
    let mut tried = Tried::new(Description::parse(&text("graphite-mesh-64")).expect("a machine"));
    assert!(tried.access(0, Kind::Store, 1) > 100_000, "memory is 100 ns away");
    assert_eq!(tried.access(0, Kind::Store, 1), tried.cycles(1));
    let one_by_one: u64 = (0..16).map(|line| tried.access(0, Kind::Load, 1000 + line)).sum();
    let together = tried.model.access_several(1, tried.now + LATER, Kind::Load, Line(2000), 16);
    assert!(together > one_by_one / 2, "{together} ps for 16 lines at once, {one_by_one} one by one");
}

#[test]
fn lines_of_a_copy_overlap() {
    let cost = |in_flight: &str| {
        let file = text("haswell-ex-4x18").replace("lines_in_flight = 10", in_flight);
        let mut tried = Tried::new(Description::parse(&file).expect("a machine"));
        tried.model.access_several(0, LATER, Kind::Load, Line(64), 16)
    };
    let (one, two, sixteen) =
        (cost("lines_in_flight = 1"), cost("lines_in_flight = 2"), cost("lines_in_flight = 16"));
    assert!(one >= 16 * 135_000 && two < one * 6 / 10 && sixteen < 220_000, "{one} {two} {sixteen}");
}

#[test]
fn transfers_of_a_line_follow_each_other() {
    let mut tried = Tried::new(haswell());
    tried.access(0, Kind::ReadModifyWrite, 9);
    let now = tried.now + LATER;
    let costs: Vec<u64> =
        (1..6).map(|core| tried.model.access(core, now, Kind::ReadModifyWrite, Line(9))).collect();
    let (transfer, atomic) = (tried.cycles(133), tried.cycles(20));
    for (place, &cost) in costs.iter().enumerate() {
        assert_eq!(cost, (place as u64 + 1) * transfer + atomic, "{costs:?}");
    }
}

#[test]
fn the_former_owner_reads_a_line_until_it_has_left() {
    let mut tried = Tried::new(haswell());
    tried.access(0, Kind::ReadModifyWrite, 9);
    let now = tried.now + LATER;
    tried.model.access(40, now, Kind::ReadModifyWrite, Line(9));
    assert_eq!(tried.model.access(0, now + tried.cycles(282), Kind::Load, Line(9)), tried.cycles(4));
    assert_eq!(tried.model.access(0, now + tried.cycles(284), Kind::Load, Line(9)), tried.cycles(283));
}

#[test]
fn a_line_that_has_just_come_stays_for_what_comes_next() {
    let mut tried = Tried::new(haswell());
    let (take, hit, transfer) = (Kind::ReadModifyWrite, tried.cycles(4), tried.cycles(283));
    tried.access(0, take, 9);
    let now = tried.now + LATER;
    let own = tried.model.access(40, now, take, Line(9));
    // Three more want it, while it is on its way to core 40.
    for core in [0, 20, 60] {
        tried.model.access(core, now + 1, take, Line(9));
    }
    let came = now + own;
    assert_eq!(tried.model.access(40, came, Kind::Load, Line(9)), hit);
    assert_eq!(tried.model.access(40, came + hit, Kind::Store, Line(9)), tried.cycles(1));
    let late = now + transfer + transfer / 2;
    assert!(tried.model.access(40, late, take, Line(9)) > 2 * transfer, "core 40 queues behind the others");
}

#[test]
fn a_line_that_came_to_be_read_does_not_stay_to_be_written() {
    let mut tried = Tried::new(haswell());
    tried.access(0, Kind::ReadModifyWrite, 9);
    let now = tried.now + LATER;
    let came = now + tried.model.access(40, now, Kind::Load, Line(9));
    tried.model.access(0, came, Kind::ReadModifyWrite, Line(9));
    assert_eq!(tried.model.access(40, came + 1, Kind::Load, Line(9)), tried.cycles(4));
    assert!(tried.model.access(40, came + 1, Kind::ReadModifyWrite, Line(9)) > tried.cycles(283));
}

#[test]
fn contended_transfers_may_cost_more() {
    let file = text("haswell-ex-4x18").replace("transfer_percent = 100", "transfer_percent = 200");
    let mut tried = Tried::new(Description::parse(&file).expect("a machine"));
    tried.access(0, Kind::ReadModifyWrite, 9);
    let now = tried.now + LATER;
    let transfer = tried.cycles(133);
    let first = tried.model.access(1, now, Kind::ReadModifyWrite, Line(9));
    let second = tried.model.access(2, now, Kind::ReadModifyWrite, Line(9));
    assert_eq!(second - first, 2 * transfer);
}

#[test]
fn what_was_asked_for_ahead_is_on_its_way() {
    let mut tried = Tried::new(haswell());
    tried.model.prefetch(0, LATER, Line(3), false);
    let left = tried.model.access(0, LATER + 50_000, Kind::Load, Line(3));
    assert!([85_000, 147_000].contains(&left), "{left}");
    assert_eq!(tried.model.access(0, 2 * LATER, Kind::Load, Line(3)), tried.cycles(4));
    // Ten at a time; the eleventh is not asked for.
    (0..11).for_each(|n| tried.model.prefetch(0, 3 * LATER, Line(1000 + 64 * n), false));
    assert!(tried.model.access(0, 4 * LATER, Kind::Load, Line(1000 + 64 * 9)) == tried.cycles(4));
    assert!(tried.model.access(0, 4 * LATER, Kind::Load, Line(1000 + 64 * 10)) > tried.cycles(53));
}

#[test]
fn a_memory_controller_passes_lines_on_one_after_the_other() {
    let file = text("haswell-ex-4x18").replace("bandwidth_mb_per_s = 51000", "bandwidth_mb_per_s = 640");
    let mut tried = Tried::new(Description::parse(&file).expect("a machine"));
    // 64 bytes at 640 MB/s are 100 ns; 72 lines by eight controllers, at one time.
    let costs: Vec<u64> =
        (0..72).map(|core| tried.model.access(core, LATER, Kind::Load, Line(977 * core as u64))).collect();
    let queued = tried.model.statistics().memory_queue_ps;
    assert_eq!(
        costs.iter().map(|cost| cost % 100_000).filter(|&rest| rest != 35_000 && rest != 97_000).count(),
        0
    );
    let evenly = 8 * (9 * 8 / 2) * 100_000;
    assert!(queued >= evenly && queued < 2 * evenly, "{queued} ps, {evenly} if spread evenly");
    assert!(
        tried.model.access(0, 2 * LATER, Kind::Load, Line(1 << 20)) <= 197_000,
        "the queues are empty again"
    );
}

#[test]
fn the_last_level_holds_what_it_has_room_for() {
    // One socket with a last level of 8,192 lines.
    let file = text("nehalem-ex-4x8")
        .replace("cores = 32", "cores = 1")
        .replace("count = 4", "count = 1")
        .replace("bytes = 25165824", "bytes = 524288")
        .replace(", 289]", "]")
        .replace(", 273]", "]")
        .replace(", 223]", "]")
        .replace(", 320]", "]")
        .replace(", 315]", "]")
        .replace(", 318]", "]")
        .replace(", 231]", "]")
        .replace("controllers = 8", "controllers = 1");
    let mut tried = Tried::new(Description::parse(&file).expect("a machine"));
    let mut memory_reads_of = |lines: u64, kind: Kind| {
        for _ in 0..4 {
            (0..lines).for_each(|line| _ = tried.access(0, kind, line));
        }
        let before = tried.model.statistics();
        (0..lines).for_each(|line| _ = tried.access(0, kind, line));
        tried.model.statistics() - before
    };
    assert_eq!(memory_reads_of(7000, Kind::Load).memory_reads, 0);
    let many = memory_reads_of(20_000, Kind::Store);
    assert!(many.memory_reads > 15_000 && many.write_backs > 15_000, "{many:?}");
}

#[test]
fn distance_on_a_mesh_is_by_hops() {
    let mut tried = Tried::new(Description::parse(&text("graphite-mesh-1024")).expect("a machine"));
    // All have read the line, so its slice answers each; the way there and back is what differs.
    let costs: Vec<u64> = (0..1024).map(|core| tried.access(core, Kind::Load, 1)).collect();
    assert!(costs[1..].iter().all(|cost| cost.is_multiple_of(tried.cycles(1))));
    let (near, far) = (costs[2..].iter().min().expect("cores"), costs[2..].iter().max().expect("cores"));
    assert!(far - near >= tried.cycles(2 * 2 * 31), "{near} to {far}");
    // Neighbours differ by one hop there and one back, at most.
    let steps = (3..1024).filter(|core| core % 32 != 0).map(|core| costs[core].abs_diff(costs[core - 1]));
    assert!(steps.max() <= Some(tried.cycles(2 * 2)));
    // From corner to corner and back there are 124 hops of 2 cycles.
    let most = tried.access(500, Kind::ReadModifyWrite, 1);
    assert!(most >= tried.cycles(2 * 16) && most <= tried.cycles(4 * 124 + 50), "{most}");
}

/// Random accesses against a list of the cores with a valid copy: a core that has one hits, and no other does.
#[test]
fn copies_are_good_until_somebody_takes_the_line() {
    for machine in ["haswell-ex-4x18", "westmere-ex-8x10", "graphite-mesh-256"] {
        let description = Description::parse(&text(machine)).expect("a machine");
        let (cores, slowest_hit) =
            (description.cores, picoseconds(&description, description.private().latency_cycles));
        let shortest_fetch = match &description.layout {
            Layout::Sockets(_) => picoseconds(&description, 40),
            Layout::Mesh(_) => picoseconds(&description, 9),
        };
        let mut tried = Tried::new(description);
        let mut draw = fastrand::Rng::with_seed(3);
        let mut holders: HashMap<u64, HashSet<usize>> = HashMap::new();
        let mut owners: HashMap<u64, usize> = HashMap::new();
        for step in 0..50_000 {
            let (core, line) = (draw.usize(..cores), draw.u64(..40) * 3);
            let holders = holders.entry(line).or_default();
            if draw.u8(..3) > 0 {
                let cost = tried.access(core, Kind::Load, line);
                let hits = holders.contains(&core);
                assert_eq!(
                    cost <= slowest_hit,
                    hits,
                    "{machine}: step {step}: core {core} reads {line}: {cost}"
                );
                if !hits {
                    assert!(cost >= shortest_fetch);
                    let alone = holders.is_empty();
                    owners.remove(&line);
                    if alone {
                        owners.insert(line, core);
                    }
                }
                holders.insert(core);
            } else {
                let before = tried.model.statistics();
                tried.access(core, Kind::ReadModifyWrite, line);
                let taken = (tried.model.statistics() - before).taken;
                let owned = owners.get(&line) == Some(&core);
                assert_eq!(taken == 0, owned, "{machine}: step {step}: core {core} takes {line}");
                *holders = HashSet::from([core]);
                owners.insert(line, core);
            }
        }
    }
}

#[test]
fn a_line_that_is_watched_is_named_once_when_it_is_taken() {
    let mut tried = Tried::new(haswell());
    tried.access(0, Kind::Load, 4);
    tried.model.watch(Line(4));
    tried.access(1, Kind::Load, 4);
    assert_eq!(tried.model.next_taken(), None, "it was only read");
    tried.access(2, Kind::Store, 4);
    assert_eq!((tried.model.next_taken(), tried.model.next_taken()), (Some(Line(4)), None));
    tried.access(3, Kind::Store, 4);
    assert_eq!(tried.model.next_taken(), None);
}
