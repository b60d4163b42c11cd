//! A file's workload, checked: tables, and transactions of draws and steps.
//!
//! What a file may hold is in `written.rs`, and what of that is allowed in `checks/`.

use super::expression::{Condition, Expression};
use super::partition_key::PartitionKey;
use super::written::{Adjustments, FileText};
use crate::random::Chance;
use crate::zipf::Zipf;
use contract::{Durability, TableId};
use std::time::Duration;

/// Values that a transaction draws and reads at most.
pub(super) const MOST_VARIABLES: usize = 32;
/// Bytes of the longest row.
pub(super) const MOST_ROW_BYTES: usize = 4096;
/// Rows of a table that are loaded at most.
pub(super) const MOST_ROWS: u64 = 1 << 36;
/// Rows that a scan shows at most.
pub(super) const MOST_SCANNED: usize = 10_000;
/// Tables at most.
const MOST_TABLES: usize = 1000;
/// Kinds of transactions at most.
const MOST_KINDS: usize = 1000;
/// The largest weight of a kind; the least is one by this.
pub(super) const MOST_WEIGHT: f64 = 1e9;

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub name: &'static str,
    pub rows: u64,
    pub capacity: u64,
    pub columns: Vec<String>,
    pub row_bytes: usize,
    pub is_ordered: bool,
    pub partition_key: PartitionKey,
    /// What each column holds at first.
    pub fill: Vec<i64>,
}

/// A value that is drawn.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    pub name: String,
    pub kind: DrawKind,
}

#[derive(Clone, Debug)]
pub(super) enum DrawKind {
    /// Of these, all alike.
    Number { from: i64, to: i64 },
    /// The key of a loaded row.
    Row { table: TableId, zipf: Option<Zipf>, other_than: Option<usize>, place: Where },
    /// A key that nobody has, beyond those of loaded rows.
    New { table: TableId },
}

/// In which partition a row is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Where {
    Anywhere,
    /// The client's, but so often another.
    Home {
        remote: Chance,
    },
}

/// A kind of transactions.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub name: &'static str,
    pub weight: f64,
    pub draws: Vec<Draw>,
    pub steps: Vec<Step>,
}

/// A step of a transaction.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub table: TableId,
    pub key: Expression,
    pub action: Action,
    /// What must hold of the row that is read or updated; otherwise the transaction rolls back.
    pub require: Option<Condition>,
    /// The first of the variables into which its columns go.
    pub variables: Option<usize>,
    /// Whether the transaction rolls back where the row is not there.
    pub must_be_there: bool,
    /// What a plan has to know of it.
    pub foresight: Foresight,
}

/// What a plan has to know of a step, to tell the keys of later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Foresight {
    /// What the row holds: a later key follows from what was read.
    pub reads: bool,
    /// What it writes: a later step of the same table reads for a later key.
    pub writes: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    Read,
    Update {
        set: Vec<(usize, Expression)>,
    },
    /// Blind.
    Write {
        set: Vec<(usize, Expression)>,
    },
    Insert {
        set: Vec<(usize, Expression)>,
    },
    Delete,
    /// So many rows from the key on.
    Scan {
        rows: usize,
    },
}

/// Columns whose sum over all their rows no transaction changes.
#[derive(Clone, Debug)]
pub(super) struct Invariant {
    pub columns: Vec<SummedColumn>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SummedColumn {
    pub table: TableId,
    pub column: usize,
}

/// A workload.
#[derive(Clone, Debug)]
pub(super) struct Specification {
    pub tables: Vec<Table>,
    pub kinds: Vec<Kind>,
    pub names: &'static [&'static str],
    pub invariants: Vec<Invariant>,
    pub goal: Goal,
    /// The different skews of draws of rows, rising.
    pub thetas: Vec<f64>,
    /// Their different percentages of rows of other partitions, rising.
    pub remotes: Vec<f64>,
}

/// What is wanted of whatever runs a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// What 99 of 100 transactions are to take at most, retries included.
    pub latency_p99: Option<Duration>,
    /// What is kept of a commit when the power fails.
    pub durability: Option<Durability>,
}

impl Specification {
    /// Reads a file's text, and changes what `adjusted` says. In words what is wrong with it, and where.
    pub fn parse(text: &str, adjusted: &Adjustments) -> Result<Specification, String> {
        let mut file = FileText::read(text)?;
        adjusted.apply(&mut file);
        for (what, there, most) in [
            ("tables", file.tables.len(), MOST_TABLES),
            ("kinds of transactions", file.transactions.len(), MOST_KINDS),
        ] {
            if !(1..=most).contains(&there) {
                return Err(format!("it has {there} {what}; allowed: 1 to {most}"));
            }
        }
        let tables = file
            .tables
            .iter()
            .map(|(name, table)| table.checked(name, text))
            .collect::<Result<Vec<_>, _>>()?;
        let kinds = file
            .transactions
            .iter()
            .map(|(name, kind)| {
                kind.checked(name, &tables, text).map_err(|what| format!("transactions.{name}: {what}"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let invariants = file
            .invariants
            .iter()
            .map(|invariant| invariant.checked(&tables, &kinds).map_err(|what| format!("invariants: {what}")))
            .collect::<Result<Vec<_>, _>>()?;
        let goal = file.goal.checked().map_err(|what| format!("goal: {what}"))?;
        let names: Vec<&'static str> = kinds.iter().map(|kind| kind.name).collect();
        let names = Box::leak(names.into_boxed_slice());
        let thetas = file.different(|draw| draw.theta);
        let remotes = file.different(|draw| draw.remote);
        Ok(Specification { tables, kinds, names, invariants, goal, thetas, remotes })
    }

    /// Whether a transaction deletes rows.
    pub fn deletes(&self) -> bool {
        self.steps().any(|step| matches!(step.action, Action::Delete))
    }

    /// Whether what a transaction does depends on what rows hold.
    pub fn is_data_dependent(&self) -> bool {
        self.steps().any(|step| step.require.is_some() || step.variables.is_some())
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.kinds.iter().flat_map(|kind| &kind.steps)
    }
}
