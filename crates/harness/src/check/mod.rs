//! A checked run: every transaction writes down what it saw and wrote, and the checker judges it afterwards.
//!
//! The run is driven as a measured one is, through the same engine and the same procedures; only the rows are 16
//! bytes longer and every transaction keeps a log, so its speed says nothing. Some workloads are made for checks:
//! `membership`, whose keys come and go, `list-append`, whose values tell their own history, and the scenarios, small
//! plays by the anomalies' names that must end as in some serial order.

mod borrowed;
mod subject;

pub use subject::{CheckWorkload, Own};

use crate::failure::Failure;
use crate::observer::{Event, Observer};
use crate::options::{BadValue, RunOptions};
use crate::subject::Subject;
use crate::summary::Check;
use borrowed::Borrowed;
use contract::{Engine, Measurement, Selection, Until, Workload};
use history::anomalies::{Judgement, Scenario, ScenarioWorkload};
use history::list_append::{ListAppend, ListHistory, check_lists};
use history::membership::Membership;
use history::{
    Checked, Deletes, ElleLayout, FinalRead, History, MOST_TRANSACTIONS, MOST_WORKERS, Setting, Verdict,
    write_elle_registers,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Name and version of [`CheckSummary`]'s fields.
pub const SCHEMA: &str = "trireme.check/1";

/// What `check --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct CheckSummary {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Whether the history is strictly serializable and every other check held.
    pub passed: bool,
    /// The architecture's name.
    pub architecture: String,
    /// The protocol's name, or the canary's.
    pub protocol: String,
    /// Whether it is a canary, which must not pass.
    pub canary: bool,
    /// The workload's name.
    pub workload: String,
    /// Workers.
    pub workers: usize,
    /// `hardware`, or the name of a simulated machine.
    pub machine: String,
    /// Whether the machine is simulated.
    pub simulated: bool,
    /// Committed transactions.
    pub commits: u64,
    /// Aborted attempts.
    pub aborts: u64,
    /// Transactions that the procedures rolled back by their own will.
    pub user_rollbacks: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// The workload's effective parameters.
    pub parameters: BTreeMap<String, String>,
    /// What was checked; the history's verdict is one of them.
    pub checks: Vec<Check>,
    /// What is odd, and what to do about it.
    pub warnings: Vec<String>,
    /// What the checker found in the history, if one was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What the judge of scenarios found, if one was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
}

/// What a checked run recorded.
pub enum Recorded {
    /// Versions of rows.
    Stamps(History),
    /// Lists.
    Lists(ListHistory),
    /// Nothing: a scenario is judged by what its players saw.
    Nothing,
}

impl Recorded {
    /// Writes the history for other people's checkers: one JSON object an event, as Elle and Jepsen read them.
    pub fn write(&self, writer: impl Write) -> io::Result<()> {
        match self {
            Recorded::Stamps(history) => write_elle_registers(history, ElleLayout::Lines, writer),
            Recorded::Lists(lists) => lists.write_elle(ElleLayout::Lines, writer),
            Recorded::Nothing => Ok(()),
        }
    }

    /// Transactions that ended.
    pub fn transactions(&self) -> usize {
        match self {
            Recorded::Stamps(history) => history.transactions(),
            Recorded::Lists(lists) => lists.transactions(),
            Recorded::Nothing => 0,
        }
    }
}

/// What a checked run brings home.
pub type Outcome = (CheckSummary, Recorded);

/// Refuses a checked run that its history could not hold.
pub fn admit(workers: usize, transactions: u64) -> Result<(), Failure> {
    let most = u64::from(MOST_TRANSACTIONS).saturating_mul(workers as u64);
    if workers > MOST_WORKERS {
        let allowed = format!("1 <= workers <= {MOST_WORKERS} in a check");
        return Err(BadValue::new("workers", workers, allowed).into());
    }
    if !(1..=most).contains(&transactions) {
        let allowed = format!("1 <= transactions <= {most} with {workers} workers");
        return Err(BadValue::new("transactions", transactions, allowed).into());
    }
    Ok(())
}

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
    /// Runs a measured workload with stamps, and judges it. None of them deletes, so blind writes stay blind.
    pub fn of_workload<E: Engine, W: Workload>(&self, workload: &W) -> Result<Outcome, Failure> {
        let checked = Checked::new(Borrowed(workload), Deletes::None);
        self.of_stamped::<E, _>(&checked, |_| Vec::new())
    }

    /// Runs `membership`, and judges it.
    pub fn of_membership<E: Engine>(&self) -> Result<Outcome, Failure> {
        let membership = Membership { transactions: self.transactions, ..Membership::default() };
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

    /// Runs `list-append`, and judges it.
    pub fn of_lists<E: Engine>(&self) -> Result<Outcome, Failure> {
        let workload = ListAppend::default().with_keys_for(self.transactions);
        let setting = self.setting();
        let mut store = self.load::<E, _>(&workload, &setting)?;
        self.observer.tell(Event::Note(RUNNING));
        let clients = setting.clients(&workload);
        let drive =
            E::drive::<ListAppend>(&mut store, self.selection, clients, setting.until, &setting.options);
        let checks = left_behind::<E>(&store);
        let mut history = workload.history(drive.clients);
        let read = workload.final_read(&history);
        history.set_finals(&read, setting.read_back::<E>(&mut store, &read));
        drop(store);
        self.observer.tell(Event::Note(JUDGING));
        let verdict = check_lists(&history);
        Ok((self.verdict(&drive.measurement, verdict, checks), Recorded::Lists(history)))
    }

    /// Plays a scenario, and judges it.
    pub fn of_scenario<E: Engine>(&self, scenario: &'static Scenario) -> Result<Outcome, Failure> {
        let (workers, roles) = (self.options().workers, scenario.workers());
        if workers < roles {
            let allowed = format!("{roles} <= workers: {} has {roles} roles", scenario.name);
            return Err(BadValue::new("workers", workers, allowed).into());
        }
        let rounds = (self.transactions_by_worker() / TRANSACTIONS_A_ROUND).max(1);
        let workload = ScenarioWorkload::new(scenario, workers, rounds);
        let until = Until::Transactions(workload.transactions_per_worker() * PATIENCE);
        let setting = Setting { until, ..self.setting() };
        let mut store = self.load::<E, _>(&workload, &setting)?;
        self.observer.tell(Event::Note("playing"));
        let players = setting.clients(&workload);
        let drive = E::drive::<ScenarioWorkload>(
            &mut store,
            self.selection,
            players,
            setting.until,
            &setting.options,
        );
        let mut checks = left_behind::<E>(&store);
        let read = workload.final_read(&drive.clients);
        let rows = read.rows(setting.read_back::<E>(&mut store, &read));
        let judgement = workload.judge(&drive.clients, &rows);
        checks.insert(
            0,
            Check::new("serializable", judgement.is_serializable(), || {
                format!("{} of {} rounds as in no serial order", judgement.violations, judgement.rounds)
            }),
        );
        checks.push(Check::new("rounds-were-played", judgement.rounds > 0, || {
            "the players never met; use more --transactions, or as many cores as the scenario has roles"
                .to_owned()
        }));
        let mut summary = self.summary(&drive.measurement, checks);
        if judgement.overlapping == 0 {
            summary.warnings.push("no round overlapped another role's; use more --transactions".to_owned());
        }
        Ok((CheckSummary { judgement: Some(judgement), ..summary }, Recorded::Nothing))
    }

    fn of_stamped<E: Engine, W: Workload>(
        &self,
        checked: &Checked<W>,
        own_checks: impl FnOnce(&[W::Client]) -> Vec<Check>,
    ) -> Result<Outcome, Failure> {
        let setting = self.setting();
        let mut store = self.load::<E, _>(checked, &setting)?;
        self.observer.tell(Event::Note(RUNNING));
        let clients = setting.clients(checked);
        let drive =
            E::drive::<Checked<W>>(&mut store, self.selection, clients, setting.until, &setting.options);
        let mut checks = left_behind::<E>(&store);
        let (mut history, clients) = checked.history(drive.clients);
        checks.extend(own_checks(&clients));
        let read = FinalRead::of_stamps(checked, &history);
        history.finals = read.versions(setting.read_back::<E>(&mut store, &read));
        drop(store);
        self.observer.tell(Event::Note(JUDGING));
        let verdict = history::check(&history);
        Ok((self.verdict(&drive.measurement, verdict, checks), Recorded::Stamps(history)))
    }

    fn options(&self) -> &RunOptions {
        &self.subject.options
    }

    fn transactions_by_worker(&self) -> u64 {
        self.transactions.div_ceil(self.options().workers as u64)
    }

    fn setting(&self) -> Setting {
        Setting {
            selection: self.selection,
            workers: self.options().workers,
            seed: self.options().seed,
            until: Until::Transactions(self.transactions_by_worker()),
            options: self.options().engine_options(0),
        }
    }

    fn load<E: Engine, W: Workload>(&self, workload: &W, setting: &Setting) -> Result<E::Store, Failure> {
        admit(self.options().workers, self.transactions)?;
        let rows = workload.tables().iter().map(|table| table.rows).sum();
        self.observer.tell(Event::LoadBegins { rows });
        let store = setting.load::<E, _>(workload, &|rows| self.observer.tell(Event::Loaded { rows }))?;
        self.observer.tell(Event::LoadEnds);
        Ok(store)
    }

    fn verdict(&self, measurement: &Measurement, verdict: Verdict, mut checks: Vec<Check>) -> CheckSummary {
        let serializable = verdict.is_strictly_serializable();
        let found = || verdict.counts.keys().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        checks.insert(0, Check::new("strictly-serializable", serializable, found));
        CheckSummary { verdict: Some(verdict), ..self.summary(measurement, checks) }
    }

    fn summary(&self, measurement: &Measurement, checks: Vec<Check>) -> CheckSummary {
        let (protocol, canary) = match self.selection {
            Selection::Pair(pair) => (pair.protocol.to_string(), false),
            Selection::Canary(_, canary) => (canary.to_string(), true),
        };
        let passed = checks.iter().all(|check| check.passed);
        CheckSummary {
            schema: SCHEMA,
            architecture: self.selection.architecture().to_string(),
            protocol,
            canary,
            workload: self.subject.workload.clone(),
            workers: self.options().workers,
            machine: self.subject.place.machine.clone(),
            simulated: self.subject.place.simulated,
            commits: measurement.commits,
            aborts: measurement.all_aborts(),
            user_rollbacks: measurement.user_rollbacks,
            seed: self.options().seed,
            parameters: self.subject.parameters.clone(),
            warnings: if canary && passed { vec![UNREJECTED.to_owned()] } else { Vec::new() },
            passed,
            checks,
            verdict: None,
            judgement: None,
        }
    }
}

/// Those in which a scenario's players look for each other included.
const TRANSACTIONS_A_ROUND: u64 = 12;

/// Players that share a core, with each other or with strangers, meet only when the system switches between them:
/// they need so many times the transactions of players with a core each.
const PATIENCE: u64 = 50;

const UNREJECTED: &str = "the canary was not rejected; give it more to go wrong with: more --transactions, more \
                          updates, fewer records, or a check workload that shows what it omits";
const RUNNING: &str = "running, with everything written down";
const JUDGING: &str = "judging";

fn left_behind<E: Engine>(store: &E::Store) -> Vec<Check> {
    let held = E::remains(store).held;
    vec![Check::new("nothing-held", held == 0, || {
        format!("{held} records or buckets are still held after the run")
    })]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::{Counting, MockEngine};
    use crate::observer::Silent;
    use crate::subject::Place;
    use contract::{ArchitectureName, PairName, ProtocolName};

    fn subject() -> Subject {
        Subject {
            workload: "counting".to_owned(),
            parameters: BTreeMap::new(),
            options: RunOptions { workers: 3, ..RunOptions::for_run(3) },
            place: Place::hardware(2),
        }
    }

    fn trial(subject: &Subject) -> Trial<'_> {
        let pair =
            PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::NoWait };
        Trial { selection: Selection::Pair(pair), subject, transactions: 100, observer: &Silent }
    }

    #[test]
    fn serial_runs_are_found_serializable() {
        let subject = subject();
        let trial = trial(&subject);
        let outcomes = [
            trial.of_workload::<MockEngine, _>(&Counting { rows: 50 }),
            trial.of_membership::<MockEngine>(),
            trial.of_lists::<MockEngine>(),
        ];
        for outcome in outcomes {
            let (summary, recorded) = outcome.expect("checked");
            assert!(summary.passed, "{:?}", summary.verdict);
            assert_eq!(summary.commits + summary.user_rollbacks, 102, "34 for each of three workers");
            assert_eq!(recorded.transactions(), 102);
            let json = serde_json::to_value(&summary).expect("JSON");
            assert_eq!((&json["passed"], &json["protocol"]), (&true.into(), &"no-wait".into()));
            let mut events = Vec::new();
            recorded.write(&mut events).expect("memory takes it");
            let events = String::from_utf8(events).expect("text");
            assert!(events.lines().count() >= 2 * 102, "an invocation and an end for each");
        }
    }

    #[test]
    fn a_history_that_cannot_be_held_is_refused() {
        let refused = admit(1, 0).expect_err("none").to_string();
        assert!(refused.starts_with("--transactions 0: allowed: 1 <= transactions <= "), "{refused}");
        assert!(admit(MOST_WORKERS + 1, 1).is_err());
        assert!(admit(1, u64::MAX).is_err());
        assert!(admit(2, 100_000).is_ok());
    }
}
