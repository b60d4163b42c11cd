//! What travels between workers, counted: what servers serve, and what a scan sends or migrates.

use contract::{
    Abort, Access, ArchitectureName, Arrangement, ArrivalsName, ChannelName, Client, Direction, Effort,
    Engine, EngineOptions, Indexing, Instances, Key, Measurement, OpenLoop, Outcome, PairName,
    PartitionFunction, Plan, Procedure, ProtocolName, RowLength, Scan, Seat, Selection, Span, Support,
    TableDescription, TableId, Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Description, Schedule, Simulation, explore, trace_hash};
use std::hint::black_box;
use std::num::NonZeroU64;
use std::ops::Bound;
use std::time::Duration;

const ROWS: u64 = 64;
const T: TableId = TableId(0);

/// What each transaction does, from a key on. Keys that follow each other are in different partitions.
#[derive(Clone, Copy)]
enum Task {
    /// Updates three rows, and sees what else is in them.
    Update,
    /// The same, with deep frames.
    DeepUpdate,
    /// Scans so many.
    Scan { rows: usize },
    /// Updates one row.
    UpdateOne,
}

struct TaskClient {
    task: Task,
    drawn: u64,
}

struct Touch {
    task: Task,
    first: u64,
}

impl Touch {
    fn update<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<(), Abort> {
        for n in 0..3 {
            let key = Key((self.first + n) % ROWS);
            let change = &mut |bytes: &mut [u8]| bytes[0] ^= 1;
            let _ = txn.update_seeing(T, key, Span::whole(8), change, Span::new(8, 8), &mut |_| ())?;
        }
        Ok(())
    }

    #[inline(never)]
    fn update_deep<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<(), Abort> {
        let frame = black_box([0u8; 4096]);
        let updated = self.update(txn);
        black_box(&frame);
        updated
    }
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        match self.task {
            Task::Update => self.update(txn)?,
            Task::DeepUpdate => self.update_deep(txn)?,
            Task::UpdateOne => {
                let change = &mut |bytes: &mut [u8]| bytes[0] ^= 1;
                let _ = txn.update(T, Key(self.first), Span::whole(8), change)?;
            }
            Task::Scan { rows } => {
                let first = Key(self.first % (ROWS - rows as u64));
                let scan = Scan {
                    table: T,
                    from: Bound::Included(&first.bytes()),
                    to: Bound::Unbounded,
                    direction: Direction::Forward,
                    limit: rows,
                    span: Span::whole(8),
                    within: None,
                };
                let mut keys = first.0..;
                let shown = txn.scan(&scan, &mut |key, _| {
                    assert_eq!(keys.next().map(|key| Key(key).bytes().to_vec()).as_deref(), Some(key));
                })?;
                assert_eq!(shown, rows);
            }
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        match self.task {
            Task::Update | Task::DeepUpdate => (0..3).for_each(|n| {
                plan.touch(T, Key((self.first + n) % ROWS), Span::whole(8), Access::Write);
            }),
            Task::UpdateOne => plan.touch(T, Key(self.first), Span::whole(8), Access::Write),
            Task::Scan { .. } => plan.declare(T, Key(self.first % ROWS)),
        }
        Ok(())
    }

    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        match self.task {
            Task::UpdateOne => at(T, Key(self.first)),
            _ => (0..3).for_each(|n| at(T, Key((self.first + n) % ROWS))),
        }
        !matches!(self.task, Task::Scan { .. })
    }

    fn kind(&self) -> usize {
        usize::from(matches!(self.task, Task::UpdateOne))
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.first.to_le_bytes());
    }
}

impl Client for TaskClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        self.drawn += 7;
        Touch { task: self.task, first: self.drawn }
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<Touch> {
        Some(Touch { task: self.task, first: u64::from_le_bytes(bytes.try_into().ok()?) })
    }
}

impl Workload for Task {
    type Client = TaskClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: 16,
            length: RowLength::Fixed,
            kept_bytes: 16,
            rows: ROWS,
            capacity: ROWS,
            indexing: match *self {
                Task::Update | Task::DeepUpdate | Task::UpdateOne => Indexing::Hashed,
                Task::Scan { .. } => Indexing::Ordered,
            },
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> TaskClient {
        TaskClient { task: *self, drawn: 16 * seat.worker as u64 }
    }
}

/// What a run of so many workers measures.
fn run<W: Workload>(
    pair: PairName,
    task: W,
    workers: usize,
    until: Until,
    options: &EngineOptions,
) -> Measurement {
    let arrangement = ThisEngine::arrange(pair, workers, options);
    let Arrangement { layout, clients, .. } = arrangement.expect("so many workers");
    let mut store = ThisEngine::load(&task, layout, &|_| ()).expect("a small table");
    let clients = (0..clients).map(|worker| task.client(Seat::new(worker, clients, 1))).collect();
    let run = ThisEngine::run(&mut store, Selection::Pair(pair), clients, until, options);
    run.expect("plans are right").measurement
}

const SERVERS: usize = 2;

/// Two servers, two workers that host transactions.
fn served(pair: PairName, until: Until) -> Measurement {
    let options = EngineOptions { servers: SERVERS, ..EngineOptions::default() };
    run(pair, Task::Update, 4, until, &options)
}

fn with_servers() -> impl Iterator<Item = PairName> {
    PairName::all().filter(|pair| {
        pair.architecture == ArchitectureName::AsymmetricDelegation
            && ThisEngine::support(*pair) == Support::Supported
    })
}

#[test]
fn servers_report_what_they_served() {
    for pair in with_servers() {
        for seed in 0..20 {
            let schedule = Schedule::Random { seed, switch_one_in: 5 };
            let measured = explore(schedule, || served(pair, Until::Transactions(200)));
            let Measurement { servers, effort: Effort { messages, served, servings, .. }, .. } = measured;
            assert_eq!(servers, SERVERS, "{pair}");
            assert!(messages > 0 && served == messages, "{pair}, {seed}: {served} of {messages}");
            assert!(servings > 0 && servings <= served, "{pair}, {seed}: {servings} for {served}");
        }
    }
}

#[test]
fn what_servers_do_outside_of_the_interval_does_not_count() {
    let file = include_str!("../../../machines/haswell-ex-4x18.toml");
    let machine = Description::parse(file).expect("a machine");
    let duration = Duration::from_micros(500);
    for pair in with_servers() {
        let until = Until::Interval { warmup: duration, duration };
        let measured = Simulation::of(&machine).run(|| served(pair, until));
        let Effort { messages, served, .. } = measured.effort;
        // A server looks at the clock once in 64 looks into its inbox, which two workers send to.
        assert!(messages > 2_000, "{pair}: {messages}");
        assert!(served.abs_diff(messages) <= 2 * 64 * SERVERS as u64, "{pair}: {served} of {messages}");
        let share = measured.effort.serving_share(measured.serving_workers_ns());
        assert!(share > 0.1 && share < 1.0, "{pair}: {share}");
    }
}

/// Keys that follow each other have their locks at two threads by turns. Until all is granted it takes a message to each and one to the
/// transaction; where nothing is forwarded, two for each (*orthrus* 3.3); and then a release to each.
#[test]
fn locks_of_two_threads_take_three_messages() {
    const THREADS: u64 = 2;
    let pair = PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };
    for (forwarding, granting) in [(true, THREADS + 1), (false, 2 * THREADS)] {
        let cc_threads = THREADS as usize;
        let options = EngineOptions { cc_threads, forwarding, ..EngineOptions::default() };
        for seed in 0..20 {
            let schedule = Schedule::Random { seed, switch_one_in: 5 };
            let measured =
                explore(schedule, || run(pair, Task::Update, 4, Until::Transactions(200), &options));
            assert_eq!((measured.servers, measured.all_aborts()), (cc_threads, 0), "{seed}");
            let Effort { messages, served, .. } = measured.effort;
            assert_eq!(messages, measured.commits * (granting + THREADS), "{forwarding}, {seed}");
            // All but the words of grants.
            let grants = if forwarding { 1 } else { THREADS };
            assert_eq!(served, messages - measured.commits * grants, "{forwarding}, {seed}");
        }
    }
}

/// At a table that they share, any thread grants all: whatever a transaction touches, it takes a message there, one back, and one to release (*orthrus* 3.4).
#[test]
fn a_shared_lock_table_takes_two_messages_and_one_to_release() {
    let pair = PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };
    for cc_threads in [1, 2, 3] {
        let options = EngineOptions { cc_threads, shared_lock_table: true, ..EngineOptions::default() };
        for seed in 0..20 {
            let schedule = Schedule::Random { seed, switch_one_in: 5 };
            let workers = cc_threads + 2;
            let measured =
                explore(schedule, || run(pair, Task::Update, workers, Until::Transactions(200), &options));
            assert_eq!((measured.servers, measured.all_aborts()), (cc_threads, 0), "{seed}");
            let Effort { messages, served, .. } = measured.effort;
            assert_eq!(messages, 3 * measured.commits, "{cc_threads}, {seed}");
            assert_eq!(served, 2 * measured.commits, "{cc_threads}, {seed}");
        }
    }
}

/// Rows that a scan shows, of two partitions by turns: of each it reads a leaf or two.
const SCANNED: usize = 20;

/// What one scan sends, or migrates, on average.
fn by_scan(pair: PairName, count: fn(&Effort) -> u64) -> f64 {
    let schedule = Schedule::Random { seed: 1, switch_one_in: 5 };
    let until = Until::Transactions(100);
    let measured =
        explore(schedule, || run(pair, Task::Scan { rows: SCANNED }, 2, until, &EngineOptions::default()));
    assert_eq!((measured.commits, measured.all_aborts()), (200, 0), "{pair}: all only read");
    count(&measured.effort) as f64 / measured.commits as f64
}

fn locking(architecture: ArchitectureName) -> impl Iterator<Item = PairName> {
    PairName::all().filter(move |pair| {
        let validating = [
            ProtocolName::Silo,
            ProtocolName::Occ,
            ProtocolName::TicToc,
            ProtocolName::Mocc,
            ProtocolName::Hekaton,
            ProtocolName::Cicada,
        ];
        let validates = validating.contains(&pair.protocol);
        pair.architecture == architecture && !validates && ThisEngine::support(*pair) == Support::Supported
    })
}

/// Half of the rows are elsewhere. Each was asked for by a message of its own.
#[test]
fn a_scan_under_delegation_locks_a_leafs_records_by_one_message() {
    for pair in locking(ArchitectureName::Delegation) {
        let messages = by_scan(pair, |effort| effort.messages);
        println!("{pair}: {messages} messages a scan");
        // The two leaves, their records, and what is released: a message each for what is held.
        let released = SCANNED as f64 / 2.0 + 2.0;
        assert!(messages <= 2.0 + 4.0 + released, "{pair}: {messages}");
    }
}

/// Keys alternate between partitions. Each row was shown where its record was locked.
#[test]
fn a_scan_under_dora_does_not_migrate_for_each_record() {
    // Who goes by timestamps asks each record when it is shown, not some of a leaf together.
    let by_time = [ProtocolName::Timestamp, ProtocolName::Mvcc];
    for pair in locking(ArchitectureName::Dora).filter(|pair| !by_time.contains(&pair.protocol)) {
        let migrations = by_scan(pair, |effort| effort.migrations);
        println!("{pair}: {migrations} migrations a scan");
        assert!(migrations < SCANNED as f64 / 2.0, "{pair}: {migrations}");
    }
}

/// A fiber's frames are as deep as the compiler makes them. A simulation repeats bit for bit in another build, so it charges for migrations whatever
/// they are.
#[test]
fn deep_frames_migrate_as_fast_as_shallow_ones() {
    let file = include_str!("../../../machines/haswell-ex-4x18.toml");
    let machine = Description::parse(file).expect("a machine");
    let pair = PairName { architecture: ArchitectureName::Dora, protocol: ProtocolName::NoWait };
    let traced = |task| {
        Simulation::of(&machine).run(|| {
            let until = Until::Transactions(200);
            let measured = run(pair, task, 4, until, &EngineOptions::default());
            (measured.effort.migrations, measured.all_aborts(), trace_hash())
        })
    };
    let shallow = traced(Task::Update);
    assert!(shallow.0 > 800, "{shallow:?}");
    assert_eq!(traced(Task::DeepUpdate), shallow);
}

/// Of three keys that follow each other one is at the other of two instances, or two are, by turns. By messages, a coordinator asks for each of them, for the vote, and
/// tells the decision. A fragment is one message, and the answer is the vote where locks are held, under SILO too, for nothing is read here but
/// of rows that are written. Answers are not counted.
#[test]
fn a_fragment_takes_the_place_of_a_message_for_each_row() {
    let cases = [
        (ProtocolName::NoWait, false, 7),
        (ProtocolName::Silo, false, 7),
        (ProtocolName::NoWait, true, 4),
        (ProtocolName::Silo, true, 4),
    ];
    for (protocol, one_shot, of_two) in cases {
        let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
        let options = EngineOptions {
            instances: Instances::of(2),
            in_flight: 1.into(),
            one_shot,
            ..EngineOptions::default()
        };
        let counts = (0..20).filter_map(|seed| {
            let schedule = Schedule::Random { seed, switch_one_in: 5 };
            let measured =
                explore(schedule, || run(pair, Task::Update, 2, Until::Transactions(20), &options));
            (measured.all_aborts() == 0).then_some((measured.effort.messages, measured.commits))
        });
        let counts: Vec<_> = counts.collect();
        assert!(!counts.is_empty(), "{pair}: somebody aborts, whatever the schedule");
        for (messages, commits) in counts {
            assert_eq!(2 * messages, of_two * commits, "{pair}, fragments {one_shot}");
        }
    }
}

/// Where the transactions of two instances of one worker are; these have no row in common.
#[derive(Clone, Copy)]
enum Where {
    /// Worker 0's at home only, the other one's span both.
    HomeBesideSpanning,
    AllAtHome,
    AllElsewhere,
}

struct OneOfThem {
    /// If it touches one row only, of one instance, the first of the keys there.
    only: Option<u64>,
    /// What the others' transactions do.
    others: Task,
    drawn: u64,
}

impl Client for OneOfThem {
    type Procedure = Touch;

    fn kinds(&self) -> &'static [&'static str] {
        &["spanning", "at-home"]
    }

    fn next(&mut self) -> Touch {
        self.drawn += 1;
        match self.only {
            // Of two partitions the first has the even keys.
            Some(first) => Touch { task: Task::UpdateOne, first: first + 2 * (self.drawn % 8) },
            None => Touch { task: Task::Update, first: 16 + self.drawn % (ROWS - 18) },
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<Touch> {
        Some(Touch { task: self.others, first: u64::from_le_bytes(bytes.try_into().ok()?) })
    }
}

impl Workload for Where {
    type Client = OneOfThem;

    fn tables(&self) -> Vec<TableDescription> {
        Task::Update.tables()
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> OneOfThem {
        let home = seat.worker as u64;
        let (only, others) = match self {
            Where::HomeBesideSpanning => ((home == 0).then_some(0), Task::Update),
            Where::AllAtHome => (Some(home), Task::UpdateOne),
            Where::AllElsewhere => (Some(1 - home), Task::UpdateOne),
        };
        OneOfThem { only, others, drawn: 0 }
    }
}

/// What a run on a machine with sockets measures, of two instances of one worker.
fn of_two(protocol: ProtocolName, all: Where, micros: u64, options: &EngineOptions) -> Measurement {
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
    let duration = Duration::from_micros(micros);
    let until = Until::Interval { warmup: duration / 4, duration };
    let options = EngineOptions { instances: Instances::of(2), ..*options };
    Simulation::of(&with_sockets()).run(|| run(pair, all, 2, until, &options))
}

fn with_sockets() -> Description {
    let file = include_str!("../../../machines/westmere-ep-2x6.toml");
    Description::parse(file).expect("a machine")
}

fn over(channel: ChannelName, in_flight: usize) -> EngineOptions {
    EngineOptions { channel, in_flight: in_flight.into(), ..EngineOptions::default() }
}

/// A fiber begins one transaction after the other while none of the others has anything to do, and the worker is idle when none has arrived, and not before.
#[test]
fn who_has_local_transactions_only_is_idle_for_the_rest_of_its_time() {
    for protocol in [ProtocolName::NoWait, ProtocolName::Silo] {
        // A worker with sockets polls after a transaction for as long as several take.
        for (channel, percents) in
            [(ChannelName::SharedMemory, [30.0, 70.0]), (ChannelName::Unix, [2.0, 5.0])]
        {
            let idle = |of: &Measurement| of.effort.idle.ns as f64 / of.hosts_ns();
            let closed = of_two(protocol, Where::AllAtHome, 400, &over(channel, 1));
            assert!(idle(&closed) < 0.01, "{protocol}, {channel}: idle for {}", idle(&closed));
            for percent in percents {
                let rate_per_s = NonZeroU64::new((closed.throughput_per_s() * percent / 100.0) as u64);
                let rate_per_s = rate_per_s.expect("something was committed");
                let open_loop = Some(OpenLoop { rate_per_s, arrivals: ArrivalsName::Constant });
                let options = EngineOptions { open_loop, ..over(channel, 1) };
                let open = of_two(protocol, Where::AllAtHome, 400, &options);
                let busy = 100.0 * (1.0 - idle(&open));
                let allowed = percent / 2.0..percent / 2.0 + 65.0;
                assert!(allowed.contains(&busy), "{protocol}, {channel}: busy for {busy} % at {percent} %");
            }
        }
    }
}

/// Nobody waits at worker 0, so nothing but its polling interval brings it to its sockets; and it has more transactions than it could poll, which it would after each.
#[test]
fn who_has_local_transactions_only_serves_other_instances_and_polls_no_more_often_than_it_must() {
    const MICROS: u64 = 400;
    let machine = with_sockets();
    for protocol in [ProtocolName::NoWait, ProtocolName::Silo] {
        for (channel, calls) in [
            (ChannelName::SharedMemory, None),
            (ChannelName::Unix, machine.channels.unix),
            (ChannelName::Tcp, machine.channels.tcp),
        ] {
            let measured = of_two(protocol, Where::HomeBesideSpanning, MICROS, &over(channel, 1));
            let [spanning, at_home] = [0, 1].map(|kind| measured.kinds[kind].commits);
            assert_eq!(measured.all_aborts(), 0, "{protocol}, {channel}: they have no row in common");
            assert!(spanning > 0, "{protocol}, {channel}: nobody was served beside {at_home} at home");
            let polls = calls.map_or(0, |calls| 1000 * MICROS / calls.poll_ns);
            assert!(at_home > polls, "{protocol}, {channel}: {at_home} at home, and time for {polls} polls");
        }
    }
}

/// Two workers that ask each other all the time serve each other while they wait: a transaction takes a round trip, and little beside. With several in flight a worker is
/// asked while it is about to ask, and writes its answer with its question: each takes little more than half of a round trip (0.75 of one if answers go by themselves).
#[test]
fn who_ask_each_other_all_the_time_take_a_round_trip_each_and_less_with_several_in_flight() {
    let machine = with_sockets();
    for protocol in [ProtocolName::NoWait, ProtocolName::Silo] {
        for (channel, calls) in
            [(ChannelName::Unix, machine.channels.unix), (ChannelName::Tcp, machine.channels.tcp)]
        {
            let calls = calls.expect("the machine has sockets");
            let round_ns =
                2.0 * (calls.send_ns + calls.latency_ns + calls.receive_ns) as f64 + calls.poll_ns as f64;
            for (in_flight, allowed) in [(1, 1.0..1.1), (4, 0.5..0.65)] {
                let measured = of_two(protocol, Where::AllElsewhere, 2000, &over(channel, in_flight));
                let round_trips = measured.hosts_ns() / measured.commits as f64 / round_ns;
                let what = format!("{protocol}, {channel}, {in_flight} in flight: {round_trips} round trips");
                assert!(allowed.contains(&round_trips), "{what}");
            }
        }
    }
}
