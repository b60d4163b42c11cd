//! Kinds of transactions: what they draw, and what a plan has to know of their steps.

use super::{NAMES, allowed, is_name, leaked, table_of};
use crate::described::specification::{
    Draw, DrawKind, Foresight, Kind, MOST_VARIABLES, MOST_WEIGHT, Step, Table, Where,
};
use crate::described::written::{DrawText, KindText, line_of};
use crate::random::Chance;
use crate::zipf::Zipf;
use contract::TableId;

impl KindText {
    pub fn checked(&self, name: &str, tables: &[Table], text: &str) -> Result<Kind, String> {
        if !(1.0 / MOST_WEIGHT..=MOST_WEIGHT).contains(&self.weight) {
            return Err(format!(
                "weight {:?}: allowed: more than 0, from {:e} to {MOST_WEIGHT:e}",
                self.weight,
                1.0 / MOST_WEIGHT
            ));
        }
        let mut variables: Vec<String> = Vec::new();
        let mut draws: Vec<Draw> = Vec::new();
        for draw in &self.draw {
            let checked = draw.get_ref().checked(tables, &draws).map_err(|what| {
                format!("line {}: draw {}: {what}", line_of(text, draw.span().start), draw.get_ref().name)
            })?;
            variables.push(checked.name.clone());
            draws.push(checked);
        }
        let mut steps = Vec::new();
        for step in &self.steps {
            let checked = step.get_ref().checked(tables, &mut variables);
            steps.push(checked.map_err(|what| format!("line {}: {what}", line_of(text, step.span().start)))?);
        }
        foresee(&mut steps, draws.len());
        if steps.is_empty() {
            return Err("it has no steps; allowed: one at least".to_owned());
        }
        if variables.len() > MOST_VARIABLES {
            return Err(format!(
                "{} values are drawn and read; allowed: {MOST_VARIABLES} at most",
                variables.len()
            ));
        }
        Ok(Kind { name: leaked(name), weight: self.weight, draws, steps })
    }
}

/// Finds what plans have to know, from the last step to the first. The first variables are `drawn`, the others read.
fn foresee(steps: &mut [Step], drawn: usize) {
    let mut is_followed = false;
    let mut read_later: Vec<TableId> = Vec::new();
    for step in steps.iter_mut().rev() {
        step.foresight = Foresight {
            reads: is_followed && step.variables.is_some(),
            writes: read_later.contains(&step.table),
        };
        if step.foresight.reads {
            read_later.push(step.table);
        }
        is_followed |= step.key.depends_on_variables_from(drawn);
    }
}

impl DrawText {
    fn checked(&self, tables: &[Table], before: &[Draw]) -> Result<Draw, String> {
        let DrawText { name, row_of, new_key_of, from, to, theta, other_than, remote } = self;
        if !is_name(name) {
            return Err(format!("allowed: {NAMES}"));
        }
        if before.iter().any(|draw| draw.name == *name) {
            return Err("it is drawn twice; allowed: each name once".to_owned());
        }
        let of_rows = [theta.is_some(), other_than.is_some(), remote.is_some()].contains(&true);
        let kind = match (row_of, new_key_of, from, to) {
            (Some(table), None, None, None) => {
                let id = table_of(table, tables)?;
                let rows = tables[id.index()].rows;
                let known = |other: &String| {
                    before.iter().position(|draw| draw.name == *other).ok_or_else(|| {
                        let names = allowed(before.iter().map(|draw| draw.name.as_str()));
                        format!("other_than '{other}': allowed: what is drawn before it: {names}")
                    })
                };
                let other_than = other_than.as_ref().map(known).transpose()?;
                let least = 1 + u64::from(other_than.is_some());
                if rows < least {
                    return Err(format!("table '{table}' has {rows} rows; allowed: {least} at least"));
                }
                let zipf = theta.filter(|theta| *theta != 0.0).map(|theta| Zipf::new(rows, theta));
                let zipf = zipf.transpose().map_err(|error| error.to_string())?;
                let place = match remote {
                    None => Where::Anywhere,
                    Some(percent) if (0.0..=100.0).contains(percent) => {
                        Where::Home { remote: Chance::percent(*percent) }
                    }
                    Some(other) => {
                        return Err(format!("remote {other}: allowed: a percentage from 0 to 100"));
                    }
                };
                DrawKind::Row { table: id, zipf, other_than, place }
            }
            (None, Some(table), None, None) if !of_rows => DrawKind::New { table: table_of(table, tables)? },
            (None, None, Some(from), Some(to)) if !of_rows && from <= to => {
                DrawKind::Number { from: *from, to: *to }
            }
            _ => {
                return Err("allowed: row_of, with theta, other_than and remote perhaps; new_key_of; or from and to, from <= to".to_owned());
            }
        };
        Ok(Draw { name: name.clone(), kind })
    }
}
