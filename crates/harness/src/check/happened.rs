//! Whether enough happened for a check to mean something.
//!
//! Transactions that never meet pass whatever the protocol does, and a canary among them sings to nobody. So nothing passes
//! below these numbers; it is then neither right nor wrong, but too little happened:
//!
//! - of a history, [`DEPENDENCIES_NEEDED`] dependencies between transactions of different workers, of each kind that
//!   the operations on some table can bring about ([`Dependencies`]). Who only reads can bring about none, and one worker
//!   alone has none with others: both are too little, however much they do;
//! - of a scenario, [`ROUNDS_NEEDED`] rounds in which roles ran at the same time: each is a small play in which everybody
//!   meets everybody.
//!
//! An exploration is judged over all its schedules together. What was found wrong stays wrong, however little happened.

use super::defaults;
use crate::text::numbers::{counted, thousands};
use history::{Dependencies, DependencyKind};

/// Dependencies of each kind that there can be, between transactions of different workers.
pub const DEPENDENCIES_NEEDED: u64 = 100;
/// Rounds of a scenario in which roles ran at the same time.
pub const ROUNDS_NEEDED: u64 = 10;
/// Workers that host transactions: those of one alone are serial.
pub const HOSTS_NEEDED: usize = 2;

/// What happened in a checked run, or in several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// Transactions depended on each other.
    Dependencies(Dependencies),
    /// Roles of a scenario ran at the same time in so many rounds.
    Overlapping(u64),
}

/// What a check can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// All that was checked held.
    Held,
    /// It did, and would have without any protocol.
    TooLittle,
    /// Something did not hold.
    Failed,
}

impl Conclusion {
    /// What the checks that failed, and what was too little, amount to.
    pub fn of(held: bool, too_little: Option<&str>) -> Conclusion {
        match (held, too_little) {
            (false, _) => Conclusion::Failed,
            (true, Some(_)) => Conclusion::TooLittle,
            (true, None) => Conclusion::Held,
        }
    }
}

/// What a run was, as far as it decides what would bring more.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The workload's name.
    pub workload: &'a str,
    /// Workers.
    pub workers: usize,
    /// Those of them that host transactions.
    pub hosts: usize,
    /// Options that make a run longer, in words: `more --transactions`.
    pub longer: &'a str,
}

impl Happened {
    /// What happened in both, of one workload.
    #[must_use]
    pub fn and(self, other: Happened) -> Happened {
        match (self, other) {
            (Happened::Dependencies(mut sum), Happened::Dependencies(more)) => {
                sum += more;
                Happened::Dependencies(sum)
            }
            (Happened::Overlapping(sum), Happened::Overlapping(more)) => Happened::Overlapping(sum + more),
            _ => unreachable!("runs of one workload are judged in one way"),
        }
    }

    /// What is too little, what is needed and what would bring more, in words; `None`: enough happened.
    pub fn too_little(self, circumstances: &Circumstances<'_>) -> Option<String> {
        let Circumstances { workload, workers, hosts, longer } = *circumstances;
        let dependencies = match self {
            Happened::Overlapping(rounds) if rounds >= ROUNDS_NEEDED => return None,
            Happened::Overlapping(rounds) => {
                return Some(format!(
                    "{} in which roles ran at the same time, and {ROUNDS_NEEDED} are needed; use {longer}, or as many cores \
                     as there are workers",
                    counted(rounds as usize, "round")
                ));
            }
            Happened::Dependencies(dependencies) => dependencies,
        };
        let possible = || DependencyKind::ALL.into_iter().filter(|kind| dependencies.of(*kind).possible);
        let few = |kind: &DependencyKind| dependencies.of(*kind).between_workers < DEPENDENCIES_NEEDED;
        if hosts < HOSTS_NEEDED {
            return Some(format!(
                "one worker hosts all transactions, and none of another can meet them; use --workers {}",
                workers + HOSTS_NEEDED - hosts
            ));
        }
        let hints = defaults::hints(workload);
        if possible().next().is_none() {
            return Some(format!(
                "nobody wrote what others read or wrote, so nothing can conflict; use {}",
                hints.to_write
            ));
        }
        let found: Vec<String> = possible()
            .filter(few)
            .map(|kind| {
                format!("{} {}", thousands(dependencies.of(kind).between_workers as f64), kind.name())
            })
            .collect();
        let to_meet = if hints.to_meet.is_empty() { String::new() } else { format!(", {}", hints.to_meet) };
        (!found.is_empty()).then(|| {
            format!(
                "{} dependencies between transactions of different workers, and {DEPENDENCIES_NEEDED} of each kind are \
                 needed; use {longer}{to_meet}",
                found.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use history::DependencyCount;

    const TWO: Circumstances<'_> =
        Circumstances { workload: "micro", workers: 2, hosts: 2, longer: "more --transactions" };

    fn count(between_workers: u64) -> DependencyCount {
        DependencyCount { possible: true, all: 1_000, between_workers }
    }

    fn dependencies(write_read: u64, read_write: DependencyCount) -> Happened {
        Happened::Dependencies(Dependencies {
            write_read: count(write_read),
            write_write: count(500),
            read_write,
        })
    }

    #[test]
    fn enough_of_each_kind_is_enough() {
        assert_eq!(dependencies(100, count(100)).too_little(&TWO), None);
        assert_eq!(dependencies(100, DependencyCount::default()).too_little(&TWO), None, "it cannot be");
        assert_eq!(Happened::Overlapping(10).too_little(&TWO), None);
    }

    #[test]
    fn too_little_says_what_was_found_and_what_is_needed_and_what_to_do() {
        let said = dependencies(99, count(0)).too_little(&TWO).expect("too little");
        assert_eq!(
            said,
            "99 write-read, 0 read-write dependencies between transactions of different workers, and 100 of each kind are \
             needed; use more --transactions, fewer --records, --writes nearer to 50"
        );
        let said = Happened::Overlapping(9).too_little(&TWO).expect("too little");
        assert!(
            said.starts_with("9 rounds in which roles ran at the same time, and 10 are needed"),
            "{said}"
        );
    }

    #[test]
    fn who_only_reads_and_who_is_alone_has_too_little() {
        let nothing = Happened::Dependencies(Dependencies::default());
        let said = nothing.too_little(&TWO).expect("too little");
        assert!(said.contains("nothing can conflict; use --writes 50"), "{said}");
        let alone = Circumstances { hosts: 1, ..TWO };
        let said = dependencies(500, count(500)).too_little(&alone).expect("too little");
        assert!(said.ends_with("use --workers 3"), "{said}");
    }

    #[test]
    fn what_happened_in_several_runs_adds_up() {
        let half = dependencies(50, count(50));
        assert!(half.too_little(&TWO).is_some());
        assert_eq!(half.and(half).too_little(&TWO), None);
        assert_eq!(Happened::Overlapping(4).and(Happened::Overlapping(5)), Happened::Overlapping(9));
    }

    #[test]
    fn what_is_wrong_stays_wrong_however_little_happened() {
        assert_eq!(Conclusion::of(false, Some("too little")), Conclusion::Failed);
        assert_eq!(Conclusion::of(true, Some("too little")), Conclusion::TooLittle);
        assert_eq!(Conclusion::of(true, None), Conclusion::Held);
    }
}
