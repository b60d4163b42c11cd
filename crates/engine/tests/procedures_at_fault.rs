//! Procedures that make mistakes: plans that omit what is touched, and panics. Under every pair the mistake is told, the
//! transaction is undone, and everybody else ends.

use contract::{
    Abort, AbortReason, ArchitectureName, Arrangement, Client, Completion, DriveError, Engine, EngineOptions,
    Indexing, Key, Outcome, PairName, PartitionId, Plan, Presence, Procedure, ProtocolName, Seat, Selection,
    Span, Support, TableDescription, TableId, Transaction, Until, Workload,
};
use engine::ThisEngine;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Duration;

const WORKERS: usize = 3;
const ROWS: u64 = 30;
const T: TableId = TableId(0);

/// What the first worker's transactions do wrong. The other workers' are sound.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    /// Every plan omits the second key.
    WrongPlan,
    /// The first plan does.
    StalePlan,
    /// The tenth transaction panics after it has written.
    Panic,
    /// The client panics as it draws the tenth.
    PanicAtDraw,
    /// It panics as it is told that the tenth has ended.
    PanicAtEnd,
    /// The tenth transaction aborts however often it is tried, as one does that meets another for ever.
    Endless,
}

struct Rows(Mistake);

struct RowsClient {
    mistake: Option<Mistake>,
    drawn: u64,
    ended: u64,
}

struct Touch {
    mistake: Option<Mistake>,
    number: u64,
    plans: Mutex<u32>,
}

impl Touch {
    /// Two keys of different partitions.
    fn keys(&self) -> [Key; 2] {
        [Key(self.number % ROWS), Key((self.number + 1) % ROWS)]
    }
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for key in self.keys() {
            let presence =
                txn.update(T, key, Span::whole(8), &mut |bytes| bytes[0] = bytes[0].wrapping_add(1))?;
            assert_eq!(presence, Presence::Present);
        }
        if self.mistake == Some(Mistake::Endless) && self.number == 10 {
            return Err(Abort(AbortReason::Conflict));
        }
        assert!(self.mistake != Some(Mistake::Panic) || self.number != 10, "one that panics");
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        let mut plans = self.plans.lock().expect("one worker");
        *plans += 1;
        let [first, second] = self.keys();
        plan.declare(T, first);
        match self.mistake {
            Some(Mistake::WrongPlan) => {}
            Some(Mistake::StalePlan) if *plans == 1 => {}
            _ => plan.declare(T, second),
        }
        Ok(())
    }
}

impl Client for RowsClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        self.drawn += 1;
        assert!(self.mistake != Some(Mistake::PanicAtDraw) || self.drawn != 10, "one that panics");
        Touch { mistake: self.mistake, number: self.drawn, plans: Mutex::new(0) }
    }

    fn finished(&mut self, touch: Touch, completion: &Completion<'_>) {
        assert!(self.mistake != Some(Mistake::PanicAtEnd) || touch.number != 10, "one that panics");
        self.ended += u64::from(completion.outcome == Outcome::Commit);
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
        RowsClient { mistake: (seat.worker == 0).then_some(self.0), drawn: 0, ended: 0 }
    }
}

type Store = <ThisEngine as Engine>::Store;

fn load(pair: PairName, mistake: Mistake) -> (Store, Vec<RowsClient>) {
    let arrangement = ThisEngine::arrange(pair.architecture, WORKERS, &EngineOptions::default());
    let Arrangement { layout, clients } = arrangement.expect("the defaults fit");
    let store = ThisEngine::load(&Rows(mistake), layout, &|_| ()).expect("a small table");
    let seat = |worker| Seat::new(worker, clients, 1).over(layout.partitions);
    (store, (0..clients).map(|worker| Rows(mistake).client(seat(worker))).collect())
}

fn drive(store: &mut Store, pair: PairName, clients: Vec<RowsClient>) -> Result<u64, DriveError> {
    let options = EngineOptions::default();
    let until = Until::Transactions(200);
    let drive = ThisEngine::drive(store, Selection::Pair(pair), clients, until, &options)?;
    Ok(drive.clients.iter().map(|client| client.ended).sum())
}

const SERIAL: PairName =
    PairName { architecture: ArchitectureName::PartitionedSerial, protocol: ProtocolName::Unprotected };

#[test]
fn a_plan_that_omits_a_partition_is_an_error_that_names_the_key_and_changes_nothing() {
    let (mut store, mut clients) = load(SERIAL, Mistake::WrongPlan);
    clients.truncate(1);
    let error = drive(&mut store, SERIAL, clients).expect_err("the plan is wrong");
    assert_eq!(error, DriveError::Undeclared { table: "rows", key: Key(2), partition: PartitionId(2) });
    let words = "a procedure touched key 2 of table 'rows', in partition 2, which its plan does not declare";
    assert_eq!(error.to_string(), words);
    assert_eq!(ThisEngine::remains(&store).held, 0);
    // The first key was updated before the second was refused.
    assert_eq!(first_byte(&mut store, Key(1)), 0);
}

/// What a row's first byte is, read by a transaction.
fn first_byte(store: &mut Store, key: Key) -> u8 {
    struct Look(Key, Mutex<u8>);
    struct Looker(Key, u8);
    struct Looking(Key);
    impl Procedure for Look {
        fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
            let mut seen = 0;
            let _ = txn.read(T, self.0, Span::whole(8), &mut |bytes| seen = bytes[0])?;
            *self.1.lock().expect("one worker") = seen;
            Ok(Outcome::Commit)
        }

        fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
            plan.declare(T, self.0);
            Ok(())
        }
    }
    impl Client for Looker {
        type Procedure = Look;

        fn next(&mut self) -> Look {
            Look(self.0, Mutex::new(0))
        }

        fn finished(&mut self, look: Look, _: &Completion<'_>) {
            self.1 = look.1.into_inner().expect("one worker");
        }
    }
    impl Workload for Looking {
        type Client = Looker;

        fn tables(&self) -> Vec<TableDescription> {
            Rows(Mistake::Panic).tables()
        }

        fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

        fn client(&self, _: Seat) -> Looker {
            Looker(self.0, 0)
        }
    }
    let looker = Looking(key).client(Seat::new(0, 1, 1));
    let (selection, until) = (Selection::Pair(SERIAL), Until::Transactions(1));
    let drive = ThisEngine::drive(store, selection, vec![looker], until, &EngineOptions::default());
    drive.expect("the plan is right").clients[0].1
}

#[test]
fn a_plan_that_is_out_of_date_is_made_again() {
    let (mut store, clients) = load(SERIAL, Mistake::StalePlan);
    let workers = clients.len() as u64;
    assert_eq!(drive(&mut store, SERIAL, clients).expect("the second plan is right"), 200 * workers);
}

#[test]
fn a_panic_is_passed_on_and_leaves_nothing_behind() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let supported = |pair: &PairName| ThisEngine::support(*pair) == Support::Supported;
    for pair in PairName::all().filter(supported) {
        for mistake in [Mistake::Panic, Mistake::PanicAtDraw, Mistake::PanicAtEnd] {
            let (mut store, clients) = load(pair, mistake);
            let panic = catch_unwind(AssertUnwindSafe(|| drive(&mut store, pair, clients)));
            let panic = panic.expect_err("the panic is passed on");
            let words =
                panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(|w| &**w));
            assert!(words.expect("words").contains("one that panics"), "{pair}: {words:?}");
            assert_eq!(ThisEngine::remains(&store).held, 0, "{pair}");
        }
    }
    std::panic::set_hook(hook);
}

/// A transaction that cannot commit does not outlast the run: it is given up when the run is over, and nothing is held.
#[test]
fn a_transaction_that_aborts_for_ever_ends_with_its_run() {
    let pairs = PairName::all().filter(|pair| ThisEngine::support(*pair) == Support::Supported);
    for pair in pairs {
        for warmup in [Duration::ZERO, Duration::from_millis(20)] {
            let until = Until::Interval { warmup, duration: Duration::from_millis(10) };
            let options = EngineOptions { back_off_cap_ns: 0, in_flight: 1, ..EngineOptions::default() };
            let workers = if pair.architecture == ArchitectureName::AsymmetricDelegation { 2 } else { 1 };
            let arrangement = ThisEngine::arrange(pair.architecture, workers, &options).expect("it fits");
            assert_eq!(arrangement.clients, 1, "{pair}");
            let workload = Rows(Mistake::Endless);
            let client = workload.client(Seat::new(0, 1, 1).over(arrangement.layout.partitions));
            let mut alone = ThisEngine::load(&workload, arrangement.layout, &|_| ()).expect("a small table");
            let drive = ThisEngine::drive(&mut alone, Selection::Pair(pair), vec![client], until, &options);
            let measured = drive.expect("no mistake that is told").measurement;
            assert!(measured.commits <= 9 && measured.aborts.iter().sum::<u64>() > 0, "{pair}: {measured:?}");
            assert_eq!(ThisEngine::remains(&alone).held, 0, "{pair}");
        }
    }
}
