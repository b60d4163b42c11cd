//! One run over a disk, and its crash points.

use super::judge::{Judge, Told};
use super::nodes::{Fared, Fate, Nodes, among};
use super::{Crashed, Find, Killed, Plan, Scenario};
use contract::{
    ArchitectureName, Arrangement, Arrival, Client, Completion, Durability, Engine, EngineOptions, InFlight,
    InstanceEngine, Instances, LogOptions, Lost, PairName, RunError, Seat, Selection, Until, Workload,
};
use fastrand::Rng;
use history::churn::Churn;
use history::membership::Membership;
use history::{Checked, Deletes, Setting};
use machine::simulated::disk::{Disk, Failing, Fault};
use machine::simulated::network::{Ending, Faults};
use machine::simulated::socket::Socket;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
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
/// The same of a run of nodes.
const POINTS_OF_NODES: usize = 3;

/// About as many scheduling points as a node's cores take for one of its transactions.
const STEPS_OF_TRANSACTION: u64 = 2_000;

/// Where the log is, on the disk.
pub(super) fn folders(loggers: usize) -> Vec<PathBuf> {
    (0..loggers.min(2)).map(|number| PathBuf::from(format!("log-{number}"))).collect()
}

/// Makes the run of `seed` of `pair`, over the engine on virtual cores, and judges what is recovered from its crash points. Called in an
/// exploration.
pub fn run<E: InstanceEngine<Link: From<Socket>>>(seed: u64, pair: PairName, scenario: &Scenario) -> Crashed {
    let mut random = Rng::with_seed(seed ^ 0x6372_6173_6821);
    let workload = random.choice(CrashWorkload::ALL).expect("there are some");
    let workers = random.usize(2..=4);
    let durability = match random.u8(..6) {
        0 => Durability::Buffered,
        1 => Durability::Sync,
        _ => Durability::Group,
    };
    let faulty = random.u8(..4) == 0;
    // Nodes open their logs with some dozen operations each.
    let opening = if scenario.is_of_nodes() { 40 } else { 0 };
    let fault = faulty.then(|| Fault {
        operation: opening + random.usize(4..60),
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
        in_flight: InFlight::Default,
        kill: None,
        channel_faults: None,
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
    // Two in three under shared-everything have several in flight, drawn apart.
    let plan = match pair.architecture {
        ArchitectureName::SharedEverything if plan.instances == 1 && !scenario.is_of_nodes() => {
            let among = [InFlight::Default, InFlight::Told(3), InFlight::Auto];
            let in_flight = Rng::with_seed(seed ^ 0x666c_6967_6874).choice(among).expect("three");
            Plan { in_flight, ..plan }
        }
        _ => plan,
    };
    let (plan, fate) = match scenario.is_of_nodes() {
        true => {
            let (plan, fate) = of_nodes(plan, one_shot, scenario, &mut random);
            (plan, Some(fate))
        }
        false => (plan, None),
    };
    let disk = fault.map_or_else(Disk::new, |fault| Disk::failing(vec![fault]));
    let run = Run { plan: &plan, pair, scenario, fate, opened_at: 0, disk: &disk, random };
    among(plan.instances, || run.of::<E>(workload))
}

/// The same run of several nodes, and what happens to them.
fn of_nodes(plan: Plan, one_shot: bool, scenario: &Scenario, random: &mut Rng) -> (Plan, Fate) {
    let instances = random.usize(2..=3);
    let workers = instances * random.choice([1, 1, 2]).expect("three");
    let transactions = random.u64(12..60);
    let mut fate = Fate { seed: plan.seed, ..Fate::default() };
    if scenario.killed == Killed::Node {
        let ending = random.choice([Ending::Closed, Ending::Reset, Ending::Silent]).expect("three");
        let steps = STEPS_OF_TRANSACTION * transactions / instances as u64;
        fate.kill = Some((random.usize(..instances), random.u64(1..=steps), ending));
    }
    if scenario.channel_faults {
        // Some runs with faults of one kind, and some with all.
        let mut one_in = || if random.bool() { random.u32(20..400) } else { 0 };
        let (lose_one_in, delay_one_in) = (one_in(), one_in());
        let (reorder_one_in, duplicate_one_in) = (one_in(), one_in());
        let delay_ns = random.u64(100..50_000);
        fate.faults = Faults { lose_one_in, delay_one_in, reorder_one_in, duplicate_one_in, delay_ns };
        if random.u8(..4) == 0 {
            let from = random.usize(..instances);
            let to = (from + random.usize(1..instances)) % instances;
            fate.cuts.push((from, to, random.u64(..50)));
        }
    }
    let kill = fate.kill.map(|(node, step, ending)| format!("node {node} at step {step}, {ending:?}"));
    let channel_faults = scenario.channel_faults.then(|| format!("{:?}, cuts {:?}", fate.faults, fate.cuts));
    let checkpoint_every_ns = 0;
    let plan = Plan {
        instances,
        workers,
        transactions,
        one_shot,
        checkpoint_every_ns,
        kill,
        channel_faults,
        ..plan
    };
    (plan, fate)
}

/// One run.
pub(super) struct Run<'a> {
    pub plan: &'a Plan,
    pub pair: PairName,
    pub scenario: &'a Scenario,
    /// What happens to the nodes, if it is of nodes.
    pub fate: Option<Fate>,
    /// Operations of the disk before the transactions began.
    opened_at: usize,
    pub disk: &'a Disk,
    pub random: Rng,
}

impl Run<'_> {
    fn of<E: InstanceEngine<Link: From<Socket>>>(self, workload: CrashWorkload) -> Crashed {
        match workload {
            CrashWorkload::Churn => self.churn::<E>(),
            CrashWorkload::Membership => {
                let transactions = self.plan.transactions;
                let membership = Membership { transactions, ..Membership::default() };
                self.stamped::<E, _>(Checked::new(membership, Deletes::Real))
            }
            CrashWorkload::Ycsb => self.measured::<E>(
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
                self.measured::<E>("smallbank", &[("customers", "4"), ("hot-customers", "2")])
            }
        }
    }

    /// The node that is to be killed.
    pub fn killed_node(&self) -> Option<usize> {
        self.fate.as_ref()?.kill.map(|(node, ..)| node)
    }

    /// How the engine is told to run.
    pub fn setting<E: Engine>(&self) -> Setting {
        let options = EngineOptions {
            commit_ids: true,
            seed: self.plan.seed,
            epoch_interval: Duration::from_nanos(self.plan.epoch_ns),
            instances: Instances::of(self.plan.instances),
            one_shot: self.plan.one_shot,
            in_flight: self.plan.in_flight,
            deployment_canary: self.scenario.deployment_canary,
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
            canary: self.scenario.canary,
            ..LogOptions::new(self.plan.durability, PathBuf::new())
        }
    }

    fn measured<E: InstanceEngine<Link: From<Socket>>>(
        self,
        name: &str,
        parameters: &[(&str, &str)],
    ) -> Crashed {
        struct Stamped<'a, E>(Run<'a>, std::marker::PhantomData<E>);
        impl<E: InstanceEngine<Link: From<Socket>>> WorkloadVisitor for Stamped<'_, E> {
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

    fn stamped<E: InstanceEngine<Link: From<Socket>>, W: Workload>(mut self, checked: Checked<W>) -> Crashed {
        let (clients, crashed) = match self.made::<E, _>(&checked) {
            Ok(made) => made,
            Err(crashed) => return *crashed,
        };
        let (history, _) = checked.history(clients);
        self.judged::<E, _>(&checked, &history, crashed)
    }

    fn churn<E: InstanceEngine<Link: From<Socket>>>(mut self) -> Crashed {
        let churn = Churn { keys: 6, most_writes: 4 };
        match self.made::<E, _>(&churn) {
            Ok((clients, crashed)) => self.judged::<E, _>(&churn, &clients, crashed),
            Err(crashed) => *crashed,
        }
    }

    /// Makes the run: what its clients know then, and what is counted. `Err`: there is nothing to recover, because the log could not be opened, or something was found.
    fn made<E: InstanceEngine<Link: From<Socket>>, W: Workload>(
        &mut self,
        workload: &W,
    ) -> Result<(Vec<W::Client>, Crashed), Box<Crashed>> {
        match self.fate.clone() {
            None => self.logged::<E, _>(workload),
            Some(fate) => self.fared::<E, _>(workload, &fate),
        }
    }

    fn judged<
        E: InstanceEngine<Link: From<Socket>>,
        T: Told<E> + Told<Nodes<E>, Told = <T as Told<E>>::Told>,
    >(
        self,
        workload: &T,
        told: &<T as Told<E>>::Told,
        crashed: Crashed,
    ) -> Crashed {
        match self.fate {
            None => self.judge::<E, T>(workload, told, crashed),
            Some(_) => self.judge::<Nodes<E>, T>(workload, told, crashed),
        }
    }

    /// Loads, opens the log and runs.
    fn logged<E: Engine, W: Workload>(
        &self,
        workload: &W,
    ) -> Result<(Vec<W::Client>, Crashed), Box<Crashed>> {
        self.disk.on(|| {
            let setting = self.setting::<E>();
            let mut store = setting.load::<E, _>(workload, &|_| ()).expect("tiny tables");
            E::open_log(&mut store, &self.log()).map_err(|_| Box::default())?;
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
            Ok((outcome.clients.into_iter().map(|told| told.client).collect(), crashed))
        })
    }

    /// The same by nodes, to which this happens.
    fn fared<E: InstanceEngine<Link: From<Socket>>, W: Workload>(
        &mut self,
        workload: &W,
        fate: &Fate,
    ) -> Result<(Vec<W::Client>, Crashed), Box<Crashed>> {
        let setting = self.setting::<Nodes<E>>();
        let (mut stores, opened) = self.disk.on(|| {
            let mut stores = setting.load::<Nodes<E>, _>(workload, &|_| ()).expect("tiny tables");
            let opened = Nodes::<E>::open_log(&mut stores, &self.log());
            (stores, opened)
        });
        opened.map_err(|_| Box::default())?;
        self.opened_at = self.disk.operations();
        let clients: Vec<_> =
            setting.clients::<Nodes<E>, _>(workload).into_iter().map(Watched::new).collect();
        let told = clients
            .iter()
            .map(|client| Acknowledged { client: client.again(), disk: self.disk.clone() })
            .collect();
        let Setting { selection, until, options, .. } = &setting;
        let Fared { nodes, suffered } =
            self.disk.on(|| Nodes::<E>::fare(&mut stores, *selection, told, *until, options, fate));
        let mut crashed = Crashed { deployed: 1, ..Crashed::default() };
        crashed.channel_faults = suffered.lost + suffered.delayed + suffered.reordered + suffered.duplicated;
        let (mut lost, mut wrong) = (Vec::new(), None);
        for (node, ran) in nodes.iter().enumerate() {
            match ran {
                None => {
                    crashed.killed_nodes += 1;
                    continue;
                }
                Some(Ok(outcome)) => {
                    crashed.commits += outcome.measurement.commits;
                    crashed.failed_disks += u64::from(outcome.log_failure.is_some());
                }
                Some(Err(RunError::Lost(told))) => lost.push((node, told)),
                Some(Err(error)) => wrong = Some(format!("node {node}: {error}")),
            }
            let held = E::leak_check(&stores[node]).held;
            if held > 0 {
                wrong =
                    Some(format!("{held} records and gaps are held at node {node}, which was not killed"));
            }
        }
        // A process that was killed cleans nothing up, and what it was in the middle of is torn.
        for (store, _) in stores.into_iter().zip(&nodes).filter(|(_, ran)| ran.is_none()) {
            std::mem::forget(store);
        }
        if let Some(cause) = Lost::cause(lost.iter().copied()) {
            crashed.lost += 1;
            // What it says to be there must be.
            self.disk.acknowledge(cause.acknowledged.unwrap_or(0));
            let is_known = fate.kill.is_some_and(|_| crashed.killed_nodes > 0) && !suffered.is_visible();
            if let Some((killed, ..)) = fate.kill.filter(|_| is_known && fate.cuts.is_empty())
                && self.plan.fault.is_none()
                && cause.instance != killed
            {
                wrong = Some(format!("node {killed} was killed, and it is said: {cause}"));
            }
        }
        if fate.kill.is_none() && !suffered.is_visible() && fate.cuts.is_empty() && self.plan.fault.is_none()
        {
            // Nothing has happened but delays.
            wrong =
                wrong.or(lost.first().map(|(_, lost)| format!("nobody was killed, and it is said: {lost}")));
        }
        if let Some(what) = wrong {
            let find = Find { plan: self.plan.clone(), point: "the survivors".to_owned(), what };
            return Err(Box::new(Crashed { find: Some(find), ..crashed }));
        }
        Ok((clients.into_iter().map(Watched::into_inner).collect(), crashed))
    }

    fn judge<E: Engine, T: Told<E>>(mut self, workload: &T, told: &T::Told, mut crashed: Crashed) -> Crashed {
        let operations = self.disk.operations();
        let points = if self.fate.is_some() { POINTS_OF_NODES } else { POINTS };
        let begins = self.opened_at;
        let mut points: Vec<usize> = (0..points).map(|_| self.random.usize(begins..=operations)).collect();
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

/// A client of which is known what it knew when its node was killed.
struct Watched<C>(Arc<Mutex<Option<C>>>);

impl<C> Watched<C> {
    fn new(client: C) -> Self {
        Watched(Arc::new(Mutex::new(Some(client))))
    }

    /// The same client once more.
    fn again(&self) -> Self {
        Watched(Arc::clone(&self.0))
    }

    fn lock(&self) -> MutexGuard<'_, Option<C>> {
        self.0.lock().expect("nobody panics with it")
    }

    fn with<R>(&self, f: impl FnOnce(&mut C) -> R) -> R {
        f(self.lock().as_mut().expect("the run is on"))
    }

    /// The client. Of those that were killed nobody asks for it any more.
    fn into_inner(self) -> C {
        self.lock().take().expect("it is taken once")
    }
}

impl<C: Client> Client for Watched<C> {
    type Procedure = C::Procedure;

    fn arrival(&mut self) -> Arrival {
        self.with(C::arrival)
    }

    fn next(&mut self) -> C::Procedure {
        self.with(C::next)
    }

    fn finished(&mut self, procedure: C::Procedure, completion: &Completion<'_>) {
        self.with(|client| client.finished(procedure, completion));
    }

    fn durable(&mut self, epoch: u64) {
        self.with(|client| client.durable(epoch));
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<C::Procedure> {
        self.with(|client| client.decode(bytes))
    }

    fn take_back(&mut self, fragment: C::Procedure) {
        self.with(|client| client.take_back(fragment));
    }
}

/// The seat of a reader: one worker reads.
pub(super) fn readers<W: Workload>(workload: &W, clients: usize, partitions: u32) -> Vec<W::Client> {
    (0..clients).map(|worker| workload.client(Seat::new(worker, clients, 1).over(partitions))).collect()
}
