//! What of a file's text is allowed: each part is checked against the tables and what stands before it, and becomes a part of the specification, or is refused in words.

mod steps;
mod tables;
mod transactions;

use super::specification::{Action, Goal, Invariant, Kind, Step, SummedColumn, Table};
use super::written::{GoalText, InvariantText};
use contract::{Durability, TableId};
use std::time::Duration;

impl GoalText {
    pub fn checked(&self) -> Result<Goal, String> {
        const A_DAY_US: f64 = 86_400e6;
        let latency = |us: f64| match us > 0.0 && us <= A_DAY_US {
            true => Ok(Duration::from_secs_f64(us * 1e-6)),
            false => Err(format!("latency_p99_us {us}: allowed: more than 0, and a day at most")),
        };
        let durability = |text: &String| {
            text.parse().map_err(|_| {
                let names = Durability::ALL.map(Durability::name);
                format!("durability '{text}': allowed: {}", names.join(", "))
            })
        };
        Ok(Goal {
            latency_p99: self.latency_p99_us.map(latency).transpose()?,
            durability: self.durability.as_ref().map(durability).transpose()?,
        })
    }
}

impl InvariantText {
    pub fn checked(&self, tables: &[Table], kinds: &[Kind]) -> Result<Invariant, String> {
        let names = self.sum_of.all();
        if names.is_empty() {
            return Err("sum_of: there is nothing; allowed: TABLE.COLUMN, one at least".to_owned());
        }
        if let Some(twice) = first_of_two(names) {
            return Err(format!("sum_of '{twice}' is there twice; allowed: each column once"));
        }
        let columns = names.iter().map(|name| summed(name, tables, kinds)).collect::<Result<_, _>>()?;
        Ok(Invariant { columns })
    }
}

/// The column of `TABLE.COLUMN`, of a table that keeps its rows.
fn summed(name: &str, tables: &[Table], kinds: &[Kind]) -> Result<SummedColumn, String> {
    let (table, column) =
        name.split_once('.').ok_or_else(|| format!("sum_of '{name}': allowed: TABLE.COLUMN"))?;
    let id = table_of(table, tables)?;
    let columns = &tables[id.index()].columns;
    let column = columns
        .iter()
        .position(|known| known == column)
        .ok_or_else(|| format!("sum_of '{name}': allowed: a column of {table}: {}", columns.join(", ")))?;
    let changes_rows =
        |step: &Step| step.table == id && matches!(step.action, Action::Insert { .. } | Action::Delete);
    match kinds.iter().flat_map(|kind| &kind.steps).any(changes_rows) {
        true => {
            Err(format!("sum_of '{name}': rows of {table} come or go; allowed: a table that keeps its rows"))
        }
        false => Ok(SummedColumn { table: id, column }),
    }
}

/// What names of columns, of what is drawn, and of rows that were read are.
const NAMES: &str = "names of letters, digits and underscores, a letter first, but not 'and'";

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|first| first.is_ascii_alphabetic());
    first && letters.all(|c| c.is_ascii_alphanumeric() || c == '_') && name != "and"
}

/// The beginning of a text that is too long for a line.
fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let shown: String = text.chars().take(MOST).collect();
    if shown.len() < text.len() { format!("{shown}...") } else { shown }
}

fn first_of_two(names: &[String]) -> Option<&String> {
    names.iter().enumerate().find(|(number, name)| names[..*number].contains(name)).map(|(_, name)| name)
}

fn table_of(name: &str, tables: &[Table]) -> Result<TableId, String> {
    let found = tables.iter().position(|table| table.name == name);
    let found = found.ok_or_else(|| {
        format!("table '{name}' is not there; allowed: {}", allowed(tables.iter().map(|table| table.name)))
    })?;
    Ok(TableId(found as u16))
}

fn leaked(text: &str) -> &'static str {
    // Few, and named until the end.
    Box::leak(text.to_owned().into_boxed_str())
}

fn allowed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
