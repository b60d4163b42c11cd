//! Partitioned serial execution: a transaction latches every partition that it declared, runs alone in them, and
//! unlatches them (*trireme* 2.2, 3.3).
//!
//! There is no protocol inside, and nobody aborts but by the workload's own will. Partitions are declared by the
//! procedure's plan and latched in ascending order, so nobody waits in a circle. A transaction that touches a partition
//! which it did not declare is aborted with [`AbortReason::Undeclared`], undone, and planned again.
//!
//! While each worker has a core, partitions are latched first come, first served, as if each had a queue of its transactions.
//! With a latch that lets in the quickest, the worker that has just unlatched takes it again, and some transactions wait for
//! milliseconds for one partition while they hold others. With more workers than cores it is that latch nevertheless: the next
//! in line may not be running ([`contract::PartitionLatchName::for_workers`]).
//!
//! Or partitions go to the oldest transaction that waits for them, by its timestamp ([`super::partition_queue`]), which every attempt
//! draws: that is the H-STORE of *thousand-cores* 2.2. They are asked for in the same order, so that nobody waits in a circle.
//!
//! A look, the transaction of its own in which a procedure plans, cannot declare. It holds the latch of one partition at
//! a time, the one that it reads: what it sees in different partitions may be of different moments, as a plan may be
//! out of date anyway.

use super::partition_queue::PartitionQueues;
use super::{Architecture, Beginning, SharedState, Site, SiteOf, Waited};
use crate::epoch::Line;
use crate::facade::clock::Ticks;
use crate::facade::cpu;
use crate::message::Grants;
use crate::physical::Owned;
use crate::physical::latch::{ChosenLatch, MetadataLatch};
use crate::protocol::{SlotId, Unprotected};
use crate::storage::Table;
use crate::timestamp::Timestamp;
use contract::{AbortReason, LatchName, PartitionId, PartitionLatchName, Plan};

/// What lets transactions into partitions, one at a time in each.
pub(crate) enum PartitionLatches {
    /// A latch for every partition, all of a kind.
    Latches(LatchName, Box<[Line<ChosenLatch>]>),
    /// The oldest transaction first.
    Queues(PartitionQueues),
}

impl PartitionLatches {
    /// For `partitions` partitions and `workers` workers.
    pub fn new(partitions: usize, workers: usize, kind: PartitionLatchName) -> Self {
        let kind = match kind {
            PartitionLatchName::TestAndSet => LatchName::TestAndSet,
            PartitionLatchName::TestAndTestAndSet => LatchName::TestAndTestAndSet,
            PartitionLatchName::Ticket => LatchName::Ticket,
            PartitionLatchName::Timestamp => {
                return PartitionLatches::Queues(PartitionQueues::new(partitions, workers));
            }
        };
        PartitionLatches::Latches(kind, (0..partitions).map(|_| Line(ChosenLatch::default())).collect())
    }

    fn partitions(&self) -> usize {
        match self {
            PartitionLatches::Latches(_, latches) => latches.len(),
            PartitionLatches::Queues(queues) => queues.partitions(),
        }
    }

    /// Latches a partition for a worker, whose transaction has this timestamp.
    #[inline(always)]
    fn latch(&self, partition: PartitionId, worker: SlotId, Timestamp(timestamp): Timestamp) {
        match self {
            PartitionLatches::Latches(kind, latches) => latches[partition.index()].0.lock(*kind),
            PartitionLatches::Queues(queues) => {
                queues.enter(partition.index(), worker.0 as usize, timestamp);
            }
        }
    }

    #[inline(always)]
    fn unlatch(&self, partition: PartitionId) {
        match self {
            PartitionLatches::Latches(kind, latches) => latches[partition.index()].0.unlock(*kind),
            PartitionLatches::Queues(queues) => queues.leave(partition.index()),
        }
    }
}

/// One worker of partitioned serial execution.
pub(crate) struct PartitionedSerial<'e> {
    site: Site<'e, Unprotected, Owned, Grants>,
    latches: &'e PartitionLatches,
    me: SlotId,
    /// The partitions that the transaction has declared, ascending.
    declared: Vec<PartitionId>,
    /// Those that are latched. While a transaction begins, the first of the declared ones.
    held: Vec<PartitionId>,
    reconnaissance: bool,
    spin: cpu::Spin,
}

impl<'e> PartitionedSerial<'e> {
    /// Worker `me` over these tables.
    pub fn new(
        me: SlotId,
        tables: &'e [Table],
        state: &'e SharedState<Unprotected, Owned>,
        latches: &'e PartitionLatches,
    ) -> Self {
        let [declared, held] = [(); 2].map(|()| Vec::with_capacity(latches.partitions()));
        // SAFETY: the run has this one state, and a transaction has its partitions to itself.
        let site = unsafe { state.site(tables) };
        let spin = cpu::Spin::new();
        PartitionedSerial { site, latches, me, declared, held, reconnaissance: false, spin }
    }

    fn unlatch_all(&mut self) {
        for partition in self.held.drain(..).rev() {
            self.latches.unlatch(partition);
        }
    }
}

/// A transaction that panicked lets the others go on.
impl Drop for PartitionedSerial<'_> {
    fn drop(&mut self) {
        self.unlatch_all();
    }
}

impl Architecture for PartitionedSerial<'_> {
    type Protocol = Unprotected;
    type Physical = Owned;
    type Waker = Grants;

    const DECLARES: bool = true;

    #[inline(always)]
    fn wants_timestamp(&self) -> bool {
        matches!(self.latches, PartitionLatches::Queues(_))
    }

    #[inline]
    fn begin(&mut self, plan: &Plan, timestamp: Timestamp, mut tell: impl FnMut(Beginning)) {
        assert!(self.held.is_empty(), "the last attempt has released all");
        self.declared.clear();
        let mut last = None;
        for planned in plan.keys() {
            // Most keys are in the partition of the key before.
            if last.replace(planned.partition) == Some(planned.partition) {
                continue;
            }
            if let Err(place) = self.declared.binary_search(&planned.partition) {
                self.declared.insert(place, planned.partition);
            }
        }
        // One by one: a worker that panics here, or is unwound while it waits, releases what it has and no more.
        for &partition in &self.declared {
            self.latches.latch(partition, self.me, timestamp);
            self.held.push(partition);
            tell(Beginning::Got);
        }
        self.reconnaissance = false;
    }

    fn begin_reconnaissance(&mut self) {
        self.reconnaissance = true;
    }

    #[inline(always)]
    fn enter(&mut self, partition: PartitionId) -> Result<(), AbortReason> {
        if self.held.contains(&partition) {
            return Ok(());
        }
        if !self.reconnaissance {
            return Err(AbortReason::Undeclared);
        }
        self.unlatch_all();
        // Before all others: it has no timestamp, and is soon over.
        self.latches.latch(partition, self.me, Timestamp::default());
        self.held.push(partition);
        Ok(())
    }

    #[inline]
    fn release_all(&mut self) {
        self.unlatch_all();
    }

    #[inline(always)]
    fn site(&self) -> &SiteOf<'_, Self> {
        &self.site
    }

    fn wait(&mut self, _: SlotId, _: Option<Ticks>) -> Waited {
        unreachable!("nobody queues where there is no protocol")
    }

    /// Only a transaction whose plan was out of date retries, and nobody is in its way.
    fn back_off(&mut self, _: u32) {}

    /// No record says "ask again" where there is no protocol; who defers to another transaction waits so, too.
    fn pause(&mut self, asked: u32) {
        if asked == 0 {
            self.spin = cpu::Spin::new();
        }
        self.spin.pause();
    }
}
