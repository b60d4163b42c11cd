//! DL_DETECT: two-phase locking that waits, and aborts a request whose waiting would close a cycle of the waits-for
//! graph (*trireme* 3.1, 3.2).
//!
//! Queues, edges and victims are those of [`detecting`](super::detecting). A request that must wait publishes its edges, then searches the
//! graph for itself ([`waits_for`]), once; it does not look again while it waits.
//!
//! *No deadlock is overlooked*: every edge of a cycle was published by the transaction that it leaves from, before that one's search, and
//! [`waits_for`] shows that one of the searches sees them all.

pub(crate) mod waits_for;

use super::SlotId;
use super::detecting::{Detecting, Detection};
use waits_for::WaitsFor;

/// DL_DETECT.
pub(crate) type DlDetect = Detecting<Searching>;

/// Who is about to wait searches the graph.
pub(crate) struct Searching;

impl Detection for Searching {
    type Kept = ();

    const LOOKS_WHILE_WAITING: bool = false;

    fn keep(_: usize) {}

    fn queued(graph: &WaitsFor, (): &(), slot: SlotId) -> bool {
        graph.order();
        graph.has_cycle(slot.0)
    }

    fn look(_: &WaitsFor, (): &(), _: SlotId) -> bool {
        unreachable!("it has searched before it waited")
    }

    fn has_waited((): &(), _: SlotId) {}
}
