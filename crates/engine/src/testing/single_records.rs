//! KEY_VALUE with a step left out.
//!
//! The checker judges transactions, and a store without them has none: so these are no canaries of the matrix. The test that counts what
//! every operation has seen and done must find them (`engine-simulated/tests/key_value.rs`), and so must the sequential machine
//! (`sequential_single`).

use crate::architecture::Architecture;
use crate::physical::{Physical, Shared, Word};
use crate::protocol::{KeyValue, Latching, Protocol, Touched};
use crate::record::header::Narrow;
use crate::storage::Store;
use crate::system::{Dispatch, Run, SharedEverything};
use crate::transaction::access::Single;
use contract::{ArchitectureName, Client, EngineOptions, PairName, ProtocolName, Selection, Until};
use std::marker::PhantomData;

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// A write does not latch its record: one that another has read meanwhile is lost.
    NoLatch,
    /// A read does not look again once it has copied: a row that was being written is torn.
    OneLook,
}

/// Runs a mutant; answers the clients.
pub fn run<C: Client>(
    mutant: Mutant,
    store: &mut Store,
    clients: Vec<C>,
    until: Until,
    options: &EngineOptions,
) -> Vec<C> {
    let pair =
        PairName { architecture: ArchitectureName::SharedEverything, protocol: ProtocolName::KeyValue };
    let run = Run { store, clients, until, options, selection: Selection::Pair(pair), part: None };
    let (_, reports, _) = match mutant {
        Mutant::NoLatch => run.run::<SharedEverything<Mutated<NoLatch>, Shared>>(),
        Mutant::OneLook => run.run::<SharedEverything<Mutated<OneLook>, Shared>>(),
    };
    reports.hosts.into_iter().map(|report| report.client).collect()
}

/// The steps that a mutant may leave out; those that it does not name are the real protocol's.
pub(super) trait Omission: 'static {
    fn latch<P: Physical>(meta: &P::SingleWriter) -> bool {
        KeyValue::latch::<P>(meta)
    }

    fn is_still<P: Physical>(meta: &P::SingleWriter, version: u64) -> bool {
        KeyValue::is_still::<P>(meta, version)
    }
}

pub(super) struct NoLatch;

impl Omission for NoLatch {
    fn latch<P: Physical>(meta: &P::SingleWriter) -> bool {
        // It waits for nobody, for there is nobody to wait for.
        meta.read();
        true
    }
}

pub(super) struct OneLook;

impl Omission for OneLook {
    fn is_still<P: Physical>(_: &P::SingleWriter, _: u64) -> bool {
        true
    }
}

/// KEY_VALUE less `O`.
pub(super) struct Mutated<O>(PhantomData<O>);

impl<O: Omission> Protocol for Mutated<O> {
    type Meta<P: Physical> = P::SingleWriter;
    type Header = Narrow;
    type Gap<P: Physical> = P::SingleWriter;
    type Common<P: Physical> = ();
    type Slot = Touched;
    type Access<A: Architecture<Protocol = Self>> = Single;

    fn common<P: Physical>(_: usize, _: usize, _: &EngineOptions) {}

    fn is_quiescent<P: Physical>(meta: &P::SingleWriter) -> bool {
        KeyValue::is_quiescent::<P>(meta)
    }

    fn is_gap_quiescent<P: Physical>(gap: &P::SingleWriter) -> bool {
        KeyValue::is_gap_quiescent::<P>(gap)
    }
}

// SAFETY: the metadata is the real protocol's, which any thread may look at.
unsafe impl<O: Omission> Latching for Mutated<O> {
    fn touch(slot: &mut Touched) {
        KeyValue::touch(slot);
    }

    fn observe<P: Physical>(meta: &P::SingleWriter) -> Option<u64> {
        KeyValue::observe::<P>(meta)
    }

    fn is_still<P: Physical>(meta: &P::SingleWriter, version: u64) -> bool {
        O::is_still::<P>(meta, version)
    }

    fn latch<P: Physical>(meta: &P::SingleWriter) -> bool {
        O::latch::<P>(meta)
    }

    fn unlatch<P: Physical>(meta: &P::SingleWriter) {
        KeyValue::unlatch::<P>(meta);
    }

    fn publish<P: Physical>(meta: &P::SingleWriter) {
        KeyValue::publish::<P>(meta);
    }
}
