//! A workload of one's own, without Rust: a file says which tables there are, and which transactions.
//!
//! ```toml
//! [tables.accounts]
//! rows = 100_000
//! columns = ["balance", "opened"]   # whole numbers of 64 bits
//! row_bytes = 96                    # the rest is ballast; 8 a column by default
//! fill = { balance = 1000 }         # what is not named is 0
//!
//! [tables.entries]
//! rows = 0
//! capacity = 1_000_000
//! columns = ["account", "amount"]
//! ordered = true                    # so that it can be scanned
//!
//! [transactions.transfer]
//! weight = 90                       # beside those of the others
//! draw = [
//!     { name = "from", row_of = "accounts", theta = 0.6, remote = 0 },
//!     { name = "to", row_of = "accounts", theta = 0.6, remote = 10, other_than = "from" },
//!     { name = "amount", from = 1, to = 100 },
//!     { name = "entry", new_key_of = "entries" },
//! ]
//! steps = [
//!     { update = "accounts", key = "from", require = "balance >= amount", set = { balance = "balance - amount" } },
//!     { update = "accounts", key = "to", set = { balance = "balance + amount" } },
//!     { insert = "entries", key = "entry", set = { account = "from", amount = "amount" } },
//! ]
//!
//! [transactions.statement]
//! weight = 10
//! draw = [{ name = "account", row_of = "accounts" }]
//! steps = [{ read = "accounts", key = "account", as = "it" }, { scan = "entries", key = 0, rows = 20 }]
//!
//! [[invariants]]
//! sum_of = "accounts.balance"       # no transaction changes it
//! ```
//!
//! *Draws.* A `row_of` a table is the key of a loaded row, 0 to `rows` - 1: uniform, or zipfian with `theta`, key 0 the hottest; `other_than` what was drawn before; with `remote` of the client's home
//! partition, but so many percent of another (partitions are remainders of keys). A `new_key_of` a table is one that nobody has. `from` and `to` draw a number.
//!
//! *Steps* read, update, write (blindly), insert, delete and scan, in their order. Keys and values are expressions ([`expression`]) of what was drawn, of columns of rows that were read before (`as`), and
//! in `set` and `require` of the row's own columns. A row of which `require` does not hold rolls the transaction back; one that is missing is left out, or rolls it back (`missing = "roll-back"`).
//!
//! *Invariants* are sums that the audit adds up after a run.

mod audit;
mod client;
mod draws;
mod expression;
mod specification;
mod transaction;

pub use audit::{Audit, AuditTransaction, Auditor, Violation};
pub use client::DescribedClient;
pub use transaction::DescribedTransaction;

use crate::parameters::{ParameterDescription, ParameterError, Parameters, WorkloadDescription};
use crate::random::mix;
use contract::{Indexing, Key, RowLength, Seat, TableDescription, TableId, Workload};
use specification::Specification;
use std::fs;

/// A file's workload.
#[derive(Clone, Debug)]
pub struct Described {
    specification: &'static Specification,
    file: String,
    contents: String,
}

const FILE: &str = "file";
const CONTENTS: &str = "contents";
/// Contents of which nothing is known before.
const ANY: &str = "any";

impl Described {
    /// Its name and its parameters.
    pub const DESCRIPTION: WorkloadDescription = WorkloadDescription {
        name: "described",
        summary: "a workload of your own: tables and transactions as a file says them",
        parameters: &[
            ParameterDescription {
                name: FILE,
                default: "",
                allowed: "the path of a workload's file",
                help: "The file that says which tables and transactions there are",
            },
            ParameterDescription {
                name: CONTENTS,
                default: ANY,
                allowed: "the checksum of the file's text, or any",
                help: "What the file held when something was measured, so that nothing else is measured in its place",
            },
        ],
    };

    /// The workload that `given` names.
    pub fn new(given: &Parameters) -> Result<Self, ParameterError> {
        given.check_names(&Self::DESCRIPTION)?;
        let file = given.get(FILE).unwrap_or_default().to_owned();
        let input = |what: String| ParameterError::Input { place: file.clone(), what };
        if file.is_empty() {
            let allowed = Self::DESCRIPTION.parameters[0].allowed;
            return Err(ParameterError::BadValue { parameter: FILE, value: file, allowed });
        }
        let text = fs::read_to_string(&file).map_err(|error| input(error.to_string().to_lowercase()))?;
        let contents = checksum(&text);
        let known = given.get(CONTENTS).unwrap_or(ANY);
        if known != ANY && known != contents {
            return Err(input(format!(
                "its contents are {contents}, and {known} was to be measured; allowed: the file as it was"
            )));
        }
        let specification = Box::leak(Box::new(Specification::parse(&text).map_err(input)?));
        Ok(Described { specification, file, contents })
    }

    /// Every parameter with its effective value.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        vec![(FILE, self.file.clone()), (CONTENTS, self.contents.clone())]
    }

    /// Whether its transactions delete rows.
    pub fn deletes(&self) -> bool {
        self.specification.deletes()
    }
}

/// Of a text, to tell it from others.
fn checksum(text: &str) -> String {
    let fold = |sum: u64, byte: u8| mix(sum ^ u64::from(byte));
    format!("{:016x}", text.bytes().fold(text.len() as u64, fold))
}

impl Workload for Described {
    type Client = DescribedClient;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |table: &specification::Table| TableDescription {
            name: table.name,
            row_bytes: table.row_bytes,
            length: RowLength::Fixed,
            // Nobody looks at the ballast.
            kept_bytes: 8 * table.columns.len(),
            rows: table.rows,
            capacity: table.capacity,
            indexing: if table.is_ordered { Indexing::Ordered } else { Indexing::Hashed },
            partition: TableDescription::partition_by_remainder,
        };
        self.specification.tables.iter().map(table).collect()
    }

    fn fill(&self, table: TableId, _: Key, row: &mut [u8]) {
        let fill = self.specification.tables[table.index()].fill.iter();
        fill.enumerate().for_each(|(number, value)| expression::set_column(row, number, *value));
    }

    fn client(&self, seat: Seat) -> DescribedClient {
        DescribedClient::new(self.specification, seat)
    }
}
