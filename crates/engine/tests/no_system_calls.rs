//! The measured loop makes no system call.
//!
//! A run in a process of its own: once it is warm, every worker forbids itself all system calls, by a filter that
//! ends the process at the first one, and goes on. A run allows `exit_group`, with which the client ends it, and,
//! where two workers are in each other's way, `sched_yield`, short sleeps if the core has others to run, and
//! `clock_gettime`: a yield is timed, and the kernel does that itself when a virtual machine's clock is being set.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use contract::{
    Abort, ArchitectureName, Arrangement, Client, Completion, Engine, EngineOptions, Indexing, Key, Outcome,
    PairName, PartitionFunction, Plan, Procedure, RowLength, Seat, Selection, Span, TableDescription,
    TableId, Transaction, Until, Workload,
};
use engine::ThisEngine;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

const ROWS: u64 = 1_000;
const T: TableId = TableId(0);
/// Transactions of a worker before it forbids itself system calls.
const WARM: u64 = 10_000;
/// And after, by all workers together.
const WATCHED: u64 = 20_000;

/// How a run in a process of its own ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// After all its transactions.
    Done,
    /// A worker panicked.
    Panicked,
    /// At a system call that was forbidden: its number, from 1 to 253, which stand for those below and above, too.
    Called(i64),
    /// Otherwise.
    Other(std::process::ExitStatus),
}

impl End {
    /// Status of a run that is done.
    const DONE: i32 = 0xFF;
    /// Of one that has panicked.
    const PANICKED: i32 = 0xFE;

    fn of(status: std::process::ExitStatus) -> End {
        match status.code() {
            Some(End::DONE) => End::Done,
            Some(End::PANICKED) => End::Panicked,
            Some(number @ 1..) => End::Called(number.into()),
            _ => End::Other(status),
        }
    }

    /// Ends the process by one system call, running nothing on the way.
    fn exit(status: i32) -> ! {
        // SAFETY: no destructor need run: nothing of this process is used again.
        unsafe { libc::_exit(status) }
    }
}

/// A forbidden system call: ends the process with its number.
extern "C" fn forbidden(_: libc::c_int, information: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: for this signal the kernel says by which system call: a pointer, and then that number.
    let number = unsafe { information.cast::<libc::c_int>().add(6).read() };
    End::exit(number.clamp(1, End::PANICKED - 1));
}

/// One worker over all rows, or two over a few.
#[derive(Clone, Copy)]
struct Rows {
    contended: bool,
    /// Makes a system call where it must not: the test of the test.
    disobedient: bool,
}

impl Rows {
    const fn workers(self) -> usize {
        if self.contended { 2 } else { 1 }
    }
}

struct RowsClient {
    rows: Rows,
    random: fastrand::Rng,
    drawn: u64,
}

struct Touch([u64; 8]);

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for (n, &key) in self.0.iter().enumerate() {
            let _ = match n % 3 {
                0 => txn.read(T, Key(key), Span::whole(40), &mut |_| ())?,
                1 => txn.update(T, Key(key), Span::whole(40), &mut |bytes| bytes[0] ^= 1)?,
                _ => txn.read(T, Key(key + ROWS), Span::whole(40), &mut |_| ())?,
            };
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        for &key in &self.0 {
            plan.declare(T, Key(key));
            plan.declare(T, Key(key + ROWS));
        }
        Ok(())
    }
}

static WATCHED_SO_FAR: AtomicU64 = AtomicU64::new(0);

impl RowsClient {
    /// From here on, this thread makes no system call but these.
    fn forbid_system_calls(&self) {
        let mut allowed = vec![(libc::SYS_exit_group, vec![])];
        if self.rows.contended {
            allowed.push((libc::SYS_sched_yield, vec![]));
            allowed.push((libc::SYS_clock_nanosleep, vec![]));
            allowed.push((libc::SYS_clock_gettime, vec![]));
        }
        let filter = SeccompFilter::new(
            allowed.into_iter().collect(),
            SeccompAction::Trap,
            SeccompAction::Allow,
            std::env::consts::ARCH.try_into().expect("a known processor"),
        );
        let filter: BpfProgram = filter.expect("a filter").try_into().expect("a program");
        seccompiler::apply_filter(&filter).expect("the system lets a thread restrict itself");
    }
}

impl Client for RowsClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        self.drawn += 1;
        if self.drawn == WARM {
            self.forbid_system_calls();
        }
        let rows = if self.rows.contended { 20 } else { ROWS };
        Touch(std::array::from_fn(|_| self.random.u64(0..rows)))
    }

    fn finished(&mut self, _: Touch, _: &Completion<'_>) {
        if self.drawn < WARM {
            return;
        }
        if self.rows.disobedient {
            let _ = std::process::id();
        }
        if WATCHED_SO_FAR.fetch_add(1, Ordering::Relaxed) == WATCHED {
            End::exit(End::DONE);
        }
    }
}

impl Workload for Rows {
    type Client = RowsClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: 40,
            length: RowLength::Fixed,
            kept_bytes: 40,
            rows: ROWS,
            capacity: ROWS,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> RowsClient {
        RowsClient { rows: *self, random: fastrand::Rng::with_seed(seat.worker as u64), drawn: 0 }
    }
}

/// Names the run that this process is to make, if it is a child.
const RUN: &str = "TRIREME_TEST_RUN";

/// What a run is told to have.
const SHARED_LOCK_TABLE: &str = "shared-lock-table";
/// Transactions in flight at a worker, else.
const IN_FLIGHT: [&str; 2] = ["4", "auto"];

/// Makes the run that a parent asked for, and does not return from it.
fn run_as_child() {
    let Ok(run) = std::env::var(RUN) else { return };
    std::panic::set_hook(Box::new(|_| End::exit(End::PANICKED)));
    // SAFETY: all zeros is an action without flags, whose handler is set here, and does nothing but end the process.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = forbidden as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()), 0, "a handler");
    }
    let mut words = run.split(' ');
    let mut word = || words.next().expect("a run has five words");
    let pair = PairName {
        architecture: word().parse().expect("an architecture"),
        protocol: word().parse().expect("a protocol"),
    };
    let rows = Rows { contended: word() == "contended", disobedient: word() == "disobedient" };
    let told = word();
    let options = EngineOptions {
        shared_lock_table: told == SHARED_LOCK_TABLE,
        in_flight: told.parse().unwrap_or_default(),
        ..EngineOptions::default()
    };
    let workers = rows.workers();
    let arrangement = ThisEngine::arrange(pair, workers, &options);
    let Arrangement { layout, clients, .. } = arrangement.expect("the defaults fit");
    let mut store = ThisEngine::load(&rows, layout, &|_| ()).expect("a small table");
    let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
    let clients = (0..clients).map(|worker| rows.client(seat(worker))).collect();
    let until = Until::Transactions(u64::MAX);
    let selection = Selection::Pair(pair);
    let _ = ThisEngine::run_checked(&mut store, selection, clients, until, &options);
    unreachable!("the run has no end of its own");
}

/// How a run in a process of its own ended.
fn run(pair: PairName, contended: bool, disobedient: bool) -> End {
    run_told(pair, contended, disobedient, "nothing")
}

/// The same of a run that is told to share a lock table, or how many are in flight, or nothing.
fn run_told(pair: PairName, contended: bool, disobedient: bool, told: &str) -> End {
    let words = format!(
        "{pair} {} {} {told}",
        if contended { "contended" } else { "alone" },
        if disobedient { "disobedient" } else { "obedient" }
    );
    let child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "the_measured_loop_makes_no_system_call"])
        .env(RUN, words)
        .output()
        .expect("a process of our own program");
    End::of(child.status)
}

#[test]
fn the_measured_loop_makes_no_system_call() {
    run_as_child();
    for pair in PairName::all().filter(|&pair| ThisEngine::support(pair) == contract::Support::Supported) {
        if [ArchitectureName::AsymmetricDelegation, ArchitectureName::Orthrus].contains(&pair.architecture) {
            // They need two workers, who wait for each other all the time.
            assert_eq!(run(pair, true, false), End::Done, "{pair}, a server and a client");
            if pair.architecture == ArchitectureName::Orthrus {
                assert_eq!(run_told(pair, true, false, SHARED_LOCK_TABLE), End::Done, "{pair}, shared");
            }
            continue;
        }
        assert_eq!(run(pair, false, true), End::Called(libc::SYS_getpid), "{pair}: the filter works");
        assert_eq!(run(pair, false, false), End::Done, "{pair}, one worker");
        assert_eq!(run(pair, true, false), End::Done, "{pair}, two workers over few rows");
    }
}

#[test]
fn nor_does_it_with_several_transactions_in_flight() {
    let is_in_place = |pair: &PairName| {
        pair.architecture == ArchitectureName::SharedEverything
            && ThisEngine::support(*pair) == contract::Support::Supported
    };
    for pair in PairName::all().filter(is_in_place) {
        for in_flight in IN_FLIGHT {
            let told = run_told(pair, false, false, in_flight);
            assert_eq!(told, End::Done, "{pair}, one worker, {in_flight} in flight");
            let told = run_told(pair, true, false, in_flight);
            assert_eq!(told, End::Done, "{pair}, two workers over few rows, {in_flight} in flight");
        }
    }
}
