//! `Checked<W>`: the workload W with a stamp at the end of every row and a log in every transaction.
//!
//! It is a workload like any other, so whatever runs W runs `Checked<W>`, through the same copy, undo and
//! install paths. Nothing in it asks the engine what it did: what was seen is read from the rows.

use crate::history::{Ending, History, WorkerHistory};
use crate::key_names::{KeyNames, name_of};
use crate::layout::Layouts;
use crate::log::{FRAGMENT_BYTES, Log};
use crate::recording::Recording;
use crate::version::{MOST_TRANSACTIONS, MOST_WORKERS, Stamp};
use contract::telling::{tell, told};
use contract::{
    Abort, Arrival, Client, Completion, Key, Outcome, Plan, Procedure, Seat, TableDescription, TableId,
    Transaction, Workload,
};
use std::cell::Cell;

/// What a delete leaves in a checked run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletes {
    /// The workload deletes nothing: one that does panics. Blind writes stay blind.
    None,
    /// The row stays, with a stamp that says that it is dead, and later versions name the delete that they
    /// replaced. Blind writes look at the stamp first, for the engine would answer `Present` for a tombstone; scans are
    /// shown tombstones, and do not pass them on.
    Tombstones,
    /// The row goes, so that unlinking and reclaiming are exercised. For workloads in which a key is inserted at
    /// most once or deleted at most once in a run: then a miss says which state it saw. The checker asserts it.
    Real,
}

/// A workload whose runs can be judged.
#[derive(Debug)]
pub struct Checked<W> {
    inner: W,
    deletes: Deletes,
    tables: Vec<TableDescription>,
    layouts: Layouts,
}

impl<W: Workload> Checked<W> {
    /// Wraps a workload.
    pub fn new(inner: W, deletes: Deletes) -> Self {
        let mut tables = inner.tables();
        let layouts = Layouts::of(&tables);
        for (table, description) in tables.iter_mut().enumerate() {
            description.row_bytes = layouts.table(TableId(table as u16)).stamped_bytes;
            // The checker judges from what rows hold.
            description.kept_bytes = description.row_bytes;
        }
        Checked { inner, deletes, tables, layouts }
    }

    /// The workload inside.
    pub fn inner(&self) -> &W {
        &self.inner
    }

    /// What the clients of a finished run recorded, and the workload's own clients. The history still lacks
    /// its end: see [`crate::FinalRead`].
    pub fn history(&self, clients: Vec<CheckedClient<W::Client>>) -> (History, Vec<W::Client>) {
        let tables = self.tables.iter().map(|table| table.name.to_owned()).collect();
        let mut history = History { tables, ..History::default() };
        let mut inner = Vec::with_capacity(clients.len());
        for client in clients {
            history.workers.push(client.history);
            history.names.absorb(client.names);
            inner.push(client.inner);
        }
        for table in (0..self.tables.len() as u16).map(TableId) {
            self.add_loaded(table, &mut history);
        }
        (history, inner)
    }

    /// Tells the history of the loaded keys of a table that its scans covered.
    fn add_loaded(&self, table: TableId, history: &mut History) {
        let mut scans = history.workers.iter().flat_map(|worker| &worker.scans);
        if scans.all(|scan| scan.table != table) {
            return;
        }
        let mut keys: Vec<(Vec<u8>, Key)> = Vec::new();
        self.for_each_loaded(table, |key, bytes| keys.push((bytes.to_vec(), key)));
        keys.sort_unstable();
        // By position, how many more scans cover it than cover the one before.
        let mut begins = vec![0_i64; keys.len() + 1];
        let scans = history.workers.iter().flat_map(|worker| &worker.scans);
        for scan in scans.filter(|scan| scan.table == table) {
            let covered = scan.covered(&keys, |(bytes, _)| bytes);
            begins[covered.start] += 1;
            begins[covered.end] -= 1;
        }
        let mut covering = 0;
        for ((bytes, key), begins) in keys.iter().zip(begins) {
            covering += begins;
            if covering > 0 {
                history.loaded.push((table, *key));
                if self.layouts.table(table).has_strings {
                    history.names.keep(table, *key, bytes);
                }
            }
        }
    }

    /// The loaded keys of a table, as the history calls them, with their bytes.
    pub(crate) fn for_each_loaded(&self, table: TableId, mut visit: impl FnMut(Key, &[u8])) {
        let mut bytes = Vec::new();
        for row in 0..self.tables[table.index()].rows {
            let key = self.inner.loaded_key(table, row);
            if !self.layouts.table(table).has_strings {
                visit(key, &key.bytes());
                continue;
            }
            bytes.clear();
            self.inner.loaded_bytes(table, key, &mut bytes);
            visit(name_of(&bytes), &bytes);
        }
    }
}

impl<W: Workload> Workload for Checked<W> {
    type Client = CheckedClient<W::Client>;

    fn tables(&self) -> Vec<TableDescription> {
        self.tables.clone()
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        self.inner.loaded_key(table, row)
    }

    fn loaded_bytes(&self, table: TableId, key: Key, bytes: &mut Vec<u8>) {
        self.inner.loaded_bytes(table, key, bytes);
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        self.inner.fill(table, key, &mut row[..self.layouts.table(table).bytes]);
        Stamp::LOADED.put(row);
    }

    fn fill_varying(&self, table: TableId, key: Key, row: &mut Vec<u8>) {
        self.inner.fill_varying(table, key, row);
        row.extend([0; Stamp::BYTES]);
        Stamp::LOADED.put(row);
    }

    fn client(&self, seat: Seat) -> Self::Client {
        assert!(seat.worker < MOST_WORKERS, "a checked run has at most {MOST_WORKERS} workers");
        CheckedClient {
            inner: self.inner.client(seat),
            worker: seat.worker,
            deletes: self.deletes,
            layouts: self.layouts.clone(),
            pool: Vec::new(),
            history: WorkerHistory::default(),
            names: KeyNames::default(),
        }
    }
}

/// The workload's client, and what its transactions saw and wrote.
#[derive(Debug)]
pub struct CheckedClient<C> {
    inner: C,
    worker: usize,
    deletes: Deletes,
    layouts: Layouts,
    #[expect(
        clippy::vec_box,
        reason = "a log moves into a procedure and back: by its address, not its bytes"
    )]
    pool: Vec<Box<Log>>,
    history: WorkerHistory,
    /// The keys that are byte strings and that its transactions met.
    names: KeyNames,
}

impl<C: Client> Client for CheckedClient<C> {
    type Procedure = CheckedProcedure<C::Procedure>;

    fn arrival(&mut self) -> Arrival {
        self.inner.arrival()
    }

    fn next(&mut self) -> Self::Procedure {
        let number = self.history.issued + 1;
        assert!(
            number <= MOST_TRANSACTIONS,
            "a checked run has at most {MOST_TRANSACTIONS} transactions a worker"
        );
        self.history.issued = number;
        let mut log = self.take_log();
        log.begin_transaction(number);
        CheckedProcedure { inner: self.inner.next(), log: Cell::new(Some(log)) }
    }

    fn finished(&mut self, procedure: Self::Procedure, completion: &Completion<'_>) {
        let mut log = procedure.log.into_inner().expect("a procedure that ended holds its log");
        if completion.outcome == Outcome::Commit {
            log.take_receipts(completion.receipts);
        }
        let ending = Ending {
            number: log.number(),
            attempts: log.attempts(),
            began_ns: completion.began_ns,
            ended_ns: completion.ended_ns,
            outcome: completion.outcome,
            id: completion.id,
            epoch: completion.epoch,
            snapshot: completion.snapshot,
        };
        self.history.push_with_scans(ending, log.operations(), log.scans());
        log.named().for_each(|(table, key, bytes)| self.names.keep(table, key, bytes));
        self.inner.finished(procedure.inner, &Completion { receipts: &*log, ..*completion });
        log.end_transaction();
        self.pool.push(log);
    }

    fn durable(&mut self, epoch: u64) {
        self.inner.durable(epoch);
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<Self::Procedure> {
        let (writer, bytes) = bytes.split_first_chunk::<FRAGMENT_BYTES>()?;
        let mut log = self.take_log();
        log.begin_fragment(writer);
        match self.inner.decode(bytes) {
            Some(inner) => Some(CheckedProcedure { inner, log: Cell::new(Some(log)) }),
            None => {
                self.pool.push(log);
                None
            }
        }
    }

    fn take_back(&mut self, fragment: Self::Procedure) {
        let mut log = fragment.log.into_inner().expect("a procedure that ended holds its log");
        log.end_fragment();
        self.pool.push(log);
        self.inner.take_back(fragment.inner);
    }

    fn tell(&self, into: &mut Vec<u8>) {
        let mut inner = Vec::new();
        self.inner.tell(&mut inner);
        let names: Vec<_> = self.names.iter().collect();
        tell(&(&self.history, names, inner), into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        let (history, names, inner): (_, Vec<Named>, Vec<u8>) = told(heard)?;
        self.history = history;
        names.iter().for_each(|(table, key, bytes)| self.names.keep(*table, *key, bytes));
        self.inner.hear(&inner)
    }
}

/// A key that is a byte string: its table, its name, and its bytes.
type Named = (TableId, Key, Vec<u8>);

impl<C> CheckedClient<C> {
    /// Allocates only until as many logs are about as the worker has transactions and fragments in flight.
    fn take_log(&mut self) -> Box<Log> {
        let spare = self.pool.pop();
        spare.unwrap_or_else(|| Box::new(Log::new(self.worker, self.layouts.clone(), self.deletes)))
    }
}

/// The workload's procedure with a log.
pub struct CheckedProcedure<P> {
    inner: P,
    /// Out only while the procedure runs: it is owned by the running attempt, and nothing is borrowed across
    /// a suspension.
    log: Cell<Option<Box<Log>>>,
}

impl<P> CheckedProcedure<P> {
    fn with_log<R>(&self, work: impl FnOnce(&mut Log) -> R) -> R {
        let mut log = self.log.take().expect("a procedure runs once at a time");
        let result = work(&mut log);
        self.log.set(Some(log));
        result
    }
}

impl<P: Procedure> Procedure for CheckedProcedure<P> {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        self.with_log(|log| {
            log.begin_attempt();
            self.inner.run(&mut Recording { txn, log })
        })
    }

    fn plan<T: Transaction + ?Sized>(&self, txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        self.with_log(|log| {
            let mut narrow = std::mem::take(&mut log.plan);
            narrow.clear();
            // What the look notes is forgotten when the attempt begins.
            let planned = self.inner.plan(&mut Recording { txn, log }, &mut narrow);
            for key in narrow.keys() {
                let wide = log.layouts.table(key.table).widened(key.span);
                plan.touch(key.table, key.key, wide, key.access);
            }
            if narrow.is_open() {
                plan.leave_open();
            }
            narrow.ranges().iter().for_each(|range| plan.range(*range));
            log.plan = narrow;
            planned
        })
    }

    fn reads_snapshot(&self) -> bool {
        self.inner.reads_snapshot()
    }

    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        self.inner.runs_in_fragments(at)
    }

    fn home_of_fragments(&self) -> Option<(TableId, Key)> {
        self.inner.home_of_fragments()
    }

    /// Whose stamps a fragment leaves, and the procedure inside.
    fn encode(&self, into: &mut Vec<u8>) {
        self.with_log(|log| into.extend_from_slice(&log.fragment()));
        self.inner.encode(into);
    }
}
