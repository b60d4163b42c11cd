//! The microbenchmark of *trireme* 4.1 (and of *orthrus* 4.1): a table with a hot and a cold set.
//!
//! A row is ten 64-bit attributes under a 64-bit key. A transaction makes ten operations on ten distinct
//! rows: two from the hot set, which is the first sixteen keys, and eight from the rest. A read sums the
//! row's attributes; an update is a read-modify-write that adds one to each.
//!
//! Hot rows come first unless `order` says otherwise. *trireme* is silent on it, but its code does so, and
//! *orthrus* A.1 says so ("locks on two hot records are acquired before locks on cold records"). It is the
//! harder order: hot locks are held for the whole transaction. `order=key` is the ordered acquisition of
//! *trireme* figure 3c.
//!
//! Invariant: updates only add ones to whole rows. The sum of the table is therefore known from the clients
//! ([`Micro::expected_sum`]), and within a row the attributes keep their distances; [`Audit`] checks both.
//!
//! Locality (*trireme* 4.2, 4.2.4). A table of several partitions has each row in that of its key's remainder, so
//! the sixteen hot rows, being the first keys, lie spread over the first sixteen partitions, as the paper sets them
//! up. Cold rows come from the client's home partition, but for `remote` of them, each of which is any row of the
//! others with the same chance; `remote=any` knows no locality. Under architectures that do not partition, all of it is
//! one partition and so anywhere. Remote rows come before local ones, as in the paper's code: their locks are held
//! longer.
//!
//! `hot-from=remote` draws hot rows only from other partitions than the client's ("each transaction accesses two remote
//! hot records"). The paper's code, and the default here, draw from the whole hot set, which is nearly the same with
//! many partitions. With few it is not: of two workers, each would have the other's hot rows to itself.
//!
//! With `remote=any-but-one` one cold row comes from home, and each of the others is any cold row: a multisite transaction (*hardware-islands* 3). Of `multi-partition`
//! percent of the transactions that is true; the others are local.
//!
//! How many rows a partition has is known only at the client's seat. Where one side, home or the others, has fewer
//! distinct rows than a transaction wants of it, the other side makes up for it.

mod audit;
mod client;
mod parameters;
mod transaction;

pub use audit::{Audit, AuditTransaction, Auditor, Violation};
pub use client::MicroClient;
pub use transaction::MicroTransaction;

use crate::parameters::{ParameterError, Parameters, WorkloadDescription};
use contract::{Indexing, Key, PartitionFunction, RowLength, Seat, TableDescription, TableId, Workload};
use parameters::MicroParameters;
use transaction::{ATTRIBUTES, Row};
use zerocopy::IntoBytes;

const TABLE: TableId = TableId(0);

/// The microbenchmark of *trireme* 4.1.
#[derive(Clone, Debug)]
pub struct Micro {
    parameters: MicroParameters,
}

impl Micro {
    /// Its name and its parameters.
    pub const DESCRIPTION: WorkloadDescription = MicroParameters::DESCRIPTION;

    /// The microbenchmark as `given` wants it.
    pub fn new(given: &Parameters) -> Result<Self, ParameterError> {
        Ok(Micro { parameters: MicroParameters::resolve(given)? })
    }

    /// Every parameter with its effective value.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        self.parameters.resolved()
    }

    /// What all attributes of all rows must add up to, modulo 2^64, once `clients` have run over a fresh
    /// table.
    pub fn expected_sum(&self, clients: &[MicroClient]) -> u64 {
        let rows = self.parameters.records.get();
        let keys = (u128::from(rows) * u128::from(rows - 1) / 2) as u64;
        let places = rows.wrapping_mul((0..ATTRIBUTES as u64).sum());
        let loaded = keys.wrapping_mul(ATTRIBUTES as u64).wrapping_add(places);
        let updates: u64 = clients.iter().map(MicroClient::committed_updates).sum();
        loaded.wrapping_add(updates.wrapping_mul(ATTRIBUTES as u64))
    }

    /// A workload over the same table that reads every row and checks the invariant.
    pub fn audit(&self) -> Audit<'_> {
        Audit::new(self)
    }
}

impl Workload for Micro {
    type Client = MicroClient;

    fn tables(&self) -> Vec<TableDescription> {
        let rows = self.parameters.records.get();
        vec![TableDescription {
            name: "micro",
            row_bytes: size_of::<Row>(),
            length: RowLength::Fixed,
            kept_bytes: size_of::<Row>(),
            rows,
            capacity: rows,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::Remainder,
        }]
    }

    fn fill(&self, _table: TableId, key: Key, row: &mut [u8]) {
        row.copy_from_slice(Row::loaded(key).as_bytes());
    }

    fn client(&self, seat: Seat) -> MicroClient {
        MicroClient::new(&self.parameters, seat)
    }

    fn is_data_dependent(&self) -> bool {
        false
    }
}
