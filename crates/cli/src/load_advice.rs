//! Who else wanted the cores while something was measured, and what to do about it: for `doctor`, `doctor --calibrate`,
//! `validate`, and a `run` whose repetitions spread.

use crate::advice::{Advice, judge};
use harness::text::numbers::percent;
use machine::hardware::frequency::Frequency;
use machine::hardware::load::{self, ForeignLoad, Watch, Withheld};
use serde::Serialize;
use std::time::Duration;

/// What others took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// What the system tells.
    #[serde(flatten)]
    pub told: ForeignLoad,
    /// What was withheld from a thread that wanted a core for itself, by core.
    pub withheld: Vec<Withheld>,
    /// The processors' frequency, when it began and when it ended; it is among what `environment.json` tells.
    #[serde(skip)]
    pub frequency: Option<Frequency>,
}

/// A measurement that is watched.
pub struct Watching {
    watch: Watch,
    tests: Vec<Vec<Withheld>>,
}

/// How long cores are tried at a time.
const TRIED_FOR: Duration = Duration::from_millis(20);

impl Watching {
    /// From here on.
    pub fn begin() -> Watching {
        Watching { watch: Watch::begin(), tests: Vec::new() }
    }

    /// From here on, the cores that so many workers fill.
    pub fn of_workers(workers: usize) -> Watching {
        Watching { watch: Watch::of_workers(workers), tests: Vec::new() }
    }

    /// Looks for some milliseconds what the cores withhold: once in each round.
    pub fn try_cores(&mut self) {
        self.tests.push(load::idle_test(TRIED_FOR));
    }

    /// To here.
    pub fn end(self) -> Load {
        let (told, frequency) = (self.watch.end(), self.watch.frequency());
        Load { told, withheld: load::together(&self.tests), frequency }
    }
}

/// More waiting processes than this are somebody.
const SOMEBODY: f64 = 0.3;
/// What may be stolen, be taken by others, be withheld, and yet be nothing: parts of the cores' time.
const STOLEN: f64 = 0.01;
const TAKEN: f64 = 0.05;
const WITHHELD: f64 = 0.02;

impl Load {
    /// Name and value, for people.
    pub fn lines(&self) -> Vec<(String, String)> {
        let ForeignLoad { load_average, stolen, others } = self.told;
        let mut lines = Vec::new();
        lines.extend(load_average.map(|load| ("load average before".to_owned(), format!("{load:.2}"))));
        let part = |part: f64| format!("{} of the cores' time", percent(part));
        lines.extend(stolen.map(|stolen| ("taken by a hypervisor".to_owned(), part(stolen))));
        lines.extend(others.map(|others| ("taken by other processes".to_owned(), part(others))));
        lines.extend(self.withheld.iter().map(|core| {
            let Withheld { cpu, part, longest_us } = core;
            (
                format!("withheld on processor {cpu}"),
                format!("{}, {longest_us:.0} us at once", percent(*part)),
            )
        }));
        lines
    }

    /// What is too much, or that nothing is.
    pub fn advice(&self) -> Vec<Advice> {
        let all = self.all_advice();
        if all.iter().all(|advice| advice.fine) {
            return vec![judge(true, "nobody else wants the cores", "")];
        }
        all.into_iter().filter(|advice| !advice.fine).collect()
    }

    /// The same as warnings.
    pub fn warnings(&self) -> Vec<String> {
        let all = self.all_advice().into_iter().filter(|advice| !advice.fine);
        all.map(|advice| format!("{}: {}", advice.found, advice.advice)).collect()
    }

    /// The same of what was taken meanwhile: who had the cores before may have been ourselves.
    pub fn warnings_of_meanwhile(self) -> Vec<String> {
        Load { told: ForeignLoad { load_average: None, ..self.told }, ..self }.warnings()
    }

    fn all_advice(&self) -> Vec<Advice> {
        let ForeignLoad { load_average, stolen, others } = self.told;
        let mut all = Vec::new();
        all.extend(load_average.map(|load| {
            judge(
                load <= SOMEBODY,
                format!("a load average of {load:.2} before measuring"),
                "other processes want the cores, or did a minute ago: find them with top, end them or wait",
            )
        }));
        all.extend(stolen.map(|stolen| {
            judge(
                stolen <= STOLEN,
                format!("a hypervisor took {} of the cores' time", percent(stolen)),
                "other machines share the cores: ask for cores of your own, or measure at another hour and repeat more often",
            )
        }));
        all.extend(others.map(|others| {
            judge(
                others <= TAKEN,
                format!("other processes took {} of the cores' time", percent(others)),
                "top says which: end them, or keep them on other cores by taskset",
            )
        }));
        all.extend(self.withheld.iter().map(|Withheld { cpu, part, longest_us }| {
            judge(
                *part <= WITHHELD,
                format!(
                    "processor {cpu} did not run a thread that wanted it for {} of the time, {longest_us:.0} us at once",
                    percent(*part)
                ),
                "somebody runs there, perhaps outside of what this system sees: repeat more often, and believe no difference \
                 below that part",
            )
        }));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(load_average: f64, stolen: f64, others: f64, part: f64) -> Load {
        let told =
            ForeignLoad { load_average: Some(load_average), stolen: Some(stolen), others: Some(others) };
        Load { told, withheld: vec![Withheld { cpu: 3, part, longest_us: 4000.0 }], frequency: None }
    }

    #[test]
    fn each_witness_is_heard() {
        let quiet = load(0.1, 0.0, 0.01, 0.001);
        assert_eq!(quiet.warnings(), [""; 0]);
        assert!(quiet.advice().iter().all(|advice| advice.fine));
        for (loaded, words) in [
            (load(1.95, 0.0, 0.01, 0.001), "load average of 1.95"),
            (load(0.1, 0.05, 0.01, 0.001), "a hypervisor took 5"),
            (load(0.1, 0.0, 0.5, 0.001), "other processes took 50"),
            (load(0.1, 0.0, 0.01, 0.12), "processor 3 did not run a thread that wanted it for 12"),
        ] {
            let warnings = loaded.warnings();
            assert!(warnings.len() == 1 && warnings[0].contains(words), "{warnings:?}");
            let advice = loaded.advice();
            assert!(advice.len() == 1 && !advice[0].fine && advice[0].advice.len() > 10, "{advice:?}");
        }
        let meanwhile = load(1.95, 0.0, 0.5, 0.001).warnings_of_meanwhile();
        assert!(meanwhile.len() == 1 && meanwhile[0].starts_with("other processes took 50"), "{meanwhile:?}");
        let lines = load(1.95, 0.05, 0.5, 0.12).lines();
        assert_eq!(lines[3], ("withheld on processor 3".to_owned(), "12.0 %, 4000 us at once".to_owned()));
    }

    #[test]
    fn a_system_that_tells_nothing_is_not_accused() {
        let silent = Load { told: ForeignLoad::default(), withheld: Vec::new(), frequency: None };
        assert_eq!((silent.warnings(), silent.lines()), (Vec::new(), Vec::new()));
    }
}
