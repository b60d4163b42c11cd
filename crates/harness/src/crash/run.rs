//! One run over a disk, and its crash points.

use super::judge::{Judge, Told};
use super::{Crashed, Find, Plan};
use contract::{
    Arrangement, Client, Completion, Durability, DurabilityCanary, Engine, EngineOptions, Instances,
    LogOptions, PairName, RunOutcome, Seat, Selection, Until, Workload,
};
use fastrand::Rng;
use history::churn::Churn;
use history::membership::Membership;
use history::{Checked, Deletes, Setting};
use machine::simulated::disk::{Disk, Failing, Fault};
use std::path::PathBuf;
use std::time::Duration;
use workloads::{AnyWorkload, Parameters, WorkloadVisitor};

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashWorkload {
    /// Rows that come and go under the same keys.
    Churn,
    /// Keys that are inserted once or deleted once, with stamps.
    Membership,
    /// YCSB on few records, with stamps.
    Ycsb,
    /// SmallBank on few customers, with stamps.
    SmallBank,
}

impl CrashWorkload {
    /// Every one.
    pub const ALL: [CrashWorkload; 4] =
        [CrashWorkload::Churn, CrashWorkload::Membership, CrashWorkload::Ycsb, CrashWorkload::SmallBank];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            CrashWorkload::Churn => "churn",
            CrashWorkload::Membership => "membership",
            CrashWorkload::Ycsb => "ycsb",
            CrashWorkload::SmallBank => "smallbank",
        }
    }
}

/// Crash points of a run, beside the one at its end.
const POINTS: usize = 12;

/// Where the log is, on the disk.
pub(super) fn folders(loggers: usize) -> Vec<PathBuf> {
    (0..loggers.min(2)).map(|number| PathBuf::from(format!("log-{number}"))).collect()
}

/// Makes the run of `seed` of `pair`, over the engine on virtual cores, and judges what is recovered from its crash points. Called in an
/// exploration.
pub fn run<E: Engine>(seed: u64, pair: PairName, canary: Option<DurabilityCanary>) -> Crashed {
    let mut random = Rng::with_seed(seed ^ 0x6372_6173_6821);
    let workload = random.choice(CrashWorkload::ALL).expect("there are some");
    let workers = random.usize(2..=4);
    let durability = match random.u8(..6) {
        0 => Durability::Buffered,
        1 => Durability::Sync,
        _ => Durability::Group,
    };
    let faulty = random.u8(..4) == 0;
    let fault = faulty.then(|| Fault {
        operation: random.usize(4..60),
        failing: random.choice([Failing::Device, Failing::NoSpace, Failing::Short]).expect("three"),
    });
    let plan = Plan {
        seed,
        system: pair.to_string(),
        workload: workload.name(),
        workers,
        transactions: random.u64(12..120),
        durability,
        loggers: random.usize(1..=3),
        compress: random.bool(),
        segment_bytes: random.choice([512, 4096, 1 << 20]).expect("three"),
        epoch_ns: random.u64(3_000..60_000),
        checkpoint_every_ns: 0,
        instances: 1,
        one_shot: true,
        fault: fault.map(|fault| format!("{:?} at operation {}", fault.failing, fault.operation)),
    };
    // Every second run; as soon as the last one has ended, or after some epochs.
    let checkpoints = random.bool();
    let half_epochs = random.u64(0..8);
    let plan = Plan {
        checkpoint_every_ns: if checkpoints { 1 + half_epochs * plan.epoch_ns / 2 } else { 0 },
        ..plan
    };
    // Every second run of a system that can be deployed is, without checkpoints.
    let instances = random.choice([1, workers]).expect("two");
    let one_shot = random.bool();
    let deployed = EngineOptions { instances: Instances::of(instances), ..EngineOptions::default() };
    let plan = match E::arrange(pair, workers, &deployed) {
        Ok(_) if instances > 1 => Plan { instances, one_shot, checkpoint_every_ns: 0, ..plan },
        _ => plan,
    };
    let disk = fault.map_or_else(Disk::new, |fault| Disk::failing(vec![fault]));
    let run = Run { plan: &plan, pair, canary, disk: &disk, random };
    match workload {
        CrashWorkload::Churn => run.churn::<E>(),
        CrashWorkload::Membership => run.stamped::<E, _>(Checked::new(
            Membership { transactions: plan.transactions, ..Membership::default() },
            Deletes::Real,
        )),
        CrashWorkload::Ycsb => run.measured::<E>(
            "ycsb",
            &[
                ("records", "8"),
                ("accesses", "4"),
                ("fields", "2"),
                ("field-bytes", "8"),
                ("reads", "40"),
                ("theta", "0"),
            ],
        ),
        CrashWorkload::SmallBank => {
            run.measured::<E>("smallbank", &[("customers", "4"), ("hot-customers", "2")])
        }
    }
}

/// One run.
pub(super) struct Run<'a> {
    pub plan: &'a Plan,
    pub pair: PairName,
    /// A step that is left out.
    pub canary: Option<DurabilityCanary>,
    pub disk: &'a Disk,
    pub random: Rng,
}

impl Run<'_> {
    /// How the engine is told to run.
    pub fn setting<E: Engine>(&self) -> Setting {
        let options = EngineOptions {
            commit_ids: true,
            seed: self.plan.seed,
            epoch_interval: Duration::from_nanos(self.plan.epoch_ns),
            instances: Instances::of(self.plan.instances),
            one_shot: self.plan.one_shot,
            ..EngineOptions::default()
        };
        let Arrangement { clients, .. } =
            E::arrange(self.pair, self.plan.workers, &options).unwrap_or_else(|misfit| panic!("{misfit}"));
        Setting {
            selection: Selection::Pair(self.pair),
            workers: self.plan.workers,
            seed: self.plan.seed,
            until: Until::Transactions(self.plan.transactions.div_ceil(clients as u64)),
            options,
        }
    }

    /// How the log is written.
    pub fn log(&self) -> LogOptions {
        LogOptions {
            folders: folders(self.plan.loggers),
            loggers: self.plan.loggers,
            compress: self.plan.compress,
            segment_bytes: self.plan.segment_bytes,
            checkpoint_every: Some(self.plan.checkpoint_every_ns)
                .filter(|&every| every > 0)
                .map(Duration::from_nanos),
            canary: self.canary,
            ..LogOptions::new(self.plan.durability, PathBuf::new())
        }
    }

    fn measured<E: Engine>(self, name: &str, parameters: &[(&str, &str)]) -> Crashed {
        struct Stamped<'a, E>(Run<'a>, std::marker::PhantomData<E>);
        impl<E: Engine> WorkloadVisitor for Stamped<'_, E> {
            type Output = Crashed;

            fn visit<W: workloads::audit::Audited>(self, workload: &W) -> Crashed {
                let borrowed = crate::check::Borrowed(workload);
                self.0.stamped::<E, _>(Checked::new(borrowed, Deletes::None))
            }
        }
        let parameters: Parameters = parameters.iter().copied().collect();
        let workload: AnyWorkload = workloads::build(name, &parameters).expect("parameters of the workload");
        workload.visit(Stamped::<E>(self, std::marker::PhantomData))
    }

    fn stamped<E: Engine, W: Workload>(self, checked: Checked<W>) -> Crashed {
        let Ok((outcome, crashed)) = self.logged::<E, _>(&checked) else { return Crashed::default() };
        let (history, _) = checked.history(outcome.clients.into_iter().map(|told| told.client).collect());
        self.judge::<E, _>(&checked, &history, crashed)
    }

    fn churn<E: Engine>(self) -> Crashed {
        let churn = Churn { keys: 6, most_writes: 4 };
        let Ok((outcome, crashed)) = self.logged::<E, _>(&churn) else { return Crashed::default() };
        let clients: Vec<_> = outcome.clients.into_iter().map(|told| told.client).collect();
        self.judge::<E, _>(&churn, &clients, crashed)
    }

    /// Loads, opens the log and runs; `Err`: the log could not be opened. Answers what is counted of the run, too.
    #[allow(clippy::type_complexity, reason = "a run's outcome, and what is counted of it")]
    fn logged<E: Engine, W: Workload>(
        &self,
        workload: &W,
    ) -> Result<(RunOutcome<Acknowledged<W::Client>>, Crashed), contract::LogError> {
        self.disk.on(|| {
            let setting = self.setting::<E>();
            let mut store = setting.load::<E, _>(workload, &|_| ()).expect("tiny tables");
            E::open_log(&mut store, &self.log())?;
            let clients = setting.clients::<E, _>(workload);
            let told =
                clients.into_iter().map(|client| Acknowledged { client, disk: self.disk.clone() }).collect();
            let outcome = setting.run::<E, _>(&mut store, told).expect("procedures declare what they touch");
            let crashed = Crashed {
                commits: outcome.measurement.commits,
                deployed: u64::from(self.plan.instances > 1),
                failed_disks: u64::from(outcome.log_failure.is_some()),
                checkpoints: E::log_report(&store).map_or(0, |report| report.checkpoints),
                ..Crashed::default()
            };
            Ok((outcome, crashed))
        })
    }

    fn judge<E: Engine, T: Told<E>>(mut self, workload: &T, told: &T::Told, mut crashed: Crashed) -> Crashed {
        let operations = self.disk.operations();
        let mut points: Vec<usize> = (0..POINTS).map(|_| self.random.usize(..=operations)).collect();
        points.push(operations);
        for point in points {
            let judge = Judge { run: &mut self, point };
            if let Err((at, what)) = judge.point::<E, T>(workload, told, &mut crashed) {
                crashed.find = Some(Find { plan: self.plan.clone(), point: at, what });
                break;
            }
        }
        crashed
    }
}

/// A client that tells the disk what it was told.
struct Acknowledged<C> {
    client: C,
    disk: Disk,
}

impl<C: Client> Client for Acknowledged<C> {
    type Procedure = C::Procedure;

    fn next(&mut self) -> C::Procedure {
        self.client.next()
    }

    fn finished(&mut self, procedure: C::Procedure, completion: &Completion<'_>) {
        self.client.finished(procedure, completion);
    }

    fn durable(&mut self, epoch: u64) {
        self.disk.acknowledge(epoch);
        self.client.durable(epoch);
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<C::Procedure> {
        self.client.decode(bytes)
    }

    fn take_back(&mut self, fragment: C::Procedure) {
        self.client.take_back(fragment);
    }
}

/// The seat of a reader: one worker reads.
pub(super) fn readers<W: Workload>(workload: &W, clients: usize, partitions: u32) -> Vec<W::Client> {
    (0..clients).map(|worker| workload.client(Seat::new(worker, clients, 1).over(partitions))).collect()
}
