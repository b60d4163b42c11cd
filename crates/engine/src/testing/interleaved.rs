//! Shared-everything with several transactions in flight at each worker, each in a fiber: an architecture that is none of the
//! matrix, and shows that the loop over fibers is not DORA's own.
//!
//! Nobody migrates. A transaction that waits for a grant parks, one that was aborted sleeps, and the worker goes on with another.

use super::accounts::keeps_the_sum;
use crate::architecture::{Architecture, BackOff, InFibers, SharedState, Site, SiteOf, Waited, park};
use crate::durability::log::serving;
use crate::facade::clock::{self, Ticks};
use crate::facade::{cpu, worker};
use crate::fiber::{Current, Suspension, Workers};
use crate::message::Grants;
use crate::physical::Shared;
use crate::protocol::{DlDetect, Dreadlocks, NoWait, Protocol, Silo, SlotId};
use crate::record::header::RecordHeader;
use crate::session::{self, Among, CoolDown, InSlots, Whole, fibers};
use crate::storage::Table;
use crate::system::{Reports, Setting, SharedEverything, System};
use contract::{ArchitectureName, Client, EngineOptions, Header};
use std::marker::PhantomData;

/// What the workers share.
struct State<P: Protocol> {
    shared: SharedState<P, Shared>,
    workers: Workers,
}

/// A transaction slot.
struct Interleaved<'e, P: Protocol> {
    fiber: Current,
    site: Site<'e, P, Shared, Grants>,
    back_off: BackOff,
}

impl<'e, P: Protocol> InFibers<'e> for Interleaved<'e, P>
where
    P::Common<Shared>: Send + Sync,
{
    type State = State<P>;

    fn new(fiber: Current, _: SlotId, tables: &'e [Table], state: &'e State<P>, back_off: BackOff) -> Self {
        // SAFETY: the run has this one state, and metadata is of a policy that lets any thread touch it.
        let site = unsafe { state.shared.site(tables) };
        Interleaved { fiber, site, back_off }
    }

    fn workers(state: &State<P>) -> &Workers {
        &state.workers
    }

    fn grants(state: &State<P>) -> &Grants {
        &state.shared.grants
    }

    fn fiber(&mut self) -> &mut Current {
        &mut self.fiber
    }

    fn go_home(&mut self) {}
}

impl<'e, P: Protocol> InSlots<'e> for Interleaved<'e, P>
where
    P::Common<Shared>: Send + Sync,
{
    type Reach = Whole;

    fn reach(&self, _: &EngineOptions) -> Whole {
        Whole
    }
}

impl<P: Protocol> Architecture for Interleaved<'_, P> {
    type Protocol = P;
    type Physical = Shared;
    type Waker = Grants;

    fn site(&self) -> &SiteOf<'_, Self> {
        &self.site
    }

    fn wait(&mut self, slot: SlotId, until: Option<Ticks>) -> Waited {
        park(&mut self.fiber, slot, until, &self.site)
    }

    fn back_off(&mut self, attempt: u32) {
        let until = self.back_off.until(attempt);
        self.fiber.suspend(Suspension::Sleep(until));
    }

    fn pause(&mut self, _: u32) {
        self.fiber.suspend(Suspension::Sleep(clock::now()));
    }

    fn idle(&mut self, _: &mut cpu::Spin) {
        self.fiber.suspend(Suspension::NothingNow);
    }
}

/// The system.
struct InterleavedSystem<P>(PhantomData<P>);

impl<P: Protocol> System for InterleavedSystem<P>
where
    P::Common<Shared>: Send + Sync,
{
    const HEADER: Header = <P::Header as RecordHeader>::HEADER;

    fn held(tables: &[Table]) -> u64 {
        SharedEverything::<P, Shared>::held(tables)
    }

    fn slots(clients: usize, _: usize, options: &EngineOptions) -> usize {
        clients * options.in_flight.in_fibers()
    }

    fn run<C: Client>(setting: Setting<'_>, clients: Vec<C>) -> Reports<C> {
        let Setting { tables, epochs, caches, until, options, ids, precedence, log, .. } = setting;
        let (workers, slots) = (clients.len(), caches.len());
        let state =
            State::<P> { shared: SharedState::new(slots, 1, options), workers: Workers::new(workers) };
        let cool_down = CoolDown::new(workers);
        let among = Among { number: 0, hosts: workers };
        let run = session::Run { epochs, options, until, cool_down: &cool_down, ids, precedence, log, among };
        let world = fibers::World::<Interleaved<'_, P>> { tables, state: &state, run };
        let seats = clients.into_iter().zip(caches.chunks_mut(slots / workers)).collect();
        let worker = |me, (client, caches), start| fibers::run(me, client, caches, start, &world);
        let hosts = serving(epochs, log, options.epoch_interval, |services| {
            worker::run_each_with_services(seats, services, worker)
        });
        Reports { hosts, servers: Vec::new(), log_failure: None, lost: None }
    }
}

#[test]
fn the_loop_over_fibers_is_any_architectures() {
    let architecture = ArchitectureName::SharedEverything;
    keeps_the_sum::<InterleavedSystem<NoWait>>(architecture, 1);
    keeps_the_sum::<InterleavedSystem<DlDetect>>(architecture, 1);
    keeps_the_sum::<InterleavedSystem<Dreadlocks>>(architecture, 1);
    keeps_the_sum::<InterleavedSystem<Silo>>(architecture, 1);
}
