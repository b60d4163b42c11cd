//! A store: a workload's tables, loaded, with each worker's supply of records.
//!
//! A store outlives the systems that run over it. The record layout is the same for every protocol and all-zero
//! metadata means present and free under each, so changing the protocol costs one pass over the metadata.

use super::fill::fill;
use super::record::RecordRef;
use super::supply::{PartitionSupply, Supply};
use super::table::{Partition, Table};
use crate::facade::region::RegionError;
use crate::facade::{memory, unobserved, worker};
use contract::{LatchName, Layout, LoadError, Selection, TableDescription, TableId, Workload};

/// A loaded database.
pub struct Store {
    pub(crate) tables: Vec<Table>,
    /// By worker of the last runs.
    pub(crate) supplies: Vec<Supply>,
    /// Who left the metadata as it is.
    pub(crate) last: Option<(Selection, LatchName)>,
}

impl Store {
    /// Reserves the workload's tables and fills them with as many threads as there are cores. No machine charges for it.
    pub(crate) fn load<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, LoadError> {
        unobserved(|| Self::load_tables(workload, layout, progress))
    }

    fn load_tables<W: Workload>(
        workload: &W,
        layout: Layout,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, LoadError> {
        let descriptions = workload.tables();
        let needed_bytes = descriptions.iter().map(|table| Table::bytes_for(table, layout.partitions)).sum();
        let available_bytes = memory::available_bytes();
        if needed_bytes > available_bytes {
            return Err(LoadError::Memory { needed_bytes, available_bytes });
        }
        let regions = descriptions.len() * layout.partitions as usize * Table::REGIONS;
        let mut most = memory::address_space_among(regions);
        let tables: Vec<_> = loop {
            let reserve = |table: &TableDescription| Table::reserve(table.clone(), layout.partitions, most);
            match descriptions.iter().map(reserve).collect::<Result<_, RegionError>>() {
                Ok(tables) => break tables,
                // A system that does not give address space for nothing: less will do.
                Err(_) if most > 0 => most /= 2,
                Err(error) => {
                    return Err(LoadError::Refused { bytes: needed_bytes, why: error.to_string() });
                }
            }
        };
        let (tables, first): (Vec<Table>, Supply) = tables.into_iter().unzip();
        let mut store = Store { supplies: Vec::new(), last: None, tables };
        store
            .supplies
            .resize_with(worker::cores(), || store.tables.iter().map(Table::empty_supply).collect());
        for (number, table) in store.tables.iter().enumerate() {
            let id = TableId(u16::try_from(number).expect("fewer than 65,536 tables"));
            let leftovers = fill(workload, id, table, progress);
            for (supply, leftovers) in store.supplies.iter_mut().zip(leftovers) {
                supply[number] = leftovers;
            }
        }
        store.supplies.push(first);
        store.reclaim_all();
        Ok(store)
    }

    /// Makes the metadata what `selection` with `latch` expects to start from, and faults in what the run is expected to insert.
    pub(crate) fn prepare(&mut self, selection: Selection, latch: LatchName) {
        // Also for the same system again: a run's epochs start anew, and versions must not come from later ones.
        if self.last.is_some() {
            unobserved(|| self.tables.iter().flat_map(Table::partitions).for_each(reset));
        }
        self.last = Some((selection, latch));
        let mut left = memory::available_bytes() / 2;
        self.tables.iter_mut().for_each(|table| table.get_ready(&mut left));
    }

    /// Takes one supply for each of `workers` workers; those of earlier runs first.
    pub(crate) fn hand_out(&mut self, workers: usize) -> Vec<Supply> {
        let missing = workers.saturating_sub(self.supplies.len());
        let fresh = || self.tables.iter().map(Table::empty_supply).collect();
        let fresh: Vec<Supply> = std::iter::repeat_with(fresh).take(missing).collect();
        self.supplies.extend(fresh);
        self.supplies.drain(..workers).collect()
    }

    /// Takes supplies back from a run that has ended: nobody holds a pointer into their garbage.
    pub(crate) fn take_back(&mut self, supplies: impl IntoIterator<Item = Supply>) {
        self.supplies.extend(supplies);
        self.reclaim_all();
    }

    fn reclaim_all(&mut self) {
        self.supplies.iter_mut().flatten().flatten().for_each(PartitionSupply::reclaim_all);
    }

    /// Bytes of memory taken, indexes included.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let partitions = self.tables.iter().flat_map(Table::partitions);
        partitions.map(|partition| partition.index.bytes_taken() + partition.arena.bytes_taken()).sum()
    }

    /// Records taken from the arenas and not given back.
    pub(crate) fn allocated_records(&self) -> u64 {
        let taken: u64 = self.tables.iter().flat_map(Table::partitions).map(|p| p.arena.taken()).sum();
        let supplies = self.supplies.iter().flatten().flatten();
        let unused: u64 = supplies.map(|supply| supply.records.unused()).sum();
        taken - unused
    }
}

/// Forgets what the last protocol left in the metadata of a partition.
fn reset(partition: &Partition) {
    let (arena, index) = (&partition.arena, &partition.index);
    let threads = worker::cores() as u64;
    worker::run(threads as usize, |thread| {
        let share = |whole: u64| {
            let thread = thread as u64;
            whole * thread / threads..whole * (thread + 1) / threads
        };
        arena.for_each(share(arena.taken()), RecordRef::reset);
        index.reset(share);
    });
}
