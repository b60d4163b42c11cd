//! What was chosen and decides nothing: who compares two values of an option has to know when they are one.
//!
//! A choice, an option or a workload's parameter with a value that is not its default, is idle at a [`Point`] if the system has no use for the
//! option ([`OptionDescription::is_used_by`]), or if what else was chosen leaves it nothing to decide ([`RULES`], [`OF_HOMES`]); so is the part of
//! a number that is more than there is to touch ([`TOUCHED`]). Several points,
//! the systems of a comparison or those of a sweep, cross options with systems that do not use them: of such a choice is told only if it
//! is idle at all points that have it.

use crate::options::{Division, OPTIONS, OptionDescription, RunOptions};
use crate::subject::Subject;
use contract::{
    ArchitectureName, CountersName, Durability, Engine, EngineOptions, PairName, PartitionLatchName,
};
use workloads::ParameterDescription;

/// A system over a workload, as it is told.
#[derive(Clone, Copy)]
pub struct Point<'a> {
    /// The system.
    pub pair: PairName,
    /// The workload and the options.
    pub subject: &'a Subject,
    /// How many concurrency-control threads short runs chose, if they have.
    pub chosen: Option<usize>,
}

/// What a rule looks at.
struct Told<'a> {
    architecture: ArchitectureName,
    options: &'a RunOptions,
    engine: &'a EngineOptions,
    /// Among which its workers are divided.
    instances: u32,
    /// Of ORTHRUS; `None` while nobody knows.
    cc_threads: Option<usize>,
    /// Why no processor's counters are given, if none are.
    why_no_counters: Option<String>,
}

/// Why an option decides nothing, if so.
type Rule = for<'t> fn(&'t Told<'_>) -> Option<&'t str>;

/// Options that need others. What a system has no use for is not asked here.
const RULES: [(&str, Rule); 13] = [
    ("forwarding", |told| told.one_cc_thread("one concurrency-control thread has no next one")),
    ("locks-by-hash", |told| {
        told.one_cc_thread("one concurrency-control thread has all locks")
            .filter(|_| !told.engine.shared_lock_table)
    }),
    ("shared-lock-table", |told| {
        told.one_cc_thread("one concurrency-control thread shares its lock table with nobody")
    }),
    ("channel", |told| told.one_instance("one instance has nobody to talk with")),
    ("one-shot", |told| told.one_instance("in one instance nothing is elsewhere")),
    ("split-indexes", |told| {
        let hosts = match told.architecture {
            ArchitectureName::Orthrus => told.options.workers.checked_sub(told.cc_threads?)?,
            _ => told.options.workers,
        };
        (hosts == 1).then_some("for one worker that hosts transactions an index has one part")
    }),
    ("snapshot-every", |told| {
        (!told.engine.snapshots).then_some("there are no snapshots without --snapshots on")
    }),
    ("timestamps", |told| {
        let is_asked = told.engine.partition_latch == Some(PartitionLatchName::Timestamp);
        let is_serial = told.architecture == ArchitectureName::PartitionedSerial;
        (is_serial && !is_asked).then_some("nobody draws one without --partition-latch timestamp")
    }),
    ("arrivals", |told| {
        let is_closed = told.engine.open_loop.is_none() && told.options.percent_of_capacity.is_none();
        is_closed.then_some("nothing arrives by itself without --rate")
    }),
    ("loggers", |told| told.logs_nothing()),
    ("compress", |told| told.logs_nothing()),
    ("epochs-follow-disk", |told| told.logs_nothing()),
    ("counters", |told| {
        let is_asked = told.engine.counters == CountersName::On;
        told.why_no_counters.as_deref().filter(|_| is_asked)
    }),
];

impl Told<'_> {
    fn one_cc_thread(&self, why: &'static str) -> Option<&'static str> {
        (self.cc_threads == Some(1)).then_some(why)
    }

    fn one_instance(&self, why: &'static str) -> Option<&'static str> {
        (self.instances == 1).then_some(why)
    }

    fn logs_nothing(&self) -> Option<&'static str> {
        let level = self.options.logging.level;
        (level == Durability::None).then_some("nothing is logged without --durability")
    }
}

/// Parameters, each with its workload's name, that say how many of the other clients' keys a transaction touches: nothing where all clients are at home in
/// all keys ([`Seat::homes`](contract::Seat)).
const OF_HOMES: [(&str, &str); 5] = [
    ("micro", "multi-partition"),
    ("ycsb", "touched-partitions"),
    ("ycsb", "multi-partition"),
    ("micro", "remote"),
    ("micro", "hot-from"),
];

/// The one of them that is a number of partitions: a larger one than there are is as that.
const TOUCHED: &str = "touched-partitions";

/// A name with a value that is not its default.
#[derive(Clone, PartialEq)]
struct Choice {
    name: &'static str,
    value: String,
}

/// Why a choice is idle at a point.
enum Why {
    /// The system has no use for the option; these have.
    UsedBy(String),
    /// By what else was chosen.
    Rule(String),
    /// A smaller value does the same, for this reason.
    As(u32, &'static str),
}

impl Point<'_> {
    fn told<E: Engine>(&self) -> Told<'_> {
        let options = &self.subject.options;
        let cc_threads = match options.division {
            Division::Told => Some(options.engine.cc_threads),
            // Of two workers one executes.
            Division::Measured => self.chosen.or((options.workers == 2).then_some(1)),
        };
        let engine = &options.engine;
        let instances =
            E::arrange(self.pair, options.workers, engine).map_or(1, |arranged| arranged.layout.instances);
        Told {
            architecture: self.pair.architecture,
            options,
            engine,
            instances,
            cc_threads,
            why_no_counters: E::why_no_counters(),
        }
    }

    fn choices(&self) -> Vec<Choice> {
        let options = &self.subject.options;
        let defaults = RunOptions::for_run(options.workers);
        let is_chosen = |option: &&OptionDescription| option.get(options) != option.get(&defaults);
        let chosen = OPTIONS.iter().filter(is_chosen);
        let chosen = chosen.map(|option| Choice { name: option.name, value: option.get(options) });
        let of_workload = |parameter: &ParameterDescription| {
            let value = self.subject.parameters.get(parameter.name)?;
            (value != parameter.default).then(|| Choice { name: parameter.name, value: value.clone() })
        };
        let here = |workload: &&workloads::WorkloadDescription| workload.name == self.subject.workload;
        let parameters = workloads::descriptions().iter().find(here).map_or(&[][..], |own| own.parameters);
        let parameters =
            parameters.iter().filter(|own| OF_HOMES.contains(&(&self.subject.workload, own.name)));
        chosen.chain(parameters.filter_map(of_workload)).collect()
    }

    /// `None`: it decides something, or nobody knows.
    fn why_idle<E: Engine>(&self, choice: &Choice) -> Option<Why> {
        let told = self.told::<E>();
        let Some(option) = OptionDescription::named(choice.name) else {
            return self.has_few_homes::<E>(&told, choice);
        };
        if !option.is_used_by(self.pair) {
            return Some(Why::UsedBy(option.users().unwrap_or_default()));
        }
        let (_, rule) = RULES.iter().find(|(name, _)| *name == choice.name)?;
        rule(&told).map(|why| Why::Rule(why.to_owned()))
    }

    /// All clients are at home in all keys, or a transaction is to touch more partitions than there are.
    fn has_few_homes<E: Engine>(&self, told: &Told<'_>, choice: &Choice) -> Option<Why> {
        let mut engine = told.engine.clone();
        let is_orthrus = told.architecture == ArchitectureName::Orthrus;
        if is_orthrus {
            engine.cc_threads = told.cc_threads?;
        }
        let homes = E::arrange(self.pair, told.options.workers, &engine).ok()?.homes;
        if homes > 1 {
            let is_more = || choice.value.parse().is_ok_and(|touched: u32| touched > homes);
            let why =
                if is_orthrus { "so many threads have locks" } else { "its tables have no more partitions" };
            return (choice.name == TOUCHED && is_more()).then_some(Why::As(homes, why));
        }
        let why = match is_orthrus {
            true if engine.locks_by_hash => {
                "where locks are divided by hash, no thread has the locks of a part of the keys"
            }
            true => "one concurrency-control thread has the locks of all keys",
            false => "its tables have one partition",
        };
        Some(Why::Rule(why.to_owned()))
    }
}

/// Of each choice that decides nothing at any of `points` a sentence.
pub fn idle<E: Engine>(points: &[Point<'_>]) -> Vec<String> {
    let mut all: Vec<(Choice, Vec<&Point<'_>>)> = Vec::new();
    for point in points {
        for choice in point.choices() {
            match all.iter_mut().find(|(known, _)| *known == choice) {
                Some((_, having)) => having.push(point),
                None => all.push((choice, vec![point])),
            }
        }
    }
    all.iter().filter_map(|(choice, having)| sentence::<E>(choice, having)).collect()
}

/// On a choice of the points that have it; `None` if it decides something at one of them.
fn sentence<E: Engine>(choice: &Choice, having: &[&Point<'_>]) -> Option<String> {
    let whys: Option<Vec<(PairName, Why)>> =
        having.iter().map(|point| Some((point.pair, point.why_idle::<E>(choice)?))).collect();
    let whys = whys?;
    let no_difference = format!("--{} {} makes no difference", choice.name, choice.value);
    // What else was chosen says more than that a system has no use for it.
    let by_rule = whys.iter().find(|(_, why)| !matches!(why, Why::UsedBy(_)));
    let (pair, why) = by_rule.or(whys.first())?;
    let is_alone = whys.iter().all(|(other, _)| other == pair);
    Some(match why {
        Why::Rule(why) => format!("{no_difference} to {}: {why}", pair.shown()),
        Why::As(value, why) => {
            format!("--{} {} is as {value} to {}: {why}", choice.name, choice.value, pair.shown())
        }
        Why::UsedBy(users) if is_alone => {
            format!("{no_difference} to {}; it is used by {users}", pair.shown())
        }
        Why::UsedBy(users) => format!("{no_difference} to any of the systems; it is used by {users}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::MockEngine;
    use crate::summary::tests::some_subject;
    use contract::ProtocolName;
    use std::collections::BTreeMap;

    const ORTHRUS: PairName =
        PairName { architecture: ArchitectureName::Orthrus, protocol: ProtocolName::Unprotected };
    const SILO: PairName =
        PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::Silo };

    fn told(workers: usize, typed: &[(&str, &str)]) -> Subject {
        let mut subject = some_subject();
        subject.options.workers = workers;
        for (name, value) in typed {
            subject.options.set(name, value).expect("an option").expect("a value");
        }
        subject
    }

    fn of(pair: PairName, subject: &Subject) -> String {
        idle::<MockEngine>(&[Point { pair, subject, chosen: None }]).join("\n")
    }

    #[test]
    fn an_option_that_the_system_does_not_use_is_named() {
        let subject = told(2, &[("servers", "2")]);
        let asymmetric = PairName { architecture: ArchitectureName::AsymmetricDelegation, ..SILO };
        assert_eq!(of(asymmetric, &subject), "");
        let dora = PairName { architecture: ArchitectureName::Dora, ..SILO };
        let expected = "--servers 2 makes no difference to dora silo; it is used by asymmetric-delegation";
        assert_eq!(of(dora, &subject), expected);
        let drawn = PairName { protocol: ProtocolName::TicToc, ..SILO };
        let said = of(drawn, &told(2, &[("global-ids", "on")]));
        assert!(said.contains("to shared-everything tictoc; it is used by all but tictoc, "), "{said}");
    }

    /// Each rule with what makes it true, and with one thing that makes it false.
    #[test]
    fn an_option_that_others_leave_nothing_to_decide_is_named() {
        let serial = PairName { architecture: ArchitectureName::PartitionedSerial, ..ORTHRUS };
        let log = ("durability", "buffered");
        let cases = [
            (ORTHRUS, ("forwarding", "off"), ("cc-threads", "2")),
            (ORTHRUS, ("locks-by-hash", "on"), ("shared-lock-table", "on")),
            (ORTHRUS, ("shared-lock-table", "on"), ("cc-threads", "2")),
            (SILO, ("channel", "unix"), ("instances", "2")),
            (SILO, ("one-shot", "off"), ("instances", "2")),
            (ORTHRUS, ("split-indexes", "on"), ("workers", "3")),
            (SILO, ("snapshot-every", "2"), ("snapshots", "on")),
            (serial, ("timestamps", "atomic"), ("partition-latch", "timestamp")),
            (SILO, ("arrivals", "constant"), ("rate", "1000")),
            (SILO, ("loggers", "2"), log),
            (SILO, ("compress", "on"), log),
            (SILO, ("epochs-follow-disk", "on"), log),
            // The mock counts nothing.
            (SILO, ("counters", "on"), ("counters", "off")),
        ];
        assert!(RULES.iter().all(|(name, _)| cases.iter().any(|(_, (case, _), _)| case == name)));
        for (pair, chosen, other) in cases {
            let name = chosen.0;
            let of = |typed: &[(&str, &str)]| of(pair, &told(2, typed));
            let begins = format!("--{name} {} makes no difference to {}: ", chosen.1, pair.shown());
            let alone = of(&[chosen]);
            assert!(alone.starts_with(&begins) && alone.lines().count() == 1, "{name}: {alone}");
            let both = of(&[chosen, other]);
            assert!(!both.contains(&format!("--{name} ")), "{name}: {both}");
        }
    }

    #[test]
    fn nobody_knows_what_short_runs_have_yet_to_choose() {
        let subject = told(4, &[("cc-threads", "auto"), ("shared-lock-table", "on")]);
        let after = |chosen| idle::<MockEngine>(&[Point { pair: ORTHRUS, subject: &subject, chosen }]).len();
        assert_eq!([None, Some(2), Some(1)].map(after), [0, 0, 1]);
        let subject = told(2, &[("cc-threads", "auto"), ("shared-lock-table", "on")]);
        assert!(of(ORTHRUS, &subject).starts_with("--shared-lock-table on"), "there is no choice");
    }

    #[test]
    fn what_one_of_several_points_uses_is_not_named() {
        let (one, two) = (
            told(3, &[("shared-lock-table", "on")]),
            told(3, &[("shared-lock-table", "on"), ("cc-threads", "2")]),
        );
        let said = |points: &[(PairName, &Subject)]| {
            let points = points.iter().map(|&(pair, subject)| Point { pair, subject, chosen: None });
            idle::<MockEngine>(&points.collect::<Vec<_>>()).join("\n")
        };
        assert_eq!(said(&[(SILO, &two), (ORTHRUS, &two)]), "");
        assert_eq!(said(&[(ORTHRUS, &one), (ORTHRUS, &two)]), "");
        let at_none = said(&[(SILO, &one), (ORTHRUS, &one)]);
        let expected =
            "--shared-lock-table on makes no difference to orthrus: one concurrency-control thread";
        assert!(at_none.starts_with(expected), "{at_none}");
        let no_wait = PairName { protocol: ProtocolName::NoWait, ..SILO };
        let expected =
            "--shared-lock-table on makes no difference to any of the systems; it is used by orthrus";
        assert_eq!(said(&[(SILO, &one), (no_wait, &one)]), expected);
    }

    #[test]
    fn locality_needs_more_homes_than_one() {
        let parameters = BTreeMap::from([
            ("touched-partitions".to_owned(), "2".to_owned()),
            ("multi-partition".to_owned(), "100".to_owned()),
        ]);
        let subject = Subject { workload: "ycsb".to_owned(), parameters, ..told(2, &[]) };
        let expected = "--touched-partitions 2 makes no difference to shared-everything silo: its tables have one partition";
        assert_eq!(of(SILO, &subject), expected);
        let delegation = PairName { architecture: ArchitectureName::Delegation, ..SILO };
        assert_eq!(of(delegation, &subject), "", "of two workers each has a partition");
        let mut more = subject.clone();
        more.parameters.insert("touched-partitions".to_owned(), "5".to_owned());
        let expected =
            "--touched-partitions 5 is as 2 to delegation silo: its tables have no more partitions";
        assert_eq!(of(delegation, &more), expected);
        more.options.workers = 5;
        assert_eq!(of(delegation, &more), "");
        let said = of(ORTHRUS, &subject);
        assert!(
            said.ends_with("orthrus: one concurrency-control thread has the locks of all keys"),
            "{said}"
        );
    }
}
