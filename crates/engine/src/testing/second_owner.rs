//! A promise broken on purpose: two workers make steps at one partition, the metadata of which one thread owns.
//!
//! Each takes the partition's latch before, as partitioned serial execution does, but a latch of its own.

use crate::architecture::{Architecture, PartitionLatches, PartitionedSerial, SharedState};
use crate::facade::{cpu, worker};
use crate::physical::Owned;
use crate::protocol::{SlotId, Unprotected};
use contract::{EngineOptions, PartitionId, PartitionLatchName};

/// Lets two workers make `steps` steps each. If a step of one falls into one of the other's, that must be noticed.
pub fn run(steps: usize) {
    let state = SharedState::<Unprotected, Owned>::new(2, 1, &EngineOptions::default());
    worker::run(2, |me| {
        let latches = PartitionLatches::new(1, 2, PartitionLatchName::Ticket);
        let mut owner = PartitionedSerial::new(SlotId(me as u32), &[], &state, &latches);
        owner.begin_reconnaissance();
        for _ in 0..steps {
            owner.enter(PartitionId(0)).expect("a look enters what it likes");
            owner.at(PartitionId(0), |_| cpu::pause());
            owner.release_all();
        }
    });
}
