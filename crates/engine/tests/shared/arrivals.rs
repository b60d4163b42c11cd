//! Clients that do not always have a transaction: as a server's, which is idle most of the time.

use contract::{
    Abort, Arrival, Client, Engine, EngineOptions, Indexing, Insertion, Key, Outcome, PartitionFunction,
    Plan, Presence, Procedure, RowLength, RunOutcome, Seat, Selection, TableDescription, TableId,
    Transaction, TransactionExt, Until, Workload,
};
use std::sync::mpsc::{Receiver, TryRecvError};

const T: TableId = TableId(0);
/// Rows that are counted up.
pub const ROWS: u64 = 8;
/// Bytes of a record, of memory that is not used again.
pub const RECORD_BYTES: u64 = 32;

/// Counts a row up, and a key comes or goes.
pub struct Count {
    row: Key,
    comes_or_goes: Key,
}

impl Procedure for Count {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        let counted = txn.update_row::<u64, _>(T, self.row, |row| *row += 1)?;
        assert!(counted.is_some(), "it is never deleted");
        if txn.delete(T, self.comes_or_goes)? == Presence::Missing {
            assert_eq!(txn.insert(T, self.comes_or_goes, &[0; 8])?, Insertion::Inserted);
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        plan.declare(T, self.row);
        plan.declare(T, self.comes_or_goes);
        Ok(())
    }
}

/// Whether there is another transaction, as the client's owner says.
pub type Arrivals = Box<dyn FnMut() -> Arrival + Send>;

/// As many as arrive.
pub struct Served {
    arrivals: Arrivals,
    worker: u64,
    drawn: u64,
    pub committed: u64,
}

impl Served {
    /// Of worker `worker`.
    pub fn new(arrivals: Arrivals, worker: u64) -> Served {
        Served { arrivals, worker, drawn: 0, committed: 0 }
    }
}

impl Client for Served {
    type Procedure = Count;

    fn arrival(&mut self) -> Arrival {
        (self.arrivals)()
    }

    fn next(&mut self) -> Count {
        self.drawn += 1;
        Count { row: Key(self.drawn % ROWS), comes_or_goes: Key(ROWS + self.worker) }
    }

    fn finished(&mut self, _: Count, _: &contract::Completion<'_>) {
        self.committed += 1;
    }
}

/// The rows.
pub struct Rows;

impl Workload for Rows {
    type Client = Served;

    fn tables(&self) -> Vec<TableDescription> {
        vec![TableDescription {
            name: "rows",
            row_bytes: size_of::<u64>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<u64>(),
            rows: ROWS,
            capacity: ROWS + 8,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _: TableId, _: Key, row: &mut [u8]) {
        row.fill(0);
    }

    fn client(&self, _: Seat) -> Served {
        unreachable!("clients are made of what arrives")
    }
}

/// What arrives through a channel, until it is closed.
pub fn through(requests: Receiver<()>) -> Arrivals {
    Box::new(move || match requests.try_recv() {
        Ok(()) => Arrival::Ready,
        Err(TryRecvError::Empty) => Arrival::NothingNow,
        Err(TryRecvError::Disconnected) => Arrival::Closed,
    })
}

/// As many as are asked for.
pub fn always() -> Arrivals {
    Box::new(|| Arrival::Ready)
}

/// Runs a worker for each of these until all are closed; answers the store as well.
pub fn serve<E: Engine>(
    selection: Selection,
    options: &EngineOptions,
    arrivals: Vec<Arrivals>,
) -> (E::Store, RunOutcome<Served>) {
    serve_until::<E>(selection, options, arrivals, Until::Transactions(u64::MAX))
}

/// The same until then, or until all are closed.
pub fn serve_until<E: Engine>(
    selection: Selection,
    options: &EngineOptions,
    arrivals: Vec<Arrivals>,
    until: Until,
) -> (E::Store, RunOutcome<Served>) {
    // Under asymmetric-delegation one worker hosts no transactions.
    let hosts = arrivals.len();
    let arranged = (hosts..hosts + 2).map(|workers| E::arrange(selection, workers, options));
    let fits = arranged.flatten().find(|arrangement| arrangement.clients == hosts).expect("one more at most");
    let mut store = E::load(&Rows, fits.layout, &|_| ()).expect("a few rows");
    let client = |(worker, arrivals)| Served::new(arrivals, worker);
    let clients = (0..).zip(arrivals).map(client).collect();
    let outcome = E::run_checked(&mut store, selection, clients, until, options);
    (store, outcome.expect("memory for a few rows"))
}
