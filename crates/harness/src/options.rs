//! The options that every measuring command shares.
//!
//! One table, [`OPTIONS`], describes them: the command line makes its flags from it, and an experiment file sets
//! the same names to the same values, so that both refuse the same things in the same words.

use crate::text::durations;
use contract::{EngineOptions, LatchName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
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
    /// Seed of everything random. Repetition `n` draws from `seed + n`, under every system the same.
    pub seed: u64,
    /// What the engine is told.
    pub engine: EngineChoices,
}

/// The engine's choices that an option sets. Results show them under the fields' names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineChoices {
    /// Whether the engine asks for planned lines ahead.
    pub prefetch: bool,
    /// A retry first waits a random time below this, doubled at each further attempt.
    pub back_off_first_ns: u64,
    /// The most that the doubling reaches; 0 retries at once.
    pub back_off_cap_ns: u64,
    /// Workers that own partitions and host no transactions, under asymmetric-delegation.
    pub servers: usize,
    /// Transactions that a worker has begun and not ended, at most, under dora.
    pub in_flight: usize,
    /// Partitions under partitioned-serial; 0 for one a worker.
    pub partitions: usize,
    /// Whether shared-everything splits its indexes.
    pub split_indexes: bool,
    /// Transactions of a worker between two offers of a partition to its neighbour, under dora; 0 for never.
    pub hand_over_every: u64,
    /// The latch of lock lists, under shared-everything with dl-detect.
    #[serde(with = "latch_by_name")]
    pub latch: LatchName,
    /// The latch of a partition, under partitioned-serial.
    #[serde(with = "latch_by_name")]
    pub partition_latch: LatchName,
    /// One transaction in so many is timed class by class, and stays out of the latencies; 0 for none.
    pub sample_one_in: u32,
}

/// For people: what is ours rather than a paper's, and changes every figure.
impl fmt::Display for EngineChoices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefetch = if self.prefetch { "on" } else { "off" };
        write!(f, "Prefetch {prefetch}, back-off ")?;
        match self.back_off_cap_ns {
            0 => f.write_str("off"),
            cap => write!(f, "{}..{cap} ns", self.back_off_first_ns),
        }?;
        match self.sample_one_in {
            0 => f.write_str(", no transaction timed by class"),
            number => write!(f, ", one transaction in {number} timed by class"),
        }
    }
}

/// A latch in results: its name.
mod latch_by_name {
    use contract::LatchName;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(latch: &LatchName, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(latch.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LatchName, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// One option, as the command line and an experiment file name it.
pub struct OptionDescription {
    /// Its name, kebab-case.
    pub name: &'static str,
    /// What stands for its value in help.
    pub value: &'static str,
    /// What it is for, one line.
    pub help: &'static str,
}

/// Every option of [`RunOptions`], in the order of help.
pub const OPTIONS: &[OptionDescription] = &[
    OptionDescription { name: "workers", value: "N", help: "Workers, each pinned to a core" },
    OptionDescription { name: "warmup", value: "TIME", help: "Run before each counted interval" },
    OptionDescription { name: "duration", value: "TIME", help: "Counted interval of one repetition" },
    OptionDescription { name: "repeat", value: "N", help: "Repetitions; the median is reported" },
    OptionDescription { name: "seed", value: "N", help: "Seed of everything random" },
    OptionDescription {
        name: "sample",
        value: "N",
        help: "Time one transaction in N class by class, and leave it out of the latencies; 0 times none",
    },
    OptionDescription {
        name: "prefetch",
        value: "on|off",
        help: "Ask for the cache lines of planned keys before a transaction runs",
    },
    OptionDescription {
        name: "back-off",
        value: "FIRST..CAP",
        help: "Random wait before a retry, in ns: below FIRST, doubled up to CAP; 'off' retries at once",
    },
    OptionDescription {
        name: "servers",
        value: "N",
        help: "Workers that own the partitions and host no transactions (asymmetric-delegation)",
    },
    OptionDescription { name: "in-flight", value: "N", help: "Transactions in flight per worker (dora)" },
    OptionDescription {
        name: "partitions",
        value: "N|workers",
        help: "Partitions of the tables, or as many as there are workers (partitioned-serial)",
    },
    OptionDescription {
        name: "split-indexes",
        value: "on|off",
        help: "Split the indexes into as many parts as there are workers (shared-everything)",
    },
    OptionDescription {
        name: "hand-over-every",
        value: "N|never",
        help: "Hand a partition to the next worker every N transactions of its owner (dora)",
    },
    OptionDescription {
        name: "latch",
        value: "NAME",
        help: "Latch of lock lists (shared-everything dl-detect): test-and-set, test-and-test-and-set, ticket",
    },
    OptionDescription {
        name: "partition-latch",
        value: "NAME",
        help: "Latch of a partition (partitioned-serial): ticket, test-and-test-and-set, test-and-set",
    },
];

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
        let engine = EngineOptions::default();
        RunOptions {
            workers: cores,
            warmup: Duration::from_secs(1),
            duration: Duration::from_secs(10),
            repeat: 5,
            seed: engine.seed,
            engine: EngineChoices {
                prefetch: engine.prefetch,
                back_off_first_ns: engine.back_off_first_ns,
                back_off_cap_ns: engine.back_off_cap_ns,
                servers: engine.servers,
                in_flight: engine.in_flight,
                partitions: engine.partitions,
                split_indexes: engine.split_indexes,
                hand_over_every: engine.hand_over_every,
                latch: engine.latch,
                partition_latch: engine.partition_latch,
                sample_one_in: engine.sample_one_in,
            },
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
            engine: EngineChoices { sample_one_in: 8, ..defaults.engine },
            ..defaults
        }
    }

    /// Sets the option called `name`; `None` if there is no such option.
    pub fn set(&mut self, name: &str, value: &str) -> Option<Result<(), BadValue>> {
        OPTIONS.iter().any(|option| option.name == name).then(|| self.set_known(name, value))
    }

    fn set_known(&mut self, name: &str, value: &str) -> Result<(), BadValue> {
        let bad = |allowed: &str| BadValue::new(name, value, allowed);
        let count = |most: usize| {
            let number = value.parse().ok().filter(|n| (1..=most).contains(n));
            number.ok_or_else(|| bad(&format!("1 <= {name} <= {most}")))
        };
        let at_least_one = || {
            let number = value.parse().ok().filter(|&n: &usize| n >= 1);
            number.ok_or_else(|| bad("a whole number, at least 1"))
        };
        let on_or_off = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(bad("on, off")),
        };
        let time = || durations::parse(value).ok_or_else(|| bad(durations::ALLOWED));
        match name {
            "workers" => self.workers = at_least_one()?,
            "warmup" => self.warmup = time()?,
            "duration" => {
                self.duration = time()?;
                if self.duration.is_zero() {
                    return Err(bad("longer than zero"));
                }
            }
            "repeat" => self.repeat = count(1000)?,
            "seed" => self.seed = value.parse().map_err(|_| bad("a whole number, 0 <= seed < 2^64"))?,
            "sample" => {
                self.engine.sample_one_in =
                    value.parse().map_err(|_| bad("a whole number, 0 <= sample < 2^32; 0 for none"))?;
            }
            "prefetch" => self.engine.prefetch = on_or_off()?,
            "servers" => self.engine.servers = at_least_one()?,
            "in-flight" => self.engine.in_flight = at_least_one()?,
            "partitions" => {
                let number = value.parse().ok().filter(|&n| n >= 1);
                self.engine.partitions = match value {
                    "workers" => 0,
                    _ => number.ok_or_else(|| bad("a whole number, at least 1, or workers"))?,
                }
            }
            "split-indexes" => self.engine.split_indexes = on_or_off()?,
            "hand-over-every" => {
                let number = value.parse().ok().filter(|&n| n >= 1);
                self.engine.hand_over_every = match value {
                    "never" => 0,
                    _ => number.ok_or_else(|| bad("a whole number, at least 1, or never"))?,
                }
            }
            "latch" => self.engine.latch = value.parse().map_err(BadValue::from)?,
            "partition-latch" => self.engine.partition_latch = value.parse().map_err(BadValue::from)?,
            "back-off" => (self.engine.back_off_first_ns, self.engine.back_off_cap_ns) = back_off(value)?,
            _ => unreachable!("OPTIONS names only what is set here"),
        }
        Ok(())
    }

    /// The value of the option called `name`, as [`RunOptions::set`] takes it.
    ///
    /// Panics if there is no such option.
    pub fn get(&self, name: &str) -> String {
        let on_or_off = |on| if on { "on" } else { "off" }.to_owned();
        match name {
            "workers" => self.workers.to_string(),
            "warmup" => durations::show(self.warmup),
            "duration" => durations::show(self.duration),
            "repeat" => self.repeat.to_string(),
            "seed" => self.seed.to_string(),
            "sample" => self.engine.sample_one_in.to_string(),
            "prefetch" => on_or_off(self.engine.prefetch),
            "servers" => self.engine.servers.to_string(),
            "in-flight" => self.engine.in_flight.to_string(),
            "partitions" if self.engine.partitions == 0 => "workers".to_owned(),
            "partitions" => self.engine.partitions.to_string(),
            "split-indexes" => on_or_off(self.engine.split_indexes),
            "hand-over-every" if self.engine.hand_over_every == 0 => "never".to_owned(),
            "hand-over-every" => self.engine.hand_over_every.to_string(),
            "latch" => self.engine.latch.to_string(),
            "partition-latch" => self.engine.partition_latch.to_string(),
            "back-off" if self.engine.back_off_cap_ns == 0 => "off".to_owned(),
            "back-off" => format!("{}..{}", self.engine.back_off_first_ns, self.engine.back_off_cap_ns),
            _ => panic!("{name} is not an option of a run"),
        }
    }

    /// Every option with its value, as [`RunOptions::set`] takes them.
    pub fn resolved(&self) -> BTreeMap<String, String> {
        OPTIONS.iter().map(|option| (option.name.to_owned(), self.get(option.name))).collect()
    }

    /// What the engine is told for repetition `repetition`.
    pub fn engine_options(&self, repetition: usize) -> EngineOptions {
        EngineOptions {
            prefetch: self.engine.prefetch,
            seed: self.repetition_seed(repetition),
            back_off_first_ns: self.engine.back_off_first_ns,
            back_off_cap_ns: self.engine.back_off_cap_ns,
            servers: self.engine.servers,
            in_flight: self.engine.in_flight,
            partitions: self.engine.partitions,
            split_indexes: self.engine.split_indexes,
            hand_over_every: self.engine.hand_over_every,
            latch: self.engine.latch,
            partition_latch: self.engine.partition_latch,
            sample_one_in: self.engine.sample_one_in,
            ..EngineOptions::default()
        }
    }

    /// The seed of repetition `repetition`.
    pub fn repetition_seed(&self, repetition: usize) -> u64 {
        self.seed.wrapping_add(repetition as u64)
    }

    /// How long one repetition takes.
    pub fn repetition(&self) -> Duration {
        self.warmup + self.duration
    }
}

fn back_off(value: &str) -> Result<(u64, u64), BadValue> {
    if value == "off" {
        return Ok((0, 0));
    }
    let bounds =
        value.split_once("..").and_then(|(first, cap)| Some((first.parse().ok()?, cap.parse().ok()?)));
    // A first bound of zero would stay zero however often it is doubled.
    bounds.filter(|&(first, cap)| 1 <= first && first <= cap).ok_or_else(|| {
        BadValue::new(
            "back-off",
            value,
            "FIRST..CAP in nanoseconds with 1 <= FIRST <= CAP, such as 500..32000, or off",
        )
    })
}

#[cfg(test)]
mod tests {
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
    fn bad_values_say_what_is_allowed() {
        let cases = [
            ("workers", "0", "workers 0: allowed: a whole number, at least 1"),
            ("repeat", "0", "repeat 0: allowed: 1 <= repeat <= 1000"),
            ("repeat", "", "repeat '': allowed: 1 <= repeat <= 1000"),
            ("duration", "0s", "duration 0s: allowed: longer than zero"),
            ("prefetch", "maybe", "prefetch maybe: allowed: on, off"),
            ("sample", "-1", "sample -1: allowed: a whole number, 0 <= sample < 2^32; 0 for none"),
            ("partitions", "0", "partitions 0: allowed: a whole number, at least 1, or workers"),
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

    #[test]
    fn repetitions_draw_differently() {
        let options = RunOptions::for_run(1);
        assert_ne!(options.engine_options(0).seed, options.engine_options(1).seed);
    }
}
