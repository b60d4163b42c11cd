//! What a workload's file says, checked: tables, and transactions of draws and steps.

use super::expression::{Condition, Expression, Name};
use super::kind::FileKind;
use super::partition_key::PartitionKey;
use crate::random::Chance;
use crate::zipf::Zipf;
use contract::{Durability, TableId};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

/// Values that a transaction draws and reads at most.
pub(super) const MOST_VARIABLES: usize = 32;
/// Bytes of the longest row.
pub(super) const MOST_ROW_BYTES: usize = 4096;
/// Rows of a table that are loaded at most.
pub(super) const MOST_ROWS: u64 = 1 << 36;
/// Rows that a scan shows at most.
const MOST_SCANNED: usize = 10_000;
/// Tables at most.
const MOST_TABLES: usize = 1000;
/// Kinds of transactions at most.
const MOST_KINDS: usize = 1000;
/// The largest weight of a kind; the least is one by this.
const MOST_WEIGHT: f64 = 1e9;

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
    #[serde(default)]
    tables: BTreeMap<String, TableText>,
    #[serde(default)]
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
    /// Before they were cut.
    #[serde(skip)]
    written_rows: Option<u64>,
    capacity: Option<u64>,
    columns: Vec<String>,
    row_bytes: Option<usize>,
    #[serde(default)]
    ordered: bool,
    partition_key: Option<Spanned<PartitionKeyText>>,
    #[serde(default)]
    fill: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KindText {
    weight: f64,
    #[serde(default)]
    draw: Vec<Spanned<DrawText>>,
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
    missing: Option<Missing>,
}

/// A number may be written as one.
struct ExpressionText(String);

impl<'de> Deserialize<'de> for ExpressionText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = ExpressionText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or an expression in quotes")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<ExpressionText, E> {
                Ok(ExpressionText(number.to_string()))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<ExpressionText, E> {
                Ok(ExpressionText(number.to_string()))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<ExpressionText, E> {
                Ok(ExpressionText(text.to_owned()))
            }
        }
        from.deserialize_any(Read)
    }
}

/// Whatever is written, to be told what is allowed.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected \"key\", or \"key / N\" in quotes")]
enum PartitionKeyText {
    Text(String),
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Missing {
    GoOn,
    RollBack,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InvariantText {
    sum_of: OneOrMore,
}

/// One may be written without brackets.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected 'TABLE.COLUMN', or several of them between brackets")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn all(&self) -> &[String] {
        match self {
            OneOrMore::One(one) => std::slice::from_ref(one),
            OneOrMore::More(all) => all,
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
            let span = error.span().unwrap_or(0..0);
            let line = line_of(text, span.start);
            format!("line {line}: {}{}", in_words(error.message(), text, span), FileKind::Workload.but(text))
        })?;
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
        let thetas = different(&file, |draw| draw.theta);
        let remotes = different(&file, |draw| draw.remote);
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

/// How many times as many rows as are loaded a table's index has room for, where their number was cut.
const ROOM_A_ROW: u64 = 16;

impl Adjustments {
    fn apply(&self, file: &mut FileText) {
        if let Some(most) = self.most_rows {
            for table in file.tables.values_mut() {
                table.written_rows = Some(table.rows);
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
    let draws = file.transactions.values_mut().flat_map(|kind| &mut kind.draw).map(Spanned::get_mut);
    let mut draws: Vec<&mut Option<f64>> = draws.filter(|draw| draw.row_of.is_some()).map(of).collect();
    let is_more = |value: &Option<f64>| value.is_some_and(|value| value > 0.0);
    let is_somewhere = draws.iter().any(|value| is_more(value));
    draws.iter_mut().filter(|value| !is_somewhere || is_more(value)).for_each(|value| **value = to);
}

/// The different values more than 0 that draws of rows have, rising; 0 if there are none.
fn different(file: &FileText, of: fn(&DrawText) -> Option<f64>) -> Vec<f64> {
    let draws = file.transactions.values().flat_map(|kind| &kind.draw).map(Spanned::get_ref);
    let mut values: Vec<f64> = draws.filter_map(of).filter(|value| *value > 0.0).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    if values.is_empty() { vec![0.0] } else { values }
}

/// What the reader of TOML says is wrong, without names of types.
fn in_words(message: &str, text: &str, span: Range<usize>) -> String {
    match message {
        "duplicate key" => format!("'{}' is there twice", text.get(span).unwrap_or_default()),
        other => other
            .replace("expected u64", "expected a whole number, 0 at least")
            .replace("expected usize", "expected a whole number, 0 at least"),
    }
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
    fn checked(&self, name: &str, text: &str) -> Result<Table, String> {
        let refuse = |what: String| Err(format!("tables.{name}: {what}"));
        let columns = &self.columns;
        if columns.is_empty() {
            return refuse(format!("columns: there are none; allowed: {NAMES}, one at least"));
        }
        if let Some(other) = columns.iter().find(|column| !is_name(column)) {
            return refuse(format!("columns: '{other}': allowed: {NAMES}"));
        }
        if let Some(twice) = first_of_two(columns) {
            return refuse(format!("columns: '{twice}' is there twice; allowed: each once"));
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
        let partition_key = match &self.partition_key {
            None => PartitionKey::default(),
            Some(spanned) => {
                let PartitionKeyText::Text(key) = spanned.get_ref();
                let parsed = PartitionKey::parse(key, self.written_rows.unwrap_or(self.rows), self.rows);
                match parsed {
                    Ok(parsed) => parsed,
                    Err(why) => {
                        let (line, key) = (line_of(text, spanned.span().start), shortened(key));
                        return refuse(format!("line {line}: partition_key '{key}': {why}"));
                    }
                }
            }
        };
        let fill = columns.iter().map(|column| self.fill.get(column).copied().unwrap_or(0)).collect();
        let capacity = self.capacity.unwrap_or(self.rows).max(self.rows).max(1024);
        Ok(Table {
            name: leaked(name),
            rows: self.rows,
            capacity,
            columns: columns.clone(),
            row_bytes,
            is_ordered: self.ordered,
            partition_key,
            fill,
        })
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

impl KindText {
    fn checked(&self, name: &str, tables: &[Table], text: &str) -> Result<Kind, String> {
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

impl InvariantText {
    fn checked(&self, tables: &[Table], kinds: &[Kind]) -> Result<Invariant, String> {
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
