//! Transactions of chosen writes, over a table of either kind, by the first worker; the others only read.

use contract::{
    Abort, Arrangement, Client, CommitId, Completion, Engine, EngineOptions, Indexing, Insertion, Key,
    Layout, LeakCheck, Outcome, PairName, PartitionFunction, Plan, Presence, Procedure, RowLength, RunError,
    Seat, Selection, Span, TableDescription, TableId, Transaction, Until, Workload,
};
use std::collections::BTreeMap;
use std::sync::Mutex;

pub const WORKERS: usize = 3;
/// Keys below this are loaded.
pub const LOADED: u64 = 12;
/// Keys are below this.
const KEYS: u64 = 24;
const ROW_BYTES: usize = 16;

/// The tables: a hashed one and an ordered one.
pub const TABLES: [TableId; 2] = [TableId(0), TableId(1)];

/// Rows by key.
pub type Rows = BTreeMap<u64, [u8; ROW_BYTES]>;

/// A write of a key's row.
#[derive(Clone, Copy, Debug)]
pub enum Write {
    Insert(u64),
    /// Of the row's first half.
    Blind(u64),
    /// Adds one to every byte of the second half.
    Update(u64),
    /// Adds one to every byte of the row, at install where writes are installed.
    Merge(u64),
    Delete(u64),
    /// Overwrites half of what it is shown, and panics.
    Panic(u64),
    /// Writes nothing, and panics when the transaction plans.
    PanicWhenPlanned,
    /// Writes nothing, and panics when the transaction is asked whether it runs in fragments.
    PanicWhenAsked,
    /// Writes nothing, and panics when the transaction is encoded.
    PanicWhenSent,
    /// Writes nothing, and lets this go on for ever.
    Never(fn()),
}

fn add_one(row: &mut [u8], _: &mut [u8]) {
    row.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
}

fn panic_half_way(row: &mut [u8], argument: &mut [u8]) {
    let half = row.len() / 2;
    row[..half].fill(0xEE);
    argument.fill(0xEE);
    panic!("a merge that panics");
}

impl Write {
    /// For another instance; what never ends is not sent there.
    fn encoded(self) -> [u8; 2] {
        match self {
            Write::Insert(key) => [0, key as u8],
            Write::Blind(key) => [1, key as u8],
            Write::Update(key) => [2, key as u8],
            Write::Merge(key) => [3, key as u8],
            Write::Delete(key) => [4, key as u8],
            Write::Panic(key) => [5, key as u8],
            Write::PanicWhenSent => panic!("one that panics before it is sent"),
            Write::PanicWhenPlanned | Write::PanicWhenAsked | Write::Never(_) => {
                unreachable!("it runs at home")
            }
        }
    }

    fn decoded([kind, key]: [u8; 2]) -> Write {
        let of = [Write::Insert, Write::Blind, Write::Update, Write::Merge, Write::Delete, Write::Panic];
        of[usize::from(kind)](key.into())
    }

    fn make<X: Transaction + ?Sized>(self, table: TableId, txn: &mut X) -> Result<(), Abort> {
        let (whole, second) = (Span::whole(ROW_BYTES), Span::new(ROW_BYTES / 2, ROW_BYTES / 2));
        let presence = match self {
            Write::Insert(key) => {
                assert_eq!(txn.insert(table, Key(key), &[key as u8; ROW_BYTES])?, Insertion::Inserted);
                return Ok(());
            }
            Write::Blind(key) => txn.write(table, Key(key), 0, &[0xBB; ROW_BYTES / 2])?,
            Write::Update(key) => txn.update(table, Key(key), second, &mut |row| add_one(row, &mut []))?,
            Write::Merge(key) => txn.merge(table, Key(key), whole, add_one, &[0])?,
            Write::Delete(key) => txn.delete(table, Key(key))?,
            Write::PanicWhenPlanned | Write::PanicWhenAsked | Write::PanicWhenSent => return Ok(()),
            Write::Never(ends) => loop {
                ends();
            },
            Write::Panic(key) => txn.merge(table, Key(key), whole, panic_half_way, &[0])?,
        };
        assert_eq!(presence, Presence::Present, "{self:?}");
        Ok(())
    }
}

/// One transaction: some writes, or if there are none, a look at all rows.
pub struct Writes {
    table: TableId,
    writes: Vec<Write>,
    seen: Mutex<Rows>,
}

impl Procedure for Writes {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        self.writes.iter().try_for_each(|write| write.make(self.table, txn))?;
        if self.writes.is_empty() {
            let mut seen = Rows::new();
            for key in 0..KEYS {
                let mut row = [0; ROW_BYTES];
                let look = &mut |bytes: &[u8]| row.copy_from_slice(bytes);
                if txn.read(self.table, Key(key), Span::whole(ROW_BYTES), look)? == Presence::Present {
                    seen.insert(key, row);
                }
            }
            *self.seen.lock().expect("one worker") = seen;
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        (0..KEYS).for_each(|key| plan.declare(self.table, Key(key)));
        let panics = |write: &Write| matches!(write, Write::PanicWhenPlanned);
        assert!(!self.writes.iter().any(panics), "one that panics while it plans");
        Ok(())
    }

    /// What panics does so in fragments, too, and on zeros, against what is promised: that is what is tried.
    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        (0..KEYS).for_each(|key| at(self.table, Key(key)));
        let panics = |write: &Write| matches!(write, Write::PanicWhenAsked);
        assert!(!self.writes.iter().any(panics), "one that panics before it is sent");
        !self.writes.iter().any(|write| matches!(write, Write::Never(_)))
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.writes.iter().flat_map(|write| write.encoded()));
    }
}

/// Makes one of its transactions after the other, and then the first again.
pub struct WritesClient {
    table: TableId,
    scripts: Vec<Vec<Write>>,
    drawn: usize,
    seen: Rows,
    /// Of its commits, where there are any.
    ids: Vec<CommitId>,
}

impl Client for WritesClient {
    type Procedure = Writes;

    fn next(&mut self) -> Writes {
        let writes = self.scripts[self.drawn % self.scripts.len()].clone();
        self.drawn += 1;
        Writes { table: self.table, writes, seen: Mutex::default() }
    }

    fn finished(&mut self, writes: Writes, completion: &Completion<'_>) {
        self.seen = writes.seen.into_inner().expect("one worker");
        self.ids.extend(completion.id);
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<Writes> {
        let (writes, _) = bytes.as_chunks();
        let writes = writes.iter().map(|write| Write::decoded(*write)).collect();
        Some(Writes { table: self.table, writes, seen: Mutex::default() })
    }
}

struct Loading;

impl Workload for Loading {
    type Client = WritesClient;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |(name, indexing)| TableDescription {
            name,
            row_bytes: ROW_BYTES,
            length: RowLength::Fixed,
            kept_bytes: ROW_BYTES,
            rows: LOADED,
            capacity: KEYS,
            indexing,
            partition: PartitionFunction::Remainder,
        };
        [("hashed", Indexing::Hashed), ("ordered", Indexing::Ordered)].map(table).into()
    }

    fn fill(&self, _: TableId, key: Key, row: &mut [u8]) {
        row.fill(key.0 as u8);
    }

    fn client(&self, _: Seat) -> WritesClient {
        unreachable!("clients are made for a table and their transactions")
    }
}

/// One transaction at a time: each slot has memory of its own.
fn one_at_a_time() -> EngineOptions {
    EngineOptions { in_flight: 1.into(), ..EngineOptions::default() }
}

/// A loaded store, and how to run over it.
pub struct Loaded<E: Engine> {
    store: E::Store,
    pair: PairName,
    pub options: EngineOptions,
    layout: Layout,
    clients: usize,
    /// Of the last run, by worker.
    pub ids: Vec<Vec<CommitId>>,
    /// After the last run.
    pub record_bytes: u64,
}

impl<E: Engine> Loaded<E> {
    pub fn load(pair: PairName) -> Self {
        Self::load_with(pair, one_at_a_time())
    }

    /// With snapshots of every epoch, where the pair can have them.
    pub fn load_with_snapshots(pair: PairName) -> Option<Self> {
        let options = EngineOptions { snapshots: true, snapshot_every: 1, ..one_at_a_time() };
        let loaded = Self::load_with(pair, options);
        (loaded.layout.snapshot_every > 0).then_some(loaded)
    }

    pub fn load_with(pair: PairName, options: EngineOptions) -> Self {
        let arrangement = E::arrange(pair, WORKERS, &options);
        let Arrangement { layout, clients, .. } = arrangement.expect("the defaults fit");
        let store = E::load(&Loading, layout, &|_| ()).expect("small tables");
        Loaded { store, pair, options, layout, clients, ids: Vec::new(), record_bytes: 0 }
    }

    /// Lets the first worker make `transactions` transactions, those of `scripts`, while the others look; answers the rows that
    /// its last one saw.
    pub fn run(
        &mut self,
        table: TableId,
        scripts: &[Vec<Write>],
        transactions: u64,
    ) -> Result<Rows, RunError> {
        self.run_all(table, |worker| if worker == 0 { scripts.to_vec() } else { vec![vec![]] }, transactions)
    }

    /// Lets every worker make `transactions` transactions; answers the rows that the first one's last saw.
    pub fn run_all(
        &mut self,
        table: TableId,
        scripts: impl Fn(usize) -> Vec<Vec<Write>>,
        transactions: u64,
    ) -> Result<Rows, RunError> {
        let client = |worker| {
            let scripts = scripts(worker);
            WritesClient { table, scripts, drawn: 0, seen: Rows::new(), ids: Vec::new() }
        };
        let clients = (0..self.clients).map(client).collect();
        let (selection, until) = (Selection::Pair(self.pair), Until::Transactions(transactions));
        let mut run = E::run_checked(&mut self.store, selection, clients, until, &self.options)?;
        self.record_bytes = run.measurement.record_bytes;
        self.ids = run.clients.iter_mut().map(|client| std::mem::take(&mut client.ids)).collect();
        Ok(run.clients.into_iter().next().expect("the first worker").seen)
    }

    /// All rows, as a transaction sees them.
    pub fn rows(&mut self, table: TableId) -> Rows {
        self.run(table, &[vec![]], 1).expect("it only reads")
    }

    pub fn leak_check(&self) -> LeakCheck {
        E::leak_check(&self.store)
    }
}
