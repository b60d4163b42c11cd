//! What travels between workers, counted: what servers serve.

use contract::{
    Abort, ArchitectureName, Arrangement, Client, Effort, Engine, EngineOptions, Indexing, Key, Measurement,
    Outcome, PairName, Plan, Procedure, Seat, Selection, Span, Support, TableDescription, TableId,
    Transaction, Until, Workload,
};
use engine_simulated::ThisEngine;
use machine::simulated::{Description, Schedule, Simulation, explore};
use std::time::Duration;

const ROWS: u64 = 64;
const T: TableId = TableId(0);

/// Each transaction updates three rows, of different partitions.
struct Rows;

struct RowsClient {
    drawn: u64,
}

struct Touch {
    first: u64,
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for n in 0..3 {
            let key = Key((self.first + n) % ROWS);
            let _ = txn.update(T, key, Span::whole(8), &mut |bytes| bytes[0] ^= 1)?;
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        (0..3).for_each(|n| plan.declare(T, Key((self.first + n) % ROWS)));
        Ok(())
    }
}

impl Client for RowsClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        self.drawn += 7;
        Touch { first: self.drawn }
    }
}

impl Workload for Rows {
    type Client = RowsClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: 8,
            kept_bytes: 8,
            rows: ROWS,
            capacity: ROWS,
            indexing: Indexing::Hashed,
            partition: TableDescription::partition_by_remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> RowsClient {
        RowsClient { drawn: 16 * seat.worker as u64 }
    }
}

const SERVERS: usize = 2;

/// Two servers, two workers that host transactions.
fn served(pair: PairName, until: Until) -> Measurement {
    let options = EngineOptions { servers: SERVERS, ..EngineOptions::default() };
    let arrangement = ThisEngine::arrange(pair.architecture, 4, &options);
    let Arrangement { layout, clients } = arrangement.expect("four workers");
    let mut store = ThisEngine::load(&Rows, layout, &|_| ()).expect("a small table");
    let clients = (0..clients).map(|worker| Rows.client(Seat::new(worker, clients, 1))).collect();
    let run = ThisEngine::run(&mut store, Selection::Pair(pair), clients, until, &options);
    run.expect("plans are right").measurement
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
