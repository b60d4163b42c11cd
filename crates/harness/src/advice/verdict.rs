//! What to take, and why: the systems of the final, each with the workers that suit it best, beside the best one.

use super::halving::in_order;
use super::levels::Levels;
use super::shares::Shares;
use super::{Candidate, Figures, Goal, Trials, words};
use crate::confidence::beside_best_of_groups;
use crate::failure::{Failure, OTHER_INPUT};
use crate::results::System;
use crate::summary::{Check, Summary, TimeShares, noise, warnings};
use crate::text::numbers::{bytes, counted, latency, percent, ratio};
use contract::Engine;
use serde::Serialize;
use std::cmp::Ordering;
use workloads::AnyWorkload;

/// With fewer workers a system may have so much less throughput, as a part, and is preferred: the cores are free for others.
const AS_GOOD_WITH_FEWER: f64 = 0.97;

/// A difference of parts of the time from which on it is a reason.
const MUCH_OF_THE_TIME: f64 = 0.08;

/// How many times the throughput from which on it has a reason.
const MUCH_SLOWER: f64 = 1.05;

/// Reasons that are given at most.
const MOST_REASONS: usize = 3;

/// A system of the final.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// For people.
    pub system: String,
    /// Its name.
    pub architecture: String,
    /// Its name.
    pub protocol: String,
    /// Of its numbers of workers, the one that suits it best.
    pub workers: usize,
    /// Of these, those that host no transactions, for they have the lock tables or the partitions: the share of them that suits it best; `null` of a system in which all do.
    pub servers: Option<usize>,
    /// Partitions of every table; under ORTHRUS of their locks.
    pub partitions: u32,
    /// Beside the best one's, from which a check that failed under only one of the two tells it apart, too.
    #[serde(flatten)]
    pub figures: Figures,
    /// Its throughput as a part of the best one's.
    pub part_of_best: f64,
    /// Aborts per commit.
    pub abort_rate: f64,
    /// Where the time goes.
    pub time_share: TimeShares,
    /// Requests and releases by transaction that ended.
    pub messages_per_txn: f64,
    /// Bytes that the store takes.
    pub memory_bytes: u64,
    /// Checks that failed, with whatever number of workers: then it is not recommended.
    pub failed_checks: Vec<String>,
    /// Checks that passed; told on the page.
    #[serde(skip)]
    pub passed_checks: Vec<String>,
}

/// What to take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether it can be recommended; if not, a check has failed under every system of the final.
    pub is_sound: bool,
    /// The best system, for people.
    pub system: String,
    /// Its workers.
    pub workers: usize,
    /// Of these, those that serve; `null` if all host transactions.
    pub servers: Option<usize>,
    /// Its partitions.
    pub partitions: u32,
    /// When its commits are to count: as was asked for, or else the level that is worth its cost; where no levels were measured, the one that was.
    pub durability: String,
    /// Those that are not told apart from it, which is not to say that they are as good.
    pub ties: Vec<String>,
    /// Whether it fulfils the goal; if not, none of the final does.
    pub meets_goal: bool,
    /// The next system that is told apart from it, and why it is behind; `null` if none is.
    pub next: Option<Beside>,
    /// The slowest of the first heat, beside the fastest there; `null` if there was no other.
    pub worst: Option<Beside>,
}

/// A system beside the best one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// For people.
    pub system: String,
    /// How many times its throughput the best one has.
    pub times: f64,
    /// In words.
    pub why: Vec<String>,
}

/// The verdict with the rows that it is of.
pub struct Decided {
    pub verdict: Verdict,
    pub ranking: Vec<Row>,
    /// What is odd about the final.
    pub warnings: Vec<String>,
    /// What broke after the heats, in words.
    pub failures: Vec<String>,
    /// How much noise there was in the final, and what to do.
    pub noise: Option<String>,
    /// The shares of workers that were tried.
    pub shares: Vec<Shares>,
    /// What levels of durability cost the best one; nothing before they are measured.
    pub levels: Option<Levels>,
    candidates: Vec<Candidate>,
}

impl Decided {
    /// Tells what `failure` leaves unmeasured: as a failure if a run broke, and as odd if other input would have helped, such as a smaller table.
    pub(super) fn broke(&mut self, failure: &Failure, told: String) {
        match failure.exit_code() {
            OTHER_INPUT => self.warnings.push(told),
            _ => self.failures.push(told),
        }
    }

    /// Each system that has passed its checks, with its best number of workers, best first.
    pub fn best_of_each(&self) -> impl Iterator<Item = Candidate> + '_ {
        let rows = self.candidates.iter().zip(&self.ranking);
        rows.filter(|(_, row)| row.failed_checks.is_empty()).map(|(candidate, _)| *candidate)
    }

    /// Finds the slowest of the first heat, of which nobody has asked again.
    pub(super) fn look_back_at(&mut self, heats: &[Vec<System>]) {
        let first = heats.first().map_or(&[][..], Vec::as_slice);
        let (fastest, slowest) = (fastest(first), slowest(first, &self.verdict.system));
        self.verdict.worst = fastest.zip(slowest).map(|(fastest, slowest)| Beside {
            system: slowest.summary.system(),
            times: fastest.summary.throughput_per_s / slowest.summary.throughput_per_s,
            why: because(&fastest.summary, &slowest.summary),
        });
    }
}

fn by_throughput(one: &&System, other: &&System) -> Ordering {
    one.summary.throughput_per_s.total_cmp(&other.summary.throughput_per_s)
}

fn fastest(heat: &[System]) -> Option<&System> {
    heat.iter().max_by(by_throughput)
}

/// The slowest system of a heat but this one, each with the workers that suited it best there.
fn slowest<'a>(heat: &'a [System], except: &str) -> Option<&'a System> {
    let is_its_best = |system: &&System| {
        let same = heat.iter().filter(|other| Candidate::of(other).pair == Candidate::of(system).pair);
        same.max_by(by_throughput).is_some_and(|best| std::ptr::eq(best, *system))
    };
    let others = heat.iter().filter(|system| system.summary.system() != except);
    others.filter(is_its_best).min_by(by_throughput)
}

/// Decides between systems, each of which was measured with several numbers of workers.
pub(super) fn of<E: Engine>(trials: &Trials<'_, E>, raced: Vec<System>) -> Result<Decided, Failure> {
    let mut systems = each_with_its_workers(raced, trials);
    in_order(&mut systems, trials.goal);
    // Who has failed a check has not done what was asked, however fast.
    systems.sort_by_key(|system| system.summary.checks.iter().any(|check| !check.passed));
    let is_told_apart = told_apart(&systems.iter().collect::<Vec<_>>(), trials.goal, trials.model_factor());
    let best = systems[0].summary.throughput_per_s;
    let mut ranking = Vec::new();
    for (system, is_told_apart) in systems.iter().zip(is_told_apart) {
        let summary = &system.summary;
        let candidate = Candidate::of(system);
        let engine = trials.options_of(candidate).engine_options(0);
        let names = |passed: bool| {
            let such = summary.checks.iter().filter(|check| check.passed == passed);
            such.map(|check| check.name.clone()).collect::<Vec<String>>()
        };
        let failed_checks = names(false);
        let is_told_apart = is_told_apart || !failed_checks.is_empty() && !ranking.is_empty();
        ranking.push(Row {
            system: summary.system(),
            architecture: summary.architecture.clone(),
            protocol: summary.protocol.clone(),
            workers: summary.workers,
            servers: candidate.kept_by_servers().map(|_| candidate.servers),
            partitions: E::arrange(candidate.pair, summary.workers, &engine)?.homes,
            figures: Figures::of(trials, system, is_told_apart),
            part_of_best: if best == 0.0 { 0.0 } else { summary.throughput_per_s / best },
            abort_rate: summary.abort_rate,
            time_share: summary.time_share,
            messages_per_txn: messages(summary),
            memory_bytes: summary.memory.bytes,
            failed_checks,
            passed_checks: names(true),
        });
    }
    let candidates = systems.iter().map(Candidate::of).collect();
    let summaries: Vec<&Summary> = systems.iter().map(|system| &system.summary).collect();
    let mut odd = warnings::of_systems(&summaries);
    odd.extend(warnings::of_short(&summaries));
    // An advice's runs are as long as its effort has them.
    let odd = odd.into_iter().map(|told| told.replace("a longer --duration", "a larger --effort")).collect();
    let noise = noise::verdict(summaries).map(|told| {
        told.replace("a longer --duration and more repetitions", "a larger --effort")
            .replace("a longer --duration", "a larger --effort")
            .replace("use --repeat 3 or more", "let it come to its final")
    });
    let verdict = verdict(&systems, &ranking);
    let (failures, shares, levels) = (Vec::new(), Vec::new(), None);
    Ok(Decided { verdict, ranking, noise, warnings: odd, failures, shares, levels, candidates })
}

/// Which of `systems`, best first, are told apart from the first: by their repetitions and by more than `model_factor`; or because only one of the two keeps the goal. Repetitions
/// were rounds of all of them, but for those that had committed nothing and ran once more and for longer ([`Trials::run`]): these share theirs with each other.
pub(super) fn told_apart(systems: &[&System], goal: Goal, model_factor: f64) -> Vec<bool> {
    let rounds = systems.iter().map(|system| system.samples.len()).min().unwrap_or(0);
    let throughputs: Vec<Vec<f64>> =
        systems.iter().map(|system| system.throughputs()[..rounds].to_vec()).collect();
    let lengths: Vec<f64> = systems.iter().map(|system| system.summary.duration_s).collect();
    let group = |length: &f64| lengths.iter().position(|other| other == length).expect("its own, at least");
    let groups: Vec<usize> = lengths.iter().map(group).collect();
    let beside = beside_best_of_groups(&throughputs, &groups, model_factor);
    let differs = |system: &System| goal.is_met(system) != goal.is_met(systems[0]);
    // Where nobody keeps the goal the first has the lowest latency, and others may well have more throughput.
    let is_ahead = |position: usize| {
        let (mut reversed, mut groups) = (throughputs.clone(), groups.clone());
        reversed.swap(0, position);
        groups.swap(0, position);
        position > 0
            && !goal.is_met(systems[0])
            && beside_best_of_groups(&reversed, &groups, model_factor)[position].is_told_apart
    };
    let of =
        |position: usize| beside[position].is_told_apart || differs(systems[position]) || is_ahead(position);
    (0..systems.len()).map(of).collect()
}

/// Whether no check has failed under its system, with whatever number of workers.
pub(super) fn is_sound(system: &System, raced: &[System]) -> bool {
    let same = raced.iter().filter(|other| Candidate::of(other).pair == Candidate::of(system).pair);
    same.flat_map(|other| &other.summary.checks).all(|check| check.passed)
}

/// The checks that have failed under `systems` over `workload`, in words.
pub(super) fn failed_checks<'a>(
    systems: impl Iterator<Item = &'a System>,
    workload: &AnyWorkload,
) -> Vec<String> {
    let of = |system: &System| {
        let summary = &system.summary;
        let under =
            format!("{}, {} workers, durability {}", summary.system(), summary.workers, summary.durability);
        let checks = summary.checks.iter().filter(|check| !check.passed);
        checks
            .map(|check| format!("check failed: {}: {under}, {}", check.name, words(workload)))
            .collect::<Vec<_>>()
    };
    systems.flat_map(of).collect()
}

/// Adds to systems the checks that have failed under them in the heats, with whatever number of workers: who has failed one is not recommended.
pub(super) fn with_failures_of(heats: &[Vec<System>], mut raced: Vec<System>) -> Vec<System> {
    for system in &mut raced {
        let pair = Candidate::of(system).pair;
        let same = heats.iter().flatten().filter(|other| Candidate::of(other).pair == pair);
        let failed = same.flat_map(|other| &other.summary.checks).filter(|check| !check.passed);
        Check::join(&mut system.summary.checks, failed.cloned().collect());
    }
    raced
}

fn verdict(systems: &[System], ranking: &[Row]) -> Verdict {
    let best = &ranking[0];
    let beside = |position: usize| {
        let (row, summary) = (&ranking[position], &systems[position].summary);
        let times = best.figures.throughput_per_s / row.figures.throughput_per_s;
        Beside { system: row.system.clone(), times, why: because(&systems[0].summary, summary) }
    };
    let is_behind = |row: &Row| row.figures.is_told_apart && row.failed_checks.is_empty();
    let mut behind = (1..ranking.len()).filter(|position| is_behind(&ranking[*position]));
    let ties = ranking.iter().skip(1).filter(|row| !row.figures.is_told_apart).map(|row| row.system.clone());
    Verdict {
        is_sound: best.failed_checks.is_empty(),
        system: best.system.clone(),
        workers: best.workers,
        servers: best.servers,
        partitions: best.partitions,
        durability: systems[0].summary.durability.to_string(),
        ties: ties.collect(),
        meets_goal: best.figures.meets_goal,
        next: behind.next().map(beside),
        worst: None,
    }
}

/// Of each system the measurement with the number of workers that suits it best.
fn each_with_its_workers<E: Engine>(raced: Vec<System>, trials: &Trials<'_, E>) -> Vec<System> {
    let mut of_each: Vec<Vec<System>> = Vec::new();
    for system in raced {
        let name = system.summary.system();
        match of_each.iter_mut().find(|others| others[0].summary.system() == name) {
            Some(others) => others.push(system),
            None => of_each.push(vec![system]),
        }
    }
    of_each
        .into_iter()
        .map(|mut all| {
            in_order(&mut all, trials.goal);
            let (enough, goal) =
                (AS_GOOD_WITH_FEWER * all[0].summary.throughput_per_s, trials.goal.is_met(&all[0]));
            let is_as_good = |system: &&mut System| {
                system.summary.throughput_per_s >= enough && trials.goal.is_met(system) == goal
            };
            let fewest = all.iter_mut().filter(is_as_good).map(|system| system.summary.workers).min();
            let position = all.iter().position(|system| Some(system.summary.workers) == fewest).unwrap_or(0);
            let mut chosen = all.swap_remove(position);
            // It was audited with one number of workers, and may have failed with any.
            let others = all.into_iter().flat_map(|other| other.summary.checks).filter(|check| !check.passed);
            Check::join(&mut chosen.summary.checks, others.collect());
            chosen
        })
        .collect()
}

fn messages(summary: &Summary) -> f64 {
    summary.costs.get("messages_per_txn").unwrap_or(0.0)
}

/// A class's part of the time.
type PartOf = fn(&TimeShares) -> f64;

/// Why `other` is behind `best`, the weightiest reason first: what it spends more of its time on, what it aborts, sends and takes.
fn because(best: &Summary, other: &Summary) -> Vec<String> {
    let shares: [(&str, PartOf); 5] = [
        ("is spent on attempts that abort", |share| share.abort),
        ("is waiting", |share| share.wait),
        ("is the concurrency control's own work", |share| share.manager),
        ("goes into drawing timestamps", |share| share.timestamp),
        ("goes into indexes", |share| share.index),
    ];
    let mut reasons: Vec<(f64, String)> = Vec::new();
    for (what, of) in shares {
        let (here, there) = (of(&best.time_share), of(&other.time_share));
        if there - here > MUCH_OF_THE_TIME {
            reasons.push((
                there - here,
                format!("{} of its time {what}, not {}", percent(there), percent(here)),
            ));
        }
    }
    let (here, there) = (best.abort_rate, other.abort_rate);
    if there > 0.02 && there > 2.0 * here {
        reasons.push((
            there.min(1.0),
            format!("it aborts {} times for each commit, not {}", ratio(there), ratio(here)),
        ));
    }
    let (here, there) = (messages(best), messages(other));
    if there - here > 0.5 {
        let trip = other.costs.get("round_trip_ns");
        let trip =
            trip.map_or(String::new(), |ns| format!(", of which an answer takes {}", latency(ns as u64)));
        reasons.push((
            0.1,
            format!("it sends {} messages a transaction{trip}, not {}", ratio(there), ratio(here)),
        ));
    }
    if let Some(migrations) = other.costs.get("migrations_per_txn").filter(|migrations| *migrations > 0.5) {
        reasons.push((0.1, format!("its transactions migrate {} times each", ratio(migrations))));
    }
    if other.workers < best.workers {
        reasons.push((
            0.3,
            format!("it does best with {} of {}", counted(other.workers, "worker"), best.workers),
        ));
    }
    let (here, there) = (best.memory.bytes, other.memory.bytes);
    if there as f64 > 1.5 * here as f64 {
        reasons.push((0.05, format!("its store takes {}, not {}", bytes(there), bytes(here))));
    }
    let is_much = best.throughput_per_s > MUCH_SLOWER * other.throughput_per_s;
    if reasons.is_empty() && is_much {
        let what = match other.time_samples {
            0 => "so few of its transactions ended that nothing is known of its time",
            _ => {
                "its operations themselves take longer: neither aborts nor waits nor messages tell the two apart"
            }
        };
        reasons.push((0.0, what.to_owned()));
    }
    reasons.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    reasons.into_iter().take(MOST_REASONS).map(|(_, reason)| reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Measured;
    use crate::summary::tests::{measured, some_subject};
    use contract::{ArchitectureName, PairName, ProtocolName};
    use std::time::Duration;

    fn system(protocol: ProtocolName, workers: usize, throughputs: &[f64]) -> System {
        let mut subject = some_subject();
        subject.options.workers = workers;
        let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
        System::of(&subject, &Measured { pair, ..measured(throughputs) })
    }

    #[test]
    fn the_slowest_is_so_with_the_workers_that_suit_it_best() {
        let heat = [
            system(ProtocolName::Silo, 8, &[1000.0]),
            system(ProtocolName::NoWait, 8, &[800.0]),
            system(ProtocolName::NoWait, 2, &[200.0]),
            system(ProtocolName::Occ, 8, &[300.0]),
            system(ProtocolName::Occ, 2, &[400.0]),
        ];
        let found = |except| {
            slowest(&heat, except).map(|slowest| (slowest.summary.protocol.as_str(), slowest.summary.workers))
        };
        assert_eq!(found("shared-everything silo"), Some(("occ", 2)), "nobody does best with two of eight");
        assert_eq!(found("shared-everything occ"), Some(("no-wait", 8)));
        assert_eq!(fastest(&heat).map(|fastest| fastest.summary.protocol.as_str()), Some("silo"));
        assert!(slowest(&heat[..1], "shared-everything silo").is_none());
    }

    #[test]
    fn checks_that_fail_beside_the_final_are_named() {
        let workload = workloads::build("micro", &workloads::Parameters::new()).expect("a workload");
        let (sound, mut broken) =
            (system(ProtocolName::Silo, 2, &[1000.0]), system(ProtocolName::Occ, 4, &[1000.0]));
        assert!(failed_checks([&sound].into_iter(), &workload).is_empty());
        broken.summary.checks.push(Check {
            name: "nothing-held".to_owned(),
            passed: false,
            detail: String::new(),
        });
        let told = failed_checks([&sound, &broken].into_iter(), &workload);
        assert_eq!(
            told,
            ["check failed: nothing-held: shared-everything occ, 4 workers, durability none, micro"]
        );
    }

    /// Whatever comes of it in the final.
    #[test]
    fn who_fails_a_check_in_a_heat_has_failed_it() {
        let mut broken = system(ProtocolName::Occ, 4, &[1000.0]);
        broken.summary.checks.push(Check { name: "audit".to_owned(), passed: false, detail: String::new() });
        let raced = vec![system(ProtocolName::Silo, 2, &[900.0]), system(ProtocolName::Occ, 2, &[1000.0])];
        let raced = with_failures_of(&[vec![broken]], raced);
        let is_sound: Vec<bool> = raced.iter().map(|system| super::is_sound(system, &raced)).collect();
        assert_eq!(is_sound, [true, false]);
    }

    #[test]
    fn who_is_faster_is_told_apart_where_nobody_keeps_the_goal() {
        let (slow, fast) = ([100.0, 101.0, 100.5], [1000.0, 1001.0, 1000.5]);
        let (first, second) = (system(ProtocolName::Silo, 2, &slow), system(ProtocolName::Occ, 2, &fast));
        let goal = |latency_p99| Goal { latency_p99: Some(latency_p99), ..Goal::default() };
        let of = |goal: Goal| told_apart(&[&first, &second, &first], goal, 1.0);
        assert_eq!(of(goal(Duration::from_nanos(1))), [false, true, false]);
        // Order is by throughput where it is kept, and nobody is behind who is ahead.
        assert_eq!(of(goal(Duration::from_secs(1))), [false, false, false]);
        assert_eq!(told_apart(&[&second, &first], Goal::default(), 1.0), [false, true]);
    }

    #[test]
    fn who_ran_once_more_shares_no_rounds_with_the_others() {
        // Of what slowed the second round down nothing is known in the rounds that came after all of these.
        let first = system(ProtocolName::Silo, 2, &[1000.0, 500.0, 990.0]);
        let mut again = system(ProtocolName::Occ, 2, &[900.0, 452.0, 889.0]);
        let both = |again: &System| told_apart(&[&first, again], Goal::default(), 1.0);
        assert_eq!(both(&again), [false, true]);
        again.summary.duration_s *= 4.0;
        assert_eq!(both(&again), [false, false]);
    }
}
