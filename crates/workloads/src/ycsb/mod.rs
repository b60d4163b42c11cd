//! YCSB as the papers run it (*trireme* 4.1, *thousand-cores* 3.3): one table of ten 100-byte fields, and
//! transactions of sixteen accesses to rows drawn from a zipfian distribution.
//!
//! Keys are ranks: key 0 is the hottest. The papers' engines do the same; YCSB's own client scatters them.
//! The distribution is the exact one ([`crate::zipf`]), where theirs is an approximation.
//!
//! `touch`: each access reads or updates one random field, or the whole row. Under protocols that copy what
//! they read, this is the difference to which *trireme* 4.4.1 attributes Silo's loss; the original touches
//! all fields.
//!
//! `update` is a read-modify-write unless it is `blind`: what the papers call an update locks the row and
//! reads it, and a blind write would spare Silo a validation where the others hold a lock all the same.
//!
//! `theta` is 0.8, and half of the accesses read: the high contention of *trireme* 4.4 and *thousand-cores*
//! 5.2. `split=worker` makes readers and writers of the workers instead, as in *trireme* figure 6d.
//!
//! `mix` names a share of reads, a kind of update and a distribution. Beside a mix, `reads` and `distribution` must
//! agree with it; `update` replaces the blind writes of A and B (as *silo* 5.2 does), but not the read-modify-writes
//! that F is named for, nor D's and E's inserts.
//!
//! Mix D reads the latest rows and inserts new ones. `update=insert` makes every access that would update insert a row,
//! and `distribution=latest` makes rank 0 the newest row; `sequences` says which keys are inserted and how a client
//! knows, without a shared counter, which are the newest. The ranks are as many as the loaded rows, so that reads
//! reach as far back as the table was large at first. A table to insert into has room for four times its loaded rows.
//!
//! Mix E scans. With `scan-rows` a read is a scan, of as many rows from the key on as `scan-lengths` draws, and it sees one
//! field, the same of all of them, or the whole rows; the table is then ordered, and may be without scans, too
//! (`index=ordered`). E's transactions are one operation each, as YCSB's own. Keys being ranks, scans are most frequent over
//! the first rows, and inserts come after the last one: they are protected from each other, and seldom meet. With
//! `distribution=latest` they do. A table of several partitions has consecutive keys in different ones, so that a scan takes
//! part in all of them; its plan declares them.
//!
//! `distinct=no`: draws are independent, so keys repeat within a transaction (within one in twenty at the
//! defaults), and popularity is exactly zipfian. `distinct=yes` draws again instead, as the original Trireme
//! does (DBx1000 drops the access): every transaction then takes as many locks as it makes accesses, and the
//! hottest keys are less hot than `theta` says.
//!
//! `touched-partitions` gives transactions locality where tables have several partitions, as under partitioned serial execution, or several threads
//! have a part of the keys' locks, as under ORTHRUS: each touches so many, its worker's home among them, and with `multi-partition` only some touch
//! more than their home (*thousand-cores* 5.5, *orthrus* 4.3). With `any` nearly every access is remote, as in *trireme* 4.1.
//!
//! `hot-records` and `hot` set a few rows apart, on which a transaction's first accesses are (*orthrus* 4.1), as the microbenchmark has them, over rows
//! of any size.
//!
//! Of a store that has snapshots, transactions without writes read the newest one, unless rows are inserted; with `read-only=present`
//! they read what is there, as without snapshots.

mod client;
mod hot_set;
mod parameters;
mod partitions;
mod sequences;
mod text;
mod transaction;

pub use client::YcsbClient;
pub use transaction::YcsbTransaction;

use crate::audit::{Audited, Unaudited};
use crate::parameters::{ParameterError, Parameters, WorkloadDescription};
use crate::zipf::Zipf;
use contract::{Indexing, Key, PartitionFunction, RowLength, Seat, TableDescription, TableId, Workload};
use parameters::{Index, YcsbParameters};

const TABLE: TableId = TableId(0);
/// A table that is inserted into is made for so many times its loaded rows.
const ROOM: u64 = 4;

/// YCSB over one table, several accesses a transaction.
#[derive(Clone, Debug)]
pub struct Ycsb {
    parameters: YcsbParameters,
    /// Every client draws from a copy, in memory near its worker.
    keys: Zipf,
}

impl Ycsb {
    /// Its name and its parameters.
    pub const DESCRIPTION: WorkloadDescription = YcsbParameters::DESCRIPTION;

    /// YCSB as `given` wants it.
    pub fn new(given: &Parameters) -> Result<Self, ParameterError> {
        let parameters = YcsbParameters::resolve(given)?;
        let cold = parameters.records.get() - parameters.hot_records.get();
        let keys = Zipf::new(cold, parameters.theta.get())
            .expect("records and theta are within the bounds of their types");
        Ok(Ycsb { parameters, keys })
    }

    /// Every parameter with its effective value.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        self.parameters.resolved()
    }

    /// Whether each of its transactions is one read or one write of a row that is there.
    pub fn is_of_single_records(&self) -> bool {
        self.parameters.is_of_single_records()
    }
}

impl Workload for Ycsb {
    type Client = YcsbClient;

    fn tables(&self) -> Vec<TableDescription> {
        let rows = self.parameters.records.get();
        vec![TableDescription {
            name: "ycsb",
            row_bytes: self.parameters.row_bytes(),
            // Nobody looks at what is in a row.
            length: RowLength::Fixed,
            kept_bytes: 0,
            rows,
            capacity: if self.parameters.inserts() { rows.saturating_mul(ROOM) } else { rows },
            indexing: match self.parameters.index {
                Index::Hash => Indexing::Hashed,
                Index::Ordered => Indexing::Ordered,
            },
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _table: TableId, key: Key, row: &mut [u8]) {
        text::fill(row, key.0);
    }

    fn client(&self, seat: Seat) -> YcsbClient {
        YcsbClient::new(&self.parameters, self.keys.clone(), seat)
    }

    fn is_data_dependent(&self) -> bool {
        false
    }
}

/// Nothing is known of what must be left.
impl Audited for Ycsb {
    type Audit<'a> = Unaudited;

    type Compilation = contract::AnyType;

    fn audit(&self) -> Option<Unaudited> {
        None
    }

    /// Rows are filled by key.
    fn loads_as(&self, other: &Self) -> bool {
        let table = |ycsb: &Ycsb| {
            let YcsbParameters { records, index, .. } = ycsb.parameters;
            (records, index, ycsb.parameters.row_bytes(), ycsb.parameters.inserts())
        };
        table(self) == table(other)
    }
}
