//! A comparison: systems ranked by their throughput, each beside the best one, as far as repetitions and the error of the model tell them apart.

use super::{Surroundings, System, write_systems};
use crate::confidence::{self, BesideBest, Interval};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::options::extras;
use crate::report;
use crate::subject::Subject;
use crate::summary::{COMPARISON_SCHEMA, Comparison, Measured, Row, Summary, Turns, Unmeasured, warnings};
use crate::text::numbers::{ratio, thousands};
use crate::validation::SystemKind;
use contract::PairName;

/// Of the systems that are not told apart from the best, so many are named in a sentence.
const MOST_NAMED: usize = 5;

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
                let kinds = systems.iter().map(|system| SystemKind::of(system.summary.instances));
                let kind = kinds.reduce(SystemKind::beside).unwrap_or(SystemKind::OneInstance);
                let error = errors.of_kind("throughput", kind);
                error.map_or(f64::INFINITY, |(error, _)| error.between_systems)
            }
            (Err(_), true) => f64::INFINITY,
        };
        let group = |system: &System| system.summary.pair().map_or(0, |pair| turns.group_of(pair));
        let groups: Vec<usize> = ranked.iter().map(group).collect();
        let mut beside_best = confidence::beside_best_of_groups(&throughputs, &groups, model_error);
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
        if ranked.iter().all(|system| system.summary.commits == 0) {
            return "No system committed anything.".to_owned();
        }
        if best.summary.throughput_per_s == 0.0 {
            return "Every system committed nothing in half of its repetitions, or more.".to_owned();
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
            let mut others: Vec<String> = first[1..].iter().map(|(system, _)| name(system)).collect();
            // The table marks them all.
            if others.len() > MOST_NAMED {
                let more = others.split_off(MOST_NAMED - 1).len();
                others.push(format!("{more} others"));
            }
            let last = others.pop().expect("two are first at least");
            let names = if others.is_empty() { last } else { format!("{} and {last}", others.join(", ")) };
            return format!(
                "No system is fastest{by_the_model}: {} has the highest median, {fast}, and is not told apart from {}.{}",
                name(best),
                names,
                self.between_groups()
            );
        }
        let lead = others.first().map(|(second, beside)| match beside.ratio {
            None => {
                let stalled = if best.summary.throughput_min == 0.0 { best } else { second };
                format!("; {} committed nothing in some repetition", name(stalled))
            }
            Some(Interval { low, high }) => {
                let times = ratio(best.summary.throughput_per_s / second.summary.throughput_per_s);
                let (low, high) = (ratio(1.0 / high), ratio(1.0 / low));
                format!(", {times} times as many as {} ({low} to {high} with 95 % confidence)", name(second))
            }
        });
        format!("{} is fastest: {fast}{}.{}", name(best), lead.unwrap_or_default(), self.between_groups())
    }

    /// How systems of different groups were compared, if systems of several groups are ranked.
    pub fn between_groups(&self) -> &'static str {
        let pairs = ranked(&self.systems).iter().filter_map(|system| system.summary.pair());
        let mut groups = pairs.map(|pair| self.turns.group_of(pair));
        let first = groups.next();
        match groups.all(|group| Some(group) == first) {
            true => "",
            false => {
                " Systems of different groups share no rounds: what the machine lost or gained between the groups is in no interval."
            }
        }
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

#[cfg(test)]
mod tests {
    use super::super::tests::{ROWS, subject, surroundings};
    use super::*;
    use crate::measure::{After, measure, supported};
    use crate::mock::{Counting, MockEngine, WHY_NOT};
    use crate::observer::Silent;
    use crate::summary::tests::some_measurement;
    use crate::summary::{Group, Memory};
    use contract::{ArchitectureName, ProtocolName};
    use serde_json::Value;
    use std::fs;

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
        // Those of different groups are held against each other without what was common to their rounds.
        let slowed = || {
            let fast = measured(ProtocolName::Silo, [1000.0, 500.0, 990.0]);
            vec![fast, measured(ProtocolName::NoWait, [900.0, 452.0, 889.0])]
        };
        let group = |system: &str| Group { systems: vec![system.to_owned()], stores: 1 };
        let groups = vec![group("shared-everything silo"), group("shared-everything no-wait")];
        let apart = (slowed(), Turns { groups, ..Turns::default() });
        let apart = CompareResult::of(&subject, &surroundings, &apart, Vec::new());
        assert!(!apart.beside_best[1].is_told_apart && apart.finding().ends_with("is in no interval."));
        let together = (slowed(), Turns::default());
        let together = CompareResult::of(&subject, &surroundings, &together, Vec::new());
        assert!(together.beside_best[1].is_told_apart && !together.finding().contains("groups"));
        // Of many that are alike some are named.
        let alike = |many: usize| {
            let transactions = ProtocolName::ALL.iter().filter(|protocol| protocol.has_transactions());
            let systems = transactions.take(many).map(|&protocol| measured(protocol, [1000.0; 3])).collect();
            CompareResult::of(&subject, &surroundings, &(systems, Turns::default()), Vec::new()).finding()
        };
        let named = |finding: &str| finding.matches("shared-everything ").count();
        assert!(alike(3).contains(" and shared-everything ") && named(&alike(3)) == 3, "{}", alike(3));
        assert_eq!(named(&alike(6)), 6, "{}", alike(6));
        assert!(alike(8).ends_with(" and 3 others.") && named(&alike(8)) == 5, "{}", alike(8));
        // Alone, it leads nothing.
        let alone = (vec![measured(ProtocolName::KeyValue, [2000.0; 3])], Turns::default());
        let alone = CompareResult::of(&subject, &surroundings, &alone, Vec::new());
        assert_eq!(alone.finding(), "No system of transactions was measured.");
    }
}
