//! One checked run, from load to judgement.

use super::borrowed::Borrowed;
use super::happened::{Circumstances, Conclusion, Happened};
use super::summary::{CheckSummary, SCHEMA};
use super::{Recorded, admit};
use crate::failure::Failure;
use crate::observer::{Event, Observer};
use crate::options::{BadValue, RunOptions};
use crate::subject::Subject;
use crate::summary::{Check, aborts_by_reason};
use contract::{
    CanaryName, Clocks, Engine, EngineOptions, Measurement, RowLength, Selection, Until, Workload,
};
use history::anomalies::{Scenario, ScenarioWorkload};
use history::list_append::{ListAppend, check_lists};
use history::membership::Membership;
use history::{Checked, Deletes, FinalRead, Setting, Verdict};

/// What a checked run brings home.
pub type Outcome = (CheckSummary, Recorded);

/// A system under check.
pub struct Trial<'a> {
    /// The pair or the canary.
    pub selection: Selection,
    /// What runs on it.
    pub subject: &'a Subject,
    /// About how many transactions, of all workers together.
    pub transactions: u64,
    /// Who is told.
    pub observer: &'a dyn Observer,
}

impl Trial<'_> {
    /// Runs a measured workload with stamps, and judges it. Where none of its transactions deletes, blind writes stay blind.
    pub fn of_workload<E: Engine, W: Workload>(
        &self,
        workload: &W,
        deletes: Deletes,
    ) -> Result<Outcome, Failure> {
        let checked = Checked::new(Borrowed(workload), deletes);
        self.of_stamped::<E, _>(&checked, |_| Vec::new())
    }

    /// Runs `membership`, with or without scans, and judges it.
    pub fn of_membership<E: Engine>(&self, membership: Membership) -> Result<Outcome, Failure> {
        let membership = Membership { transactions: self.transactions, ..membership };
        let checked = Checked::new(membership, Deletes::Real);
        self.of_stamped::<E, _>(&checked, |clients| {
            let impossible: u64 = clients.iter().map(|client| client.tally().impossible).sum();
            vec![Check::new("no-impossible-answers", impossible == 0, || {
                format!(
                    "{impossible} answers that no engine may give, such as an own insert that did not show"
                )
            })]
        })
    }

    /// Runs `list-append`, over rows of one length or of as many as lists have, and judges it.
    pub fn of_lists<E: Engine>(&self, length: RowLength) -> Result<Outcome, Failure> {
        let workload = ListAppend { length, ..ListAppend::default() }.with_keys_for(self.transactions);
        self.admit_lengths(&workload)?;
        let setting = self.setting::<E>()?;
        let mut store = self.load::<E, _>(&workload, &setting)?;
        self.observer.tell(Event::Note(RUNNING));
        let clients = setting.clients::<E, _>(&workload);
        let run = setting.run::<E, _>(&mut store, clients)?;
        let leaks = E::leak_check(&store);
        let checks = vec![Check::nothing_held(&leaks), Check::no_value_lost(&leaks)];
        let mut history = workload.history(run.clients);
        history.clocks = run.clocks;
        let read = workload.final_read(&history);
        history.set_finals(&read, setting.read_back::<E>(&mut store, &read));
        drop(store);
        self.observer.tell(Event::Note(JUDGING));
        let verdict = check_lists(&history);
        let summary = self.verdict::<E>(&run.measurement, verdict, checks)?;
        Ok((by_clocks(summary, &history.clocks), Recorded::Lists(history)))
    }

    /// Plays a scenario, and judges it.
    pub fn of_scenario<E: Engine>(&self, scenario: &'static Scenario) -> Result<Outcome, Failure> {
        let hosts = self.hosts::<E>()?;
        self.admit_roles(scenario, hosts)?;
        let rounds = (self.transactions.div_ceil(hosts as u64) / TRANSACTIONS_A_ROUND).max(1);
        let workload = ScenarioWorkload::new(scenario, hosts, rounds);
        let until = Until::Transactions(workload.transactions_per_worker() * PATIENCE);
        let setting = Setting { until, ..self.setting::<E>()? };
        let mut store = self.load::<E, _>(&workload, &setting)?;
        self.observer.tell(Event::Note("playing"));
        let players = setting.clients::<E, _>(&workload);
        let run = setting.run::<E, _>(&mut store, players)?;
        let mut checks = vec![Check::nothing_held(&E::leak_check(&store))];
        let read = workload.final_read(&run.clients);
        let rows = read.rows(setting.read_back::<E>(&mut store, &read));
        let judgement = workload.judge(&run.clients, &run.clocks, &rows);
        checks.insert(
            0,
            Check::new("serializable", judgement.is_serializable(), || {
                format!("{} of {} rounds as in no serial order", judgement.violations, judgement.rounds)
            }),
        );
        let happened = Happened::Overlapping(judgement.overlapping);
        let summary = self.summary::<E>(&run.measurement, checks, happened)?;
        let summary = CheckSummary { judgement: Some(judgement), ..summary };
        Ok((by_clocks(summary, &run.clocks), Recorded::Nothing))
    }

    fn of_stamped<E: Engine, W: Workload>(
        &self,
        checked: &Checked<W>,
        own_checks: impl FnOnce(&[W::Client]) -> Vec<Check>,
    ) -> Result<Outcome, Failure> {
        let setting = self.setting::<E>()?;
        let mut store = self.load::<E, _>(checked, &setting)?;
        self.observer.tell(Event::Note(RUNNING));
        let clients = setting.clients::<E, _>(checked);
        let run = setting.run::<E, _>(&mut store, clients)?;
        let mut checks = vec![Check::nothing_held(&E::leak_check(&store))];
        let (mut history, clients) = checked.history(run.clients);
        history.clocks = run.clocks;
        checks.extend(own_checks(&clients));
        let read = FinalRead::of_stamps(checked, &history);
        history.finals = read.versions(setting.read_back::<E>(&mut store, &read));
        drop(store);
        self.observer.tell(Event::Note(JUDGING));
        let verdict = history::check(&history);
        let summary = self.verdict::<E>(&run.measurement, verdict, checks)?;
        Ok((by_clocks(summary, &history.clocks), Recorded::Stamps(history)))
    }

    fn options(&self) -> &RunOptions {
        &self.subject.options
    }

    /// Workers that host transactions.
    fn hosts<E: Engine>(&self) -> Result<usize, Failure> {
        let options = self.options();
        Ok(E::arrange(self.selection, options.workers, &options.engine_options(0))?.clients)
    }

    /// Who may replace a row must be alone in that, or it is freed twice: no canary vouches for it.
    fn admit_lengths(&self, workload: &impl Workload) -> Result<(), Failure> {
        let Some(canary) = self.canary() else { return Ok(()) };
        match workload.tables().iter().find(|table| table.varies()) {
            None => Ok(()),
            Some(table) => {
                let allowed =
                    format!("none where rows vary in length, as those of table '{}' do", table.name);
                Err(BadValue::new("canary", canary, allowed).into())
            }
        }
    }

    /// Every role wants a worker that hosts it.
    fn admit_roles(&self, scenario: &Scenario, hosts: usize) -> Result<(), Failure> {
        let (workers, roles) = (self.options().workers, scenario.workers());
        if hosts >= roles {
            return Ok(());
        }
        let idle = workers - hosts;
        let beside = if idle == 0 { String::new() } else { format!(", and {idle} of the workers host none") };
        let allowed = format!("{} <= workers: {} has {roles} roles{beside}", roles + idle, scenario.name);
        Err(BadValue::new("workers", workers, allowed).into())
    }

    fn setting<E: Engine>(&self) -> Result<Setting, Failure> {
        let hosts = self.hosts::<E>()?;
        admit(hosts, self.transactions)?;
        Ok(Setting {
            selection: self.selection,
            workers: self.options().workers,
            seed: self.options().engine.seed,
            until: Until::Transactions(self.transactions.div_ceil(hosts as u64)),
            // They are held against what was seen and written.
            options: EngineOptions { commit_ids: true, ..self.options().engine_options(0) },
        })
    }

    fn load<E: Engine, W: Workload>(&self, workload: &W, setting: &Setting) -> Result<E::Store, Failure> {
        let rows = workload.tables().iter().map(|table| table.rows).sum();
        self.observer.tell(Event::LoadBegins { rows });
        let store = setting.load::<E, _>(workload, &|rows| self.observer.tell(Event::Loaded { rows }))?;
        self.observer.tell(Event::LoadEnds);
        Ok(store)
    }

    fn verdict<E: Engine>(
        &self,
        measurement: &Measurement,
        verdict: Verdict,
        mut checks: Vec<Check>,
    ) -> Result<CheckSummary, Failure> {
        let strictly = self.selection.is_strict(self.options().engine.timestamps);
        let name = if strictly { "strictly-serializable" } else { "serializable" };
        let found = || verdict.counts.keys().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        checks.insert(0, Check::new(name, verdict.holds(strictly), found));
        let summary = self.summary::<E>(measurement, checks, Happened::Dependencies(verdict.dependencies))?;
        Ok(CheckSummary { verdict: Some(verdict), ..summary })
    }

    fn canary(&self) -> Option<CanaryName> {
        match self.selection {
            Selection::Pair(_) => None,
            Selection::Canary(_, canary) => Some(canary),
        }
    }

    fn summary<E: Engine>(
        &self,
        measurement: &Measurement,
        checks: Vec<Check>,
        happened: Happened,
    ) -> Result<CheckSummary, Failure> {
        let canary = self.canary();
        let between_nodes = self.subject.options.engine.deployment_canary;
        let protocol = canary.map_or(self.selection.pair().protocol.to_string(), |canary| canary.to_string());
        let options = self.options();
        let held = checks.iter().all(|check| check.passed);
        let too_little = happened.too_little(&Circumstances {
            workload: &self.subject.workload,
            workers: options.workers,
            hosts: self.hosts::<E>()?,
            longer: "more --transactions",
        });
        let too_little = too_little.filter(|_| held);
        let passed = Conclusion::of(held, too_little.as_deref()) == Conclusion::Held;
        Ok(CheckSummary {
            schema: SCHEMA,
            architecture: self.selection.architecture().to_string(),
            protocol,
            canary: canary.is_some() || between_nodes.is_some(),
            workload: self.subject.workload.clone(),
            workers: options.workers,
            machine: self.subject.place.machine.clone(),
            simulated: self.subject.place.simulated,
            transactions: self.transactions,
            commits: measurement.commits,
            abort_rate: measurement.abort_rate(),
            aborts: aborts_by_reason(std::iter::once(measurement)),
            hot_locks: Some(measurement.effort.hot_locks).filter(|&locks| locks > 0),
            user_rollbacks: measurement.user_rollbacks,
            engine: self.subject.engine_options(),
            parameters: self.subject.parameters.clone(),
            warnings: canary
                .map(unrejected)
                .or(between_nodes.map(|_| MORE.to_owned()))
                .filter(|_| passed)
                .into_iter()
                .collect(),
            passed,
            checks,
            too_little,
            clocks_within_ns: None,
            verdict: None,
            judgement: None,
        })
    }
}

/// Those in which a scenario's players look for each other included.
const TRANSACTIONS_A_ROUND: u64 = 12;

/// Players that share a core, with each other or with strangers, meet only when the system switches between them:
/// they need so many times the transactions of players with a core each.
const PATIENCE: u64 = 25;

const MORE: &str = "the canary was not rejected; give it more to go wrong with: more --transactions, more updates, fewer records";

fn unrejected(canary: CanaryName) -> String {
    format!("{MORE}; if that does not help, '{}' shows what it omits", canary.shown_by())
}

/// With what is known of the clocks, if there are several.
fn by_clocks(summary: CheckSummary, clocks: &Clocks) -> CheckSummary {
    CheckSummary { clocks_within_ns: (!clocks.are_one()).then(|| clocks.widest_ns()), ..summary }
}

const RUNNING: &str = "running, with everything written down";
const JUDGING: &str = "judging";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Own;
    use crate::check::workload::CheckWorkload;
    use crate::mock::{Counting, MockEngine};
    use crate::observer::Silent;
    use crate::subject::Place;
    use contract::{ArchitectureName, PairName, ProtocolName};
    use std::collections::BTreeMap;

    fn subject() -> Subject {
        Subject {
            workload: "counting".to_owned(),
            parameters: BTreeMap::new(),
            options: RunOptions { workers: 3, ..RunOptions::for_run(3) },
            place: Place::hardware(2),
        }
    }

    fn trial(subject: &Subject, architecture: ArchitectureName) -> Trial<'_> {
        let pair = PairName { architecture, protocol: ProtocolName::NoWait };
        Trial { selection: Selection::Pair(pair), subject, transactions: 600, observer: &Silent }
    }

    #[test]
    fn serial_runs_are_found_serializable() {
        let subject = subject();
        let trial = trial(&subject, ArchitectureName::SharedEverything);
        let outcomes = [
            trial.of_workload::<MockEngine, _>(&Counting { rows: 50 }, Deletes::None),
            trial.of_membership::<MockEngine>(Membership::default()),
            trial.of_lists::<MockEngine>(RowLength::Fixed),
            trial.of_lists::<MockEngine>(RowLength::Varying),
        ];
        for outcome in outcomes {
            let (summary, recorded) = outcome.expect("checked");
            assert!(summary.passed, "{:?}", summary.verdict);
            assert_eq!(summary.commits + summary.user_rollbacks, 600, "200 for each of three workers");
            assert_eq!(recorded.transactions(), 600);
            let json = serde_json::to_value(&summary).expect("JSON");
            assert_eq!((&json["passed"], &json["protocol"]), (&true.into(), &"no-wait".into()));
            assert_eq!((&json["transactions"], &json["aborts"]["conflict"]), (&600.into(), &0.into()));
            assert_eq!(summary.outcome(), "passed");
            let mut events = Vec::new();
            recorded.write(history::ElleLayout::Lines, &mut events).expect("memory takes it");
            let events = String::from_utf8(events).expect("text");
            assert!(events.lines().count() >= 2 * 600, "an invocation and an end for each");
        }
    }

    /// Serial transactions of one worker pass whatever the protocol is, and so do a few of many.
    #[test]
    fn what_passed_because_little_happened_has_not_passed() {
        let few = |workers, transactions| {
            let subject = Subject { options: RunOptions { workers, ..subject().options }, ..subject() };
            let trial = Trial { transactions, ..trial(&subject, ArchitectureName::SharedEverything) };
            let checked = trial.of_workload::<MockEngine, _>(&Counting { rows: 50 }, Deletes::None);
            checked.expect("checked").0
        };
        for (summary, said) in [(few(3, 60), "100 of each kind are needed"), (few(1, 300), "use --workers 2")]
        {
            assert!(summary.checks.iter().all(|check| check.passed), "{:?}", summary.checks);
            assert_eq!((summary.passed, summary.outcome()), (false, "too little happened"));
            assert!(summary.too_little.as_ref().is_some_and(|words| words.contains(said)), "{summary:?}");
            assert_eq!(summary.conclusion(), Conclusion::TooLittle);
        }
        assert_eq!(few(3, 300).conclusion(), Conclusion::Held);
    }

    /// Dedicated servers take no part of the transactions, and no role.
    #[test]
    fn transactions_are_shared_out_among_those_that_host_them() {
        let subject = subject();
        let trial = trial(&subject, ArchitectureName::AsymmetricDelegation);
        let (summary, _) =
            trial.of_workload::<MockEngine, _>(&Counting { rows: 50 }, Deletes::None).expect("checked");
        assert!(summary.passed, "{:?}", summary.verdict);
        assert_eq!((summary.workers, summary.commits), (3, 600), "300 for each of two");
        let json = serde_json::to_value(&summary).expect("JSON");
        assert_eq!((&json["servers"], &json["hand_over_every"]), (&1.into(), &0.into()));
        let of_three = |own: &Own| matches!(own, Own::Scenario(scenario) if scenario.workers() == 3);
        let Some(Own::Scenario(scenario)) = Own::all().find(of_three) else { panic!("none has three roles") };
        let refused =
            trial.of_scenario::<MockEngine>(scenario).err().expect("two host transactions").to_string();
        let expected = format!(
            "--workers 3: allowed: 4 <= workers: {} has 3 roles, and 1 of the workers host none",
            scenario.name
        );
        assert_eq!(refused, expected);
    }

    #[test]
    fn only_scenarios_leave_no_history() {
        let without: Vec<Own> = Own::all().filter(|own| !CheckWorkload::Own(*own).has_history()).collect();
        assert_eq!(without.len(), Own::all().count() - 4, "{without:?}");
        assert!(without.iter().all(|own| matches!(own, Own::Scenario(_))));
    }
}
