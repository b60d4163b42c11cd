//! What a workload's file says, checked: tables, and transactions of draws and steps.

use super::expression::{Condition, Expression, Name};
use super::kind::FileKind;
use crate::random::Chance;
use crate::zipf::Zipf;
use contract::{Durability, TableId};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;
use toml::Spanned;

/// Values that a transaction draws and reads at most.
pub(super) const MOST_VARIABLES: usize = 32;
/// Bytes of the longest row.
pub(super) const MOST_ROW_BYTES: usize = 4096;
/// Rows of a table that are loaded at most.
const MOST_ROWS: u64 = 1 << 36;
/// Rows that a scan shows at most.
const MOST_SCANNED: usize = 10_000;

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub name: &'static str,
    pub rows: u64,
    pub capacity: u64,
    pub columns: Vec<String>,
    pub row_bytes: usize,
    pub is_ordered: bool,
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
    Row { rows: u64, zipf: Option<Zipf>, other_than: Option<usize>, place: Where },
    /// A key that nobody has, beyond those of loaded rows.
    New { first: u64 },
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

/// A column whose sum over all rows no transaction changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Invariant {
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
}

/// What is wanted of whatever runs a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// What 99 of 100 transactions are to take at most, retries included.
    pub latency_p99: Option<Duration>,
    /// What is kept of a commit when the power fails.
    pub durability: Option<Durability>,
}

/// What is not to be as a file says it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Adjustments {
    /// Rows of each table at most.
    pub most_rows: Option<u64>,
    /// Skew of the draws that are skewed in the file, or of all if none is.
    pub theta: Option<f64>,
    /// Percentage of rows of another partition, of the draws that take some from there in the file, or of all if none does.
    pub remote: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    tables: BTreeMap<String, TableText>,
    transactions: BTreeMap<String, KindText>,
    #[serde(default)]
    invariants: Vec<InvariantText>,
    #[serde(default)]
    goal: GoalText,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct GoalText {
    latency_p99_us: Option<f64>,
    durability: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableText {
    rows: u64,
    capacity: Option<u64>,
    columns: Vec<String>,
    row_bytes: Option<usize>,
    #[serde(default)]
    ordered: bool,
    #[serde(default)]
    fill: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KindText {
    weight: f64,
    #[serde(default)]
    draw: Vec<DrawText>,
    steps: Vec<Spanned<StepText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DrawText {
    name: String,
    row_of: Option<String>,
    new_key_of: Option<String>,
    from: Option<i64>,
    to: Option<i64>,
    theta: Option<f64>,
    other_than: Option<String>,
    remote: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    read: Option<String>,
    update: Option<String>,
    write: Option<String>,
    insert: Option<String>,
    delete: Option<String>,
    scan: Option<String>,
    key: ExpressionText,
    #[serde(default)]
    set: BTreeMap<String, ExpressionText>,
    require: Option<String>,
    #[serde(rename = "as")]
    name: Option<String>,
    rows: Option<usize>,
    #[serde(default)]
    missing: Missing,
}

/// A number may be written as one.
#[derive(Deserialize)]
#[serde(untagged)]
enum ExpressionText {
    Number(i64),
    Text(String),
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Missing {
    #[default]
    GoOn,
    RollBack,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InvariantText {
    sum_of: String,
}

impl ExpressionText {
    fn text(&self) -> String {
        match self {
            ExpressionText::Number(number) => number.to_string(),
            ExpressionText::Text(text) => text.clone(),
        }
    }
}

fn leaked(text: &str) -> &'static str {
    // Few, and named until the end.
    Box::leak(text.to_owned().into_boxed_str())
}

fn allowed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

impl Specification {
    /// Reads a file's text, and changes what `adjusted` says. In words what is wrong with it, and where.
    pub fn parse(text: &str, adjusted: &Adjustments) -> Result<Specification, String> {
        let mut file: FileText = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            format!("line {line}: {}{}", error.message(), FileKind::Workload.but(text))
        })?;
        adjusted.apply(&mut file);
        let tables =
            file.tables.iter().map(|(name, table)| table.checked(name)).collect::<Result<Vec<_>, _>>()?;
        if tables.is_empty() || file.transactions.is_empty() {
            return Err("it has no tables, or no transactions; allowed: one of both at least".to_owned());
        }
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
        Ok(Specification { tables, kinds, names: Box::leak(names.into_boxed_slice()), invariants, goal })
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

/// How many times as many rows as are loaded a table's index has room for, where their number was cut.
const ROOM_A_ROW: u64 = 16;

impl Adjustments {
    fn apply(&self, file: &mut FileText) {
        if let Some(most) = self.most_rows {
            for table in file.tables.values_mut() {
                table.rows = table.rows.min(most);
                // Room takes time, too.
                let room = most.saturating_mul(ROOM_A_ROW);
                table.capacity = table.capacity.map(|capacity| capacity.min(room));
            }
        }
        set_where_more_than_0(file, self.theta, |draw| &mut draw.theta);
        set_where_more_than_0(file, self.remote, |draw| &mut draw.remote);
    }
}

/// Gives what `of` shows of draws of rows the value `to`: where it is more than 0, or of all draws if it is nowhere.
fn set_where_more_than_0(file: &mut FileText, to: Option<f64>, of: fn(&mut DrawText) -> &mut Option<f64>) {
    if to.is_none() {
        return;
    }
    let draws = file.transactions.values_mut().flat_map(|kind| &mut kind.draw);
    let mut draws: Vec<&mut Option<f64>> = draws.filter(|draw| draw.row_of.is_some()).map(of).collect();
    let is_more = |value: &Option<f64>| value.is_some_and(|value| value > 0.0);
    let is_somewhere = draws.iter().any(|value| is_more(value));
    draws.iter_mut().filter(|value| !is_somewhere || is_more(value)).for_each(|value| **value = to);
}

impl GoalText {
    fn checked(&self) -> Result<Goal, String> {
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

fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

impl TableText {
    fn checked(&self, name: &str) -> Result<Table, String> {
        let refuse = |what: String| Err(format!("tables.{name}: {what}"));
        let columns = &self.columns;
        let is_name = |name: &String| {
            let mut letters = name.chars();
            let first = letters.next().is_some_and(|first| first.is_ascii_alphabetic());
            first && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if columns.is_empty() || !columns.iter().all(is_name) {
            return refuse(
                "columns: allowed: names of letters, digits and underscores, one at least".to_owned(),
            );
        }
        let least = 8 * columns.len();
        let row_bytes = self.row_bytes.unwrap_or(least);
        if !(least..=MOST_ROW_BYTES).contains(&row_bytes) || !row_bytes.is_multiple_of(8) {
            return refuse(format!(
                "row_bytes {row_bytes}: allowed: a multiple of 8 from {least}, for its columns, to {MOST_ROW_BYTES}"
            ));
        }
        if self.rows > MOST_ROWS {
            return refuse(format!("rows {}: allowed: 0 to {MOST_ROWS}", self.rows));
        }
        if let Some(other) = self.fill.keys().find(|column| !columns.contains(column)) {
            return refuse(format!("fill.{other}: allowed: {}", allowed(columns.iter().map(String::as_str))));
        }
        let fill = columns.iter().map(|column| self.fill.get(column).copied().unwrap_or(0)).collect();
        let capacity = self.capacity.unwrap_or(self.rows).max(self.rows).max(1024);
        Ok(Table {
            name: leaked(name),
            rows: self.rows,
            capacity,
            columns: columns.clone(),
            row_bytes,
            is_ordered: self.ordered,
            fill,
        })
    }
}

fn table_of(name: &str, tables: &[Table]) -> Result<TableId, String> {
    let found = tables.iter().position(|table| table.name == name);
    let found = found.ok_or_else(|| {
        format!("table '{name}' is not there; allowed: {}", allowed(tables.iter().map(|table| table.name)))
    })?;
    Ok(TableId(found as u16))
}

impl KindText {
    fn checked(&self, name: &str, tables: &[Table], text: &str) -> Result<Kind, String> {
        if !(self.weight.is_finite() && self.weight > 0.0) {
            return Err(format!("weight {}: allowed: more than 0", self.weight));
        }
        let mut variables: Vec<String> = Vec::new();
        let mut draws: Vec<Draw> = Vec::new();
        for draw in &self.draw {
            let checked =
                draw.checked(tables, &draws).map_err(|what| format!("draw {}: {what}", draw.name))?;
            if variables.contains(&draw.name) {
                return Err(format!("draw {}: it is drawn twice", draw.name));
            }
            variables.push(draw.name.clone());
            draws.push(checked);
        }
        let mut steps = Vec::new();
        for step in &self.steps {
            let line = line_of(text, step.span().start);
            let checked = step.get_ref().checked(tables, &mut variables);
            steps.push(checked.map_err(|what| format!("line {line}: {what}"))?);
        }
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

impl DrawText {
    fn checked(&self, tables: &[Table], before: &[Draw]) -> Result<Draw, String> {
        let DrawText { name, row_of, new_key_of, from, to, theta, other_than, remote } = self;
        let of_rows = [theta.is_some(), other_than.is_some(), remote.is_some()].contains(&true);
        let kind = match (row_of, new_key_of, from, to) {
            (Some(table), None, None, None) => {
                let rows = tables[table_of(table, tables)?.index()].rows;
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
                DrawKind::Row { rows, zipf, other_than, place }
            }
            (None, Some(table), None, None) if !of_rows => {
                DrawKind::New { first: tables[table_of(table, tables)?.index()].rows }
            }
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

impl StepText {
    fn checked(&self, tables: &[Table], variables: &mut Vec<String>) -> Result<Step, String> {
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
        ] {
            if is_given && !fits {
                return Err(format!("{option} does not go with {what}"));
            }
        }
        let known = variables.clone();
        let variable = move |name: &str| known.iter().position(|known| known == name).map(Name::Variable);
        let column = |name: &str| of.columns.iter().position(|column| column == name);
        let with_columns = |name: &str| match sees_row {
            true => column(name).map(Name::Column).or_else(|| variable(name)),
            false => variable(name),
        };
        let names = || {
            let columns = of.columns.iter().filter(|_| sees_row).map(String::as_str);
            allowed(columns.chain(variables.iter().map(String::as_str)))
        };
        let explained =
            |what: &str, text: &str, why: String| format!("{what} '{text}': {why}; names here: {}", names());
        let key = self.key.text();
        let key = Expression::parse(&key, &variable).map_err(|why| explained("key", &key, why))?;
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
            let text = value.text();
            let value = Expression::parse(&text, &with_columns);
            set.push((number, value.map_err(|why| explained(&format!("set.{name}"), &text, why))?));
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
        let first = self.name.as_ref().map(|name| {
            let first = variables.len();
            variables.extend(of.columns.iter().map(|column| format!("{name}.{column}")));
            first
        });
        let must_be_there = self.missing == Missing::RollBack;
        Ok(Step { table: id, key, action, require, variables: first, must_be_there })
    }
}

impl InvariantText {
    fn checked(&self, tables: &[Table], kinds: &[Kind]) -> Result<Invariant, String> {
        let (table, column) = self
            .sum_of
            .split_once('.')
            .ok_or_else(|| format!("sum_of '{}': allowed: TABLE.COLUMN", self.sum_of))?;
        let id = table_of(table, tables)?;
        let columns = &tables[id.index()].columns;
        let column = columns.iter().position(|known| known == column).ok_or_else(|| {
            format!("sum_of '{}': allowed: a column of {table}: {}", self.sum_of, columns.join(", "))
        })?;
        let changes_rows =
            |step: &Step| step.table == id && matches!(step.action, Action::Insert { .. } | Action::Delete);
        match kinds.iter().flat_map(|kind| &kind.steps).any(changes_rows) {
            true => Err(format!(
                "sum_of '{}': rows of {table} come or go; allowed: a table that keeps its rows",
                self.sum_of
            )),
            false => Ok(Invariant { table: id, column }),
        }
    }
}
