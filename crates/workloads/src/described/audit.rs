//! Adds the columns up whose sums no transaction changes, and compares them with what was loaded.

use super::Described;
use super::client::DescribedClient;
use super::expression::column;
use super::specification::{Invariant, SummedColumn};
use crate::audit::{Audited, Finding};
use contract::telling::{tell, told};
use contract::{
    Abort, Access, Client, Completion, Key, Outcome, Plan, Procedure, Seat, Span, TableDescription, TableId,
    Transaction, Workload,
};
use std::cell::Cell;
use std::fmt;
use std::ops::Range;

/// Rows that an auditor reads in one transaction.
const CHUNK: u64 = 64;

/// A read-only workload over the tables of a [`Described`].
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a>(&'a Described);

impl Audit<'_> {
    fn invariants(&self) -> &[Invariant] {
        &self.0.specification.invariants
    }

    /// The columns of all invariants in their order.
    fn columns(&self) -> impl Iterator<Item = SummedColumn> + '_ {
        self.invariants().iter().flat_map(|invariant| invariant.columns.iter().copied())
    }

    fn rows(&self, of: SummedColumn) -> u64 {
        self.0.specification.tables[of.table.index()].rows
    }

    fn chunks(&self, of: SummedColumn) -> u64 {
        self.rows(of).div_ceil(CHUNK)
    }

    fn name(&self, of: SummedColumn) -> String {
        let table = &self.0.specification.tables[of.table.index()];
        format!("{}.{}", table.name, table.columns[of.column])
    }

    /// Of a column that was loaded.
    fn loaded(&self, of: SummedColumn) -> i64 {
        let table = &self.0.specification.tables[of.table.index()];
        table.fill[of.column].wrapping_mul(table.rows as i64)
    }
}

impl Audited for Described {
    type Audit<'a> = Audit<'a>;

    type Compilation = contract::AnyType;

    fn audit(&self) -> Option<Audit<'_>> {
        (!self.specification.invariants.is_empty()).then_some(Audit(self))
    }

    /// Rows are filled by their columns.
    fn loads_as(&self, other: &Self) -> bool {
        self.specification.tables == other.specification.tables
    }
}

impl crate::audit::Audit<DescribedClient> for Audit<'_> {
    fn assign(&self, auditors: &mut [Auditor]) -> u64 {
        let count = auditors.len() as u64;
        let mut most = 0;
        for (auditor, first) in auditors.iter_mut().zip(0..) {
            // Each takes every so manieth chunk of all columns together.
            let all: u64 = self.columns().map(|column| self.chunks(column)).sum();
            let own = all.saturating_sub(first).div_ceil(count);
            most = most.max(own.saturating_sub(auditor.read));
            (auditor.first, auditor.stride) = (first, count);
        }
        most
    }

    fn verdict(&self, _: &[DescribedClient], auditors: &[Auditor]) -> Result<(), Finding> {
        self.verdict_of_anybody(auditors)
    }

    fn verdict_of_anybody(&self, auditors: &[Auditor]) -> Result<(), Finding> {
        let mut number = 0;
        for invariant in self.invariants() {
            let (mut expected, mut found) = (0i64, 0i64);
            for &column in &invariant.columns {
                let of = |auditor: &Auditor| auditor.found.get(number).copied().unwrap_or_default();
                let (read, sum) = auditors
                    .iter()
                    .map(of)
                    .fold((0, 0i64), |(rows, sum), (more, other)| (rows + more, sum.wrapping_add(other)));
                let rows = self.rows(column);
                if read != rows {
                    return Err(Violation::Incomplete { name: self.name(column), rows, read }.into());
                }
                found = found.wrapping_add(sum);
                expected = expected.wrapping_add(self.loaded(column));
                number += 1;
            }
            if found != expected {
                let names: Vec<String> = invariant.columns.iter().map(|column| self.name(*column)).collect();
                return Err(Violation::Sum { name: names.join(" + "), expected, found }.into());
            }
        }
        Ok(())
    }
}

impl Workload for Audit<'_> {
    type Client = Auditor;

    fn tables(&self) -> Vec<TableDescription> {
        self.0.tables()
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        self.0.fill(table, key, row);
    }

    fn client(&self, _: Seat) -> Auditor {
        let parts = self.columns().map(|column| (column, self.rows(column), self.chunks(column)));
        Auditor { parts: parts.collect(), first: 0, stride: 1, read: 0, found: Vec::new() }
    }
}

/// Adds its share of the rows up.
#[derive(Clone, Debug)]
pub struct Auditor {
    /// Each column, with the rows and the chunks of its table.
    parts: Vec<(SummedColumn, u64, u64)>,
    first: u64,
    stride: u64,
    /// Chunks that it has drawn.
    read: u64,
    /// By column, rows and sum.
    found: Vec<(u64, i64)>,
}

impl Client for Auditor {
    type Procedure = AuditTransaction;

    fn next(&mut self) -> AuditTransaction {
        let mut chunk = self.first + self.read * self.stride;
        self.read += 1;
        for (number, (column, rows, chunks)) in self.parts.iter().enumerate() {
            if chunk < *chunks {
                let rows = chunk * CHUNK..(*rows).min((chunk + 1) * CHUNK);
                return AuditTransaction { number, of: *column, rows, found: Cell::default() };
            }
            chunk -= chunks;
        }
        // All is read: nothing more, of any.
        AuditTransaction { number: 0, of: self.parts[0].0, rows: 0..0, found: Cell::default() }
    }

    fn finished(&mut self, transaction: AuditTransaction, completion: &Completion<'_>) {
        if completion.outcome == Outcome::Commit {
            self.found.resize(self.parts.len(), (0, 0));
            let (rows, sum) = transaction.found.get();
            let found = &mut self.found[transaction.number];
            *found = (found.0 + rows, found.1.wrapping_add(sum));
        }
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&(self.first, self.stride, self.read, &self.found), into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        (self.first, self.stride, self.read, self.found) = told(heard)?;
        Some(())
    }
}

/// Adds one chunk of rows up.
#[derive(Debug)]
pub struct AuditTransaction {
    number: usize,
    of: SummedColumn,
    rows: Range<u64>,
    found: Cell<(u64, i64)>,
}

impl AuditTransaction {
    fn span(&self) -> Span {
        Span::new(8 * self.of.column, 8)
    }
}

impl Procedure for AuditTransaction {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut found = (0, 0i64);
        for row in self.rows.clone() {
            let _ = txn.read(self.of.table, Key(row), self.span(), &mut |bytes| {
                found = (found.0 + 1, found.1.wrapping_add(column(bytes, 0)));
            })?;
        }
        self.found.set(found);
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, _: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        self.rows.clone().for_each(|row| plan.touch(self.of.table, Key(row), self.span(), Access::Read));
        Ok(())
    }
}

/// Tables that are not what committed transactions made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Not every row was read: rows are missing, or the audit was stopped early.
    Incomplete {
        /// The column.
        name: String,
        /// Rows of the table.
        rows: u64,
        /// Rows read.
        read: u64,
    },
    /// A sum has changed.
    Sum {
        /// The column, or several, added up.
        name: String,
        /// What was loaded.
        expected: i64,
        /// What there is.
        found: i64,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Incomplete { name, rows, read } => {
                write!(f, "{read} of {rows} rows were read of {name}")
            }
            Violation::Sum { name, expected, found } => {
                write!(
                    f,
                    "the sum of {name} is {found}, where {expected} was loaded and no transaction changes it"
                )
            }
        }
    }
}

impl std::error::Error for Violation {}
