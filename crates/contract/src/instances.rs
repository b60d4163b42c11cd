//! How many instances a deployment has: a number, or one for each core, socket or machine that workers run on (*hardware-islands* 2, 4.1: an
//! instance per core, per socket and per machine are its islands of three sizes). And an instance that has dropped out.
//!
//! Instances have equally many workers, in the workers' order: of six workers and two instances the first three are the first one's. So there is
//! one for each socket only where the workers fill the sockets one after the other, and each with as many; likewise with machines.
//! Anything else would be another deployment than was asked for, and is refused with the numbers of workers for which it is none.

use crate::names::{UnknownName, kebab_case};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// How many instances workers and partitions are divided among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// So many.
    Count(NonZeroUsize),
    /// One for each worker, which has a core of its own where there are enough.
    PerCore,
    /// One for each socket on which workers run.
    PerSocket,
    /// One for each machine of a cluster on which workers run.
    PerMachine,
}

/// Where a worker runs, or would if it were bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The number of its machine.
    pub machine: usize,
    /// The number of its socket, which no other machine has.
    pub socket: usize,
}

impl Site {
    /// A machine of one socket.
    pub const ONLY: Site = Site { machine: 0, socket: 0 };
}

impl Instances {
    /// One for all workers.
    pub const ONE: Instances = Instances::Count(NonZeroUsize::MIN);

    /// So many. Panics if there are none.
    pub const fn of(count: usize) -> Instances {
        Instances::Count(NonZeroUsize::new(count).expect("a deployment has an instance"))
    }

    /// How many there are of so many workers, which take `sites` in their order; more than those run anywhere. Whether that many workers can
    /// be divided among a [`Instances::Count`] is not asked here. The error is what is allowed, in words.
    pub fn among(self, workers: usize, sites: &[Site]) -> Result<usize, String> {
        let (part, name): (fn(&Site) -> usize, _) = match self {
            Instances::Count(count) => return Ok(count.get()),
            Instances::PerCore => return Ok(workers),
            Instances::PerSocket => (|site| site.socket, "socket"),
            Instances::PerMachine => (|site| site.machine, "machine"),
        };
        let parts: Vec<usize> = sites.iter().map(part).collect();
        evenly_filled(workers, &parts).ok_or_else(|| {
            let fits = (1..=parts.len()).filter(|&workers| evenly_filled(workers, &parts).is_some());
            let fits = in_words(fits);
            format!("with {fits} workers, equally many on each {name}, and not with {workers}; or a number")
        })
    }
}

/// How many parts so many workers run on, if they fill one after the other, and each with equally many. `parts`: of each site its part.
fn evenly_filled(workers: usize, parts: &[usize]) -> Option<usize> {
    let Some(filled) = parts.get(..workers) else {
        // There is one part that all are on, wherever they run, or nobody knows.
        return parts.iter().all(|part| *part == parts[0]).then_some(1);
    };
    let blocks: Vec<&[usize]> = filled.chunk_by(|one, next| one == next).collect();
    let each = workers / blocks.len().max(1);
    let mut seen: Vec<usize> = blocks.iter().map(|block| block[0]).collect();
    seen.sort_unstable();
    seen.dedup();
    let is_even = seen.len() == blocks.len() && blocks.iter().all(|block| block.len() == each);
    is_even.then_some(blocks.len())
}

/// Numbers that grow, in words: "1 to 12, 24 or 36".
fn in_words(numbers: impl Iterator<Item = usize>) -> String {
    let numbers: Vec<usize> = numbers.collect();
    let name = |range: &[usize]| match range {
        [one] => one.to_string(),
        [one, two] => format!("{one}, {two}"),
        range => format!("{} to {}", range[0], range[range.len() - 1]),
    };
    let mut names: Vec<String> = numbers.chunk_by(|one, next| one + 1 == *next).map(name).collect();
    match (names.pop(), names.is_empty()) {
        (Some(last), false) => format!("{} or {last}", names.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}

impl fmt::Display for Instances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instances::Count(count) => count.fmt(f),
            Instances::PerCore => f.pad("per-core"),
            Instances::PerSocket => f.pad("per-socket"),
            Instances::PerMachine => f.pad("per-machine"),
        }
    }
}

impl FromStr for Instances {
    type Err = UnknownName;

    fn from_str(given: &str) -> Result<Self, UnknownName> {
        match kebab_case(given).as_str() {
            "one" => Ok(Instances::ONE),
            "per-core" => Ok(Instances::PerCore),
            "per-socket" => Ok(Instances::PerSocket),
            "per-machine" => Ok(Instances::PerMachine),
            number => number.parse().map(Instances::Count).map_err(|_| UnknownName {
                what: "number of instances",
                given: given.to_owned(),
                allowed: vec![
                    "a whole number from 1 to 2^64 - 1",
                    "one",
                    "per-core",
                    "per-socket",
                    "per-machine",
                ],
            }),
        }
    }
}

impl Serialize for Instances {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Instances {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// An instance that has dropped out of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Its number.
    pub instance: usize,
    /// What happened.
    pub why: String,
    /// If the store is logged: everything that committed in this epoch or before is durable at all instances, and perhaps acknowledged. That is what those know that
    /// are there: the lost one may have known of one epoch more, and have acknowledged it; then it is durable at all instances too, and recovery finds it.
    pub acknowledged: Option<u64>,
}

impl Lost {
    /// An instance, and what happened.
    pub fn new(instance: usize, why: impl Into<String>) -> Lost {
        Lost { instance, why: why.into(), acknowledged: None }
    }

    /// Why an instance is lost that has told so itself: because of another, or of a branch that has panicked.
    pub const BREAKS_OFF: &'static str = "it broke off";

    /// Why a run was broken off, of what several instances say of it, each with its number; `None`: nobody has lost anybody. One that says something is there itself, and has at most broken off,
    /// unless it says that of itself.
    pub fn cause<'l>(said: impl Iterator<Item = (usize, &'l Lost)> + Clone) -> Option<Lost> {
        let is_there = |lost: &Lost| said.clone().any(|(instance, _)| instance == lost.instance);
        let is_cause = |(instance, lost): &(usize, &Lost)| *instance == lost.instance || !is_there(lost);
        let mut others = said.clone().filter(|(_, lost)| lost.why != Lost::BREAKS_OFF);
        let first = others.clone().find(is_cause).or(others.next()).or(said.clone().next())?.1;
        Some(said.fold(first.clone(), |first, (_, lost)| first.beside(lost)))
    }

    /// The same where another node knows of more, or less, that was acknowledged.
    pub fn beside(self, other: &Lost) -> Lost {
        Lost { acknowledged: self.acknowledged.max(other.acknowledged), ..self }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost { instance, why, acknowledged } = self;
        write!(
            f,
            "instance {instance} has dropped out: {why}; what was not decided has aborted, and the run is over"
        )?;
        match acknowledged {
            None => Ok(()),
            Some(epoch) => {
                write!(
                    f,
                    "; what was acknowledged, up to epoch {epoch}, is there once the log is recovered (by recover, of the same folder and the same nodes)"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telling::{tell, told};

    /// Machines of so many sockets of so many cores.
    fn sites(machines: usize, sockets: usize, cores: usize) -> Vec<Site> {
        let site = |core: usize| Site { machine: core / cores / sockets, socket: core / cores };
        (0..machines * sockets * cores).map(site).collect()
    }

    #[test]
    fn what_is_shown_is_read() {
        for (given, shown) in [
            ("one", "1"),
            ("1", "1"),
            ("12", "12"),
            ("per-core", "per-core"),
            ("PER_SOCKET", "per-socket"),
            ("per-machine", "per-machine"),
        ] {
            let read: Instances = given.parse().expect(given);
            assert_eq!(read.to_string(), shown);
            assert_eq!(shown.parse(), Ok(read));
            let mut told_bytes = Vec::new();
            tell(&read, &mut told_bytes);
            assert_eq!(told(&told_bytes), Some(shown.to_owned()));
            assert_eq!(told(&told_bytes), Some(read));
        }
        for bad in ["0", "", "-1", "per-cluster", "two"] {
            let refused = bad.parse::<Instances>().expect_err(bad).to_string();
            assert!(refused.starts_with(&format!("unknown number of instances '{bad}'")), "{refused}");
        }
    }

    #[test]
    fn there_are_as_many_as_parts_that_workers_fill() {
        let four = sites(4, 2, 6);
        for (workers, [sockets, machines]) in
            [(1, [1, 1]), (6, [1, 1]), (12, [2, 1]), (24, [4, 2]), (36, [6, 3]), (48, [8, 4])]
        {
            assert_eq!(Instances::PerSocket.among(workers, &four), Ok(sockets));
            assert_eq!(Instances::PerMachine.among(workers, &four), Ok(machines));
            assert_eq!(Instances::PerCore.among(workers, &four), Ok(workers));
            assert_eq!(Instances::of(3).among(workers, &four), Ok(3));
        }
        assert_eq!(Instances::PerMachine.among(7, &four), Ok(1), "sockets do not matter to machines");
        assert_eq!(Instances::PerSocket.among(9, &[Site::ONLY]), Ok(1), "all are on the only one");
    }

    #[test]
    fn parts_that_are_not_filled_evenly_are_refused() {
        let refused = |instances: Instances, workers, sites: &[Site]| {
            instances.among(workers, sites).expect_err("uneven")
        };
        let four = sites(4, 2, 6);
        assert_eq!(
            refused(Instances::PerSocket, 9, &four),
            "with 1 to 6, 12, 18, 24, 30, 36, 42 or 48 workers, equally many on each socket, and not with \
             9; or a number"
        );
        assert_eq!(
            refused(Instances::PerMachine, 18, &four),
            "with 1 to 12, 24, 36 or 48 workers, equally many on each machine, and not with 18; or a number"
        );
        assert!(Instances::PerSocket.among(49, &four).is_err(), "nobody knows where they run");
        // The second hardware threads of the cores come after the first ones of all sockets.
        let twice = [sites(1, 2, 2), sites(1, 2, 2)].concat();
        assert_eq!(Instances::PerSocket.among(4, &twice), Ok(2));
        assert_eq!(
            refused(Instances::PerSocket, 8, &twice),
            "with 1, 2 or 4 workers, equally many on each socket, and not with 8; or a number"
        );
    }
}
