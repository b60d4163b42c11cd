//! One transaction of a workload's file, with what it has drawn.

use super::expression::{Expression, Values, column, set_column};
use super::specification::{Action, Kind, MOST_ROW_BYTES, MOST_VARIABLES, Specification, Step};
use contract::{
    Abort, Access, Direction, Key, Outcome, Plan, Presence, Procedure, Scan, Span, TableId, Transaction,
};
use std::hint::black_box;
use std::ops::Bound;

/// A transaction, drawn whole.
#[derive(Clone, Debug)]
pub struct DescribedTransaction {
    pub(super) specification: &'static Specification,
    pub(super) kind: usize,
    pub(super) variables: [i64; MOST_VARIABLES],
    pub(super) partitions: u32,
}

/// What a step comes to.
enum Stepped {
    GoOn,
    RollBack,
}

impl DescribedTransaction {
    fn of(&self) -> &'static Kind {
        &self.specification.kinds[self.kind]
    }

    fn row_bytes(&self, step: &Step) -> usize {
        self.specification.tables[step.table.index()].row_bytes
    }

    fn columns_bytes(&self, step: &Step) -> usize {
        8 * self.specification.tables[step.table.index()].columns.len()
    }

    /// Key of a step, by what was drawn and read so far.
    #[inline]
    fn key(step: &Step, variables: &[i64]) -> Key {
        Key(step.key.value(&Values { variables, row: &[] }) as u64)
    }

    fn run_step<T: Transaction + ?Sized>(
        &self,
        txn: &mut T,
        step: &Step,
        variables: &mut [i64; MOST_VARIABLES],
    ) -> Result<Stepped, Abort> {
        let key = Self::key(step, variables);
        let columns = self.columns_bytes(step);
        let mut holds = true;
        let presence = match &step.action {
            Action::Read => txn.read(step.table, key, Span::whole(self.row_bytes(step)), &mut |row| {
                holds = Self::see(step, row, columns, variables);
                black_box(row);
            })?,
            Action::Update { set } => txn.update(step.table, key, Span::new(0, columns), &mut |row| {
                holds = Self::see(step, row, columns, variables);
                if !holds {
                    return;
                }
                // All columns are of the row as it was.
                let mut changed = [0i64; MOST_ROW_BYTES / 8];
                for ((_, value), changed) in set.iter().zip(&mut changed) {
                    *changed = value.value(&Values { variables: &variables[..], row });
                }
                set.iter().zip(changed).for_each(|((column, _), value)| set_column(row, *column, value));
            })?,
            Action::Write { set } => {
                let mut presence = Presence::Present;
                for (column, value) in set {
                    let value = value.value(&Values { variables: &variables[..], row: &[] });
                    presence = txn.write(step.table, key, 8 * column, &value.to_le_bytes())?;
                }
                presence
            }
            Action::Insert { set } => {
                let mut row = [0u8; MOST_ROW_BYTES];
                for (column, value) in set {
                    set_column(
                        &mut row,
                        *column,
                        value.value(&Values { variables: &variables[..], row: &[] }),
                    );
                }
                // A row that is there already was left by a run that was cut off.
                let _ = txn.insert(step.table, key, &row[..self.row_bytes(step)])?;
                Presence::Present
            }
            Action::Delete => txn.delete(step.table, key)?,
            Action::Scan { rows } => {
                let first = key.bytes();
                let scan = Scan {
                    table: step.table,
                    from: Bound::Included(&first),
                    to: Bound::Unbounded,
                    direction: Direction::Forward,
                    limit: *rows,
                    span: Span::whole(self.row_bytes(step)),
                    within: None,
                };
                txn.scan(&scan, &mut |_, row| {
                    black_box(row);
                })?;
                Presence::Present
            }
        };
        let rolls_back = !holds || presence == Presence::Missing && step.must_be_there;
        Ok(if rolls_back { Stepped::RollBack } else { Stepped::GoOn })
    }

    /// Keeps the row's columns, if later steps name them, and says whether what is required of it holds.
    fn see(step: &Step, row: &[u8], columns: usize, variables: &mut [i64; MOST_VARIABLES]) -> bool {
        let row = &row[..columns];
        if let Some(first) = step.variables {
            let all = &mut variables[first..][..columns / 8];
            all.iter_mut().enumerate().for_each(|(number, variable)| *variable = column(row, number));
        }
        step.require
            .as_ref()
            .is_none_or(|condition| condition.holds(&Values { variables: &variables[..], row }))
    }

    /// Of its operations none is known to touch a row that does not exist, and none comes or goes.
    fn is_of_rows(&self) -> bool {
        let is_of_row =
            |step: &Step| matches!(step.action, Action::Read | Action::Update { .. } | Action::Write { .. });
        self.of().steps.iter().all(is_of_row)
    }
}

/// Rows as a transaction will have written them when it reads them again, by their columns; `None` where it has deleted them.
#[derive(Default)]
struct OwnWrites(Vec<(TableId, Key, Option<Vec<u8>>)>);

impl OwnWrites {
    /// The columns of a row, if it is there.
    fn row<T: Transaction + ?Sized>(
        &self,
        look: &mut T,
        table: TableId,
        key: Key,
        columns: usize,
    ) -> Result<Option<Vec<u8>>, Abort> {
        if let Some((.., row)) = self.0.iter().rev().find(|(of, own, _)| (*of, *own) == (table, key)) {
            return Ok(row.clone());
        }
        let mut found = None;
        let _ =
            look.read(table, key, Span::new(0, columns), &mut |row| found = Some(row[..columns].to_vec()))?;
        Ok(found)
    }
}

impl DescribedTransaction {
    /// What a step will do to its row. As if it went on, even where it will roll back: by then the row may be another.
    fn foresee(
        &self,
        step: &Step,
        key: Key,
        row: Option<Vec<u8>>,
        variables: &mut [i64; MOST_VARIABLES],
        own: &mut OwnWrites,
    ) {
        let columns = self.columns_bytes(step);
        let written = match (&step.action, row) {
            (Action::Insert { set }, None) => {
                let mut row = vec![0; columns];
                set_all(set, &Values { variables: &variables[..], row: &[] }, &mut row);
                Some(row)
            }
            (_, None) => return,
            (Action::Delete, Some(_)) => None,
            (Action::Write { set }, Some(mut row)) => {
                set_all(set, &Values { variables: &variables[..], row: &[] }, &mut row);
                Some(row)
            }
            (action, Some(before)) => {
                Self::see(step, &before, columns, variables);
                let mut row = before.clone();
                if let Action::Update { set } = action {
                    set_all(set, &Values { variables: &variables[..], row: &before }, &mut row);
                }
                Some(row)
            }
        };
        if step.foresight.writes {
            own.0.push((step.table, key, written));
        }
    }
}

/// Sets columns of a row. All values are of what was before.
fn set_all(set: &[(usize, Expression)], before: &Values<'_>, row: &mut [u8]) {
    set.iter().for_each(|(column, value)| set_column(row, *column, value.value(before)));
}

impl Procedure for DescribedTransaction {
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let mut variables = self.variables;
        for step in &self.of().steps {
            if let Stepped::RollBack = self.run_step(txn, step, &mut variables)? {
                return Ok(Outcome::Rollback);
            }
        }
        Ok(Outcome::Commit)
    }

    #[inline]
    fn kind(&self) -> usize {
        self.kind
    }

    /// The keys that follow from what was drawn; and where later ones follow from rows, what those rows say now, or will say once the transaction
    /// has written them.
    fn plan<T: Transaction + ?Sized>(&self, look: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        let mut variables = self.variables;
        let mut own = OwnWrites::default();
        for step in &self.of().steps {
            let key = Self::key(step, &variables);
            let (whole, columns) = (self.row_bytes(step), self.columns_bytes(step));
            match &step.action {
                Action::Read => plan.touch(step.table, key, Span::whole(whole), Access::Read),
                Action::Update { .. } | Action::Write { .. } => {
                    plan.touch(step.table, key, Span::new(0, columns), Access::Write);
                }
                Action::Insert { .. } | Action::Delete => {
                    plan.touch(step.table, key, Span::whole(whole), Access::Structure);
                }
                Action::Scan { .. } => {
                    // How far it comes depends on which keys there are, and where they live on which partitions there are.
                    plan.leave_open();
                    let by = self.specification.tables[step.table.index()].partition_key;
                    (0..self.partitions).for_each(|partition| plan.declare(step.table, by.key_in(partition)));
                }
            }
            if step.foresight.reads || step.foresight.writes {
                let row = own.row(look, step.table, key, columns)?;
                self.foresee(step, key, row, &mut variables, &mut own);
            }
        }
        Ok(())
    }

    fn reads_snapshot(&self) -> bool {
        self.of().steps.iter().all(|step| matches!(step.action, Action::Read | Action::Scan { .. }))
    }

    /// Transactions whose steps name rows by what was drawn, and use nothing that another step has read, require nothing, and leave no row out.
    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        let Kind { draws, steps, .. } = self.of();
        let stands_alone = |step: &Step| {
            step.require.is_none()
                && step.variables.is_none()
                && !step.must_be_there
                && !step.key.depends_on_variables_from(draws.len())
        };
        if !self.is_of_rows() || !steps.iter().all(stands_alone) {
            return false;
        }
        steps.iter().for_each(|step| at(step.table, Self::key(step, &self.variables)));
        true
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend_from_slice(&(self.kind as u32).to_le_bytes());
        let drawn = &self.variables[..self.of().draws.len()];
        drawn.iter().for_each(|value| into.extend_from_slice(&value.to_le_bytes()));
    }
}

impl DescribedTransaction {
    /// One that was encoded.
    pub(super) fn decode(
        specification: &'static Specification,
        partitions: u32,
        bytes: &[u8],
    ) -> Option<Self> {
        let (kind, mut left) = bytes.split_first_chunk()?;
        let kind = u32::from_le_bytes(*kind) as usize;
        let draws = specification.kinds.get(kind)?.draws.len();
        let mut variables = [0; MOST_VARIABLES];
        for variable in &mut variables[..draws] {
            let (value, rest) = left.split_first_chunk()?;
            *variable = i64::from_le_bytes(*value);
            left = rest;
        }
        left.is_empty().then_some(DescribedTransaction { specification, kind, variables, partitions })
    }
}
