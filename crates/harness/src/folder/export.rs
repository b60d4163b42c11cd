//! Results in the forms of other programs: `--export csv,json,markdown,hlog`.
//!
//! | form | file | what |
//! |---|---|---|
//! | `csv` | `export.csv` | one row a system or point, with the columns of [`COLUMNS`] behind its labels |
//! | | `kinds.csv` | one row a kind of transactions of these, with those of [`KIND_COLUMNS`], where a workload has several kinds |
//! | `json` | `export.json` | the same rows, as a list of objects, which have their kinds as `kinds` |
//! | `markdown` | `export.md` | a table for people, and one of the kinds |
//! | `hlog` | `latency.hlog` | the latencies ([`hlog`]): a tag for each system, of a sweep for each point and repetition |
//!
//! The first column, and the first field, say which version of the columns it is ([`SCHEMA`]); columns may be added behind the last under the same one.

use super::hlog::{self, Tagged};
use super::{Folder, csv_field};
use crate::failure::Failure;
use crate::options::BadValue;
use crate::summary::{CostDescription, Kind, Latency, Summary};
use crate::text::numbers::{latency_if_any, ratio, thousands};
use contract::LatencyHistogram;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Name and version of the columns.
pub const SCHEMA: &str = "trireme.export/1";

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values.
    Csv,
    /// A list of objects.
    Json,
    /// A table.
    Markdown,
    /// HdrHistogram's log.
    Hlog,
}

/// Their names on the command line.
pub const FORMS: [(&str, Form); 4] =
    [("csv", Form::Csv), ("json", Form::Json), ("markdown", Form::Markdown), ("hlog", Form::Hlog)];

/// A system, or a point of a sweep.
pub struct Exported<'a> {
    /// What tells it from others, by name.
    pub labels: Vec<(&'a str, &'a str)>,
    /// What was measured.
    pub summary: &'a Summary,
    /// Its latencies, if they were kept.
    pub latency_ns: Option<&'a LatencyHistogram>,
}

type Column = (&'static str, fn(&Summary) -> Value);

fn of_latency(summary: &Summary, of: fn(&Latency) -> Value) -> Value {
    summary.latency_ns.as_ref().map_or(Value::Null, of)
}

/// The columns, each with what it holds: counts, transactions a second, parts of commits, nanoseconds, events by transaction; empty where nothing was told.
pub const COLUMNS: [Column; 30] = [
    ("workload", |it| json!(it.workload)),
    ("machine", |it| json!(it.machine)),
    ("simulated", |it| json!(it.simulated)),
    ("workers", |it| json!(it.workers)),
    ("instances", |it| json!(it.instances)),
    ("durability", |it| json!(it.durability.to_string())),
    ("repetitions", |it| json!(it.repetitions)),
    ("duration_s", |it| json!(it.duration_s)),
    ("throughput_per_s", |it| json!(it.throughput_per_s)),
    ("throughput_min", |it| json!(it.throughput_min)),
    ("throughput_max", |it| json!(it.throughput_max)),
    ("commits", |it| json!(it.commits)),
    ("user_rollbacks", |it| json!(it.user_rollbacks)),
    ("abort_rate", |it| json!(it.abort_rate)),
    ("rate_per_s", |it| json!(it.arrivals.as_ref().map(|of| of.rate_per_s))),
    ("latency_of", |it| json!(it.latency_of)),
    ("mean_ns", |it| of_latency(it, |of| json!(of.mean))),
    ("p50_ns", |it| of_latency(it, |of| json!(of.p50))),
    ("p90_ns", |it| of_latency(it, |of| json!(of.p90))),
    ("p99_ns", |it| of_latency(it, |of| json!(of.p99))),
    ("p999_ns", |it| of_latency(it, |of| json!(of.p999))),
    ("max_ns", |it| of_latency(it, |of| json!(of.max))),
    ("checks_passed", |it| json!(it.checks.iter().all(|check| check.passed))),
    ("warnings", |it| json!(it.warnings.len())),
    ("instructions_per_txn", |it| json!(it.costs.instructions_per_txn)),
    ("cycles_per_txn", |it| json!(it.costs.cycles_per_txn)),
    ("cache_misses_per_txn", |it| json!(it.costs.cache_misses_per_txn)),
    ("tlb_misses_per_txn", |it| json!(it.costs.tlb_misses_per_txn)),
    ("branch_misses_per_txn", |it| json!(it.costs.branch_misses_per_txn)),
    ("page_faults_per_txn", |it| json!(it.costs.page_faults_per_txn)),
];

type KindColumn = (&'static str, fn(&Kind) -> Value);

fn of_kind(kind: &Kind, of: fn(&Latency) -> Value) -> Value {
    kind.latency_ns.as_ref().map_or(Value::Null, of)
}

/// The columns of a kind of transactions, in the same units.
pub const KIND_COLUMNS: [KindColumn; 12] = [
    ("transaction", |it| json!(it.name)),
    ("throughput_per_s", |it| json!(it.throughput_per_s)),
    ("tpmc", |it| json!(it.tpmc)),
    ("commits", |it| json!(it.commits)),
    ("user_rollbacks", |it| json!(it.user_rollbacks)),
    ("abort_rate", |it| json!(it.abort_rate)),
    ("mean_ns", |it| of_kind(it, |of| json!(of.mean))),
    ("p50_ns", |it| of_kind(it, |of| json!(of.p50))),
    ("p90_ns", |it| of_kind(it, |of| json!(of.p90))),
    ("p99_ns", |it| of_kind(it, |of| json!(of.p99))),
    ("p999_ns", |it| of_kind(it, |of| json!(of.p999))),
    ("max_ns", |it| of_kind(it, |of| json!(of.max))),
];

/// The forms of a list of names.
pub fn forms(given: &str) -> Result<Vec<Form>, BadValue> {
    let named = |name: &str| FORMS.iter().find(|(of, _)| *of == name).map(|(_, form)| *form);
    let forms: Option<Vec<Form>> = given.split(',').map(|name| named(name.trim())).collect();
    forms.ok_or_else(|| {
        let names = FORMS.map(|(name, _)| name).join(", ");
        BadValue::new("export", given, format!("one or several, between commas, of {names}"))
    })
}

/// Lays the results down in these forms.
pub fn write(folder: &Folder, rows: &[Exported<'_>], forms: &[Form]) -> Result<(), Failure> {
    forms.iter().try_for_each(|form| match form {
        Form::Csv => {
            folder.write("export.csv", &csv(rows))?;
            let kinds = csv_of_kinds(rows);
            if kinds.is_empty() { Ok(()) } else { folder.write("kinds.csv", &kinds) }
        }
        Form::Json => folder.write_json("export.json", &objects(rows)),
        Form::Markdown => folder.write("export.md", &markdown(rows)),
        Form::Hlog => folder.write("latency.hlog", &hlog(rows)),
    })
}

fn fields<'a>(row: &'a Exported<'_>) -> impl Iterator<Item = (&'a str, Value)> {
    let labels = row.labels.iter().map(|(name, label)| (*name, json!(label)));
    let columns = COLUMNS.iter().filter(|(name, _)| row.labels.iter().all(|(label, _)| label != name));
    [("schema", json!(SCHEMA))]
        .into_iter()
        .chain(labels)
        .chain(columns.map(|(name, of)| (*name, of(row.summary))))
}

/// A kind's columns behind the labels of its row.
fn fields_of_kind<'a>(row: &'a Exported<'_>, kind: &Kind) -> Vec<(&'a str, Value)> {
    let labels = row.labels.iter().map(|(name, label)| (*name, json!(label)));
    let columns = KIND_COLUMNS.iter().map(|(name, of)| (*name, of(kind)));
    [("schema", json!(SCHEMA))].into_iter().chain(labels).chain(columns).collect()
}

fn objects(rows: &[Exported<'_>]) -> Value {
    let object = |fields: Vec<(&str, Value)>| -> Value {
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
    };
    let kind = |kind: &Kind| object(KIND_COLUMNS.iter().map(|(name, of)| (*name, of(kind))).collect());
    let kinds = |row: &Exported<'_>| row.summary.kinds.iter().map(kind).collect::<Value>();
    rows.iter().map(|row| object(fields(row).chain([("kinds", kinds(row))]).collect())).collect()
}

fn csv(rows: &[Exported<'_>]) -> String {
    as_csv(rows.iter().map(|row| fields(row).collect()))
}

fn csv_of_kinds(rows: &[Exported<'_>]) -> String {
    let kinds = rows.iter().flat_map(|row| row.summary.kinds.iter().map(move |kind| (row, kind)));
    as_csv(kinds.map(|(row, kind)| fields_of_kind(row, kind)))
}

/// A head, and a line each row, all of the same fields; empty without rows.
fn as_csv<'a>(rows: impl Iterator<Item = Vec<(&'a str, Value)>>) -> String {
    let shown = |value: Value| match value {
        Value::Null => String::new(),
        Value::String(text) => csv_field(&text),
        other => other.to_string(),
    };
    let mut text = String::new();
    for row in rows {
        let (names, values): (Vec<&str>, Vec<Value>) = row.into_iter().unzip();
        if text.is_empty() {
            text = names.into_iter().map(csv_field).collect::<Vec<_>>().join(",") + "\n";
        }
        text += &(values.into_iter().map(shown).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

fn markdown(rows: &[Exported<'_>]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let numbers = ["txn/s", "spread", "aborts/commit", "p50", "p99", "p99.9"];
    let summaries: Vec<&Summary> = rows.iter().map(|row| row.summary).collect();
    let counted = CostDescription::counted_by_processor(&summaries);
    let numbers: Vec<&str> = numbers.into_iter().chain(counted.iter().map(|cost| cost.heading)).collect();
    let names = first.labels.iter().map(|(name, _)| *name);
    let mut text = line(names.chain(numbers.iter().copied()).map(str::to_owned).collect());
    let rules = first.labels.iter().map(|_| "---");
    text += &line(rules.chain(numbers.iter().map(|_| "---:")).map(str::to_owned).collect());
    for Exported { labels, summary, .. } in rows {
        let shown = |of: fn(&Latency) -> u64| latency_if_any(summary.latency_ns.as_ref().map(of));
        let cells = [
            thousands(summary.throughput_per_s),
            summary.spread_shown(),
            ratio(summary.abort_rate),
            shown(|of| of.p50),
            shown(|of| of.p99),
            shown(|of| of.p999),
        ];
        // A bar would end the cell.
        let labels = labels.iter().map(|(_, label)| label.replace('|', "\\|"));
        let counted = counted.iter().map(|cost| cost.shown_of(summary));
        text += &line(labels.chain(cells).chain(counted).collect());
    }
    text + &markdown_of_kinds(rows)
}

/// A second table, where there are kinds.
fn markdown_of_kinds(rows: &[Exported<'_>]) -> String {
    let kinds = || rows.iter().flat_map(|row| row.summary.kinds.iter().map(move |kind| (row, kind)));
    let Some((first, _)) = kinds().next() else { return String::new() };
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let has_tpmc = kinds().any(|(_, kind)| kind.tpmc.is_some());
    let numbers = ["txn/s", "aborts/commit", "p50", "p99", "p99.9"].into_iter();
    let numbers: Vec<&str> = numbers.chain(has_tpmc.then_some("New-Orders/min")).collect();
    let names = first.labels.iter().map(|(name, _)| *name).chain(["transaction"]);
    let mut text = "\n".to_owned() + &line(names.chain(numbers.iter().copied()).map(str::to_owned).collect());
    let rules = first.labels.iter().map(|_| "---").chain(["---"]);
    text += &line(rules.chain(numbers.iter().map(|_| "---:")).map(str::to_owned).collect());
    for (row, kind) in kinds() {
        let shown = |of: fn(&Latency) -> u64| latency_if_any(kind.latency_ns.as_ref().map(of));
        let labels = row.labels.iter().map(|(_, label)| label.replace('|', "\\|"));
        let cells = [
            kind.name.clone(),
            thousands(kind.throughput_per_s),
            ratio(kind.abort_rate),
            shown(|of| of.p50),
            shown(|of| of.p99),
            shown(|of| of.p999),
        ];
        let tpmc = has_tpmc.then(|| kind.tpmc.map_or(String::new(), thousands));
        text += &line(labels.chain(cells).chain(tpmc).collect());
    }
    text
}

fn hlog(rows: &[Exported<'_>]) -> String {
    let there = || rows.iter().filter_map(|row| Some((row, row.latency_ns?)));
    let what = hlog::what(there().map(|(row, _)| row.summary.latency_of));
    let comment = format!("{SCHEMA}: {what}; nanoseconds, all repetitions of a system together");
    let histograms = there().map(|(row, latency_ns)| Tagged {
        tag: hlog::tag(row.labels.iter().map(|(_, label)| *label)),
        counted: Duration::from_secs_f64(row.summary.duration_s * row.summary.repetitions as f64),
        latency_ns,
    });
    hlog::log(&[comment], histograms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_summary;
    use contract::Measurement;

    fn exported<'a>(summary: &'a Summary, latency_ns: &'a LatencyHistogram) -> Vec<Exported<'a>> {
        ["shared-everything", "a,b|c"]
            .map(|system| Exported {
                labels: vec![("system", system)],
                summary,
                latency_ns: Some(latency_ns),
            })
            .into()
    }

    #[test]
    fn every_form_has_every_row() {
        let (summary, mut histogram) = (some_summary(), Measurement::empty_histogram());
        (1..=100).for_each(|ns| histogram.record(1000 * ns).expect("in bounds"));
        let rows = exported(&summary, &histogram);
        let csv = csv(&rows);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let heads = reader.headers().expect("heads").clone();
        assert_eq!((&heads[0], &heads[1], &heads[2]), ("schema", "system", "workload"));
        let records: Vec<csv::StringRecord> = reader.records().map(|record| record.expect("a row")).collect();
        assert_eq!((records.len(), &records[1][0], &records[1][1]), (2, SCHEMA, "a,b|c"));
        let objects = objects(&rows);
        assert_eq!(objects[1]["throughput_per_s"], json!(summary.throughput_per_s));
        assert_eq!(objects[0].as_object().map(Map::len), Some(heads.len() + 1), "and the kinds");
        let markdown = markdown(&rows);
        assert_eq!(markdown.lines().count(), 4);
        assert!(markdown.contains("| a,b\\|c | "), "{markdown}");
    }

    #[test]
    fn kinds_are_exported_by_system() {
        let (mut summary, histogram) = (some_summary(), Measurement::empty_histogram());
        assert_eq!(csv_of_kinds(&exported(&summary, &histogram)), "", "it has one kind");
        let kind = |name: &str, tpmc| Kind {
            name: name.to_owned(),
            throughput_per_s: 10.0,
            tpmc,
            commits: 30,
            user_rollbacks: 1,
            abort_rate: 0.5,
            latency_ns: summary.latency_ns.clone(),
        };
        summary.kinds = vec![kind("new-order", Some(600.0)), kind("payment", None)];
        let rows = exported(&summary, &histogram);
        let text = csv_of_kinds(&rows);
        assert_eq!(text.lines().count(), 1 + 2 * 2);
        assert!(text.starts_with("schema,system,transaction,throughput_per_s,tpmc,"), "{text}");
        assert!(text.contains("trireme.export/1,\"a,b|c\",new-order,10.0,600.0,30,1,0.5,"), "{text}");
        assert_eq!(objects(&rows)[1]["kinds"][0]["tpmc"], json!(600.0));
        let markdown = markdown(&rows);
        assert!(markdown.contains("| system | transaction | txn/s |"), "{markdown}");
        assert!(markdown.contains("| New-Orders/min |") && markdown.contains(" | 600 |"), "{markdown}");
    }

    #[test]
    fn what_processors_count_has_columns_where_it_is_told() {
        let (mut summary, histogram) = (some_summary(), Measurement::empty_histogram());
        assert!(!markdown(&exported(&summary, &histogram)).contains("/txn"));
        assert_eq!(objects(&exported(&summary, &histogram))[0]["cycles_per_txn"], Value::Null);
        summary.costs.instructions_per_txn = Some(12345.6);
        let rows = exported(&summary, &histogram);
        let markdown = markdown(&rows);
        assert!(
            markdown.contains("p99.9 | instructions/txn |") && markdown.contains(" | 12,346 |"),
            "{markdown}"
        );
        assert_eq!(objects(&rows)[0]["instructions_per_txn"], json!(12345.6));
        assert!(csv(&rows).lines().nth(1).is_some_and(|row| row.ends_with(",12345.6,,,,,")));
    }

    #[test]
    fn a_log_is_read_by_who_knows_the_format() {
        let (summary, mut histogram) = (some_summary(), Measurement::empty_histogram());
        (1..=100).for_each(|ns| histogram.record(1000 * ns).expect("in bounds"));
        let log = hlog(&exported(&summary, &histogram));
        let histograms = hlog::tests::read(&log);
        assert_eq!(histograms.len(), 2, "{log}");
        assert_eq!(histograms[1].0, "a-b|c");
        let read = &histograms[1].1;
        assert_eq!((read.len(), read.value_at_quantile(0.5)), (100, histogram.value_at_quantile(0.5)));
        assert!(log.contains("service times, from the beginning of a transaction's first attempt"), "{log}");
    }

    #[test]
    fn a_form_has_a_name() {
        assert_eq!(forms("csv, hlog"), Ok(vec![Form::Csv, Form::Hlog]));
        let refused = forms("csv,xml").expect_err("no such form").to_string();
        assert_eq!(
            refused,
            "export csv,xml: allowed: one or several, between commas, of csv, json, markdown, hlog"
        );
    }
}
