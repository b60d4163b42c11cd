//! Results in the forms of other programs: `--export csv,json,markdown,hlog`.
//!
//! | form | file | what |
//! |---|---|---|
//! | `csv` | `export.csv` | one row a system or point, with the columns of [`COLUMNS`] behind its labels |
//! | `json` | `export.json` | the same rows, as a list of objects |
//! | `markdown` | `export.md` | a table for people |
//! | `hlog` | `latency.hlog` | the latencies, in HdrHistogram's log format (version 1.3, histograms V2 deflated), nanoseconds, a tag for each system; a sweep has none |
//!
//! The first column, and the first field, say which version of the columns it is ([`SCHEMA`]); columns may be added behind the last under the same one.

use super::{Folder, csv_field};
use crate::failure::Failure;
use crate::options::BadValue;
use crate::summary::{CostDescription, Latency, Summary};
use crate::text::numbers::{latency_if_any, ratio, thousands};
use contract::LatencyHistogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
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
        Form::Csv => folder.write("export.csv", &csv(rows)),
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

fn objects(rows: &[Exported<'_>]) -> Value {
    let object = |row| fields(row).map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>();
    rows.iter().map(object).map(Value::Object).collect()
}

fn csv(rows: &[Exported<'_>]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let line = |cells: Vec<String>| cells.join(",") + "\n";
    let shown = |value: Value| match value {
        Value::Null => String::new(),
        Value::String(text) => csv_field(&text),
        other => other.to_string(),
    };
    let head = line(fields(first).map(|(name, _)| csv_field(name)).collect());
    rows.iter().fold(head, |text, row| text + &line(fields(row).map(|(_, value)| shown(value)).collect()))
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
    text
}

fn hlog(rows: &[Exported<'_>]) -> String {
    let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut builder = IntervalLogWriterBuilder::new();
    // As other writers of the format begin.
    builder.add_comment("[Histogram log format version 1.3]");
    builder.add_comment(&format!("{SCHEMA}: latencies in nanoseconds, all repetitions of a system together"));
    let mut writer =
        builder.begin_log_with(&mut bytes, &mut serializer).expect("memory takes what is written");
    for Exported { labels, summary, latency_ns } in rows {
        let Some(histogram) = latency_ns else { continue };
        let name: Vec<String> = labels.iter().map(|(_, label)| label.replace([' ', ','], "-")).collect();
        let name = name.join("/");
        let counted = Duration::from_secs_f64(summary.duration_s * summary.repetitions as f64);
        writer
            .write_histogram(histogram, Duration::ZERO, counted, Tag::new(&name))
            .expect("memory takes what is written");
    }
    drop(writer);
    String::from_utf8(bytes).expect("the log is text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::some_summary;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use contract::Measurement;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

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
        assert_eq!(objects[0].as_object().map(Map::len), Some(heads.len()));
        let markdown = markdown(&rows);
        assert_eq!(markdown.lines().count(), 4);
        assert!(markdown.contains("| a,b\\|c | "), "{markdown}");
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
        let entries: Vec<LogEntry<'_>> =
            IntervalLogIterator::new(log.as_bytes()).map(|entry| entry.expect("an entry")).collect();
        let histograms: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .collect();
        assert_eq!(histograms.len(), 2, "{log}");
        assert_eq!(histograms[1].tag().map(|tag| tag.as_str()), Some("a-b|c"));
        let bytes = STANDARD.decode(histograms[0].encoded_histogram()).expect("base64");
        let read: LatencyHistogram = Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram");
        assert_eq!((read.len(), read.value_at_quantile(0.5)), (100, histogram.value_at_quantile(0.5)));
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
