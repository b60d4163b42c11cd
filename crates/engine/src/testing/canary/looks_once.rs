//! Who waits takes the digests of those that it waits for when it begins to wait, and does not look again: what they find out later it never
//! learns. Of two that wait for each other the second finds it; three do not. No history shows it, for the run does not end, which the
//! watchdog tells.

use crate::protocol::waits_for::WaitsFor;
use crate::protocol::{Detection, Digests, SlotId};

pub(crate) struct LooksOnce;

impl Detection for LooksOnce {
    type Kept = Digests;

    const LOOKS_WHILE_WAITING: bool = true;

    fn keep(slots: usize) -> Digests {
        Digests::new(slots)
    }

    fn queued(_: &WaitsFor, _: &Digests, _: SlotId) -> bool {
        false
    }

    fn look(graph: &WaitsFor, digests: &Digests, slot: SlotId) -> bool {
        !digests.has_looked(slot) && digests.look(graph, slot) && graph.has_cycle(slot.0)
    }

    fn has_waited(digests: &Digests, slot: SlotId) {
        digests.clear(slot);
    }
}
