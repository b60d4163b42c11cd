//! A store of one transaction at a time that writes down what is touched.

#![allow(dead_code)] // Each test binary uses its part.

use contract::{
    Abort, Access, Client, Completion, Direction, Indexing, Insertion, Key, Merge, Outcome, Plan, Presence,
    Procedure, Receipts, Scan, Seat, Span, TableDescription, TableId, Transaction, Workload,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use workloads::Parameters;
use workloads::audit::Audit;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub fn parameters(given: &[(&str, &str)]) -> Parameters {
    given.iter().copied().collect()
}

pub fn seat(worker: usize) -> Seat {
    Seat::new(worker, 4, 42)
}

/// What was done to a row: table, key, bytes, access.
pub type Touched = (u16, u64, (usize, usize), Access);

/// A table, and a key in bytes.
type Place = (TableId, Vec<u8>);
/// A row's words, if there is one.
type Row = Option<Vec<u64>>;

/// Numbers that name byte strings begin here, so that nobody takes them for keys.
const FIRST_NAME: u64 = 1 << 63;

/// A scan that was made.
#[derive(Clone, Debug)]
pub struct Scanned {
    pub table: TableId,
    pub within: Option<Key>,
    pub direction: Direction,
    pub limit: usize,
    /// The keys shown, in bytes.
    pub shown: Vec<Vec<u8>>,
}

/// A workload's tables, loaded row by row as they are touched, or whole.
pub struct Store<'a, W> {
    workload: &'a W,
    tables: Vec<TableDescription>,
    /// Whether keys are rows that are loaded when they are first touched; otherwise all rows are there.
    lazy: bool,
    /// By table and key in bytes. Rows in words, so that they are aligned to eight bytes.
    rows: Vec<BTreeMap<Vec<u8>, Row>>,
    /// The byte strings that keys name, from [`FIRST_NAME`] on, and their names.
    strings: Vec<Vec<u8>>,
    names: HashMap<Vec<u8>, Key>,
    /// What rows were before the transaction under way changed them, oldest first.
    undo: Vec<(Place, Row)>,
    pub log: Vec<Touched>,
    pub scans: Vec<Scanned>,
}

impl<'a, W: Workload> Store<'a, W> {
    pub fn new(workload: &'a W) -> Self {
        let tables = workload.tables();
        Store {
            workload,
            lazy: true,
            rows: vec![BTreeMap::new(); tables.len()],
            tables,
            strings: vec![],
            names: HashMap::new(),
            undo: vec![],
            log: vec![],
            scans: vec![],
        }
    }

    /// With every row loaded, whatever its key.
    pub fn whole(workload: &'a W) -> Self {
        let mut store = Store { lazy: false, ..Store::new(workload) };
        for table in 0..store.tables.len() {
            store.load(TableId(table as u16));
        }
        store
    }

    /// Every row that is loaded, except where there is one already or was one.
    fn load(&mut self, table: TableId) {
        let mut bytes = vec![];
        for row in 0..self.tables[table.index()].rows {
            let key = self.workload.loaded_key(table, row);
            bytes.clear();
            match self.tables[table.index()].indexing {
                Indexing::OrderedBytes { most } => {
                    self.workload.loaded_bytes(table, key, &mut bytes);
                    assert!(bytes.len() <= most);
                }
                _ => bytes.extend(key.bytes()),
            }
            if !self.rows[table.index()].contains_key(&bytes) {
                let row = self.loaded(table, key);
                self.rows[table.index()].insert(bytes.clone(), Some(row));
            } else {
                assert!(self.lazy, "{key:?} of {table:?} twice");
            }
        }
    }

    fn loaded(&self, table: TableId, key: Key) -> Vec<u64> {
        let bytes = self.tables[table.index()].row_bytes;
        let mut row = vec![0u64; bytes.div_ceil(8)];
        self.workload.fill(table, key, &mut row.as_mut_bytes()[..bytes]);
        row
    }

    /// What a key is in bytes.
    fn bytes(&self, table: TableId, key: Key) -> Vec<u8> {
        match self.tables[table.index()].indexing {
            Indexing::OrderedBytes { .. } => self.strings[(key.0 - FIRST_NAME) as usize].clone(),
            _ => key.bytes().to_vec(),
        }
    }

    /// What says where a key lives.
    fn prefix(&self, table: TableId, key: Key) -> Key {
        Key::prefix_of(&self.bytes(table, key))
    }

    /// The row's bytes; `None` if it was never loaded or was deleted.
    pub fn row(&mut self, table: TableId, key: Key) -> Option<&mut [u8]> {
        let row_bytes = self.tables[table.index()].row_bytes;
        let bytes = self.bytes(table, key);
        if self.lazy && !self.rows[table.index()].contains_key(&bytes) {
            let row = (key.0 < self.tables[table.index()].rows).then(|| self.loaded(table, key));
            self.rows[table.index()].insert(bytes.clone(), row);
        }
        self.rows[table.index()].get_mut(&bytes)?.as_mut().map(|row| &mut row.as_mut_bytes()[..row_bytes])
    }

    /// The keys that a table holds, which are numbers, in their order.
    pub fn keys(&self, table: TableId) -> impl Iterator<Item = Key> {
        self.rows[table.index()].iter().filter(|(_, row)| row.is_some()).map(|(key, _)| Key::prefix_of(key))
    }

    /// All rows that a table holds, as `R`, by key in bytes.
    pub fn rows_of<R: FromBytes + KnownLayout + Immutable + 'static>(
        &self,
        table: TableId,
    ) -> impl Iterator<Item = (&[u8], &R)> {
        let row_bytes = self.tables[table.index()].row_bytes;
        self.rows[table.index()].iter().filter_map(move |(key, row)| {
            let row = R::ref_from_bytes(&row.as_ref()?.as_bytes()[..row_bytes]).expect("a row of the table");
            Some((&key[..], row))
        })
    }

    /// Runs one transaction of `client` to its end, as an engine does.
    pub fn run(&mut self, client: &mut W::Client) -> Outcome {
        let procedure = client.next();
        let outcome = self.attempt(&procedure);
        let completion = Completion {
            outcome,
            began_ns: 0,
            ended_ns: 1,
            attempts: 1,
            id: None,
            epoch: None,
            snapshot: None,
            receipts: &NoReceipts,
        };
        client.finished(procedure, &completion);
        outcome
    }

    /// Runs `procedure`, and undoes it if it says so.
    pub fn attempt(&mut self, procedure: &impl Procedure) -> Outcome {
        self.undo.clear();
        let outcome = procedure.run(self).expect("the store never aborts");
        if outcome == Outcome::Rollback {
            self.undo();
        }
        outcome
    }

    /// Forgets what was touched.
    pub fn forget(&mut self) {
        self.log.clear();
        self.scans.clear();
    }

    /// Begins a transaction that is made by hand.
    pub fn begin(&mut self) {
        self.undo.clear();
    }

    /// Takes back what was done since the last transaction began.
    pub fn undo(&mut self) {
        while let Some(((table, key), row)) = self.undo.pop() {
            self.rows[table.index()].insert(key, row);
        }
    }

    /// Lets `client` make `count` transactions, each planned first, and panics if one touches a partition that its plan
    /// does not name. Answers how many rolled back.
    pub fn run_declared(&mut self, client: &mut W::Client, count: usize) -> usize {
        let mut rollbacks = 0;
        for _ in 0..count {
            let procedure = client.next();
            let planned = planned(self, &procedure);
            self.forget();
            let outcome = self.attempt(&procedure);
            assert_declared(self.workload, &self.log, &planned);
            let completion = Completion {
                outcome,
                began_ns: 0,
                ended_ns: 1,
                attempts: 1,
                id: None,
                epoch: None,
                snapshot: None,
                receipts: &NoReceipts,
            };
            client.finished(procedure, &completion);
            rollbacks += usize::from(outcome == Outcome::Rollback);
        }
        rollbacks
    }

    fn remember(&mut self, table: TableId, key: Key) {
        let _ = self.row(table, key);
        let bytes = self.bytes(table, key);
        let row = self.rows[table.index()].get(&bytes).cloned().flatten();
        self.undo.push(((table, bytes), row));
    }

    fn touch(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        access: Access,
        see: impl FnOnce(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.log.push((table.0, self.prefix(table, key).0, (span.start(), span.end()), access));
        if access == Access::Write {
            self.remember(table, key);
        }
        Ok(match self.row(table, key) {
            None => Presence::Missing,
            Some(row) => {
                see(&mut row[span.start()..span.end()]);
                Presence::Present
            }
        })
    }
}

impl<W: Workload> Transaction for Store<'_, W> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.touch(table, key, span, Access::Read, |bytes| see(bytes))
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.touch(table, key, span, Access::Write, change)
    }

    fn update_seeing(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
        shown: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let _ = self.touch(table, key, shown, Access::Read, |bytes| see(bytes))?;
        self.touch(table, key, span, Access::Write, change)
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.touch(table, key, Span::new(offset, bytes.len()), Access::Write, |row| {
            row.copy_from_slice(bytes)
        })
    }

    fn merge(&mut self, _: TableId, _: Key, _: Span, _: Merge, _: &[u8]) -> Result<Presence, Abort> {
        unreachable!("these workloads do not merge")
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let whole = Span::whole(self.tables[table.index()].row_bytes);
        self.read(table, key, whole, see)
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        assert_eq!(row.len(), self.tables[table.index()].row_bytes, "rows are replaced whole");
        self.write(table, key, 0, row)
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        assert_eq!(row.len(), self.tables[table.index()].row_bytes, "rows are inserted whole");
        self.log.push((table.0, self.prefix(table, key).0, (0, row.len()), Access::Structure));
        if self.row(table, key).is_some() {
            return Ok(Insertion::Exists);
        }
        self.remember(table, key);
        let mut words = vec![0u64; row.len().div_ceil(8)];
        words.as_mut_bytes()[..row.len()].copy_from_slice(row);
        let bytes = self.bytes(table, key);
        self.rows[table.index()].insert(bytes, Some(words));
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        let row_bytes = self.tables[table.index()].row_bytes;
        self.log.push((table.0, self.prefix(table, key).0, (0, row_bytes), Access::Structure));
        if self.row(table, key).is_none() {
            return Ok(Presence::Missing);
        }
        self.remember(table, key);
        let bytes = self.bytes(table, key);
        self.rows[table.index()].insert(bytes, None);
        Ok(Presence::Present)
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        match self.tables[table.index()].indexing {
            Indexing::OrderedBytes { most } => assert!(bytes.len() <= most, "{} bytes", bytes.len()),
            other => panic!("keys of table {} are {other:?}", table.0),
        }
        if let Some(key) = self.names.get(bytes) {
            return *key;
        }
        let key = Key(FIRST_NAME + self.strings.len() as u64);
        self.strings.push(bytes.to_vec());
        self.names.insert(bytes.to_vec(), key);
        key
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        let table = self.tables[scan.table.index()].clone();
        assert_ne!(table.indexing, Indexing::Hashed, "table {} has no order", table.name);
        if self.lazy {
            assert!(table.rows <= 100_000, "too many rows to load for a scan");
            self.load(scan.table);
        }
        let mut scanned = Scanned {
            table: scan.table,
            within: scan.within,
            direction: scan.direction,
            limit: scan.limit,
            shown: vec![],
        };
        let range = (scan.from.map(<[u8]>::to_vec), scan.to.map(<[u8]>::to_vec));
        let span = scan.span;
        if !scan.is_empty() && scan.limit > 0 {
            let mut rows = self.rows[scan.table.index()].range(range);
            loop {
                let next = if scan.direction == Direction::Forward { rows.next() } else { rows.next_back() };
                let Some((key, row)) = next else { break };
                let Some(row) = row else { continue };
                see(key, &row.as_bytes()[..table.row_bytes][span.start()..span.end()]);
                scanned.shown.push(key.clone());
                if scanned.shown.len() == scan.limit {
                    break;
                }
            }
        }
        for partitions in [1, 2, 3, 8, 72] {
            let partition = |key| table.partition.of(key, partitions);
            if let Some(within) = scan.within {
                let is_there = |key: &Vec<u8>| partition(Key::prefix_of(key)) == partition(within);
                assert!(scanned.shown.iter().all(is_there), "{scanned:?} is not within one of {partitions}");
            }
        }
        if let Some(within) = scan.within {
            self.log.push((scan.table.0, within.0, (span.start(), span.end()), Access::Read));
        }
        let shown = scanned.shown.len();
        self.scans.push(scanned);
        Ok(shown)
    }
}

/// Reads a store as `count` auditors of `audit` do, in as many rounds as it takes.
pub fn audited<W: Workload, C, A: Audit<C>>(
    audit: &A,
    store: &mut Store<'_, W>,
    count: usize,
) -> Vec<A::Client> {
    let mut auditors: Vec<A::Client> =
        (0..count).map(|worker| audit.client(Seat::new(worker, count, 1))).collect();
    for round in 0.. {
        assert!(round < 10, "an audit without end");
        let transactions = audit.assign(&mut auditors);
        if transactions == 0 {
            break;
        }
        for _ in 0..transactions {
            for auditor in &mut auditors {
                let transaction = auditor.next();
                let outcome = transaction.run(store).expect("the store never aborts");
                let completion = Completion {
                    outcome,
                    began_ns: 0,
                    ended_ns: 1,
                    attempts: 1,
                    id: None,
                    epoch: None,
                    snapshot: None,
                    receipts: &NoReceipts,
                };
                auditor.finished(transaction, &completion);
            }
            store.forget();
        }
    }
    auditors
}

struct NoReceipts;

impl Receipts for NoReceipts {
    fn argument(&self, nth: usize) -> &[u8] {
        unreachable!("argument {nth} of a transaction without merges")
    }
}

/// What the next transaction of `client` plans and what it touches, of which the second is returned once both
/// agree and once a run through the trait object touches the same.
pub fn touched_as_planned<W: Workload>(workload: &W, client: &mut W::Client) -> Vec<Touched> {
    let procedure = client.next();
    let (mut store, mut plan) = (Store::new(workload), Plan::default());
    procedure.plan(&mut store, &mut plan).expect("the store never aborts");
    assert_eq!(store.log, [], "planning looks at nothing");
    let planned: Vec<Touched> = plan
        .keys()
        .iter()
        .map(|key| (key.table.0, key.key.0, (key.span.start(), key.span.end()), key.access))
        .collect();

    assert_eq!(procedure.run(&mut store), Ok(Outcome::Commit));
    assert_eq!(store.log, planned);

    let mut again = Store::new(workload);
    let erased: &mut dyn Transaction = &mut again;
    assert_eq!(procedure.run(erased), Ok(Outcome::Commit));
    assert_eq!(again.log, planned, "a retry repeats the transaction");
    planned
}

/// What `procedure` plans: tables, keys, bytes, accesses.
pub fn planned<W: Workload>(store: &mut Store<'_, W>, procedure: &impl Procedure) -> Vec<Touched> {
    let mut plan = Plan::default();
    procedure.plan(store, &mut plan).expect("the store never aborts");
    plan.keys()
        .iter()
        .map(|key| (key.table.0, key.key.0, (key.span.start(), key.span.end()), key.access))
        .collect()
}

/// Panics unless every partition that `touched` lies in is one that `planned` names, whatever the number of partitions.
pub fn assert_declared<W: Workload>(workload: &W, touched: &[Touched], planned: &[Touched]) {
    let tables = workload.tables();
    for partitions in [1, 2, 3, 8, 72] {
        let partition =
            |touched: &Touched| tables[usize::from(touched.0)].partition.of(Key(touched.1), partitions);
        let declared: HashSet<_> = planned.iter().map(partition).collect();
        for one in touched {
            assert!(
                declared.contains(&partition(one)),
                "{one:?} is in none of the partitions of {planned:?}"
            );
        }
    }
}

/// The touches of `count` transactions of the client in seat 0.
pub fn transactions<W: Workload>(workload: &W, count: usize) -> Vec<Vec<Touched>> {
    let mut client = workload.client(seat(0));
    (0..count).map(|_| touched_as_planned(workload, &mut client)).collect()
}

/// How many standard deviations `hits` of `trials` are off a share of `percent`.
pub fn deviation(hits: usize, trials: usize, percent: f64) -> f64 {
    let (trials, share) = (trials as f64, percent / 100.0);
    (hits as f64 - trials * share).abs() / (trials * share * (1.0 - share)).sqrt()
}
