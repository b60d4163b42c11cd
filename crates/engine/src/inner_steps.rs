//! The inner steps of a transaction one by one, for the benches: nothing here is part of the engine's interface.

use crate::architecture::{self, BackOff, SharedState};
use crate::epoch::Epochs;
use crate::facade::cell::Cell;
use crate::index::hash::Hash;
use crate::physical::Shared;
use crate::protocol::{
    DlDetect, Mode, NoWait, Protocol, Requester, Silo, SlotId, TwoVersionNoWait, Wake, Waker,
};
use crate::storage::Store;
use crate::transaction::Txn;
use contract::{EngineOptions, Key, Plan, Procedure, ProtocolName, TableId};

/// Wakes nobody: there is one transaction.
struct Alone;

impl Waker for Alone {
    fn wake(&self, slot: SlotId, _: Wake) {
        unreachable!("slot {} waits, though there is one transaction", slot.0)
    }
}

/// Whether the index finds `key`.
pub fn probe(store: &Store, table: TableId, key: Key) -> bool {
    let table = &store.tables[table.index()];
    let (partition, hash) = table.locate(key);
    table.partition(partition).index.find(hash, key).is_some()
}

/// Whether the index finds each of `keys`, their lines asked for ahead.
pub fn probe_ahead(store: &Store, table: TableId, keys: &[Key]) -> usize {
    let table = &store.tables[table.index()];
    for &key in keys {
        table.partition(table.partition_of(key)).index.prefetch(Hash::of(key));
    }
    keys.iter()
        .filter(|&&key| table.partition(table.partition_of(key)).index.find(Hash::of(key), key).is_some())
        .count()
}

/// Locks and unlocks one record with nobody else around; `repeat` times.
pub fn lock_and_unlock(protocol: ProtocolName, exclusive: bool, repeat: u64) {
    match protocol {
        ProtocolName::NoWait => lock_loop::<NoWait>(exclusive, repeat),
        ProtocolName::TwoVersionNoWait => lock_loop::<TwoVersionNoWait>(exclusive, repeat),
        ProtocolName::DlDetect => lock_loop::<DlDetect>(exclusive, repeat),
        ProtocolName::Silo => prepare_loop(repeat),
        ProtocolName::Unprotected => {}
    }
}

/// A record's metadata, outside of a record.
fn with_meta<P: Protocol>(run: impl FnOnce(&P::Meta<Shared>)) {
    const { assert!(size_of::<P::Meta<Shared>>() == 8) };
    let word = Cell::new(0u64);
    // SAFETY: eight zeroed, 8-aligned bytes with interior mutability are valid metadata of every protocol.
    run(unsafe { &*(&raw const word).cast() });
}

fn lock_loop<P: Protocol>(exclusive: bool, repeat: u64) {
    let common = P::common::<Shared>(1, 1);
    let who = Requester { slot: SlotId(0), lane: 0, access: 0 };
    let mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
    with_meta::<P>(|meta| {
        for _ in 0..repeat {
            let _ = std::hint::black_box(P::acquire::<Shared>(&common, meta, mode, who, &Alone));
            P::release::<Shared>(&common, meta, mode, who, &Alone);
        }
    });
}

fn prepare_loop(repeat: u64) {
    with_meta::<Silo>(|meta| {
        for _ in 0..repeat {
            let _ = std::hint::black_box(Silo::prepare::<Shared>(meta, false));
            Silo::unprepare::<Shared>(meta, false);
        }
    });
}

/// Runs `procedure` to its commit, `repeat` times, with nobody else around.
pub fn commit(store: &mut Store, protocol: ProtocolName, procedure: &impl Procedure, repeat: u64) {
    match protocol {
        ProtocolName::NoWait => commit_loop::<NoWait>(store, procedure, repeat),
        ProtocolName::TwoVersionNoWait => commit_loop::<TwoVersionNoWait>(store, procedure, repeat),
        ProtocolName::DlDetect => commit_loop::<DlDetect>(store, procedure, repeat),
        ProtocolName::Silo => commit_loop::<Silo>(store, procedure, repeat),
        ProtocolName::Unprotected => {}
    }
}

fn commit_loop<P: Protocol>(store: &mut Store, procedure: &impl Procedure, repeat: u64) {
    let supply = store.hand_out(1).pop().expect("one was asked for");
    let (epochs, state) = (Epochs::new(1), SharedState::<P, Shared>::new(1, 1));
    let back_off = BackOff::new(&EngineOptions::default(), 0);
    let architecture = architecture::SharedEverything::new(&store.tables, &state, back_off);
    let mut txn = Txn::new(architecture, &store.tables, &epochs, SlotId(0), supply);
    let plan = Plan::default();
    for _ in 0..repeat {
        txn.begin(&plan);
        procedure.run(&mut txn).expect("nobody else is around");
        txn.commit().expect("nobody else is around");
    }
    let supply = txn.leave();
    store.take_back([supply]);
}
