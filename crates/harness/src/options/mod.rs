//! The options that every measuring command shares. Each is described once, in `descriptions.rs`.

mod descriptions;
mod extras;
mod logging;

pub use descriptions::{OPTIONS, OptionDescription};
pub use extras::{extras, extras_of_check, extras_of_points};
pub use logging::{Logging, Nodes, Origin};

use contract::{ArrivalsName, CountersName, EngineOptions, OpenLoop};
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

/// How one system is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Workers, each pinned to a core and driving one client.
    pub workers: usize,
    /// Run before each counted interval.
    pub warmup: Duration,
    /// The counted interval of one repetition.
    pub duration: Duration,
    /// Repetitions; the median is reported, with the minimum and the maximum.
    pub repeat: usize,
    /// Whether commits are logged, and how.
    pub logging: Logging,
    /// Who says how many workers do concurrency control.
    pub division: Division,
    /// An open loop of which short runs say the rate: so many percent of what the system commits in a closed loop. Until then the engine's options have none.
    pub percent_of_capacity: Option<u32>,
    /// How transactions of an open loop are spread over time.
    pub arrivals: ArrivalsName,
    /// What the engine is told. Repetition `n` draws everything random from `seed + n`, under every system the same.
    pub engine: EngineOptions,
}

/// ORTHRUS: who says how many workers do concurrency control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// The engine's options.
    Told,
    /// Short runs before the first repetition ([`crate::measure`]); until then the engine's options have one.
    Measured,
}

/// A value that an option does not take. Prints what was given and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue {
    /// The option's name, without dashes.
    pub option: String,
    /// The value given.
    pub value: String,
    /// What is allowed, in words.
    pub allowed: String,
}

impl BadValue {
    /// `value` is not allowed for `option`.
    pub fn new(option: impl Into<String>, value: impl fmt::Display, allowed: impl Into<String>) -> BadValue {
        BadValue { option: option.into(), value: value.to_string(), allowed: allowed.into() }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An empty value, as of a shell's unset variable, would not show.
        let value = if self.value.is_empty() { "''" } else { &self.value };
        write!(f, "{} {value}: allowed: {}", self.option, self.allowed)
    }
}

impl std::error::Error for BadValue {}

impl RunOptions {
    /// `run`: five repetitions of ten seconds on all cores.
    pub fn for_run(cores: usize) -> RunOptions {
        RunOptions {
            workers: cores,
            warmup: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            repeat: 5,
            logging: Logging::default(),
            division: Division::Told,
            percent_of_capacity: None,
            arrivals: ArrivalsName::Poisson,
            engine: EngineOptions { counters: CountersName::Auto, ..EngineOptions::default() },
        }
    }

    /// `compare` and `sweep`: three repetitions of one second on all cores.
    pub fn for_compare(cores: usize) -> RunOptions {
        RunOptions {
            warmup: Duration::from_millis(200),
            duration: Duration::from_secs(1),
            repeat: 3,
            ..RunOptions::for_run(cores)
        }
    }

    /// A simulated machine: three repetitions of a millisecond of its time on all its cores. Many cores do in that time what
    /// is measured in a second on a few; and where nothing else runs, nothing has to be averaged out.
    ///
    /// Many of a simulated run's few transactions are timed class by class: without them nobody would know where the time goes.
    pub fn for_simulation(cores: usize) -> RunOptions {
        let defaults = RunOptions::for_run(cores);
        RunOptions {
            warmup: Duration::from_micros(200),
            duration: Duration::from_millis(1),
            repeat: 3,
            engine: EngineOptions { sample_one_in: 8, ..defaults.engine },
            ..defaults
        }
    }

    /// Sets the option called `name`; `None` if there is no such option.
    pub fn set(&mut self, name: &str, value: &str) -> Option<Result<(), BadValue>> {
        OptionDescription::named(name).map(|option| option.set(self, value))
    }

    /// The value of the option called `name`, as [`RunOptions::set`] takes it.
    ///
    /// Panics if there is no such option.
    pub fn get(&self, name: &str) -> String {
        let option = OptionDescription::named(name);
        option.unwrap_or_else(|| panic!("{name} is not an option of a run")).get(self)
    }

    /// Every option with its value, as [`RunOptions::set`] takes them.
    pub fn resolved(&self) -> BTreeMap<String, String> {
        OPTIONS.iter().map(|option| (option.name.to_owned(), option.get(self))).collect()
    }

    /// What the engine is told for repetition `repetition`.
    pub fn engine_options(&self, repetition: usize) -> EngineOptions {
        EngineOptions { seed: self.repetition_seed(repetition), ..self.engine.clone() }
    }

    /// The seed of repetition `repetition`.
    pub fn repetition_seed(&self, repetition: usize) -> u64 {
        self.engine.seed.wrapping_add(repetition as u64)
    }

    /// Refuses to choose by short runs: for who makes none, or compares with others what is chosen; in words why.
    pub fn admit_no_choice(&self, why: &str) -> Result<(), BadValue> {
        match self.division {
            Division::Told => Ok(()),
            Division::Measured => {
                Err(BadValue::new("cc-threads", self.get("cc-threads"), format!("a whole number, for {why}")))
            }
        }
    }

    /// Sets the rate of an open loop, in transactions a second.
    pub fn set_rate(&mut self, rate_per_s: NonZeroU64) {
        self.engine.open_loop = Some(OpenLoop { rate_per_s, arrivals: self.arrivals });
    }

    /// Whether transactions arrive, at a rate that is told or is yet to be found.
    pub fn is_open_loop(&self) -> bool {
        self.engine.open_loop.is_some() || self.percent_of_capacity.is_some()
    }

    /// How long one repetition takes.
    pub fn repetition(&self) -> Duration {
        self.warmup + self.duration
    }
}

#[cfg(test)]
mod tests {
    use super::descriptions::back_off;
    use super::*;

    #[test]
    fn every_option_is_set_to_what_it_shows() {
        let options = RunOptions::for_run(4);
        let mut copy = RunOptions::for_compare(2);
        for (name, value) in options.resolved() {
            copy.set(&name, &value).expect("a known option").expect("its own value");
        }
        assert_eq!(copy, options);
    }

    #[test]
    fn threads_are_told_or_chosen() {
        let mut options = RunOptions::for_run(8);
        options.set("cc-threads", "3").expect("a known option").expect("a good value");
        assert_eq!((options.division, options.engine.cc_threads), (Division::Told, 3));
        options.admit_no_choice("nothing").expect("it is told");
        options.set("cc-threads", "auto").expect("a known option").expect("a good value");
        assert_eq!((options.division, options.engine.cc_threads), (Division::Measured, 1));
        assert_eq!(options.get("cc-threads"), "auto");
        let refused = options.admit_no_choice("a check measures nothing").expect_err("a choice").to_string();
        assert_eq!(refused, "cc-threads auto: allowed: a whole number, for a check measures nothing");
        options.set("cc-threads", "2").expect("a known option").expect("a good value");
        assert_eq!((options.division, options.get("cc-threads").as_str()), (Division::Told, "2"));
    }

    #[test]
    fn a_rate_is_told_or_a_part_or_there_is_none() {
        let mut options = RunOptions::for_run(2);
        assert_eq!((options.get("rate").as_str(), options.is_open_loop()), ("closed", false));
        let mut set = |name: &str, value: &str| {
            options.set(name, value).expect("a known option").expect("a good value");
            assert_eq!(options.get(name), value);
            options.clone()
        };
        let told = set("rate", "5000");
        assert_eq!(told.engine.open_loop.map(|open| open.rate_per_s.get()), Some(5000));
        assert!(told.is_open_loop() && told.engine.series);
        let constant = set("arrivals", "constant").engine.open_loop.map(|open| open.arrivals);
        assert_eq!(constant, Some(ArrivalsName::Constant));
        let part = set("rate", "50%");
        assert_eq!((part.percent_of_capacity, part.engine.open_loop), (Some(50), None));
        assert!(!set("series", "off").engine.series);
        assert!(!set("rate", "closed").is_open_loop());
    }

    #[test]
    fn a_timeout_is_a_time_or_nothing_or_never() {
        let mut options = RunOptions::for_run(1);
        assert_eq!(options.get("deadlock-timeout"), "never");
        for (value, ns) in
            [("100us", Some(100_000)), ("0", Some(0)), ("1ms", Some(1_000_000)), ("never", None)]
        {
            options.set("deadlock-timeout", value).expect("a known option").expect("a good value");
            assert_eq!(options.engine.deadlock_timeout_ns, ns);
            assert_eq!(options.get("deadlock-timeout"), value);
        }
    }

    #[test]
    fn bad_values_say_what_is_allowed() {
        let cases = [
            ("workers", "0", "workers 0: allowed: a whole number, at least 1"),
            (
                "workers",
                "99999999999999999999",
                "workers 99999999999999999999: allowed: a whole number, at least 1 and less than 2^64",
            ),
            ("repeat", "0", "repeat 0: allowed: 1 <= repeat <= 1000"),
            ("repeat", "", "repeat '': allowed: 1 <= repeat <= 1000"),
            ("duration", "0s", "duration 0s: allowed: longer than zero"),
            ("prefetch", "maybe", "prefetch maybe: allowed: off, planned, on"),
            ("sample", "-1", "sample -1: allowed: a whole number, 0 <= sample < 2^32; 0 for none"),
            ("partitions", "0", "partitions 0: allowed: a whole number, at least 1, or workers"),
            (
                "rate",
                "0",
                "rate 0: allowed: transactions a second, 1 to 100000000; a part of what the system can, 1% to 200%; or closed",
            ),
            (
                "rate",
                "201%",
                "rate 201%: allowed: transactions a second, 1 to 100000000; a part of what the system can, 1% to 200%; or closed",
            ),
            ("arrivals", "now", "arrivals now: allowed: constant, poisson"),
            ("deadlock-timeout", "10ns", "deadlock-timeout 10ns: allowed: at least 1us; or 0, or never"),
        ];
        for (name, value, message) in cases {
            let refused = RunOptions::for_run(1).set(name, value).expect("a known option");
            assert_eq!(refused.expect_err("bad").to_string(), message);
        }
        for bad in ["", "1", "9..3", "a..b", "-1..3", "0..3", "0..0"] {
            assert!(back_off(bad).is_err(), "{bad}");
        }
        assert_eq!(back_off("off"), Ok((0, 0)));
        assert!(RunOptions::for_run(1).set("theta", "0.5").is_none());
    }

    /// On the command line and in an experiment's file they stand side by side.
    #[test]
    fn no_option_is_called_as_a_workloads_parameter_is() {
        for workload in workloads::descriptions() {
            for parameter in workload.parameters {
                assert!(
                    OptionDescription::named(parameter.name).is_none(),
                    "{} {}",
                    workload.name,
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn repetitions_draw_differently() {
        let options = RunOptions::for_run(1);
        assert_ne!(options.engine_options(0).seed, options.engine_options(1).seed);
    }
}
