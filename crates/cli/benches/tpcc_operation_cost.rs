//! What TPC-C's transactions cost in the operations that cost a main-memory engine: distinct cache lines, atomic read-modify-writes, and
//! instructions.
//!
//! `cargo bench -p cli --bench tpcc_operation_cost [-- PROTOCOL...]`; by default `silo` and `no-wait`, one worker over one warehouse,
//! nobody in the way. Lines and read-modify-writes are counted by the machine that explores, and are exact. Instructions are
//! counted by callgrind, where valgrind is installed: this program runs itself under it twice, with different numbers of
//! transactions, and subtracts, so that loading cancels out. They are those of planning, prefetching and drawing, too.

use contract::{
    Client, Completion, Engine, EngineOptions, Layout, PairName, PrefetchName, ProtocolName, Seat, Selection,
    Until, Workload,
};
use machine::simulated::{Schedule, TouchedLines, accesses, explore, touched_lines, watch_lines};
use std::process::Command;
use std::sync::{Arc, Mutex};
use workloads::tpcc::{Tpcc, TpccClient};

/// Transactions of the first run in which instructions are counted, and how many more the second one has. Deliveries are fewer:
/// nine hundred of them leave nothing to deliver.
fn counted(mix: &str) -> (u64, u64) {
    if mix == "delivery" { (100, 400) } else { (1_000, 4_000) }
}

/// Transactions whose lines are counted.
const WATCHED: u64 = 200;

const KINDS: [&str; 7] =
    ["new-order", "payment", "order-status", "delivery", "stock-level", "new-order-payment", "standard"];

fn workload(mix: &str) -> Tpcc {
    Tpcc::new(&[("mix", mix)].into_iter().collect()).expect("a mix")
}

fn pair(protocol: ProtocolName) -> Selection {
    let architecture = contract::ArchitectureName::SharedEverything;
    Selection::Pair(PairName { architecture, protocol })
}

fn options() -> EngineOptions {
    EngineOptions { sample_one_in: 0, ..EngineOptions::default() }
}

/// A client that looks at the book of lines after each transaction, and begins another.
struct Watching {
    client: TpccClient,
    sums: Arc<Mutex<TouchedLines>>,
}

impl Client for Watching {
    type Procedure = <TpccClient as Client>::Procedure;

    fn next(&mut self) -> Self::Procedure {
        self.client.next()
    }

    fn finished(&mut self, procedure: Self::Procedure, completion: &Completion<'_>) {
        let touched = touched_lines();
        let mut sums = self.sums.lock().expect("nobody panics with it");
        (sums.in_regions, sums.elsewhere) =
            (sums.in_regions + touched.in_regions, sums.elsewhere + touched.elsewhere);
        drop(sums);
        self.client.finished(procedure, completion);
        watch_lines();
    }
}

/// By transaction: distinct lines of records and indexes, and of anything else; read-modify-writes.
fn lines(protocol: ProtocolName, mix: &str) -> (f64, f64, f64) {
    explore(Schedule::RoundRobin, || {
        let workload = workload(mix);
        let mut store =
            engine_simulated::ThisEngine::load(&workload, Layout::of(1).for_protocol(protocol), &|_| ())
                .expect("one warehouse");
        let sums = Arc::new(Mutex::new(TouchedLines::default()));
        let client = Watching { client: workload.client(Seat::new(0, 1, 1)), sums: sums.clone() };
        let before = accesses();
        // Without plans: what is asked for ahead belongs to another transaction.
        let options = EngineOptions { prefetch: PrefetchName::Off, ..options() };
        watch_lines();
        let until = Until::Transactions(WATCHED);
        engine_simulated::ThisEngine::run(&mut store, pair(protocol), vec![client], until, &options)
            .expect("plans are right");
        let (count, sums) = (WATCHED as f64, *sums.lock().expect("as above"));
        let asked = (accesses() - before).read_modify_writes;
        (sums.in_regions as f64 / count, sums.elsewhere as f64 / count, asked as f64 / count)
    })
}

/// Loads a warehouse and runs so many transactions.
fn run(protocol: ProtocolName, mix: &str, transactions: u64) {
    let workload = workload(mix);
    let mut store = engine::ThisEngine::load(&workload, Layout::of(1).for_protocol(protocol), &|_| ())
        .expect("one warehouse");
    let clients = vec![workload.client(Seat::new(0, 1, 1))];
    let until = Until::Transactions(transactions);
    engine::ThisEngine::run(&mut store, pair(protocol), clients, until, &options()).expect("plans are right");
}

/// Instructions of this program running so many transactions; `None` without valgrind.
fn instructions_of(protocol: ProtocolName, mix: &str, transactions: u64) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("this program"))
        .args(["--run", protocol.name(), mix, &transactions.to_string()])
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let refs = said.lines().find_map(|line| line.split_once("Collected : "))?.1;
    refs.trim().parse().ok()
}

fn instructions(protocol: ProtocolName, mix: &str) -> Option<f64> {
    let (fewer, more) = counted(mix);
    let first = instructions_of(protocol, mix, fewer)?;
    let second = instructions_of(protocol, mix, fewer + more)?;
    Some(second.checked_sub(first)? as f64 / more as f64)
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [role, protocol, mix, transactions] = given.as_slice()
        && role == "--run"
    {
        return run(protocol.parse().expect("a protocol"), mix, transactions.parse().expect("a number"));
    }
    let protocols: Vec<ProtocolName> = match given.as_slice() {
        [] => vec![ProtocolName::Silo, ProtocolName::NoWait],
        names => names.iter().map(|name| name.parse().unwrap_or_else(|error| panic!("{error}"))).collect(),
    };
    println!(
        "protocol     transactions       lines of tables  other lines  read-modify-writes  instructions"
    );
    for protocol in protocols {
        for mix in KINDS {
            let (tables, other, read_modify_writes) = lines(protocol, mix);
            let instructions = instructions(protocol, mix)
                .map_or("no valgrind".into(), |instructions| format!("{instructions:.0}"));
            println!(
                "{:12} {mix:18} {tables:15.1} {other:12.1} {read_modify_writes:19.1} {instructions:>13}",
                protocol.name()
            );
        }
    }
}
