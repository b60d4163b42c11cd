//! How many of a system's workers serve: ORTHRUS gives its lock tables threads of their own, asymmetric delegation its partitions.
//!
//! The heats give a fifth of the workers to that. In the final each system that has the choice runs with a tenth, a third and a half, too, in the same rounds as all others. It is ranked at the share that
//! suits it best: at another one than a fifth only if the test by which systems are told apart tells that it is better.

use super::candidates::usual;
use super::halving::in_order;
use super::verdict::told_apart;
use super::{Candidate, Figures, Trials};
use crate::results::System;
use crate::summary::Check;
use crate::text::numbers::ratio;
use contract::{Engine, PairName};
use serde::Serialize;

/// The shares of its workers that were tried of a system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shares {
    /// For people.
    pub system: String,
    /// Its workers.
    pub workers: usize,
    /// What those that serve have: `lock tables` or `partitions`.
    pub kept: String,
    /// How many serve unless another share is told to be better: a fifth.
    pub usual: usize,
    /// How many are to serve.
    pub chosen: usize,
    /// How many times the throughput of the usual ones the chosen ones bring.
    pub times: f64,
    /// Best first.
    pub tried: Vec<ShareTried>,
}

/// One share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShareTried {
    /// Workers that serve.
    pub servers: usize,
    /// Beside the best share's.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The further shares of those of `finalists` that have the choice: with the most workers, and with the number with which they did best in their last heat.
pub(super) fn others(
    finalists: &[PairName],
    heats: &[Vec<System>],
    entrants: &[Candidate],
) -> Vec<Candidate> {
    let mut others = Vec::new();
    for pair in finalists {
        let is_it = |candidate: &Candidate| candidate.pair == *pair;
        let most = entrants.iter().copied().find(is_it);
        let best =
            heats.iter().rev().flatten().map(Candidate::of).find(is_it).filter(|best| Some(*best) != most);
        others.extend(most.into_iter().chain(best).flat_map(Candidate::with_other_shares));
    }
    others
}

/// Of each system with each number of workers the measurement at the share that suits it best; and what was tried.
pub(super) fn settle<E: Engine>(trials: &Trials<'_, E>, raced: Vec<System>) -> (Vec<System>, Vec<Shares>) {
    let mut groups: Vec<Vec<System>> = Vec::new();
    for system in raced {
        let of = |system: &System| Candidate { servers: 0, ..Candidate::of(system) };
        match groups.iter_mut().find(|others| of(&others[0]) == of(&system)) {
            Some(others) => others.push(system),
            None => groups.push(vec![system]),
        }
    }
    let mut tried = Vec::new();
    let settled = groups.into_iter().map(|mut group| {
        if group.len() == 1 {
            return group.remove(0);
        }
        let (chosen, shares) = best_of(trials, group);
        tried.push(shares);
        chosen
    });
    (settled.collect(), tried)
}

/// Of one system with one number of workers.
fn best_of<E: Engine>(trials: &Trials<'_, E>, mut shares: Vec<System>) -> (System, Shares) {
    in_order(&mut shares, trials.goal);
    let is_told_apart = told_apart(&shares.iter().collect::<Vec<_>>(), trials.goal, trials.model_factor());
    let workers = shares[0].summary.workers;
    let usual = usual(workers);
    // After an interrupt there may be no such measurement.
    let default = shares.iter().position(|system| Candidate::of(system).servers == usual).unwrap_or(0);
    let best = if is_told_apart[default] { 0 } else { default };
    let per_s = |position: usize| shares[position].summary.throughput_per_s;
    let times = per_s(best) / per_s(default);
    let of = |(system, &is_told_apart): (&System, &bool)| ShareTried {
        servers: Candidate::of(system).servers,
        figures: Figures::of(trials, system, is_told_apart),
    };
    let tried: Vec<ShareTried> = shares.iter().zip(&is_told_apart).map(of).collect();
    let mut chosen = shares.remove(best);
    // A check that fails at any share is the system's.
    let failed = shares.into_iter().flat_map(|other| other.summary.checks).filter(|check| !check.passed);
    Check::join(&mut chosen.summary.checks, failed.collect());
    let candidate = Candidate::of(&chosen);
    let told = Shares {
        system: chosen.summary.system(),
        workers,
        kept: candidate.kept_by_servers().unwrap_or_default().to_owned(),
        usual,
        chosen: candidate.servers,
        times,
        tried,
    };
    (chosen, told)
}

impl Shares {
    /// How many of the recommended system's workers are to serve, and what that brings.
    pub(super) fn in_a_sentence(&self) -> String {
        let Shares { workers, kept, usual, chosen, .. } = self;
        let keep = if *chosen == 1 { "keeps" } else { "keep" };
        let head = format!("Of its {workers} workers {chosen} {keep} the {kept}");
        if chosen == usual {
            let others = self.tried.iter().map(|tried| tried.servers).filter(|servers| servers != usual);
            let others: Vec<String> = others.map(|servers| servers.to_string()).collect();
            return format!(
                "{head}, a fifth: the best of the other shares that were tried ({}) is not told to be better.",
                others.join(", ")
            );
        }
        match self.times > 1.0 {
            true => format!("{head}: {} times what {usual}, a fifth, bring.", ratio(self.times)),
            false => format!("{head}: with {usual}, a fifth, latencies are longer."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Goal;
    use super::*;
    use crate::mock::MockEngine;
    use crate::observer::Silent;
    use crate::options::RunOptions;
    use crate::subject::Place;
    use crate::summary::Measured;
    use crate::summary::tests::{measured, some_subject};
    use contract::{ArchitectureName, ProtocolName};
    use workloads::{Parameters, build};

    fn system(architecture: ArchitectureName, servers: usize, throughputs: &[f64]) -> System {
        let mut subject = some_subject();
        subject.options.workers = 10;
        (subject.options.engine.servers, subject.options.engine.cc_threads) = (servers, servers);
        let pair = PairName { architecture, protocol: ProtocolName::NoWait };
        System::of(&subject, &Measured { pair, ..measured(throughputs) })
    }

    fn settled(raced: Vec<System>) -> (Vec<usize>, Vec<Shares>) {
        let workload = build("micro", &Parameters::new()).expect("the defaults are valid");
        let (place, options) = (Place::hardware(10), RunOptions::for_compare(10));
        let trials =
            Trials::<MockEngine>::new(&workload, (place, None), Goal::default(), None, options, &Silent);
        let (systems, shares) = settle(&trials, raced);
        (systems.iter().map(|system| Candidate::of(system).servers).collect(), shares)
    }

    #[test]
    fn another_share_is_taken_only_if_it_is_told_to_be_better() {
        use ArchitectureName::{AsymmetricDelegation, SharedEverything};
        let of = |servers, throughputs: [f64; 3]| system(AsymmetricDelegation, servers, &throughputs);
        let alone = || system(SharedEverything, 2, &[5.0, 5.1, 5.2]);
        let usual = || of(2, [100.0, 101.0, 102.0]);
        let (taken, shares) =
            settled(vec![of(5, [150.0, 151.0, 152.0]), usual(), alone(), of(1, [50.0, 50.1, 50.2])]);
        assert_eq!(taken, [5, 2], "one each, in their order");
        let [shares] = &shares[..] else { panic!("only one has a choice: {shares:?}") };
        assert_eq!((shares.usual, shares.chosen, shares.kept.as_str()), (2, 5, "partitions"));
        let order: Vec<_> =
            shares.tried.iter().map(|tried| (tried.servers, tried.figures.is_told_apart)).collect();
        assert_eq!(order, [(5, false), (2, true), (1, true)]);
        assert_eq!(
            shares.in_a_sentence(),
            "Of its 10 workers 5 keep the partitions: 1.50 times what 2, a fifth, bring."
        );
        assert!(
            shares.tried[0].figures.command.contains(" --servers 5"),
            "{}",
            shares.tried[0].figures.command
        );

        // A higher median by noise is none.
        let (taken, shares) = settled(vec![of(5, [60.0, 110.0, 160.0]), usual(), of(1, [50.0, 50.1, 50.2])]);
        assert_eq!(taken, [2]);
        assert_eq!(shares[0].tried[0].servers, 5);
        assert_eq!(
            shares[0].in_a_sentence(),
            "Of its 10 workers 2 keep the partitions, a fifth: the best of the other shares that were tried (5, 1) is not told to be better."
        );
    }

    #[test]
    fn a_check_that_fails_at_another_share_is_not_lost() {
        let mut fails = system(ArchitectureName::AsymmetricDelegation, 5, &[50.0, 50.1, 50.2]);
        fails.summary.checks.push(Check::new("audit", false, String::new));
        let good = system(ArchitectureName::AsymmetricDelegation, 2, &[100.0, 101.0, 102.0]);
        let workload = build("micro", &Parameters::new()).expect("the defaults are valid");
        let (place, options) = (Place::hardware(10), RunOptions::for_compare(10));
        let trials =
            Trials::<MockEngine>::new(&workload, (place, None), Goal::default(), None, options, &Silent);
        let (systems, _) = settle(&trials, vec![good, fails]);
        assert!(systems[0].summary.checks.iter().any(|check| !check.passed));
    }
}
