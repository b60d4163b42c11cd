//! Protocols that wake nobody, under every architecture: the watchdog says who waits, and the run ends. Runs in which somebody
//! is only slow go on. And what the protocols say of those who wait.

use super::canary::{LooksOnce, LostGrants, LostWakeUp};
use super::sequential::{Wakes, started};
use crate::physical::{Owned, Physical, Shared};
use crate::protocol::{
    Detecting, DlDetect, Dreadlocks, LockTables, Locking, Mode, Protocol, Request, RequestWith, Requester,
    SlotId, SlotState, StampOf, Verdict, WaitDie, Wake,
};
use crate::storage::Store;
use crate::system::{Delegation, Dispatch, Dora, Orthrus, Run, SharedEverything, System};
use contract::{
    Abort, Access, ArchitectureName, Client, Completion, EngineOptions, Indexing, Key, Layout, Outcome,
    PairName, PartitionFunction, Plan, Procedure, ProtocolName, RowLength, Seat, Selection, Span,
    TableDescription, TableId, Transaction, TransactionExt, Until, Workload,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const T: TableId = TableId(0);
const WORKERS: usize = 3;

/// Everybody writes two records, and takes its time.
struct Hot;

struct Touch([Key; 2]);

/// The two records of a worker's transactions: the same for all.
fn same(_: usize) -> [Key; 2] {
    [Key(0), Key(1)]
}

/// Its own, and that of the next one.
fn ring(worker: usize) -> [Key; 2] {
    [worker, (worker + 1) % WORKERS].map(|key| Key(key as u64))
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        for key in self.0 {
            let _ = txn.update_row::<u64, _>(T, key, |row| *row += 1)?;
            // Long enough for the others to come, short enough for nobody to be thought stuck.
            let until = crate::facade::clock::now().0 + crate::facade::clock::ticks_of(PATIENCE / 1000);
            while crate::facade::clock::now().0 < until {
                crate::facade::cpu::pause();
            }
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        self.0.iter().for_each(|&key| plan.touch(T, key, Span::whole(size_of::<u64>()), Access::Write));
        Ok(())
    }
}

struct HotClient([Key; 2]);

impl Client for HotClient {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        Touch(self.0)
    }

    fn finished(&mut self, _: Touch, _: &Completion<'_>) {}
}

impl Workload for Hot {
    type Client = HotClient;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "hot",
            row_bytes: size_of::<u64>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<u64>(),
            rows: WORKERS as u64,
            capacity: WORKERS as u64,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.fill(0);
    }

    fn client(&self, seat: Seat) -> HotClient {
        HotClient(same(seat.worker))
    }
}

/// Short, so that the test is; far longer than a transaction takes.
const PATIENCE: Duration = Duration::from_millis(20);

/// How a run over the records ended: with its commits, or with the words of a panic.
fn run<S: System>(
    pair: PairName,
    transactions: u64,
    keys: fn(worker: usize) -> [Key; 2],
) -> Result<u64, String> {
    let partitions = match pair.architecture {
        ArchitectureName::SharedEverything | ArchitectureName::Orthrus => 1,
        _ => WORKERS as u32,
    };
    let options = EngineOptions { patience: Some(PATIENCE), ..EngineOptions::default() };
    let mut store = Store::load(&Hot, Layout::of(partitions), &|_| ()).expect("a few records");
    let selection = Selection::Pair(pair);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let clients = (0..WORKERS).map(|worker| HotClient(keys(worker))).collect();
        let until = Until::Transactions(transactions);
        let run = Run { store: &mut store, clients, until, options: &options, selection, part: None };
        let (_, reports, _) = run.run::<S>();
        reports
    }));
    match ended {
        Ok(reports) => Ok(reports.hosts.iter().map(|report| report.counts.commits).sum()),
        Err(panic) => Err(*panic.downcast::<String>().expect("words")),
    }
}

fn ends_with_the_graph<S: System>(architecture: ArchitectureName, protocol: ProtocolName) {
    // Enough for one to meet another, however the system lets them run.
    let words = run::<S>(PairName { architecture, protocol }, 20_000, same).expect_err("nobody is woken");
    is_told(&words);
}

/// What a run ends with in which some wait for ever.
fn is_told(words: &str) {
    // Those who do not wait for a transaction that waits for ever are aborted by it for ever.
    let ends = ["transactions wait for ever: slot ", "in a run in which somebody waits for ever"];
    assert!(ends.iter().any(|end| words.contains(end)), "{words}");
}

#[test]
fn a_lost_wake_up_ends_a_run_under_shared_everything() {
    use ArchitectureName::SharedEverything as Name;
    ends_with_the_graph::<SharedEverything<LostWakeUp<DlDetect>, Shared>>(Name, ProtocolName::DlDetect);
    ends_with_the_graph::<SharedEverything<LostWakeUp<WaitDie>, Shared>>(Name, ProtocolName::WaitDie);
}

/// Three that wait for each other are overlooked by who looks at the others' digests once.
#[test]
fn a_deadlock_that_is_overlooked_ends_a_run() {
    let pair = |architecture| PairName { architecture, protocol: ProtocolName::Dreadlocks };
    let shared = pair(ArchitectureName::SharedEverything);
    let overlooked = run::<SharedEverything<Detecting<LooksOnce>, Shared>>(shared, 20_000, ring);
    is_told(&overlooked.expect_err("a ring of three"));
    const EACH: u64 = 50;
    let found = run::<SharedEverything<Dreadlocks, Shared>>(shared, EACH, ring);
    assert_eq!(found, Ok(EACH * WORKERS as u64));
    let found = run::<Dora<Dreadlocks>>(pair(ArchitectureName::Dora), EACH, ring);
    assert_eq!(found, Ok(EACH * WORKERS as u64));
}

#[test]
fn a_lost_wake_up_ends_a_run_under_delegation() {
    use ArchitectureName::Delegation as Name;
    ends_with_the_graph::<Delegation<LostWakeUp<DlDetect>>>(Name, ProtocolName::DlDetect);
    ends_with_the_graph::<Delegation<LostWakeUp<WaitDie>>>(Name, ProtocolName::WaitDie);
}

#[test]
fn a_lost_wake_up_ends_a_run_under_dora() {
    use ArchitectureName::Dora as Name;
    ends_with_the_graph::<Dora<LostWakeUp<DlDetect>>>(Name, ProtocolName::DlDetect);
    ends_with_the_graph::<Dora<LostWakeUp<WaitDie>>>(Name, ProtocolName::WaitDie);
}

#[test]
fn a_lost_grant_ends_a_run_under_orthrus() {
    ends_with_the_graph::<Orthrus<LostGrants>>(ArchitectureName::Orthrus, ProtocolName::Unprotected);
}

fn goes_on<P: Protocol>(protocol: ProtocolName)
where
    SharedEverything<P, Shared>: System,
    Delegation<P>: System,
    Dora<P>: System,
{
    const EACH: u64 = 50;
    let pair = |architecture| PairName { architecture, protocol };
    let commits = [
        run::<SharedEverything<P, Shared>>(pair(ArchitectureName::SharedEverything), EACH, same),
        run::<Delegation<P>>(pair(ArchitectureName::Delegation), EACH, same),
        run::<Dora<P>>(pair(ArchitectureName::Dora), EACH, same),
    ];
    assert_eq!(commits, [const { Ok(EACH * WORKERS as u64) }; 3]);
}

#[test]
fn runs_with_long_queues_go_on() {
    goes_on::<DlDetect>(ProtocolName::DlDetect);
    goes_on::<Dreadlocks>(ProtocolName::Dreadlocks);
    goes_on::<WaitDie>(ProtocolName::WaitDie);
}

#[test]
fn a_run_with_long_queues_goes_on_under_orthrus() {
    const EACH: u64 = 50;
    let (architecture, protocol) = (ArchitectureName::Orthrus, ProtocolName::Unprotected);
    let commits = run::<Orthrus<LockTables>>(PairName { architecture, protocol }, EACH, same);
    assert_eq!(commits, Ok(EACH * WORKERS as u64));
}

/// One record, and transactions of which each is older than the next.
struct Scene<P: Locking, F: Physical> {
    common: P::Common<F>,
    meta: Box<u64>,
    stamps: [StampOf<P>; 4],
    wakes: Wakes,
}

impl<P: Locking, F: Physical> Scene<P, F> {
    fn new() -> Self {
        let stamps = [0, 1, 2, 3].map(|number| started::<P>(number).stamp());
        Scene {
            common: P::common(4, 1, &EngineOptions::default()),
            meta: Box::new(0),
            stamps,
            wakes: Wakes::default(),
        }
    }

    fn meta(&self) -> &P::Meta<F> {
        const { assert!(size_of::<P::Meta<F>>() == 8 && align_of::<P::Meta<F>>() <= 8) };
        // SAFETY: eight zeroed bytes, 8-aligned, that live with `self`: valid metadata, which has interior mutability, and
        // the box is never touched otherwise.
        unsafe { &*(&raw const *self.meta).cast() }
    }

    fn request(&self, slot: u32) -> Request<'_, P, F, Wakes> {
        let who =
            Requester { slot: SlotId(slot), partition: 0, access: 0, stamp: self.stamps[slot as usize] };
        RequestWith { common: &self.common, who, waker: &self.wakes }
    }

    fn acquire(&self, slot: u32, mode: Mode) -> Verdict {
        P::acquire(self.meta(), mode, self.request(slot))
    }

    fn waits_for(&self, slot: u32) -> Vec<u32> {
        // SAFETY: it was queued, and the record is there as long as the scene.
        let others = unsafe { P::waits_for(&self.common, SlotId(slot)) };
        let mut others = others.expect("nobody changes the queue meanwhile");
        std::iter::from_fn(|| others.remove_any()).collect()
    }
}

fn who_waits_for_whom<P: Locking, F: Physical>() {
    let scene = Scene::<P, F>::new();
    assert_eq!(scene.acquire(3, Mode::Exclusive), Verdict::Granted);
    assert_eq!(scene.acquire(2, Mode::Shared), Verdict::Queued);
    assert_eq!(scene.acquire(1, Mode::Shared), Verdict::Queued);
    assert_eq!(scene.acquire(0, Mode::Exclusive), Verdict::Queued);
    assert_eq!([2, 1, 0].map(|slot| scene.waits_for(slot)), [vec![3], vec![2, 3], vec![1, 2, 3]]);

    P::release(scene.meta(), Mode::Exclusive, scene.request(3));
    assert_eq!(*scene.wakes.0.borrow(), [2, 1].map(|slot| (SlotId(slot), Wake::Granted)));
    assert_eq!([2, 1, 0].map(|slot| scene.waits_for(slot)), [vec![], vec![], vec![1, 2]]);

    assert_eq!(P::upgrade(scene.meta(), scene.request(1)), Verdict::Queued);
    assert_eq!([1, 0].map(|slot| scene.waits_for(slot)), [vec![2], vec![1, 2]]);

    P::release(scene.meta(), Mode::Shared, scene.request(2));
    assert_eq!([1, 0].map(|slot| scene.waits_for(slot)), [vec![], vec![1]]);

    P::mark_deleted(scene.meta(), scene.request(1));
    assert_eq!(scene.wakes.0.borrow().last(), Some(&(SlotId(0), Wake::Retry)));
    assert_eq!(scene.waits_for(0), [0; 0]);
}

#[test]
fn it_is_known_who_waits_for_whom() {
    who_waits_for_whom::<DlDetect, Shared>();
    who_waits_for_whom::<DlDetect, Owned>();
    who_waits_for_whom::<Dreadlocks, Shared>();
    who_waits_for_whom::<Dreadlocks, Owned>();
    who_waits_for_whom::<WaitDie, Shared>();
    who_waits_for_whom::<WaitDie, Owned>();
}

#[test]
fn a_younger_transaction_that_comes_before_a_waiter_is_waited_for() {
    let scene = Scene::<WaitDie, Shared>::new();
    assert_eq!(scene.acquire(3, Mode::Exclusive), Verdict::Granted);
    assert_eq!(scene.acquire(1, Mode::Shared), Verdict::Queued);
    assert_eq!(scene.waits_for(1), [3]);
    assert_eq!(scene.acquire(2, Mode::Shared), Verdict::Queued);
    assert_eq!([1, 2].map(|slot| scene.waits_for(slot)), [vec![2, 3], vec![3]]);
}
