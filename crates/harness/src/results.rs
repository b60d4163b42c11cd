//! What `run`, `compare` and `check` bring home, and how it is laid down in a result folder. A sweep lays its points
//! down one by one: [`crate::sweep`].

use crate::check::CheckSummary;
use crate::confidence::{self, BesideBest, Interval};
use crate::failure::Failure;
use crate::folder::samples::{self, Sample};
use crate::folder::{Folder, file_name, latency, parameters, series};
use crate::options::{OPTIONS, extras};
use crate::report;
use crate::subject::Subject;
use crate::summary::{COMPARISON_SCHEMA, Comparison, Row, Summary, Unmeasured, merged_latency};
use crate::summary::{Measured, Turns, warnings};
use crate::text::dates::Utc;
use crate::text::numbers::{ratio, thousands};
use crate::validation::{Kind, ModelErrors};
use contract::{LatencyHistogram, PairName, Series};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// One measured system.
pub struct System {
    /// What was measured.
    pub summary: Summary,
    /// Its repetitions.
    pub samples: Vec<Sample>,
    /// Its latencies, all repetitions together.
    pub latency_ns: LatencyHistogram,
    /// Its repetitions over time, if they were counted by slices.
    pub series: Vec<Series>,
}

impl System {
    /// The system whose repetitions are `measured`.
    pub fn of(subject: &Subject, measured: &Measured) -> System {
        System {
            summary: Summary::of(subject, measured),
            samples: Sample::all(&measured.repetitions, &subject.options),
            latency_ns: merged_latency(&measured.repetitions),
            series: measured.repetitions.iter().filter_map(|one| one.series.clone()).collect(),
        }
    }

    /// By repetition.
    pub fn throughputs(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.throughput_per_s).collect()
    }
}

/// What stands around the numbers.
#[derive(Clone)]
pub struct Surroundings {
    /// The line that was typed.
    pub command: String,
    /// When the measurement began, for reading.
    pub began: String,
    /// The machine, its system and its settings.
    pub environment: Value,
    /// How far the model of simulated machines is off; or why nobody knows.
    pub validated: Result<ModelErrors, String>,
}

impl Surroundings {
    /// The same, with what is known of the model's error.
    pub fn validated(self, validated: Result<ModelErrors, String>) -> Surroundings {
        Surroundings { validated, ..self }
    }

    /// Adds a fact to the environment.
    pub fn tell(&mut self, name: &str, value: impl Serialize) {
        self.environment[name] = serde_json::to_value(value).expect("facts have text keys");
    }

    /// Those of results that were laid down in `folder`; nothing if there are none.
    pub fn laid_down(folder: &Path) -> Option<Surroundings> {
        let environment = fs::read_to_string(folder.join("environment.json")).ok()?;
        let environment: Value = serde_json::from_str(&environment).ok()?;
        let parameters = fs::read_to_string(folder.join("parameters.toml")).ok()?;
        let command = parameters.lines().next()?.strip_prefix("# ")?.to_owned();
        let began = environment["measured"].as_str()?.to_owned();
        let validated = Err("no validation was read".to_owned());
        Some(Surroundings { command, began, environment, validated })
    }

    /// `environment` is what the machine says of itself; what this program says of itself is added.
    pub fn new(command: String, environment: &impl Serialize) -> Surroundings {
        let began = Utc::now().readable();
        let environment = serde_json::to_value(environment).expect("facts have text keys");
        let mut environment = match environment {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        };
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        for (name, value) in
            [("trireme_version", env!("CARGO_PKG_VERSION")), ("trireme_build", build), ("measured", &began)]
        {
            environment.insert(name.to_owned(), value.into());
        }
        let validated = Err("no validation was read".to_owned());
        Surroundings { command, began, environment: Value::Object(environment), validated }
    }
}

/// What `run` brings home.
pub struct RunResult<'a> {
    /// What was measured.
    pub subject: &'a Subject,
    /// What stands around it.
    pub surroundings: &'a Surroundings,
    /// The system.
    pub system: System,
}

impl RunResult<'_> {
    /// Lays everything down.
    pub fn write(&self, folder: &Folder) -> Result<(), Failure> {
        write_systems(folder, self.subject, self.surroundings, &[&self.system])?;
        folder.write_json("summary.json", &self.system.summary)?;
        folder.write("report.html", &report::of_run(self))
    }
}

/// What `compare` brings home.
pub struct CompareResult<'a> {
    /// What was measured.
    pub subject: &'a Subject,
    /// What stands around it.
    pub surroundings: &'a Surroundings,
    /// The measured systems, best first; after them those that have no transactions, which are not ranked.
    pub systems: Vec<System>,
    /// Each beside the best system of transactions.
    pub beside_best: Vec<BesideBest>,
    /// How they were taken.
    pub turns: Turns,
    /// The pairs that were not measured.
    pub unmeasured: Vec<Unmeasured>,
    /// Choices that decide nothing ([`crate::measure::idle`]).
    pub idle: Vec<String>,
}

impl<'a> CompareResult<'a> {
    /// Ranks the systems.
    pub fn of(
        subject: &'a Subject,
        surroundings: &'a Surroundings,
        (measured, turns): &(Vec<Measured>, Turns),
        unmeasured: Vec<Unmeasured>,
    ) -> CompareResult<'a> {
        let systems = measured.iter().map(|measured| System::of(subject, measured)).collect();
        CompareResult::ranking(subject, surroundings, (systems, turns.clone()), unmeasured)
    }

    /// Ranks systems, whatever they are.
    pub fn ranking(
        subject: &'a Subject,
        surroundings: &'a Surroundings,
        (mut systems, turns): (Vec<System>, Turns),
        unmeasured: Vec<Unmeasured>,
    ) -> CompareResult<'a> {
        systems.sort_by(|a, b| {
            let by_throughput = b.summary.throughput_per_s.total_cmp(&a.summary.throughput_per_s);
            b.summary.has_transactions().cmp(&a.summary.has_transactions()).then(by_throughput)
        });
        let ranked = ranked(&systems);
        let throughputs: Vec<Vec<f64>> = ranked.iter().map(System::throughputs).collect();
        // Of a model whose error nobody knows, nothing is told apart.
        let model_error = match (&surroundings.validated, subject.place.simulated) {
            (_, false) => 1.0,
            (Ok(errors), true) => {
                let kinds = systems.iter().map(|system| Kind::of(system.summary.instances));
                let kind = kinds.reduce(Kind::beside).unwrap_or(Kind::OneInstance);
                let error = errors.of_kind("throughput", kind);
                error.map_or(f64::INFINITY, |(error, _)| error.between_systems)
            }
            (Err(_), true) => f64::INFINITY,
        };
        let mut beside_best = confidence::beside_best(&throughputs, model_error);
        beside_best.resize(systems.len(), BesideBest { ratio: None, is_told_apart: false });
        let idle = Vec::new();
        CompareResult { subject, surroundings, systems, beside_best, turns, unmeasured, idle }
    }

    /// A system's place, for people: 3, or 3~ if it is not told apart from the best; none without transactions.
    pub fn place(&self, position: usize) -> String {
        if !self.systems[position].summary.has_transactions() {
            return "-".to_owned();
        }
        let is_as_good = position > 0 && !self.beside_best[position].is_told_apart;
        format!("{}{}", position + 1, if is_as_good { "~" } else { "" })
    }

    /// What the mark of [`CompareResult::place`] says, if a place has it.
    pub fn mark(&self) -> Option<&'static str> {
        let ranked = &self.beside_best[..ranked(&self.systems).len()];
        let has_it = ranked.iter().skip(1).any(|system| !system.is_told_apart);
        has_it.then_some(
            "~ is not told apart from the best: with 95 % confidence the fastest is the best or one of these",
        )
    }

    /// Who is fastest, and by how much, as far as the repetitions tell.
    pub fn finding(&self) -> String {
        let ranked = ranked(&self.systems);
        let Some(best) = ranked.first() else { return "No system of transactions was measured.".to_owned() };
        let name = |system: &System| system.summary.system();
        if best.summary.throughput_per_s == 0.0 {
            return "No system committed anything.".to_owned();
        }
        if self.subject.options.repeat < 2 && ranked.len() > 1 {
            return "One repetition does not tell which system is fastest.".to_owned();
        }
        let (first, others): (Vec<_>, Vec<_>) =
            ranked.iter().zip(&self.beside_best).partition(|(_, beside)| !beside.is_told_apart);
        let fast = format!("{} transactions per second", thousands(best.summary.throughput_per_s));
        let by_the_model = match self.subject.place.simulated {
            true => " (with the error of the model)",
            false => "",
        };
        if first.len() > 1 {
            let others: Vec<String> = first[1..].iter().map(|(system, _)| name(system)).collect();
            return format!(
                "No system is fastest{by_the_model}: {} has the highest median, {fast}, and is not told apart from {}.",
                name(best),
                others.join(", ")
            );
        }
        let lead = others.first().map(|(second, beside)| match beside.ratio {
            None => format!("; {} committed nothing in some repetition", name(second)),
            Some(Interval { low, high }) => {
                let times = ratio(best.summary.throughput_per_s / second.summary.throughput_per_s);
                let (low, high) = (ratio(1.0 / high), ratio(1.0 / low));
                format!(", {times} times as many as {} ({low} to {high} with 95 % confidence)", name(second))
            }
        });
        format!("{} is fastest: {fast}{}.", name(best), lead.unwrap_or_default())
    }

    /// What its systems have that is ours rather than a paper's.
    pub fn extras(&self) -> String {
        let pairs: Vec<PairName> = self.systems.iter().filter_map(|system| system.summary.pair()).collect();
        let mut chosen = self.systems.iter().filter_map(|system| system.summary.cc_threads_chosen.as_ref());
        let mut engine = self.subject.engine_options();
        engine.cc_threads = chosen.next().map_or(engine.cc_threads, |chosen| chosen.cc_threads);
        extras(&engine, &pairs)
    }

    /// A system's throughput as a part of the best one's; of one that has no transactions, too.
    pub fn ratio_to_best(&self, summary: &Summary) -> f64 {
        let best = ranked(&self.systems).first().map_or(0.0, |system| system.summary.throughput_per_s);
        if best == 0.0 { 0.0 } else { summary.throughput_per_s / best }
    }

    /// What is odd: about the circumstances once, about a system's numbers with its name.
    pub fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> = self.turns.interrupted.iter().cloned().collect();
        all.extend(warnings::of_circumstances(self.subject));
        all.extend(self.idle.iter().cloned());
        let summaries: Vec<&Summary> = self.systems.iter().map(|system| &system.summary).collect();
        all.extend(warnings::of_systems(&summaries));
        all
    }

    /// What `--json` prints.
    pub fn comparison(&self) -> Comparison {
        let measured = self.systems.iter().map(|system| Row::Measured(Box::new(system.summary.clone())));
        let unmeasured = self.unmeasured.iter().cloned().map(Row::Unmeasured);
        Comparison {
            schema: COMPARISON_SCHEMA,
            rows: measured.chain(unmeasured).collect(),
            told_apart_from_best: self.beside_best.iter().map(|system| system.is_told_apart).collect(),
            finding: self.finding(),
            turns: self.turns.clone(),
            warnings: self.warnings(),
        }
    }

    /// Lays everything down.
    pub fn write(&self, folder: &Folder) -> Result<(), Failure> {
        let systems: Vec<&System> = self.systems.iter().collect();
        write_systems(folder, self.subject, self.surroundings, &systems)?;
        folder.write_json("summary.json", &self.comparison())?;
        folder.write("report.html", &report::of_comparison(self))
    }
}

/// Those of a comparison's systems that have transactions: the first ones.
fn ranked(systems: &[System]) -> &[System] {
    &systems[..systems.partition_point(|system| system.summary.has_transactions())]
}

/// What `check` brings home.
pub struct CheckResult<'a> {
    /// What was checked.
    pub subject: &'a Subject,
    /// What stands around it.
    pub surroundings: &'a Surroundings,
    /// What was found.
    pub summary: CheckSummary,
}

impl CheckResult<'_> {
    /// Lays everything down.
    pub fn write(&self, folder: &Folder) -> Result<(), Failure> {
        let CheckResult { subject, surroundings, summary } = self;
        let text = parameters::of_check(&surroundings.command, &self.settings(), &subject.parameters);
        folder.write("parameters.toml", &text)?;
        folder.write_json("environment.json", &surroundings.environment)?;
        folder.write_json("summary.json", summary)?;
        folder.write("report.html", &report::of_check(self))
    }

    /// Everything that was set, but for the workload's parameters.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let CheckSummary { workload, architecture, protocol, transactions, canary, .. } = &self.summary;
        let what = [
            ("workload", workload.clone()),
            ("architecture", architecture.clone()),
            (if *canary { "canary" } else { "protocol" }, protocol.clone()),
            ("transactions", transactions.to_string()),
        ];
        let in_checks = OPTIONS.iter().filter(|option| option.in_checks);
        let options = in_checks.map(|option| (option.name, option.get(&self.subject.options)));
        what.into_iter().chain(options).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// What tells a system's rows of a file from others'.
fn labels_of(summary: &Summary) -> Vec<(&str, &str)> {
    vec![("architecture", &*summary.architecture), ("protocol", &*summary.protocol)]
}

fn write_systems(
    folder: &Folder,
    subject: &Subject,
    surroundings: &Surroundings,
    systems: &[&System],
) -> Result<(), Failure> {
    let values = |name: fn(&Summary) -> &str| {
        let mut values: Vec<&str> = systems.iter().map(|system| name(&system.summary)).collect();
        values.sort_unstable();
        values.dedup();
        parameters::list(&values)
    };
    let axes = vec![("architecture", values(|s| &s.architecture)), ("protocol", values(|s| &s.protocol))];
    let title = format!("Again: {}", surroundings.command);
    let base = parameters::of_subject(subject);
    let machine = subject.place.written();
    let again = parameters::Again {
        command: &surroundings.command,
        title: &title,
        paper: None,
        claim: None,
        machine: machine.as_deref(),
        workload: &subject.workload,
        x: None,
        base: &base,
        followers: Vec::new(),
        axes,
    };
    folder.write("parameters.toml", &again.toml())?;
    folder.write_json("environment.json", &surroundings.environment)?;
    folder.write(
        "samples.csv",
        &samples::csv(systems.iter().map(|system| (labels_of(&system.summary), &system.samples[..]))),
    )?;
    let slices = series::csv(
        systems
            .iter()
            .map(|system| (labels_of(&system.summary), system.summary.latency_of, &system.series[..])),
    );
    if !slices.is_empty() {
        folder.write(series::FILE_NAME, &slices)?;
    }
    for system in systems {
        let name = format!(
            "latency/{}.csv",
            file_name(&format!("{} {}", system.summary.architecture, system.summary.protocol))
        );
        folder.write(&name, &latency::csv(&system.latency_ns, system.summary.latency_of))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Trial;
    use crate::measure::{After, measure, supported};
    use crate::mock::{Counting, MOST_WORKERS, Mock, MockEngine, WHY_NOT};
    use crate::observer::{Event, Observer, Silent};
    use crate::options::RunOptions;
    use crate::subject::Place;
    use crate::summary::Memory;
    use crate::summary::tests::some_measurement;
    use contract::{ArchitectureName, CanaryName, Engine, ProtocolName, Selection};
    use history::{Anomaly, AnomalyKind, Deletes};
    use std::fs;
    use std::sync::Mutex;
    use workloads::Ycsb;
    use workloads::audit::Audited;

    const ROWS: u64 = 100;

    fn subject() -> Subject {
        Subject {
            workload: "counting".to_owned(),
            parameters: BTreeMap::from([("rows".to_owned(), ROWS.to_string())]),
            options: RunOptions { workers: 2, repeat: 3, ..RunOptions::for_compare(2) },
            place: Place::hardware(2),
        }
    }

    fn surroundings() -> Surroundings {
        Surroundings::new("trireme compare counting".to_owned(), &BTreeMap::from([("cores", 2)]))
    }

    #[derive(Default)]
    struct RunsSeen(Mutex<Vec<String>>);

    impl Observer for RunsSeen {
        fn tell(&self, event: Event<'_>) {
            let mut told = self.0.lock().expect("no test panics with it");
            match event {
                Event::RunBegins { system, repetition, .. } => told.push(format!("{repetition} {system}")),
                Event::LoadBegins { rows } => told.push(format!("load {rows}")),
                _ => {}
            }
        }
    }

    /// A table that many may update: no transaction looks at what others wrote.
    fn updates() -> Ycsb {
        let rows = ROWS.to_string();
        let parameters = [("records", rows.as_str()), ("mix", "A")].into_iter().collect();
        Ycsb::new(&parameters).expect("parameters of YCSB")
    }

    /// What a comparison did, in order, and what it says of that.
    fn compared<E: Engine>(workload: &impl Audited) -> (Vec<String>, String) {
        let (pairs, _) = supported::<E>(&subject().options);
        let runs = RunsSeen::default();
        let measured = measure::<E, _>(workload, &pairs, &subject().options, After::Nothing, &runs);
        (runs.0.into_inner().expect("no test panics with it"), measured.expect("measured").1.to_string())
    }

    #[test]
    fn a_comparison_takes_the_systems_of_all_layouts_by_turns() {
        let (told, turns) = compared::<MockEngine>(&updates());
        assert_eq!(turns, "in each repetition 5 systems interleaved, over 2 stores side by side");
        let expected = [
            "load 100",
            "load 100",
            "1 shared-everything no-wait",
            "1 shared-everything dl-detect",
            "1 shared-everything silo",
            "1 delegation no-wait",
            "1 asymmetric-delegation no-wait",
            "2 shared-everything dl-detect",
            "2 shared-everything silo",
            "2 delegation no-wait",
            "2 asymmetric-delegation no-wait",
            "2 shared-everything no-wait",
            "3 shared-everything silo",
            "3 delegation no-wait",
            "3 asymmetric-delegation no-wait",
            "3 shared-everything no-wait",
            "3 shared-everything dl-detect",
        ];
        assert_eq!(told, expected);
    }

    /// A store that is not waited for is not loaded, and none is looked for that is not there.
    #[test]
    fn where_there_is_no_room_stores_come_one_after_the_other() {
        let one_store_at_a_time = [
            "load 100",
            "1 shared-everything no-wait",
            "1 shared-everything dl-detect",
            "1 shared-everything silo",
            "1 asymmetric-delegation no-wait",
        ];
        let (without_room, turns) = compared::<Mock<false, 0>>(&updates());
        assert_eq!(without_room[..5], one_store_at_a_time);
        assert_eq!(without_room.iter().filter(|told| *told == "load 100").count(), 2);
        assert_eq!(
            turns,
            "in groups one after the other, since memory has no room for all stores: 4 systems over one store, then 1 system \
             over one store; interleaved within each"
        );
    }

    #[test]
    fn where_runs_repeat_each_has_a_store_of_its_own() {
        let (told, turns) = compared::<Mock<true, 0>>(&Counting { rows: ROWS });
        assert_eq!(
            turns,
            "each repetition as over a newly loaded store: what is simulated repeats bit for bit"
        );
        let (runs, loads): (Vec<&str>, Vec<&str>) =
            told.chunks_exact(2).map(|two| (&*two[0], &*two[1])).unzip();
        assert_eq!(runs.len(), 5 * 3, "{told:?}");
        let expected =
            ["1 shared-everything no-wait", "2 shared-everything no-wait", "3 shared-everything no-wait"];
        assert_eq!(runs[..3], expected);
        assert!(loads.iter().all(|load| *load == "load 100"), "{told:?}");
    }

    #[test]
    fn a_comparison_is_ranked_and_laid_down_whole() {
        let (subject, surroundings) = (subject(), surroundings());
        let (pairs, unmeasured) = supported::<MockEngine>(&subject.options);
        let measured = measure::<MockEngine, _>(
            &Counting { rows: ROWS },
            &pairs,
            &subject.options,
            After::Nothing,
            &Silent,
        )
        .expect("measured");
        let result = CompareResult::of(&subject, &surroundings, &measured, unmeasured);
        let ranked: Vec<f64> = result.systems.iter().map(|s| s.summary.throughput_per_s).collect();
        assert!(ranked.is_sorted_by(|a, b| a >= b), "{ranked:?}");
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = Folder::create(scratch.path()).expect("a folder");
        result.write(&folder).expect("laid down");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
        let summary: Value = serde_json::from_str(&read("summary.json")).expect("JSON");
        let rows = summary["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), PairName::all().count());
        let (measured, others) = rows.split_at(5);
        assert!(measured.iter().all(|row| row["supported"] == true), "the measured ones come first");
        assert!(others.iter().all(|row| row["supported"] == false && row["why"] == WHY_NOT), "{others:?}");
        for row in measured {
            let messages = if row["architecture"] == "shared-everything" { 0.0 } else { 2.0 };
            assert_eq!(row["messages_per_txn"], messages, "{row}");
            assert!(row["round_trip_ns"].is_null(), "nothing was timed");
        }
        assert_eq!(read("samples.csv").lines().count(), 1 + 5 * 3);
        assert!(read("latency/shared-everything-silo.csv").lines().count() > 2);
        assert!(read("environment.json").contains("\"cores\": 2"));
        assert!(read("parameters.toml").contains("protocol = [\"dl-detect\", \"no-wait\", \"silo\"]"));
        let html = read("report.html");
        assert!(html.contains("Comparison of systems over counting") && html.contains(WHY_NOT));
        assert!(html.contains("What the architecture cost"), "a table");
        assert!(!html.contains("http"), "a report needs no network");
    }

    #[test]
    fn what_has_no_transactions_stands_apart_from_the_ranking() {
        let (subject, surroundings) = (subject(), surroundings());
        let measured = |protocol, throughputs: [f64; 3]| Measured {
            pair: PairName { architecture: ArchitectureName::SharedEverything, protocol },
            repetitions: throughputs.map(some_measurement).to_vec(),
            log: None,
            memory: Memory::loaded(1 << 20, 1000),
            checks: Vec::new(),
            cc_threads_chosen: None,
            capacity_per_s: None,
        };
        let systems = vec![
            measured(ProtocolName::KeyValue, [2000.0, 2010.0, 1990.0]),
            measured(ProtocolName::NoWait, [500.0, 505.0, 495.0]),
            measured(ProtocolName::Silo, [1000.0, 1010.0, 990.0]),
        ];
        let both = (systems, Turns::default());
        let result = CompareResult::of(&subject, &surroundings, &both, Vec::new());
        let names: Vec<&str> = result.systems.iter().map(|system| &*system.summary.protocol).collect();
        assert_eq!(names, ["silo", "no-wait", "key-value"]);
        assert_eq!([0, 1, 2].map(|position| result.place(position)), ["1", "2", "-"]);
        let finding = result.finding();
        assert!(finding.starts_with("shared-everything silo is fastest: 1,000 transactions"), "{finding}");
        assert!(!finding.contains("key-value") && result.mark().is_none(), "{finding}");
        let ratio = result.ratio_to_best(&result.systems[2].summary);
        assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
        let told = result.warnings();
        let expected =
            "shared-everything key-value: key-value has no transactions: each read or write is atomic";
        assert!(told.iter().any(|warning| warning.starts_with(expected)), "{told:?}");
        // Alone, it leads nothing.
        let alone = (vec![measured(ProtocolName::KeyValue, [2000.0; 3])], Turns::default());
        let alone = CompareResult::of(&subject, &surroundings, &alone, Vec::new());
        assert_eq!(alone.finding(), "No system of transactions was measured.");
    }

    #[test]
    fn a_run_is_laid_down_whole() {
        let (subject, surroundings) = (subject(), surroundings());
        let (pairs, _) = supported::<MockEngine>(&subject.options);
        let silo = pairs.into_iter().filter(|pair| pair.protocol.name() == "silo").collect::<Vec<_>>();
        let measured = measure::<MockEngine, _>(
            &Counting { rows: ROWS },
            &silo,
            &subject.options,
            After::Nothing,
            &Silent,
        )
        .expect("measured");
        let system = System::of(&subject, &measured.0[0]);
        assert_eq!(system.summary.commits, 3 * 200);
        assert!((system.summary.abort_rate - 0.25).abs() < 1e-9, "every fourth aborts once");
        assert!(system.summary.checks.iter().all(|check| check.passed));
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = Folder::create(scratch.path()).expect("a folder");
        RunResult { subject: &subject, surroundings: &surroundings, system }
            .write(&folder)
            .expect("laid down");
        let html = fs::read_to_string(folder.report()).expect("a report");
        assert!(html.contains("shared-everything silo over counting"));
    }

    fn check_is_laid_down(
        canary: bool,
        transactions: u64,
        edit: impl Fn(&mut CheckSummary),
    ) -> (Value, String, String) {
        let (subject, surroundings) = (subject(), surroundings());
        let architecture = ArchitectureName::SharedEverything;
        let selection = match canary {
            true => Selection::Canary(architecture, CanaryName::DirtyReads),
            false => Selection::Pair(PairName { architecture, protocol: ProtocolName::Silo }),
        };
        let trial = Trial { selection, subject: &subject, transactions, observer: &Silent };
        let (mut summary, _) =
            trial.of_workload::<MockEngine, _>(&Counting { rows: ROWS }, Deletes::None).expect("checked");
        edit(&mut summary);
        let scratch = tempfile::tempdir().expect("a folder for the test");
        let folder = Folder::create(scratch.path()).expect("a folder");
        CheckResult { subject: &subject, surroundings: &surroundings, summary }
            .write(&folder)
            .expect("laid down");
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
        assert!(read("environment.json").contains("\"cores\": 2"));
        let summary = serde_json::from_str(&read("summary.json")).expect("JSON");
        (summary, read("parameters.toml"), read("report.html"))
    }

    #[test]
    fn a_check_is_laid_down_whole() {
        let (summary, parameters, html) = check_is_laid_down(false, 300, |_| {});
        assert_eq!((&summary["passed"], &summary["transactions"]), (&true.into(), &300.into()));
        for line in ["protocol = \"silo\"", "transactions = \"300\"", "seed = \"1\"", "rows = \"100\""] {
            assert!(parameters.lines().any(|set| set == line), "{line}\n{parameters}");
        }
        assert!(!parameters.contains("duration"), "a check has none: {parameters}");
        assert!(html.contains("<h1>shared-everything silo over counting: passed</h1>"));
        assert!(html.contains("The history is strictly serializable.") && !html.contains("What is wrong"));
        assert!(html.contains("What happened") && !html.contains("Too little happened"));
    }

    #[test]
    fn a_check_in_which_too_little_happened_is_laid_down_as_such() {
        let (summary, _, html) = check_is_laid_down(false, 100, |_| {});
        assert_eq!(summary["passed"], false);
        let words = summary["too_little"].as_str().expect("words");
        assert!(words.starts_with("49 write-read, 49 write-write dependencies"), "{words}");
        assert_eq!(summary["verdict"]["dependencies"]["write-write"]["between_workers"], 49);
        assert!(html.contains("<h1>shared-everything silo over counting: too little happened</h1>"));
        assert!(html.contains("Too little happened: 49 write-read, 49 write-write"), "{html}");
    }

    #[test]
    fn a_rejection_is_laid_down_with_its_anomalies() {
        let (summary, parameters, html) = check_is_laid_down(true, 300, |summary| {
            let words = "T1 <missed> what T2 wrote".to_owned();
            let verdict = summary.verdict.as_mut().expect("judged");
            verdict.counts.insert(AnomalyKind::WriteSkew, 3);
            verdict.anomalies.push(Anomaly { kind: AnomalyKind::WriteSkew, transactions: Vec::new(), words });
            (summary.passed, summary.checks[0].passed) = (false, false);
        });
        assert_eq!(summary["verdict"]["counts"]["write skew"], 3);
        assert!(parameters.contains("canary = \"dirty-reads\"") && !parameters.contains("protocol"));
        for part in [
            "rejected, as a canary must be</h1>",
            "NOT strictly serializable",
            "T1 &lt;missed&gt; what T2 wrote",
            "FAILED",
        ] {
            assert!(html.contains(part), "{part}");
        }
    }

    #[test]
    fn who_needs_more_workers_than_there_are_is_left_out_with_the_reason() {
        let options = RunOptions { workers: 1, ..subject().options };
        let (pairs, others) = supported::<MockEngine>(&options);
        assert_eq!(pairs.len(), 4, "{pairs:?}");
        let lonely = others.iter().find(|pair| pair.why != WHY_NOT).expect("one that needs two");
        assert_eq!(
            (&*lonely.architecture, &*lonely.why),
            ("asymmetric-delegation", "--workers 1: allowed: others")
        );
    }

    #[test]
    fn what_cannot_be_measured_is_refused_before_anything_is_loaded() {
        let all: Vec<PairName> = PairName::all().collect();
        let refuse = |pairs: &[PairName], workers, rows| {
            let options = RunOptions { workers, ..subject().options };
            let refused =
                measure::<MockEngine, _>(&Counting { rows }, pairs, &options, After::Nothing, &Silent);
            refused.expect_err("refused")
        };
        let unsupported = refuse(&all, 2, ROWS).to_string();
        assert!(
            unsupported.ends_with(WHY_NOT) && unsupported.contains("--protocol 2v-no-wait"),
            "{unsupported}"
        );
        let (pairs, _) = supported::<MockEngine>(&subject().options);
        let crowded = refuse(&pairs, MOST_WORKERS + 1, ROWS);
        assert_eq!(crowded.to_string(), "--workers 9: allowed: 1 <= workers <= 8 under shared-everything");
        let mut options = subject().options;
        options.engine.servers = 2;
        let (pairs, _) = supported::<MockEngine>(&options);
        let misfit =
            measure::<MockEngine, _>(&Counting { rows: ROWS }, &pairs, &options, After::Nothing, &Silent);
        assert_eq!(misfit.expect_err("refused").to_string(), "--servers 2: allowed: others");
        let large = refuse(&pairs, 2, 1 << 30);
        assert!(large.to_string().contains("need 8.00 GiB of memory and 1.00 GiB are available"), "{large}");
        assert_eq!((crowded.exit_code(), large.exit_code()), (2, 2));
    }
}
