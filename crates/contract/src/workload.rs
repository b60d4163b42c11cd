//! Workloads: tables, their first rows, and clients that say which transaction comes next.

use crate::procedure::{Outcome, Procedure};
use crate::table::{Key, PartitionId, TableDescription, TableId};
use serde::{Deserialize, Serialize};

/// A worker's place among the workers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// `0..workers`.
    pub worker: usize,
    /// Number of workers of the run.
    pub workers: usize,
    /// Seed of the run; with the seat it decides everything that a client draws.
    pub seed: u64,
    /// Partitions of every table: 1 where the architecture does not partition.
    pub partitions: u32,
    /// Parts of the keys, by the tables' partition functions, of which each client has one as its home: the partitions, or where the keys of one partition
    /// are divided among threads for concurrency control, theirs.
    pub homes: u32,
}

impl Seat {
    /// Over tables of one partition.
    #[inline]
    pub const fn new(worker: usize, workers: usize, seed: u64) -> Self {
        Seat { worker, workers, seed, partitions: 1, homes: 1 }
    }

    /// The same over tables of `partitions` partitions, in which clients are at home.
    #[inline]
    pub const fn over(self, partitions: u32) -> Self {
        Seat { partitions, homes: partitions, ..self }
    }

    /// The same where clients are at home in one of `homes` parts of the keys, whatever the partitions.
    #[inline]
    pub const fn at_home_in(self, homes: u32) -> Self {
        Seat { homes, ..self }
    }

    /// The part of the keys that is nearest to the worker, `0..homes`: its partition, where they are the partitions.
    #[inline]
    pub const fn home(self) -> PartitionId {
        PartitionId((self.worker % self.homes as usize) as u32)
    }
}

/// A database and a stream of transactions over it.
pub trait Workload: Sync {
    /// The source of one worker's transactions.
    type Client: Client + 'static;

    /// The tables, in the order of their [`TableId`]s.
    fn tables(&self) -> Vec<TableDescription>;

    /// The key of loaded row `row`, `0..rows`. Distinct rows have distinct keys. Of a table whose keys are byte strings, what
    /// [`Workload::loaded_bytes`] and [`Workload::fill`] are given for it.
    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        let _ = table;
        Key(row)
    }

    /// Writes the byte string that is the key of a loaded row into the empty `bytes`; `key` is its
    /// [`Workload::loaded_key`]. Of tables whose keys are byte strings only.
    fn loaded_bytes(&self, table: TableId, key: Key, bytes: &mut Vec<u8>) {
        let _ = (key, bytes);
        panic!("the workload says no keys for table {}, which has byte strings", table.0)
    }

    /// Writes the first content of the row with `key` into `row`, which is `row_bytes` long and zeroed. Of tables whose rows have
    /// one length.
    fn fill(&self, table: TableId, key: Key, row: &mut [u8]);

    /// Writes the first content of the row with `key` into the empty `row`. Of tables whose rows vary in length only.
    fn fill_varying(&self, table: TableId, key: Key, row: &mut Vec<u8>) {
        let _ = (key, row);
        panic!("the workload says no rows for table {}, whose rows vary in length", table.0)
    }

    /// A client for the worker at `seat`.
    fn client(&self, seat: Seat) -> Self::Client;

    /// Whether what transactions do depends on what rows hold, beside which rows there are. If not, a store that others have updated
    /// is as good as a newly loaded one.
    fn is_data_dependent(&self) -> bool {
        true
    }
}

/// Whether a client has a transaction for its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It has.
    Ready,
    /// Not now; later perhaps. The worker asks again, serves others meanwhile, and in the end sleeps between two questions, a
    /// millisecond at most.
    NothingNow,
    /// There will be none any more: the client's run ends once those that were drawn have ended.
    Closed,
}

/// One worker's source of transactions.
pub trait Client: Send + 'static {
    /// What it issues.
    type Procedure: Procedure + 'static;

    /// Whether there is a transaction now. A benchmark's client, which offers as much load as is taken, always has one.
    #[inline]
    fn arrival(&mut self) -> Arrival {
        Arrival::Ready
    }

    /// The names of the kinds of its transactions, kebab-case, each of which is counted by itself, too; the same of all clients of a run. None by default: it issues one kind.
    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    /// The next transaction, once [`Client::arrival`] has said that there is one. Called in the measured loop: it must not
    /// allocate.
    fn next(&mut self) -> Self::Procedure;

    /// Takes a transaction back once it has committed or rolled back, retries included.
    #[inline]
    fn finished(&mut self, procedure: Self::Procedure, completion: &Completion<'_>) {
        let _ = (procedure, completion);
    }

    /// All transactions of this client that committed in this epoch ([`Completion::epoch`]) or before are durable. Over a store
    /// that is logged, only.
    #[inline]
    fn durable(&mut self, epoch: u64) {
        let _ = epoch;
    }

    /// The procedure that was [encoded](Procedure::encode) for this instance; `None`: these bytes are none.
    fn decode(&mut self, bytes: &[u8]) -> Option<Self::Procedure> {
        let _ = bytes;
        None
    }

    /// Takes a decoded procedure back that has run.
    fn take_back(&mut self, fragment: Self::Procedure) {
        let _ = fragment;
    }

    /// Appends what an audit or a checker will ask of it, for its like in another process, which has not run.
    fn tell(&self, into: &mut Vec<u8>) {
        let _ = into;
    }

    /// Becomes like the one of another process that [told](Client::tell) this; `None`: these bytes are none of that.
    fn hear(&mut self, told: &[u8]) -> Option<()> {
        told.is_empty().then_some(())
    }
}

/// A committed transaction's place in the serial order. Of two that conflict, the one that comes later has the larger id; under a
/// protocol that is not strict, one that only reads what the other wrote may have the same. Ids of transactions that do not
/// conflict say nothing, and may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommitId(pub u64);

/// Where a committed transaction stands among the snapshots of a store, which are numbered in the order of time. A snapshot shows
/// what all before it committed, and nothing of those behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SnapshotPlace {
    /// What it wrote is shown by the snapshot of this number and later ones.
    ShownBy(u64),
    /// It read the snapshot of this number.
    Read(u64),
}

/// How a transaction ended.
pub struct Completion<'a> {
    /// By commit or by the procedure's own rollback.
    pub outcome: Outcome,
    /// When its first attempt began, in nanoseconds of the run's clock.
    pub began_ns: u64,
    /// When it ended, in nanoseconds of the run's clock: one for all workers of a host ([`crate::clocks`]).
    pub ended_ns: u64,
    /// Attempts, 1 if the first succeeded.
    pub attempts: u32,
    /// Of a committed transaction in a run that asks for ids ([`EngineOptions::commit_ids`](crate::EngineOptions)).
    pub id: Option<CommitId>,
    /// The epoch in which it committed, if the store is logged: it is durable once that is.
    pub epoch: Option<u64>,
    /// Where it stands among the snapshots, if the store has any and it committed.
    pub snapshot: Option<SnapshotPlace>,
    /// What merges left in their arguments.
    pub receipts: &'a dyn Receipts,
}

/// The arguments of a committed transaction's merges, as their merge functions left them.
pub trait Receipts {
    /// The argument of the `nth` call of [`crate::Transaction::merge`] that found its key, from 0.
    fn argument(&self, nth: usize) -> &[u8];
}
