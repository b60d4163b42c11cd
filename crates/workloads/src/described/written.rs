//! What a file may hold, as it is written: TOML of these fields and no others, and what is adjusted of it before it is checked.

use super::kind::FileKind;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileText {
    #[serde(default)]
    pub tables: BTreeMap<String, TableText>,
    #[serde(default)]
    pub transactions: BTreeMap<String, KindText>,
    #[serde(default)]
    pub invariants: Vec<InvariantText>,
    #[serde(default)]
    pub goal: GoalText,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GoalText {
    pub latency_p99_us: Option<f64>,
    pub durability: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableText {
    pub rows: u64,
    /// Before they were cut.
    #[serde(skip)]
    pub written_rows: Option<u64>,
    pub capacity: Option<u64>,
    pub columns: Vec<String>,
    pub row_bytes: Option<usize>,
    #[serde(default)]
    pub ordered: bool,
    pub partition_key: Option<Spanned<PartitionKeyText>>,
    #[serde(default)]
    pub fill: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KindText {
    pub weight: f64,
    #[serde(default)]
    pub draw: Vec<Spanned<DrawText>>,
    pub steps: Vec<Spanned<StepText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DrawText {
    pub name: String,
    pub row_of: Option<String>,
    pub new_key_of: Option<String>,
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub theta: Option<f64>,
    pub other_than: Option<String>,
    pub remote: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepText {
    pub read: Option<String>,
    pub update: Option<String>,
    pub write: Option<String>,
    pub insert: Option<String>,
    pub delete: Option<String>,
    pub scan: Option<String>,
    pub key: ExpressionText,
    #[serde(default)]
    pub set: BTreeMap<String, ExpressionText>,
    pub require: Option<String>,
    #[serde(rename = "as")]
    pub name: Option<String>,
    pub rows: Option<usize>,
    pub missing: Option<Missing>,
}

/// A number may be written as one.
pub(super) struct ExpressionText(pub String);

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
pub(super) enum PartitionKeyText {
    Text(String),
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Missing {
    GoOn,
    RollBack,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InvariantText {
    pub sum_of: OneOrMore,
}

/// One may be written without brackets.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected 'TABLE.COLUMN', or several of them between brackets")]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub fn all(&self) -> &[String] {
        match self {
            OneOrMore::One(one) => std::slice::from_ref(one),
            OneOrMore::More(all) => all,
        }
    }
}

impl FileText {
    /// What the text of a file holds. In words what is wrong with it, and where.
    pub fn read(text: &str) -> Result<FileText, String> {
        toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let line = line_of(text, span.start);
            format!("line {line}: {}{}", in_words(error.message(), text, span), FileKind::Workload.but(text))
        })
    }

    /// The different values more than 0 that draws of rows have, rising; 0 if there are none.
    pub fn different(&self, of: fn(&DrawText) -> Option<f64>) -> Vec<f64> {
        let draws = self.transactions.values().flat_map(|kind| &kind.draw).map(Spanned::get_ref);
        let mut values: Vec<f64> = draws.filter_map(of).filter(|value| *value > 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.is_empty() { vec![0.0] } else { values }
    }
}

/// The line of a place in a text, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
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

/// How many times as many rows as are loaded a table's index has room for, where their number was cut.
const ROOM_A_ROW: u64 = 16;

impl Adjustments {
    pub fn apply(&self, file: &mut FileText) {
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
