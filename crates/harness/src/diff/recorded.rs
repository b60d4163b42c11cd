//! A result folder as it was laid down: the repetitions of its rows, and how they were taken.

use crate::failure::{Failure, words};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// The column behind which a row's labels end.
const REPETITION: &str = "repetition";

/// Parameters that may differ: how often something was measured, what was counted beside it, and where it was written. `seed`: rows are then compared by themselves.
const FREE: [&str; 5] = ["repeat", "seed", "counters", "out", "log"];

/// What tells one machine from another, of `environment.json`. Not what changes from day to day.
const MACHINE: [&str; 10] = [
    "cpu_model",
    "cpu_architecture",
    "cores",
    "hardware_threads",
    "sockets",
    "memory_bytes",
    "kernel",
    "governor",
    "turbo",
    "trireme_build",
];

/// What a simulated machine's numbers do not depend on is not compared of the one that simulated it.
const SIMULATED: &str = "machine";

/// A system, of a sweep at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// What it is, by name: the system, or the place on the axes.
    pub labels: Vec<(String, String)>,
    /// By repetition.
    pub seeds: Vec<u64>,
    /// By repetition; `None` where nothing was measured: a repetition without commits has no latencies.
    columns: BTreeMap<String, Vec<Option<f64>>>,
}

impl Row {
    /// A quantity by its column and repetition; `None` where it was not measured.
    pub fn repetitions(&self, column: &str) -> &[Option<f64>] {
        self.columns.get(column).map_or(&[], Vec::as_slice)
    }

    /// The repetitions of a quantity by its column, as far as it was measured.
    pub fn values(&self, column: &str) -> Vec<f64> {
        self.repetitions(column).iter().copied().flatten().collect()
    }

    #[cfg(test)]
    pub(super) fn of(
        labels: Vec<(String, String)>,
        seeds: &[u64],
        column: &str,
        values: &[Option<f64>],
    ) -> Row {
        let columns = BTreeMap::from([(column.to_owned(), values.to_vec())]);
        Row { labels, seeds: seeds.to_vec(), columns }
    }
}

/// What a folder holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// In the file's order.
    pub rows: Vec<Row>,
    /// What was measured, by name.
    pub parameters: BTreeMap<String, String>,
    /// Where. Empty of what was simulated.
    pub machine: BTreeMap<String, String>,
}

impl Recorded {
    /// Reads a result folder.
    pub fn read(folder: &Path) -> Result<Recorded, Failure> {
        let text = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))
        };
        let damaged = |name: &str, what: String| Failure::Input {
            place: folder.join(name).display().to_string(),
            what: format!("{what}; allowed: what 'run', 'compare' or 'sweep' has laid down"),
        };
        let rows = rows(&text("samples.csv")?).map_err(|what| damaged("samples.csv", what))?;
        let parameters: toml::Table = toml::from_str(&text("parameters.toml")?)
            .map_err(|error| damaged("parameters.toml", error.message().to_owned()))?;
        let parameters = flattened(&parameters);
        let environment: Value = serde_json::from_str(&text("environment.json")?)
            .map_err(|error| damaged("environment.json", error.to_string()))?;
        let machine = match parameters.contains_key(SIMULATED) {
            true => BTreeMap::new(),
            false => {
                let fact = |name: &&str| Some(((*name).to_owned(), told(&environment[*name])?));
                MACHINE.iter().filter_map(fact).collect()
            }
        };
        Ok(Recorded { rows, parameters, machine })
    }

    /// Whether it was simulated.
    pub fn is_simulated(&self) -> bool {
        self.parameters.contains_key(SIMULATED)
    }

    /// The rates at which transactions arrived; none of a closed loop.
    pub fn rates(&self) -> Vec<&str> {
        let labels = self.rows.iter().flat_map(|row| &row.labels);
        let all = self.parameters.iter().chain(labels.map(|(name, value)| (name, value)));
        let rates = all.filter(|(name, rate)| *name == "rate" && *rate != "closed");
        rates.map(|(_, rate)| rate.as_str()).collect()
    }

    /// The row with these labels.
    pub fn row(&self, labels: &[(String, String)]) -> Option<&Row> {
        self.rows.iter().find(|row| row.labels == labels)
    }

    /// What differs in how both were measured, in words.
    pub fn differences(&self, other: &Recorded) -> Vec<String> {
        let of = |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| -> Vec<String> {
            let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
            names.sort_unstable();
            names.dedup();
            let shown = |of: &BTreeMap<String, String>, name: &String| {
                of.get(name).map_or("not there".to_owned(), Clone::clone)
            };
            let differs = |name: &&&String| one.get(**name) != other.get(**name);
            let differing = names.iter().filter(differs);
            differing
                .map(|name| format!("{name}: {}, then {}", shown(one, name), shown(other, name)))
                .collect()
        };
        [of(&self.machine, &other.machine), of(&self.parameters, &other.parameters)].concat()
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Input {
        place: path.display().to_string(),
        what: format!("{}; allowed: a folder of results, of 'run', 'compare' or 'sweep'", words(error)),
    }
}

/// The settings of a parameter file, but for those that are free, the axes, which rows tell, and what is only for reading.
fn flattened(table: &toml::Table) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, value) in table {
        match (name.as_str(), value) {
            ("title" | "paper" | "claim" | "axes" | "x", _) => {}
            ("base", toml::Value::Table(base)) => {
                let settings = base.iter().filter(|(name, _)| !FREE.contains(&name.as_str()));
                all.extend(settings.map(|(name, value)| (name.clone(), shown(value))));
            }
            (name, value) => drop(all.insert(name.to_owned(), shown(value))),
        }
    }
    all
}

fn shown(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a machine says of itself; `None`: nothing.
fn told(fact: &Value) -> Option<String> {
    match fact {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The rows of `samples.csv`.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().map_err(|error| error.to_string())?.clone();
    let labels = heads.iter().position(|head| head == REPETITION).ok_or("it has no repetitions")?;
    let mut rows: Vec<Row> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let fields = || heads.iter().zip(record.iter());
        let of: Vec<(String, String)> =
            fields().take(labels).map(|(head, field)| (head.to_owned(), field.to_owned())).collect();
        let position = rows.iter().position(|row| row.labels == of).unwrap_or_else(|| {
            rows.push(Row { labels: of, ..Row::default() });
            rows.len() - 1
        });
        let row = &mut rows[position];
        for (head, field) in fields().skip(labels + 1) {
            let damaged = || format!("{head} {field} is no number");
            if head == "seed" {
                row.seeds.push(field.parse().map_err(|_| damaged())?);
                continue;
            }
            // A field stays empty where nothing was measured.
            let value = match field.is_empty() {
                true => None,
                false => Some(field.parse().map_err(|_| damaged())?),
            };
            row.columns.entry(head.to_owned()).or_default().push(value);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(parameters: &str, environment: &str, samples: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let files =
            [("parameters.toml", parameters), ("environment.json", environment), ("samples.csv", samples)];
        files.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).expect("written"));
        folder
    }

    const SAMPLES: &str = "protocol,repetition,seed,throughput_per_s,p99_ns\n\"a,b\",1,7,10.5,\n\"a,b\",2,8,11.5,300\nsilo,1,7,5,200\n";
    const PARAMETERS: &str = "title = \"Again\"\nworkload = \"micro\"\n[base]\nrecords = \"10\"\nrepeat = \"2\"\n[axes]\nprotocol = [\"silo\"]\n";

    #[test]
    fn what_was_laid_down_is_read() {
        let folder = folder(PARAMETERS, r#"{"cores": 2, "measured": "today"}"#, SAMPLES);
        let recorded = Recorded::read(folder.path()).expect("results");
        assert_eq!(recorded.rows.len(), 2);
        let first = &recorded.rows[0];
        assert_eq!(first.labels, [("protocol".to_owned(), "a,b".to_owned())]);
        assert_eq!(
            (first.seeds.as_slice(), first.values("throughput_per_s")),
            (&[7, 8][..], vec![10.5, 11.5])
        );
        assert_eq!(first.values("p99_ns"), [300.0], "nothing is not zero");
        assert_eq!(first.repetitions("p99_ns"), [None, Some(300.0)]);
        assert_eq!(recorded.differences(&recorded), Vec::<String>::new());
    }

    #[test]
    fn what_was_measured_otherwise_is_named() {
        let one = folder(PARAMETERS, r#"{"cores": 2, "cpu_model": "A", "governor": null}"#, SAMPLES);
        let other = folder(
            &PARAMETERS.replace("\"10\"", "\"20\"").replace("\"2\"", "\"5\""),
            r#"{"cores": 4, "cpu_model": "B"}"#,
            SAMPLES,
        );
        let read = |folder: &tempfile::TempDir| Recorded::read(folder.path()).expect("results");
        assert_eq!(
            read(&one).differences(&read(&other)),
            ["cores: 2, then 4", "cpu_model: A, then B", "records: 10, then 20"]
        );
        // Who simulates it makes no difference.
        let simulated = format!("machine = \"m 1\"\n{PARAMETERS}");
        let (one, other) =
            (folder(&simulated, r#"{"cores": 2}"#, SAMPLES), folder(&simulated, r#"{"cores": 4}"#, SAMPLES));
        assert_eq!(read(&one).differences(&read(&other)), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_result_is_refused_in_words() {
        let nothing = tempfile::tempdir().expect("a folder for the test");
        let refused = |folder: &Path| Recorded::read(folder).expect_err("no result").to_string();
        assert!(refused(nothing.path()).contains("samples.csv"), "{}", refused(nothing.path()));
        let torn = folder(PARAMETERS, "{}", "protocol,repetition,seed\nsilo,1\n");
        assert!(refused(torn.path()).contains("samples.csv"), "{}", refused(torn.path()));
        let words = folder(PARAMETERS, "{}", "protocol,repetition,seed\nsilo,1,seven\n");
        assert!(refused(words.path()).contains("seed seven is no number"), "{}", refused(words.path()));
    }
}
