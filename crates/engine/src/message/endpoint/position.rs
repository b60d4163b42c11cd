//! Where a worker is in its deployment, and which slots of its counterparts are for its own.
//!
//! A worker's first slots are those of its client's transactions; behind them are those of branches, by the coordinators' instances, then by
//! their slots.

/// Where a worker is in its deployment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    /// How many instances there are.
    pub instances: usize,
    /// Workers of each.
    pub workers: usize,
    /// Transactions that a worker has in flight.
    pub in_flight: usize,
    /// The instance.
    pub instance: usize,
    /// The worker, among those of its instance.
    pub rank: usize,
}

impl Position {
    /// Transaction slots of a worker, those of branches among them.
    pub fn slots(self) -> usize {
        self.instances * self.in_flight
    }

    /// The stream from this worker to its counterpart at another instance.
    pub fn stream_to(self, instance: usize) -> usize {
        (self.instance * self.workers + self.rank) * self.instances + instance
    }

    /// Its counterpart at another instance.
    pub fn counterpart(self, instance: usize) -> Position {
        Position { instance, ..self }
    }

    /// Which of this worker's slots runs the branches of slot `number` of a counterpart.
    pub(super) fn branch_slot(self, coordinator: usize, number: usize) -> usize {
        let others = coordinator - usize::from(coordinator > self.instance);
        self.in_flight * (1 + others) + number
    }

    /// Whose branches one of this worker's slots runs: the instance, and the slot's number.
    pub(super) fn coordinator_of(self, slot: usize) -> (usize, usize) {
        let others = slot / self.in_flight - 1;
        (others + usize::from(others >= self.instance), slot % self.in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITION: Position = Position { instances: 4, workers: 2, in_flight: 3, instance: 0, rank: 1 };

    #[test]
    fn every_slot_has_one_for_its_branches_at_every_other_instance() {
        for instance in 0..POSITION.instances {
            let here = Position { instance, ..POSITION };
            let mut taken = vec![false; here.slots()];
            for coordinator in (0..POSITION.instances).filter(|other| *other != instance) {
                for number in 0..POSITION.in_flight {
                    let slot = here.branch_slot(coordinator, number);
                    assert!(slot >= POSITION.in_flight && !std::mem::replace(&mut taken[slot], true));
                    assert_eq!(here.coordinator_of(slot), (coordinator, number));
                }
            }
            assert_eq!(taken.iter().filter(|taken| !**taken).count(), POSITION.in_flight);
        }
    }
}
