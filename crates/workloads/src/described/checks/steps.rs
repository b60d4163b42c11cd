//! Steps: one operation on one table each, of keys, values and conditions whose names are known there.

use super::{NAMES, allowed, is_name, shortened, table_of};
use crate::described::expression::{Condition, Expression, Name};
use crate::described::specification::{Action, Foresight, MOST_SCANNED, Step, Table};
use crate::described::written::{Missing, StepText};

impl StepText {
    pub fn checked(&self, tables: &[Table], variables: &mut Vec<String>) -> Result<Step, String> {
        let StepText { read, update, write, insert, delete, scan, .. } = self;
        let named = [
            ("read", read),
            ("update", update),
            ("write", write),
            ("insert", insert),
            ("delete", delete),
            ("scan", scan),
        ];
        let mut given = named.iter().filter_map(|(what, table)| Some((*what, table.as_ref()?)));
        let (Some((what, table)), None) = (given.next(), given.next()) else {
            return Err(format!("allowed: one of {}", allowed(named.iter().map(|(what, _)| *what))));
        };
        let id = table_of(table, tables)?;
        let of = &tables[id.index()];
        let sees_row = ["read", "update"].contains(&what);
        for (option, is_given, fits) in [
            ("set", !self.set.is_empty(), ["update", "write", "insert"].contains(&what)),
            ("require", self.require.is_some(), sees_row),
            ("as", self.name.is_some(), sees_row),
            ("rows", self.rows.is_some(), what == "scan"),
            ("missing", self.missing.is_some(), !["insert", "scan"].contains(&what)),
        ] {
            if is_given && !fits {
                return Err(format!("{option} does not go with {what}"));
            }
        }
        if let Some(name) = self.name.as_ref().filter(|name| !is_name(name)) {
            return Err(format!("as '{name}': allowed: {NAMES}"));
        }
        let known = variables.clone();
        let unknown = |name: &str| format!("'{name}' is not known here");
        let place = |name: &str| known.iter().position(|known| known == name);
        let variable = |name: &str| place(name).map(Name::Variable).ok_or_else(|| unknown(name));
        let column = |name: &str| of.columns.iter().position(|column| column == name);
        let with_columns = |name: &str| match (column(name).filter(|_| sees_row), place(name)) {
            (Some(_), Some(_)) => Err(format!(
                "'{name}' is a column of {table} and what was drawn; allowed: another name for what is drawn"
            )),
            (Some(column), None) => Ok(Name::Column(column)),
            (None, Some(variable)) => Ok(Name::Variable(variable)),
            (None, None) => Err(unknown(name)),
        };
        let names = || {
            let columns = of.columns.iter().filter(|_| sees_row).map(String::as_str);
            allowed(columns.chain(variables.iter().map(String::as_str)))
        };
        let explained = |what: &str, text: &str, why: String| {
            format!("{what} '{}': {why}; names here: {}", shortened(text), names())
        };
        let key = &self.key.0;
        let key = Expression::parse(key, &variable).map_err(|why| explained("key", key, why))?;
        let require = self
            .require
            .as_ref()
            .map(|text| Condition::parse(text, &with_columns).map_err(|why| explained("require", text, why)));
        let require = require.transpose()?;
        let mut set = Vec::new();
        for (name, value) in &self.set {
            let number = column(name).ok_or_else(|| {
                format!("set.{name}: allowed: {}", allowed(of.columns.iter().map(String::as_str)))
            })?;
            let text = &value.0;
            let value = Expression::parse(text, &with_columns);
            set.push((number, value.map_err(|why| explained(&format!("set.{name}"), text, why))?));
        }
        let action = match what {
            "read" => Action::Read,
            "update" => Action::Update { set },
            "write" => Action::Write { set },
            "insert" => Action::Insert { set },
            "delete" => Action::Delete,
            _ => {
                if !of.is_ordered {
                    return Err(format!(
                        "table '{table}' cannot be scanned; allowed: one with ordered = true"
                    ));
                }
                let rows = self.rows.unwrap_or(1);
                if !(1..=MOST_SCANNED).contains(&rows) {
                    return Err(format!("rows {rows}: allowed: 1 to {MOST_SCANNED}"));
                }
                Action::Scan { rows }
            }
        };
        if matches!(&action, Action::Update { set } | Action::Write { set } if set.is_empty()) {
            return Err(format!("{what} sets nothing; allowed: set = {{ COLUMN = EXPRESSION }}"));
        }
        let prefix = self.name.as_ref().map(|name| format!("{name}."));
        if let Some(prefix) = &prefix
            && variables.iter().any(|known| known.starts_with(prefix))
        {
            return Err(format!(
                "as '{}': a row that was read before has this name; allowed: another name",
                prefix.trim_end_matches('.')
            ));
        }
        let first = prefix.map(|prefix| {
            let first = variables.len();
            variables.extend(of.columns.iter().map(|column| format!("{prefix}{column}")));
            first
        });
        let must_be_there = self.missing == Some(Missing::RollBack);
        let foresight = Foresight::default();
        Ok(Step { table: id, key, action, require, variables: first, must_be_there, foresight })
    }
}
