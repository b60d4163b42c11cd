//! A fake engine and a fake workload for the harness's own tests.
//!
//! The engine keeps rows in a `HashMap` and runs its clients by turns on one thread, so every run is serial. To have
//! something to report, the fake `silo` aborts every fourth transaction once, and what is not shared-everything sends
//! two messages a transaction.

use contract::*;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use workloads::audit::{Audited, Unaudited};

/// What the fake engine says of the pairs that it does not have.
pub const WHY_NOT: &str = "the fake engine does without";

/// The most workers that the fake engine takes.
pub const MOST_WORKERS: usize = 8;

/// A row's place.
type Place = (TableId, Key);

/// Rows by table and key.
pub struct Store {
    rows: HashMap<Place, Vec<u8>>,
    runs: u64,
}

/// A fake engine. `REPEATS`: it says that it repeats bit for bit. `ROOM`: bytes of memory that it has for stores.
pub struct Mock<const REPEATS: bool, const ROOM: u64>;

/// The fake engine.
pub type MockEngine = Mock<false, { u64::MAX }>;

impl<const REPEATS: bool, const ROOM: u64> Engine for Mock<REPEATS, ROOM> {
    type Store = Store;

    const REPEATS: bool = REPEATS;

    fn available_bytes() -> u64 {
        ROOM
    }

    fn needed_bytes(tables: &[TableDescription], _: Layout) -> u64 {
        tables.iter().map(|table| 8 * table.rows).sum()
    }

    fn support(selection: impl Into<Selection>) -> Support {
        use ArchitectureName as A;
        use ProtocolName as P;
        let pair = selection.into().pair();
        match (pair.architecture, pair.protocol) {
            (A::SharedEverything, P::NoWait | P::DlDetect | P::Silo)
            | (A::Delegation | A::AsymmetricDelegation, P::NoWait) => Support::Supported,
            _ => Support::Unsupported { why: WHY_NOT },
        }
    }

    /// Delegation has a partition a worker; asymmetric-delegation shares its layout with shared-everything, and needs
    /// two workers.
    fn arrange(
        selection: impl Into<Selection>,
        workers: usize,
        options: &EngineOptions,
    ) -> Result<Arrangement, Misfit> {
        let architecture = selection.into().architecture();
        let (partitions, clients) = match architecture {
            ArchitectureName::Delegation => (workers, workers),
            ArchitectureName::AsymmetricDelegation => {
                let (option, value) = match workers {
                    1 => ("workers", workers),
                    _ => ("servers", options.servers),
                };
                if options.servers >= workers {
                    return Err(Misfit { option, value: value.to_string(), allowed: "others".to_owned() });
                }
                (options.servers, workers - options.servers)
            }
            _ => (1, workers),
        };
        let instances = match architecture {
            ArchitectureName::SharedEverything => options.instances_among(workers, &[Site::ONLY])?,
            _ => 1,
        };
        let partitions = (partitions * instances) as u32;
        let layout = Layout::of(partitions).with_instances(instances as u32);
        Ok(Arrangement { layout, clients, homes: partitions })
    }

    fn most_workers(_: ArchitectureName) -> usize {
        MOST_WORKERS
    }

    fn load<W: Workload>(
        workload: &W,
        _: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Store, LoadError> {
        let mut rows = HashMap::new();
        for (id, table) in (0..).zip(workload.tables()) {
            if table.rows > 1_000_000 {
                let needed_bytes = table.rows * table.row_bytes as u64;
                return Err(LoadError::Memory { needed_bytes, available_bytes: 1 << 30 });
            }
            for row in 0..table.rows {
                let key = workload.loaded_key(TableId(id), row);
                let mut content = Vec::new();
                match table.varies() {
                    true => workload.fill_varying(TableId(id), key, &mut content),
                    false => {
                        content.resize(table.row_bytes, 0);
                        workload.fill(TableId(id), key, &mut content);
                    }
                }
                rows.insert((TableId(id), key), content);
            }
            progress(table.rows);
        }
        Ok(Store { rows, runs: 0 })
    }

    fn run_erased(
        store: &mut Store,
        selection: Selection,
        clients: Vec<ErasedClient>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<ErasedClient>, RunError> {
        Self::run(store, selection, clients, until, options)
    }

    fn run<C: Client>(
        store: &mut Store,
        selection: Selection,
        mut clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Result<RunOutcome<C>, RunError> {
        let fickle = matches!(selection, Selection::Pair(PairName { protocol: ProtocolName::Silo, .. }));
        let messages = if selection.architecture() == ArchitectureName::SharedEverything { 0 } else { 2 };
        let mut tally = Tally::new(clients.len(), store.runs);
        store.runs += 1;
        while !tally.over(until) {
            for (worker, client) in clients.iter_mut().enumerate() {
                tally.run(store, worker, client, fickle);
            }
        }
        tally.measurement.effort.messages = messages * tally.transactions;
        if options.series {
            tally.measurement.series = Some(Series::of(Duration::from_secs(1), Duration::from_millis(100)));
        }
        let measurement = tally.measurement;
        Ok(RunOutcome { clients, measurement, log_failure: None, clocks: Clocks::default() })
    }

    fn leak_check(store: &Store) -> LeakCheck {
        let linked_records = store.rows.len() as u64;
        LeakCheck {
            linked_records,
            allocated_records: linked_records,
            linked_values: 0,
            allocated_values: 0,
            held: 0,
            memory_bytes: 8 * linked_records,
            ..LeakCheck::default()
        }
    }
}

struct Tally {
    began: Instant,
    transactions: u64,
    measurement: Measurement,
}

impl Tally {
    fn new(workers: usize, runs: u64) -> Tally {
        Tally {
            began: Instant::now(),
            transactions: 0,
            measurement: Measurement {
                commits_by_worker: vec![0; workers],
                time_share: TimeShare { ns: [60, 10, 0, 15, 0, 15], samples: 0 },
                // The more runs, the faster: a little.
                ..Measurement::nothing(Duration::from_secs_f64(1.0 / (1.0 + runs as f64 / 1000.0)), workers)
            },
        }
    }

    fn over(&self, until: Until) -> bool {
        let most = match until {
            Until::Interval { .. } => 100,
            Until::Transactions(by_worker) => by_worker,
        };
        self.transactions >= most * self.measurement.commits_by_worker.len() as u64
    }

    fn run<C: Client>(&mut self, store: &mut Store, worker: usize, client: &mut C, fickle: bool) {
        let began_ns = self.began.elapsed().as_nanos() as u64;
        self.transactions += 1;
        if fickle && self.transactions.is_multiple_of(4) {
            self.measurement.aborts[AbortReason::ReadValidation.index()] += 1;
        }
        let procedure = client.next();
        let mut txn = MockTransaction { store, receipts: Vec::new(), undo: Vec::new() };
        let outcome = procedure.run(&mut txn).expect("a serial run has no reason to abort");
        if outcome == Outcome::Rollback {
            txn.roll_back();
        }
        let receipts = txn.receipts;
        let ended_ns = self.began.elapsed().as_nanos() as u64;
        match outcome {
            Outcome::Commit => {
                self.measurement.commits += 1;
                self.measurement.commits_by_worker[worker] += 1;
                self.measurement.latency_ns.saturating_record((ended_ns - began_ns).max(1));
                self.measurement.response.add((ended_ns - began_ns).max(1));
            }
            Outcome::Rollback => self.measurement.user_rollbacks += 1,
        }
        self.measurement.time_share.samples += 1;
        let receipts = &MockReceipts(receipts);
        client.finished(
            procedure,
            &Completion {
                outcome,
                began_ns,
                ended_ns,
                attempts: 1,
                id: None,
                epoch: None,
                snapshot: None,
                receipts,
            },
        );
    }
}

struct MockReceipts(Vec<Vec<u8>>);

impl Receipts for MockReceipts {
    fn argument(&self, nth: usize) -> &[u8] {
        &self.0[nth]
    }
}

struct MockTransaction<'a> {
    store: &'a mut Store,
    receipts: Vec<Vec<u8>>,
    /// What was there before each change.
    undo: Vec<(Place, Option<Vec<u8>>)>,
}

impl MockTransaction<'_> {
    fn remember(&mut self, at: Place) {
        self.undo.push((at, self.store.rows.get(&at).cloned()));
    }

    fn roll_back(&mut self) {
        for (at, row) in self.undo.drain(..).rev() {
            match row {
                Some(row) => self.store.rows.insert(at, row),
                None => self.store.rows.remove(&at),
            };
        }
    }

    fn row(&mut self, table: TableId, key: Key, touch: impl FnOnce(&mut Vec<u8>)) -> Result<Presence, Abort> {
        Ok(match self.store.rows.get_mut(&(table, key)) {
            Some(row) => {
                touch(row);
                Presence::Present
            }
            None => Presence::Missing,
        })
    }
}

impl Transaction for MockTransaction<'_> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.row(table, key, |row| see(&row[span.start()..span.end()]))
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.remember((table, key));
        self.row(table, key, |row| change(&mut row[span.start()..span.end()]))
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.remember((table, key));
        self.row(table, key, |row| row[offset..offset + bytes.len()].copy_from_slice(bytes))
    }

    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        self.remember((table, key));
        let mut argument = argument.to_vec();
        let presence =
            self.row(table, key, |row| merge(&mut row[span.start()..span.end()], &mut argument))?;
        if presence == Presence::Present {
            self.receipts.push(argument);
        }
        Ok(presence)
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.row(table, key, |row| see(row))
    }

    fn replace(&mut self, table: TableId, key: Key, new: &[u8]) -> Result<Presence, Abort> {
        self.remember((table, key));
        self.row(table, key, |row| {
            row.clear();
            row.extend_from_slice(new);
        })
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        self.remember((table, key));
        if self.store.rows.contains_key(&(table, key)) {
            return Ok(Insertion::Exists);
        }
        self.store.rows.insert((table, key), row.to_vec());
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        self.remember((table, key));
        Ok(match self.store.rows.remove(&(table, key)) {
            Some(_) => Presence::Present,
            None => Presence::Missing,
        })
    }

    fn key(&mut self, _: TableId, _: &[u8]) -> Key {
        panic!("the fake engine has no ordered tables")
    }

    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        panic!("the fake engine has no ordered tables")
    }
}

/// A workload of one table whose transactions count one row up.
pub struct Counting {
    /// Rows of the table.
    pub rows: u64,
}

impl Workload for Counting {
    type Client = CountingClient;

    fn tables(&self) -> Vec<TableDescription> {
        let partition = PartitionFunction::Remainder;
        let (rows, row_bytes) = (self.rows, 8);
        vec![TableDescription {
            name: "counters",
            row_bytes,
            length: RowLength::Fixed,
            kept_bytes: row_bytes,
            rows,
            capacity: rows,
            indexing: Indexing::Hashed,
            partition,
        }]
    }

    fn fill(&self, _: TableId, _: Key, _: &mut [u8]) {}

    fn client(&self, seat: Seat) -> CountingClient {
        CountingClient { next: seat.seed.wrapping_add(seat.worker as u64), rows: self.rows }
    }
}

impl Audited for Counting {
    type Audit<'a> = Unaudited;

    type Compilation = contract::AnyType;

    fn audit(&self) -> Option<Unaudited> {
        None
    }
}

/// Counts rows up by turns.
pub struct CountingClient {
    next: u64,
    rows: u64,
}

/// Counts one row up.
pub struct CountUp(Key);

impl Client for CountingClient {
    type Procedure = CountUp;

    fn next(&mut self) -> CountUp {
        self.next = self.next.wrapping_add(1);
        CountUp(Key(self.next % self.rows))
    }
}

impl Procedure for CountUp {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let counted = txn.update_row::<u64, ()>(TableId(0), self.0, |count| *count += 1)?;
        Ok(if counted.is_some() { Outcome::Commit } else { Outcome::Rollback })
    }
}
