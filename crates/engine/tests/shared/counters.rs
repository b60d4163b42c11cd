//! Single records: who has no transactions must lose no write, and show no row torn.
//!
//! Counters in rows of several lines, every word of which is the count. Some transactions add to one, by an update or without reading it; some
//! read one; some roll back.

use contract::{
    Abort, Client, Completion, Engine, EngineOptions, Indexing, Key, Outcome, PairName, PartitionFunction,
    Procedure, RowLength, Seat, Span, TableDescription, TableId, Transaction, Until, Workload,
};
use std::cell::Cell;

const T: TableId = TableId(0);
const ROW: usize = 160;
/// Few, so that they meet.
const ROWS: u64 = 3;

fn count_of(row: &[u8]) -> u64 {
    let words = || row.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    let first = words().next().expect("a row has words");
    assert!(words().all(|word| word == first), "a torn row: {row:?}");
    first
}

fn add_one(row: &mut [u8], _: &mut [u8]) {
    let count = count_of(row) + 1;
    row.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&count.to_le_bytes()));
}

pub struct Counters;

pub struct Counter {
    /// Whether it does nothing but read.
    only_reads: bool,
    random: fastrand::Rng,
    /// What its committed transactions have added to each row.
    added: [u64; ROWS as usize],
    /// The most that it has seen of each.
    seen: [u64; ROWS as usize],
    /// Of its transactions that have seen what was there: row, what was there, whether it wrote, and its id.
    ids: Vec<(u64, u64, bool, u64)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Read,
    Update,
    Merge,
    RollBack,
}

pub struct Touch {
    row: u64,
    step: Step,
    found: Cell<u64>,
}

impl Procedure for Touch {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        let (key, span) = (Key(self.row), Span::whole(ROW));
        let _ = match self.step {
            Step::Read => txn.read(T, key, span, &mut |row| self.found.set(count_of(row)))?,
            Step::Update | Step::RollBack => txn.update(T, key, span, &mut |row| {
                self.found.set(count_of(row));
                add_one(row, &mut []);
            })?,
            Step::Merge => txn.merge(T, key, span, add_one, &[])?,
        };
        Ok(if self.step == Step::RollBack { Outcome::Rollback } else { Outcome::Commit })
    }
}

impl Client for Counter {
    type Procedure = Touch;

    fn next(&mut self) -> Touch {
        let steps = [Step::Read, Step::Read, Step::Update, Step::Merge, Step::RollBack];
        let step = if self.only_reads { Step::Read } else { steps[self.random.usize(0..5)] };
        Touch { row: self.random.u64(0..ROWS), step, found: Cell::new(0) }
    }

    fn finished(&mut self, touch: Touch, completion: &Completion<'_>) {
        let (row, found) = (touch.row as usize, touch.found.get());
        let writes = matches!(touch.step, Step::Update | Step::Merge);
        self.added[row] += u64::from(writes);
        if touch.step != Step::Merge {
            assert!(found >= self.seen[row], "a counter goes back");
            self.seen[row] = found + u64::from(writes);
        }
        if let (Some(id), Step::Read | Step::Update) = (completion.id, touch.step) {
            self.ids.push((touch.row, found, writes, id.0));
        }
    }
}

impl Workload for Counters {
    type Client = Counter;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "counters",
            row_bytes: ROW,
            length: RowLength::Fixed,
            kept_bytes: ROW,
            rows: ROWS,
            capacity: ROWS,
            indexing: Indexing::Ordered,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> Counter {
        let random = fastrand::Rng::with_seed(seat.seed * 1000 + seat.worker as u64);
        Counter {
            only_reads: false,
            random,
            added: [0; ROWS as usize],
            seen: [0; ROWS as usize],
            ids: Vec::new(),
        }
    }
}

/// Runs single records of the pair, and looks at what was done: see [`count_by`].
pub fn count<E: Engine>(pair: PairName, workers: usize, transactions: u64, seed: u64) -> u64 {
    let run = |store: &mut E::Store, clients, until, options: &EngineOptions| {
        E::run_checked(store, pair.into(), clients, until, options).expect("it runs").clients
    };
    count_by::<E>(pair, workers, transactions, seed, run)
}

/// Lets `run` run them over a store of the pair's layout, and panics if a write was lost, a row torn, or an id out of order. Answers how many
/// different counts were seen.
pub fn count_by<E: Engine>(
    pair: PairName,
    workers: usize,
    transactions: u64,
    seed: u64,
    run: impl Fn(&mut E::Store, Vec<Counter>, Until, &EngineOptions) -> Vec<Counter>,
) -> u64 {
    let options = EngineOptions { single_records: true, commit_ids: true, seed, ..EngineOptions::default() };
    let layout = E::arrange(pair, workers, &options).expect("of single records").layout;
    let mut store = E::load(&Counters, layout, &|_| ()).expect("a small table");
    let clients = (0..workers).map(|worker| Counters.client(Seat::new(worker, workers, seed))).collect();
    let clients = run(&mut store, clients, Until::Transactions(transactions), &options);
    let sums = |row: usize| clients.iter().map(|client| client.added[row]).sum::<u64>();
    let reader = Counter { only_reads: true, ..Counters.client(Seat::new(0, 1, seed)) };
    let last = run(&mut store, vec![reader], Until::Transactions(100), &options).remove(0);
    for row in 0..ROWS as usize {
        assert_eq!(last.seen[row], sums(row), "row {row}: a lost write");
    }
    // The order in which they took effect: who read what was there, who wrote upon it, who read that.
    let mut ids: Vec<_> = clients.iter().flat_map(|client| client.ids.iter().copied()).collect();
    ids.sort_unstable();
    let mut met = 0;
    for pair in ids.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        // Two that read the same do not conflict, and may have the same id.
        let conflict = pair[0].1 < pair[1].1 || pair[0].2 || pair[1].2;
        let is_in_order = if conflict { pair[0].3 < pair[1].3 } else { pair[0].3 <= pair[1].3 };
        assert!(is_in_order, "ids against the order: {pair:?}");
        met += u64::from(pair[0].1 < pair[1].1);
    }
    assert_eq!(E::leak_check(&store).held, 0);
    met
}
