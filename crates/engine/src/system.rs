//! A system, an architecture with a protocol, set up over a store for one drive.

use crate::architecture::{self, BackOff, SharedState};
use crate::epoch::Epochs;
use crate::facade::worker;
use crate::physical::Concurrent;
use crate::protocol::{Protocol, SlotId};
use crate::session::{Report, Session};
use crate::storage::store::Supply;
use crate::storage::{Store, Table};
use crate::transaction::Txn;
use contract::{Client, EngineOptions, Remains, Selection, Until};
use std::marker::PhantomData;

/// What the matrix calls with the system selected.
pub(crate) trait Drives {
    /// What comes of it.
    type Output;

    /// Goes on with system `S`.
    fn drive<S: System>(self) -> Self::Output;
}

/// An architecture with a protocol.
pub(crate) trait System {
    /// Its records' metadata is held by nobody; answers how many records and buckets are held.
    fn held(tables: &[Table]) -> u64;

    /// Runs one client per worker.
    fn run<C: Client>(
        tables: &[Table],
        supplies: Vec<Supply>,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Vec<(Report<C>, Supply)>;
}

/// Shared-everything with protocol `P`, metadata of flavour `F`.
pub(crate) struct SharedEverything<P, F>(PhantomData<(P, F)>);

impl<P: Protocol, F: Concurrent> System for SharedEverything<P, F>
where
    P::Common<F>: Sync,
{
    fn held(tables: &[Table]) -> u64 {
        let mut held = 0;
        for partition in tables.iter().flat_map(Table::partitions) {
            let index = &partition.index;
            index.for_each_record(|record| held += u64::from(!P::is_quiet::<F>(record.meta())));
            index.for_each_bucket(0..index.buckets(), |bucket| {
                // A bucket's version (optimistic protocols) is not a hold.
                held += u64::from(!P::is_quiet::<F>(bucket.meta()));
            });
        }
        held
    }

    fn run<C: Client>(
        tables: &[Table],
        supplies: Vec<Supply>,
        clients: Vec<C>,
        until: Until,
        options: &EngineOptions,
    ) -> Vec<(Report<C>, Supply)> {
        let workers = clients.len();
        let epochs = Epochs::new(workers);
        let state = SharedState::<P, F>::new(workers);
        let seats = clients.into_iter().zip(supplies).collect();
        let advance = || epochs.advance();
        worker::run_each_with_service(seats, options.epoch_interval, advance, |number, (client, supply)| {
            let slot = SlotId(number as u32);
            let back_off = BackOff::new(options, slot.0);
            let architecture = architecture::SharedEverything::new(tables, &state, back_off);
            let txn = Txn::new(architecture, tables, &epochs, slot, supply);
            Session::new(txn, client, &epochs, options).run(until)
        })
    }
}

/// Counts what a quiet store holds, as the system that ran last sees it.
pub(crate) struct CountRemains<'a>(pub &'a Store);

impl Drives for CountRemains<'_> {
    type Output = Remains;

    fn drive<S: System>(self) -> Remains {
        let store = self.0;
        let mut linked_records = 0;
        for partition in store.tables.iter().flat_map(Table::partitions) {
            partition.index.for_each_record(|_| linked_records += 1);
        }
        Remains {
            linked_records,
            allocated_records: store.allocated_records(),
            held: S::held(&store.tables),
            memory_bytes: store.memory_bytes(),
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
}

impl<C: Client> Drives for Run<'_, C> {
    type Output = Vec<Report<C>>;

    fn drive<S: System>(self) -> Vec<Report<C>> {
        let Run { store, clients, until, options, selection } = self;
        store.prepare(selection);
        let supplies = store.hand_out(clients.len());
        let (reports, supplies): (Vec<_>, Vec<_>) =
            S::run(&store.tables, supplies, clients, until, options).into_iter().unzip();
        store.take_back(supplies);
        reports
    }
}
