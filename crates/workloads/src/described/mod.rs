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
//! partition_key = "key / 100"       # keys of one hundred lie in one partition; by default each key goes round
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
//! *Draws.* A `row_of` a table is the key of a loaded row, 0 to `rows` - 1: uniform, or zipfian with `theta`, key 0 the hottest, or with `remote` the first of each partition; `other_than` what was drawn before; with `remote` of the client's home
//! partition, but so many percent of another (partitions are remainders of keys, or of their quotients: `partition_key.rs`). A `new_key_of` a table is one that nobody has. `from` and `to` draw a number.
//!
//! *Steps* read, update, write (blindly), insert, delete and scan, in their order. Keys and values are expressions (`expression.rs`) of what was drawn, of columns of rows that were read before (`as`), and
//! in `set` and `require` of the row's own columns. A row of which `require` does not hold rolls the transaction back; one that is missing is left out, or rolls it back (`missing = "roll-back"`).
//!
//! *Invariants* are sums, of one column or of several together, that the audit adds up after a run. A *goal*, in `[goal]`, is what `trireme advise` looks for.
//!
//! The whole language with its errors is in the repository's `docs/workloads.md`.

mod audit;
mod checks;
mod client;
mod draws;
mod examples;
mod expression;
mod kind;
mod partition_key;
mod specification;
mod transaction;
mod written;

pub use audit::{Audit, AuditTransaction, Auditor, Violation};
pub use client::DescribedClient;
pub use examples::EXAMPLES;
pub use kind::FileKind;
pub use specification::Goal;
pub use transaction::DescribedTransaction;

use crate::parameters::{
    ParameterDescription, ParameterError, Parameters, WorkloadDescription, number, whole,
};
use crate::random::mix;
use contract::{Indexing, Key, RowLength, Seat, TableDescription, TableId, Workload};
use specification::Specification;
use written::Adjustments;

/// A file's workload.
#[derive(Clone, Debug)]
pub struct Described {
    specification: &'static Specification,
    file: String,
    contents: String,
    adjusted: Adjustments,
}

/// The parameter that names the file.
pub const FILE: &str = "file";
const CONTENTS: &str = "contents";
const THETA: &str = "theta";
const REMOTE: &str = "remote";
const MOST_ROWS: &str = "most-rows";
/// Contents of which nothing is known before.
const ANY: &str = "any";
/// As the file says it.
const AS_WRITTEN: &str = "as-written";

impl Described {
    /// Its name and its parameters.
    pub const DESCRIPTION: WorkloadDescription = WorkloadDescription {
        name: "described",
        summary: "a workload of your own: tables and transactions as a file says them",
        parameters: &[
            ParameterDescription {
                name: FILE,
                default: "",
                allowed: "the path of a workload's file in TOML, such as bank.toml",
                help: "The file that says which tables and transactions there are",
            },
            ParameterDescription {
                name: CONTENTS,
                default: ANY,
                allowed: "the checksum of the file's text, or any",
                help: "What the file held when something was measured, so that nothing else is measured in its place",
            },
            ParameterDescription {
                name: THETA,
                default: AS_WRITTEN,
                allowed: "as-written, or 0 <= theta < 1",
                help: "Skew of the draws that are skewed in the file, or of all if none is",
            },
            ParameterDescription {
                name: REMOTE,
                default: AS_WRITTEN,
                allowed: "as-written, or a percentage from 0 to 100",
                help: "Rows of other partitions, of the draws that take some from there in the file, or of all if none does",
            },
            ParameterDescription {
                name: MOST_ROWS,
                default: AS_WRITTEN,
                allowed: "as-written, or a whole number, at least 1",
                help: "Rows that a table has at most before the first transaction, with room for sixteen times as many",
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
        let text = examples::text_of(&file).map_err(|error| input(words(&error)))?;
        let contents = checksum(&text);
        let known = given.get(CONTENTS).unwrap_or(ANY);
        if known != ANY && known != contents {
            return Err(input(format!(
                "its contents are {contents}, and {known} was to be measured; allowed: the file as it was"
            )));
        }
        let adjusted = Adjustments {
            most_rows: in_place(given, MOST_ROWS, |text| whole(text).filter(|rows| *rows >= 1))?,
            theta: in_place(given, THETA, |text| number(text).filter(|theta| (0.0..1.0).contains(theta)))?,
            remote: in_place(given, REMOTE, |text| {
                number(text).filter(|percent| (0.0..=100.0).contains(percent))
            })?,
        };
        let specification = Specification::parse(&text, &adjusted).map_err(input)?;
        let specification = Box::leak(Box::new(specification));
        Ok(Described { specification, file, contents, adjusted })
    }

    /// Every parameter with its effective value.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        let Adjustments { most_rows, theta, remote } = self.adjusted;
        vec![
            (FILE, self.file.clone()),
            (CONTENTS, self.contents.clone()),
            (THETA, shown(theta)),
            (REMOTE, shown(remote)),
            (MOST_ROWS, shown(most_rows)),
        ]
    }

    /// What its file wants of whatever runs it.
    pub fn goal(&self) -> Goal {
        self.specification.goal
    }

    /// How skewed its draws of rows are: the different exponents that are more than 0, rising; 0 if none is.
    pub fn thetas(&self) -> Vec<f64> {
        self.specification.thetas.clone()
    }

    /// How often its draws take rows of other partitions, in percent: the different values that are more than 0, rising; 0 if there are none.
    pub fn remotes(&self) -> Vec<f64> {
        self.specification.remotes.clone()
    }

    /// Whether it says sums that an audit adds up.
    pub fn has_invariants(&self) -> bool {
        !self.specification.invariants.is_empty()
    }

    /// Whether its transactions delete rows.
    pub fn deletes(&self) -> bool {
        self.specification.deletes()
    }
}

/// Whether a word in the place of a workload's name is the path of a file.
pub fn is_file(word: &str) -> bool {
    word.ends_with(".toml")
}

/// The system's words without its number.
fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_lowercase())
}

/// What takes the place of something in the file, if it was given.
fn in_place<V>(
    given: &Parameters,
    name: &'static str,
    read: impl Fn(&str) -> Option<V>,
) -> Result<Option<V>, ParameterError> {
    match given.get(name) {
        None | Some(AS_WRITTEN) => Ok(None),
        Some(text) => read(text).map(Some).ok_or_else(|| {
            let of = Described::DESCRIPTION.parameters.iter().find(|own| own.name == name);
            let allowed = of.expect("it is described").allowed;
            ParameterError::BadValue { parameter: name, value: text.to_owned(), allowed }
        }),
    }
}

/// What is written of it, so that it is given again.
fn shown<V: ToString>(in_place: Option<V>) -> String {
    in_place.map_or(AS_WRITTEN.to_owned(), |value| value.to_string())
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
            partition: table.partition_key.function(),
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

    fn is_data_dependent(&self) -> bool {
        self.specification.is_data_dependent()
    }
}
