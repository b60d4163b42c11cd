//! A system, an architecture with a protocol, set up over a store for one run.

use crate::architecture::{
    self, BackOff, DelegationState, DoraState, ExecutionThread, InstanceWorker, OrthrusState,
    PartitionLatches, PartitionedSerial, SharedState,
};
use crate::commit_id::CommitIds;
use crate::durability::Log;
use crate::durability::log::serving;
use crate::epoch::Epochs;
use crate::facade::worker::Binding;
use crate::facade::{unobserved, worker};
use crate::fiber::Workers;
use crate::message::channel::{Channels, Part};
use crate::message::endpoint::{Endpoint, Position};
use crate::physical::{Concurrent, Owned, Physical, Shared};
use crate::protocol::waits_for::MOST_SLOTS;
use crate::protocol::{Planning, Protocol, SlotId, Unprotected};
use crate::record::header::RecordHeader;
use crate::session::admission::MOST_TRIED;
use crate::session::lent::{Lender, LendsShared};
use crate::session::{self, Among, CoolDown, Precedence, Report, fibers, interleaved};
use crate::storage::{AllocationCache, Store, Table};
use crate::transaction::Txn;
use contract::{
    ArchitectureName, BindingName, Client, Effort, EngineOptions, Header, LeakCheck, Lost, Selection, Until,
};
use std::marker::PhantomData;

/// What the matrix calls with the system selected.
pub(crate) trait Dispatch {
    /// What comes of it.
    type Output;

    /// Goes on with system `S`.
    fn run<S: System>(self) -> Self::Output;
}

/// What a run is given beside its clients.
pub(crate) struct Setting<'e> {
    pub tables: &'e [Table],
    /// Among which the store's partitions are divided.
    pub instances: usize,
    pub epochs: &'e Epochs,
    /// One for every slot.
    pub caches: &'e mut [AllocationCache],
    pub architecture: ArchitectureName,
    pub until: Until,
    pub options: &'e EngineOptions,
    /// Where ids of committed transactions come from, if they are asked for.
    pub ids: Option<&'e CommitIds>,
    pub precedence: Option<&'e Precedence>,
    /// Where commits are logged, if they are.
    pub log: Option<&'e Log>,
    /// If this is one instance of a deployment of processes.
    pub part: Option<Part>,
}

/// What a run's workers report.
pub(crate) struct Reports<C> {
    /// Those that host transactions.
    pub hosts: Vec<Report<C>>,
    /// What those that only serve did in the interval.
    pub servers: Vec<Effort>,
    /// Why the log could not be written, if so.
    pub log_failure: Option<String>,
    /// The instance that has dropped out, if one has.
    pub lost: Option<Lost>,
}

impl<C> Reports<C> {
    fn of_hosts(hosts: Vec<Report<C>>) -> Self {
        Reports { hosts, servers: Vec::new(), log_failure: None, lost: None }
    }

    /// Of workers that host transactions, and others that serve.
    fn of_workers(workers: Vec<Result<Report<C>, Box<Effort>>>) -> Self {
        let (mut hosts, mut servers) = (Vec::new(), Vec::new());
        for worker in workers {
            match worker {
                Ok(report) => hosts.push(report),
                Err(effort) => servers.push(*effort),
            }
        }
        Reports { hosts, servers, log_failure: None, lost: None }
    }
}

/// An architecture with a protocol.
pub(crate) trait System {
    /// What its records have before their rows.
    const HEADER: Header;

    /// How many records and gaps are held, of a store that nobody runs over.
    fn held(tables: &[Table]) -> u64;

    /// Transaction slots of a run with `clients` clients, over a store of so many instances.
    fn slots(clients: usize, instances: usize, options: &EngineOptions) -> usize {
        let _ = (instances, options);
        clients
    }

    /// Those of them that run the clients' transactions: the others run branches of these.
    fn client_slots(clients: usize, options: &EngineOptions) -> usize {
        Self::slots(clients, 1, options)
    }

    /// Runs one client per worker that hosts transactions.
    fn run<C: Client>(setting: Setting<'_>, clients: Vec<C>) -> Reports<C>;

    /// What makes slots for threads that are no workers, if transactions run in the thread that asks.
    fn lender(slots: usize, options: &EngineOptions) -> Option<Box<dyn Lender>> {
        let _ = (slots, options);
        None
    }
}

/// As the machine calls it.
pub(crate) const fn binding(name: BindingName) -> Binding {
    match name {
        BindingName::Cores => Binding::Cores,
        BindingName::Sockets => Binding::Sockets,
        BindingName::Off => Binding::Off,
    }
}

/// Of a store over which `P` in policy `F` ran last, and nobody runs now.
fn held<P: Protocol, F: Physical>(tables: &[Table]) -> u64 {
    let mut held = 0;
    for partition in tables.iter().flat_map(Table::partitions) {
        let index = &partition.index;
        index.for_each_record(|record| {
            // SAFETY: the metadata is the last protocol's; there is one thread.
            let meta = unsafe { record.meta::<P::Header, P::Meta<F>>() };
            held += u64::from(!P::is_quiescent::<F>(meta));
        });
        // SAFETY: as above.
        unsafe { index.for_each_gap(|gap| held += u64::from(!P::is_gap_quiescent::<F>(gap))) };
    }
    held
}

/// The most transactions in flight that are tried at each of so many workers, if they find out how many bring most.
pub(crate) fn most_admitted(workers: usize) -> usize {
    (MOST_SLOTS / workers).clamp(1, MOST_TRIED)
}

/// Shared-everything with protocol `P`, metadata of synchronization policy `F`.
pub(crate) struct SharedEverything<P, F>(PhantomData<(P, F)>);

impl<P: Protocol + 'static, F: Concurrent + 'static> System for SharedEverything<P, F>
where
    P::Common<F>: Send + Sync,
{
    const HEADER: Header = <P::Header as RecordHeader>::HEADER;

    fn held(tables: &[Table]) -> u64 {
        held::<P, F>(tables)
    }

    fn slots(clients: usize, _: usize, options: &EngineOptions) -> usize {
        clients * options.in_flight.interleaved(most_admitted(clients))
    }

    fn run<C: Client>(setting: Setting<'_>, clients: Vec<C>) -> Reports<C> {
        let Setting { tables, epochs, caches, until, options, ids, precedence, log, .. } = setting;
        let in_flight = caches.len() / clients.len();
        let state = SharedState::<P, F>::new(caches.len(), partitions(tables) as usize, options);
        let cool_down = CoolDown::new(clients.len());
        let among = Among { number: 0, hosts: clients.len() };
        let run = session::Run { epochs, options, until, cool_down: &cool_down, ids, precedence, log, among };
        let world = interleaved::World { tables, state: &state, run };
        let seats = clients.into_iter().zip(caches.chunks_mut(in_flight)).collect();
        let worker = |number, (client, caches): (C, &mut [AllocationCache]), start| {
            let [allocations] = caches else {
                return interleaved::run(number, client, caches, start, &world);
            };
            let slot = SlotId(number as u32);
            let back_off = BackOff::new(options, slot.0);
            let architecture = architecture::SharedEverything::new(tables, &state, back_off);
            let txn = Txn::new(architecture, tables, epochs, slot, allocations);
            session::run(number, txn, client, start, run)
        };
        Reports::of_hosts(serving(epochs, log, options.epoch_interval, |services| {
            worker::run_each_with_services(seats, services, worker)
        }))
    }

    fn lender(slots: usize, options: &EngineOptions) -> Option<Box<dyn Lender>> {
        Some(Box::new(LendsShared::<P, F>::new(slots, options)))
    }
}

/// Partitioned serial execution.
pub(crate) struct Serial;

impl System for Serial {
    const HEADER: Header = Header::Narrow;

    fn held(tables: &[Table]) -> u64 {
        held::<Unprotected, Owned>(tables)
    }

    fn run<C: Client>(setting: Setting<'_>, clients: Vec<C>) -> Reports<C> {
        let Setting { tables, epochs, caches, until, options, ids, precedence, log, .. } = setting;
        let partitions = partitions(tables) as usize;
        let state = SharedState::<Unprotected, Owned>::new(clients.len(), partitions, options);
        let kind = options.latch_of_partitions(clients.len(), worker::cores());
        let latches = PartitionLatches::new(partitions, clients.len(), kind);
        let cool_down = CoolDown::new(clients.len());
        let among = Among { number: 0, hosts: clients.len() };
        let run = session::Run { epochs, options, until, cool_down: &cool_down, ids, precedence, log, among };
        let seats = clients.into_iter().zip(caches).collect();
        let worker = |number, (client, allocations), start| {
            let slot = SlotId(number as u32);
            let architecture = PartitionedSerial::new(slot, tables, &state, &latches);
            let txn = Txn::new(architecture, tables, epochs, slot, allocations);
            session::run(number, txn, client, start, run)
        };
        Reports::of_hosts(serving(epochs, log, options.epoch_interval, |services| {
            worker::run_each_with_services(seats, services, worker)
        }))
    }
}

/// Delegation with protocol `P`; with fewer partitions than workers, asymmetric.
pub(crate) struct Delegation<P>(PhantomData<P>);

impl<P: Protocol> System for Delegation<P>
where
    P::Common<Owned>: Sync,
{
    const HEADER: Header = <P::Header as RecordHeader>::HEADER;

    fn held(tables: &[Table]) -> u64 {
        held::<P, Owned>(tables)
    }

    fn run<C: Client>(setting: Setting<'_>, clients: Vec<C>) -> Reports<C> {
        let Setting { tables, epochs, caches, until, options, ids, precedence, log, .. } = setting;
        // The first threads own the partitions. The first ones host the transactions, too, or else those after them.
        let (owners, hosts) = (partitions(tables) as usize, clients.len());
        let (first_host, workers) = match setting.architecture {
            ArchitectureName::AsymmetricDelegation => (owners, owners + hosts),
            _ => (0, owners.max(hosts)),
        };
        let state = DelegationState::<P>::new(workers, hosts, owners, options);
        let cool_down = CoolDown::new(hosts);
        let among = Among { number: 0, hosts };
        let run = session::Run { epochs, options, until, cool_down: &cool_down, ids, precedence, log, among };
        let mut seats: Vec<Option<(C, &mut AllocationCache)>> =
            std::iter::repeat_with(|| None).take(workers).collect();
        for (seat, host) in seats[first_host..].iter_mut().zip(clients.into_iter().zip(caches)) {
            *seat = Some(host);
        }
        let worker = |number, seat, start| {
            let Some((client, allocations)) = seat else {
                let server = architecture::Server::new(number, tables, &state);
                return Err(Box::new(session::serve(server, start, until, options)));
            };
            let back_off = BackOff::new(options, number as u32);
            let architecture = architecture::Delegation::new(number, tables, &state, back_off);
            let slot = SlotId((number - first_host) as u32);
            let txn = Txn::new(architecture, tables, epochs, slot, allocations);
            Ok(session::run(number - first_host, txn, client, start, run))
        };
        Reports::of_workers(serving(epochs, log, options.epoch_interval, |services| {
            worker::run_each_with_services(seats, services, worker)
        }))
    }
}

/// DORA with protocol `P`.
pub(crate) struct Dora<P>(PhantomData<P>);

impl<P: Protocol> System for Dora<P>
where
    P::Common<Owned>: Sync,
{
    const HEADER: Header = <P::Header as RecordHeader>::HEADER;

    fn held(tables: &[Table]) -> u64 {
        held::<P, Owned>(tables)
    }

    fn slots(clients: usize, _: usize, options: &EngineOptions) -> usize {
        clients * options.in_flight.in_fibers()
    }

    fn run<C: Client>(setting: Setting<'_>, clients: Vec<C>) -> Reports<C> {
        let Setting { tables, epochs, caches, until, options, ids, precedence, log, .. } = setting;
        let (workers, slots) = (clients.len(), caches.len());
        let state = DoraState::<P>::new(partitions(tables), workers, slots, options);
        let cool_down = CoolDown::new(workers);
        let among = Among { number: 0, hosts: workers };
        let run = session::Run { epochs, options, until, cool_down: &cool_down, ids, precedence, log, among };
        let world = fibers::World::<architecture::Dora<'_, P>> { tables, state: &state, run };
        let seats = clients.into_iter().zip(caches.chunks_mut(slots / workers)).collect();
        let worker = |me, (client, caches), start| fibers::run(me, client, caches, start, &world);
        Reports::of_hosts(serving(epochs, log, options.epoch_interval, |services| {
            worker::run_each_with_services(seats, services, worker)
        }))
    }
}

/// ORTHRUS, whose lock tables are `P`'s.
pub(crate) struct Orthrus<P>(PhantomData<P>);

impl<P: Planning> System for Orthrus<P>
where
    P::Common<Shared>: Sync,
{
    const HEADER: Header = <P::Header as RecordHeader>::HEADER;

    fn held(tables: &[Table]) -> u64 {
        held::<P, Shared>(tables)
    }

    fn slots(clients: usize, _: usize, options: &EngineOptions) -> usize {
        clients * options.in_flight.in_fibers()
    }

    fn run<C: Client>(setting: Setting<'_>, clients: Vec<C>) -> Reports<C> {
        let Setting { tables, epochs, caches, until, options, ids, precedence, log, .. } = setting;
        let (hosts, slots, cc_threads) = (clients.len(), caches.len(), options.cc_threads);
        let state = OrthrusState::<P>::new(tables, cc_threads, hosts, slots, options);
        let cool_down = CoolDown::new(hosts);
        let among = Among { number: 0, hosts };
        let run = session::Run { epochs, options, until, cool_down: &cool_down, ids, precedence, log, among };
        let mut seats: Vec<Option<(C, &mut [AllocationCache])>> =
            std::iter::repeat_with(|| None).take(cc_threads).collect();
        seats.extend(clients.into_iter().zip(caches.chunks_mut(slots / hosts)).map(Some));
        let worker = |number, seat, start| {
            let Some((client, caches)) = seat else {
                let thread = architecture::CcThread::new(number, &state);
                return Err(Box::new(session::serve(thread, start, until, options)));
            };
            let host = number - cc_threads;
            let mut outbox = ExecutionThread::outbox(&state, host);
            let thread = ExecutionThread::new(&state, &mut outbox);
            let world = fibers::World::<architecture::Orthrus<'_, P>> { tables, state: &thread, run };
            Ok(fibers::run(host, client, caches, start, &world))
        };
        Reports::of_workers(serving(epochs, log, options.epoch_interval, |services| {
            worker::run_each_with_services(seats, services, worker)
        }))
    }
}

/// A deployment of instances with protocol `P`, whose metadata is of synchronization policy `F`: [`Owned`] if each instance has one worker.
pub(crate) struct Deployed<P, F>(PhantomData<(P, F)>);

impl<P: Protocol, F: Physical> System for Deployed<P, F>
where
    P::Common<F>: Sync,
{
    const HEADER: Header = <P::Header as RecordHeader>::HEADER;

    fn held(tables: &[Table]) -> u64 {
        held::<P, F>(tables)
    }

    /// Of an instance that is a process, its store knows how many others there are.
    fn slots(clients: usize, instances: usize, options: &EngineOptions) -> usize {
        clients * instances * options.in_flight.in_fibers()
    }

    fn client_slots(clients: usize, options: &EngineOptions) -> usize {
        clients * options.in_flight.in_fibers()
    }

    fn run<C: Client>(setting: Setting<'_>, clients: Vec<C>) -> Reports<C> {
        let Setting { tables, instances, epochs, caches, until, options, ids, precedence, log, part, .. } =
            setting;
        let (hosts, partitions) = (clients.len(), partitions(tables));
        // Of which this process has so many, from which on.
        let (here, first) = part.as_ref().map_or((instances, 0), |part| (1, part.instance));
        let position = Position {
            instances,
            workers: hosts / here,
            in_flight: options.in_flight.in_fibers(),
            instance: first,
            rank: 0,
        };
        let state =
            |_| SharedState::<P, F>::new(position.workers * position.slots(), partitions as usize, options);
        let states: Vec<_> = (0..here).map(state).collect();
        let channels = match part {
            Some(part) => Channels::of_part(part),
            None => Channels::open(options.channel, position),
        };
        let workers = Workers::new(hosts);
        let cool_down = CoolDown::new(hosts);
        // Every instance is one of the same run, whichever process it is in.
        let among = Among { number: first * position.workers, hosts: position.workers * instances };
        let run = session::Run { epochs, options, until, cool_down: &cool_down, ids, precedence, log, among };
        let seats = clients.into_iter().zip(caches.chunks_mut(position.slots())).collect();
        let worker = |me, (client, caches), start| {
            let (instance, rank) = (first + me / position.workers, me % position.workers);
            let position = Position { instance, rank, ..position };
            let mut endpoint = Endpoint::new(&channels, position);
            if let Some(log) = log.filter(|_| channels.leave_process()) {
                endpoint = endpoint.logging(log, epochs);
            }
            let of_one = partitions / instances as u32;
            let own = instance as u32 * of_one..(instance as u32 + 1) * of_one;
            let here = InstanceWorker::new(&states[instance - first], &workers, own, &mut endpoint);
            let world = fibers::World::<architecture::Instance<'_, P, F>> { tables, state: &here, run };
            fibers::run(me, client, caches, start, &world)
        };
        let reports = Reports::of_hosts(serving(epochs, log, options.epoch_interval, |services| {
            worker::run_each_with_services(seats, services, worker)
        }));
        let acknowledged = log.map(Log::durable_everywhere);
        let lost = channels.into_lost().map(|lost| Lost { acknowledged, ..lost });
        Reports { lost, ..reports }
    }
}

/// Partitions of every table.
fn partitions(tables: &[Table]) -> u32 {
    tables.first().map_or(1, |table| table.partitions().len() as u32)
}

/// Counts what a quiescent store holds, as the system that ran last sees it.
pub(crate) struct CountLeaks<'a>(pub &'a Store);

impl Dispatch for CountLeaks<'_> {
    type Output = LeakCheck;

    fn run<S: System>(self) -> LeakCheck {
        let store = self.0;
        let (mut linked_records, mut lineage_bytes) = (0, 0);
        for table in &store.tables {
            let records: u64 = table.partitions().iter().map(|partition| partition.index.records()).sum();
            linked_records += records;
            lineage_bytes += records * table.shape.lineage_bytes() as u64;
        }
        let (version_bytes, most_version_bytes) = store.version_bytes();
        let mut linked_values = 0;
        store.for_each_value(|_| linked_values += 1);
        LeakCheck {
            linked_records,
            allocated_records: store.allocated_records(),
            linked_values,
            allocated_values: store.allocated_values(),
            held: S::held(&store.tables),
            memory_bytes: store.memory_bytes(),
            lineage_bytes,
            most_version_bytes,
            version_bytes,
            unlinked_bytes: store.unlinked_bytes(),
        }
    }
}

/// Runs clients over a store.
pub(crate) struct Run<'a, C> {
    pub store: &'a mut Store,
    pub clients: Vec<C>,
    pub until: Until,
    pub options: &'a EngineOptions,
    pub selection: Selection,
    /// If the store is that of one instance of a deployment of processes.
    pub part: Option<Part>,
}

impl<'a, C: Client> Dispatch for Run<'a, C> {
    /// The store, what the workers report, and how many transaction slots their clients had.
    type Output = (&'a Store, Reports<C>, usize);

    fn run<S: System>(self) -> Self::Output {
        let Run { store, clients, until, options, selection, part } = self;
        let layout = store.layout();
        assert!(S::HEADER == layout.header, "a store of {:?} headers under {selection:?}", layout.header);
        let frees_twice =
            matches!(selection, Selection::Canary(..)) && store.tables.iter().any(Table::varies);
        assert!(
            !frees_twice,
            "{selection:?} over rows that vary in length: whoever replaces one must be alone in that"
        );
        // What is loaded is loaded on cores.
        let _bound = worker::bind(binding(options.bind));
        store.prepare(selection);
        store.epochs_mut().let_reclaim(options.reclaim);
        if let Some(Part { instance, instances, .. }) = part {
            store.is_of_instances(instance, instances);
        }
        let instances = layout.instances as usize;
        let slots = S::slots(clients.len(), instances, options);
        let client_slots = S::client_slots(clients.len(), options);
        let architecture = selection.architecture();
        let (tables, epochs, caches, log) = store.work_on(slots);
        let precedence = Precedence::after(options.precedence_after);
        let precedence = precedence.as_ref();
        let ids = match options.global_ids {
            true => Some(CommitIds::counter()),
            false => (options.commit_ids || log.is_some()).then(CommitIds::new),
        };
        let ids = ids.as_ref();
        let setting = Setting {
            tables,
            instances,
            epochs,
            caches,
            architecture,
            until,
            options,
            ids,
            precedence,
            log,
            part,
        };
        let mut reports = S::run(setting, clients);
        unobserved(|| store.unlink_tombs());
        reports.log_failure = store.finish_log().and_then(Log::failure);
        (store, reports, client_slots)
    }
}

/// Makes what lends slots of a system.
pub(crate) struct MakeLender<'a> {
    pub slots: usize,
    pub options: &'a EngineOptions,
}

impl Dispatch for MakeLender<'_> {
    type Output = Option<Box<dyn Lender>>;

    fn run<S: System>(self) -> Self::Output {
        S::lender(self.slots, self.options)
    }
}
