//! Variants of Trireme that are said to be one program in a workload are: it has no table that may be hashed, or tells no keys ahead.

use clap::ValueEnum;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use versus::contender::{Setting, StoreName, WorkloadName, enter_store, shown};
use versus::measure::Plan;
use versus::store::trireme::Trireme;
use versus::store::{
    Access, Class, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store,
    Table, Writing,
};

/// Tables that were made to be used by key only, and times that keys were told ahead, of the workload at hand.
static BY_KEY: AtomicU64 = AtomicU64::new(0);
static TOLD: AtomicU64 = AtomicU64::new(0);

/// A store, or its session, that notes what it is asked for.
#[derive(Clone)]
struct Noting<S>(S);

impl<S: Store> Store for Noting<S> {
    type Session = Noting<S::Session>;

    const HAS_TICKETS: bool = S::HAS_TICKETS;
    const SETTINGS: Settings = S::SETTINGS;

    fn open(opening: &Opening) -> Result<Self, Failed> {
        S::open(opening).map(Noting)
    }

    fn create<R: Row>(&mut self, table: Table<R>, access: Access, rows: u64) -> Result<(), Failed> {
        BY_KEY.fetch_add(u64::from(access == Access::ByKey), Ordering::Relaxed);
        self.0.create(table, access, rows)
    }

    fn session(&self) -> Result<Self::Session, Failed> {
        self.0.session().map(Noting)
    }
}

impl<S: Session> Session for Noting<S> {
    type Ticket = S::Ticket;

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        self.0.read(&mut Noting(query))
    }

    fn write<P: Procedure>(&mut self, procedure: &mut P) -> Result<Committed<P::Output, S::Ticket>, Failed> {
        self.0.write(&mut Noting(procedure))
    }
}

impl<Q: Query> Query for Noting<&mut Q> {
    type Output = Q::Output;

    fn run<T: Reading>(&mut self, tx: &mut T) -> Result<Q::Output, Failed> {
        self.0.run(&mut Noting(tx))
    }
}

impl<P: Procedure> Procedure for Noting<&mut P> {
    type Output = P::Output;

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<P::Output, Failed> {
        self.0.run(&mut Noting(tx))
    }
}

impl<T: Reading> Reading for Noting<&mut T> {
    fn prefetch<R: Row>(
        &mut self,
        table: Table<R>,
        keys: impl IntoIterator<Item = u64>,
    ) -> Result<(), Failed> {
        TOLD.fetch_add(1, Ordering::Relaxed);
        self.0.prefetch(table, keys)
    }

    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        self.0.get(table, key)
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        self.0.scan(table, first, last, see)
    }
}

impl<T: Writing> Writing for Noting<&mut T> {
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        self.0.put(table, key, row)
    }
}

#[test]
fn variants_that_are_one_program_are_told_by_what_the_workload_asks() {
    let folder = std::env::temp_dir();
    let setting =
        Setting { class: Class::Memory, in_flight: 1, folder, epoch: Duration::from_millis(2), rows: 1_000 };
    for &workload in WorkloadName::value_variants() {
        BY_KEY.store(0, Ordering::Relaxed);
        TOLD.store(0, Ordering::Relaxed);
        let mut entered =
            enter_store::<Noting<Trireme<false, false>>>(workload, &setting).expect("a store that works");
        let (warmup, duration) = (Duration::from_millis(1), Duration::from_millis(50));
        let plan = Plan { clients: 1, in_flight: 1, warmup, duration, seed: 1 };
        entered.round(1, plan, &AtomicBool::new(false)).expect("a store that works");
        let name = shown(&workload);
        assert_eq!(workload.has_tables_by_key(), BY_KEY.load(Ordering::Relaxed) > 0, "{name}");
        assert_eq!(workload.tells_keys(), TOLD.load(Ordering::Relaxed) > 0, "{name}");
    }
}

#[test]
fn each_variant_stands_for_itself_or_for_the_first_that_is_the_same_program() {
    use StoreName::*;
    let variants = [Trireme, TriremeHashed, TriremePrefetch, TriremeHashedPrefetch];
    let of = |workload| variants.map(|variant| variant.in_workload(workload));
    assert_eq!(of(WorkloadName::Updates), variants);
    assert_eq!(of(WorkloadName::Reads), [Trireme, TriremeHashed, Trireme, TriremeHashed]);
    assert_eq!(of(WorkloadName::Scans), [Trireme; 4]);
    for &workload in WorkloadName::value_variants() {
        for &store in StoreName::value_variants() {
            assert!(store.is_ours() || store.in_workload(workload) == store, "others are one program each");
        }
    }
}
