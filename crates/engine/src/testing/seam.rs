//! The seam of commit: a transaction stands prepared while another one wants what it has read and written.

use crate::architecture::{self, Architecture, BackOff, SharedState};
use crate::facade::atomic::{AtomicU32, Ordering};
use crate::facade::clock;
use crate::facade::cpu::Spin;
use crate::facade::worker::{self, Service};
use crate::physical::Shared;
use crate::protocol::{
    Attempt, BasicTimestamp, Cicada, DeadlockFree, DlDetect, Dreadlocks, Hekaton, Mocc, Mvcc, NoWait, Occ,
    Protocol, Silo, SlotId, TicToc, TwoVersionNoWait, Vll, WaitDie,
};
use crate::storage::Store;
use crate::transaction::{Decision, Txn};
use contract::{
    ArchitectureName, EngineOptions, Outcome, PairName, Plan, Procedure, ProtocolName, Selection,
};
use std::time::Duration;

/// Whether the second transaction committed while the first stood prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// It did.
    While,
    /// Only once the first was decided.
    After,
}

/// Prepares `first`; lets a second worker run `second` until it commits; decides `first` after `standing`, to commit or to abort.
/// Under shared-everything.
pub fn stand_prepared<P: Procedure + Sync>(
    store: &mut Store,
    protocol: ProtocolName,
    [first, second]: [&P; 2],
    commits: bool,
    standing: Duration,
) -> Passed {
    let pair = PairName { architecture: ArchitectureName::SharedEverything, protocol };
    store.prepare(Selection::Pair(pair));
    match protocol {
        ProtocolName::NoWait => stand::<NoWait, P>(store, [first, second], commits, standing),
        ProtocolName::TwoVersionNoWait => {
            stand::<TwoVersionNoWait, P>(store, [first, second], commits, standing)
        }
        ProtocolName::DlDetect => stand::<DlDetect, P>(store, [first, second], commits, standing),
        ProtocolName::Dreadlocks => stand::<Dreadlocks, P>(store, [first, second], commits, standing),
        ProtocolName::WaitDie => stand::<WaitDie, P>(store, [first, second], commits, standing),
        ProtocolName::Vll => stand::<Vll, P>(store, [first, second], commits, standing),
        ProtocolName::DeadlockFree => stand::<DeadlockFree, P>(store, [first, second], commits, standing),
        ProtocolName::Timestamp => stand::<BasicTimestamp, P>(store, [first, second], commits, standing),
        ProtocolName::Mvcc => stand::<Mvcc, P>(store, [first, second], commits, standing),
        ProtocolName::Cicada => stand::<Cicada, P>(store, [first, second], commits, standing),
        ProtocolName::Occ => stand::<Occ, P>(store, [first, second], commits, standing),
        ProtocolName::TicToc => stand::<TicToc, P>(store, [first, second], commits, standing),
        ProtocolName::Mocc => stand::<Mocc, P>(store, [first, second], commits, standing),
        ProtocolName::Hekaton => stand::<Hekaton, P>(store, [first, second], commits, standing),
        ProtocolName::Silo => stand::<Silo, P>(store, [first, second], commits, standing),
        ProtocolName::KeyValue | ProtocolName::Unprotected => {
            unreachable!("where there is no protocol, nobody is excluded")
        }
    }
}

fn stand<P: Protocol, T: Procedure + Sync>(
    store: &mut Store,
    [first, second]: [&T; 2],
    commits: bool,
    standing: Duration,
) -> Passed
where
    P::Common<Shared>: Sync,
{
    let options = EngineOptions::default();
    let (tables, epochs, caches, _) = store.work_on(2);
    let state = SharedState::<P, Shared>::new(2, 1, &options);
    let (is_prepared, has_passed) = (AtomicU32::new(0), AtomicU32::new(0));
    let advance = || epochs.advance();
    let service = Service { name: "epochs", period: options.epoch_interval, bell: None, work: &advance };
    let seats = caches.iter_mut().collect();
    let ended = worker::run_each_with_services(seats, &[service], |me, allocations, _| {
        let back_off = BackOff::new(&options, me as u32);
        let architecture = architecture::SharedEverything::new(tables, &state, back_off);
        let mut txn = Txn::new(architecture, tables, epochs, SlotId(me as u32), allocations);
        let plan = Plan::default();
        if me == 0 {
            txn.begin(Attempt::First, &plan);
            assert_eq!(first.run(&mut txn), Ok(Outcome::Commit), "nobody is in the way");
            let prepared = txn.prepare().expect("nobody is in the way");
            // Release: pairs with the Acquire below.
            is_prepared.store(1, Ordering::Release);
            let until = clock::Ticks(clock::now().0 + clock::ticks_of(standing));
            let mut spin = Spin::new();
            while clock::now() < until {
                spin.pause_until(until);
            }
            // Relaxed: what was done before is not looked at.
            let passed = if has_passed.load(Ordering::Relaxed) != 0 { Passed::While } else { Passed::After };
            txn.decide(prepared, if commits { Decision::Commit } else { Decision::Abort });
            return Some(passed);
        }
        let mut spin = Spin::new();
        while is_prepared.load(Ordering::Acquire) == 0 {
            spin.pause();
        }
        for attempt in 1.. {
            txn.begin(if attempt == 1 { Attempt::First } else { Attempt::Retry }, &plan);
            match second.run(&mut txn) {
                Ok(_) if txn.commit().is_ok() => break,
                Ok(_) => {}
                Err(_) => txn.abort(),
            }
            txn.architecture.back_off(attempt);
        }
        // Relaxed: as above.
        has_passed.store(1, Ordering::Relaxed);
        None
    });
    store.unlink_tombs();
    ended[0].expect("the first worker looks")
}
