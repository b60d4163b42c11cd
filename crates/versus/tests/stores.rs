//! Every store does every workload in every class of durability, and its tables are checked; one that loses writes is found out. What is
//! the same program is measured once.

mod lossy;

use clap::ValueEnum;
use lossy::Lossy;
use std::cell::{Cell, RefCell};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use versus::conduct::{Agenda, Course};
use versus::contender::{Contender, Setting, StoreName, WorkloadName, enter, enter_store, settings, shown};
use versus::measure::Plan;
use versus::store::trireme::Trireme;
use versus::store::{Class, Failed, Settings};

fn setting(class: Class, in_flight: usize) -> Setting {
    let folder = std::env::temp_dir();
    Setting { class, in_flight, folder, epoch: Duration::from_millis(2), rows: 1_000 }
}

/// Two short rounds of two threads, and more until something has committed.
fn rounds(contender: &mut dyn Contender, in_flight: usize) -> Result<(), Failed> {
    let stop = AtomicBool::new(false);
    let (mut commits, mut seed) = (0, 0);
    while seed < 2 || commits == 0 {
        seed += 1;
        let (warmup, duration) = (Duration::from_millis(1), Duration::from_millis(80));
        let plan = Plan { clients: 2, in_flight, warmup, duration, seed };
        commits += contender.round(2, plan, &stop)?.latency.len();
    }
    Ok(())
}

fn runs(store: StoreName) {
    for class in Class::ALL {
        let in_flight = if class == Class::Memory { &[1][..] } else { &[1, 8] };
        for &in_flight in in_flight {
            for &workload in WorkloadName::value_variants() {
                let setting = setting(class, in_flight);
                let ran =
                    enter(store, workload, &setting).and_then(|mut entered| rounds(&mut *entered, in_flight));
                ran.unwrap_or_else(|failed| {
                    panic!("{class}, {in_flight} in flight, {}: {failed}", shown(&workload));
                });
            }
        }
    }
}

macro_rules! each_store {
    ($($name:ident: $store:ident,)*) => {$(
        #[test]
        fn $name() {
            runs(StoreName::$store);
        }
    )*};
}

each_store! {
    trireme_is_as_it_should_be: Trireme,
    trireme_with_hashed_tables_is_as_it_should_be: TriremeHashed,
    trireme_with_keys_told_ahead_is_as_it_should_be: TriremePrefetch,
    trireme_with_both_is_as_it_should_be: TriremeHashedPrefetch,
    redb_is_as_it_should_be: Redb,
    fjall_is_as_it_should_be: Fjall,
    heed_is_as_it_should_be: Heed,
    surrealmx_is_as_it_should_be: Surrealmx,
    canopydb_is_as_it_should_be: Canopydb,
    sqlite_is_as_it_should_be: Sqlite,
}

#[test]
fn a_store_that_loses_every_hundredth_write_is_found_out() {
    for &workload in WorkloadName::value_variants() {
        let entered = enter_store::<Lossy<Trireme<false, false>>>(workload, &setting(Class::Memory, 1));
        let failed = entered.and_then(|mut entered| rounds(&mut *entered, 1)).expect_err("it loses writes");
        assert!(matches!(failed, Failed::Because(_)), "{}: {failed}", shown(&workload));
    }
}

#[test]
fn the_page_has_the_settings_that_stores_are_opened_with() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/versus.md");
    let page = fs::read_to_string(path).expect("a page");
    for &store in StoreName::value_variants() {
        let Settings { memory, buffered, buffered_in_flight, group, group_in_flight } = settings(store);
        let row = format!("| {memory} | {buffered} | {buffered_in_flight} | {group} | {group_in_flight} |");
        assert!(page.contains(&row), "{}: {row}", shown(&store));
    }
}

#[test]
fn a_variant_that_is_the_same_program_is_not_measured_again() {
    let agenda = Agenda {
        stores: vec![StoreName::Heed, StoreName::TriremePrefetch, StoreName::TriremeHashedPrefetch],
        workloads: vec![WorkloadName::Scans, WorkloadName::Updates],
        classes: vec![Class::Memory],
        threads: vec![1],
        in_flight: vec![1],
        rows: 1_000,
        rounds: 2,
        warmup: Duration::from_millis(1),
        duration: Duration::from_millis(20),
        epoch: Duration::from_millis(2),
        memory_folder: std::env::temp_dir(),
        folder: std::env::temp_dir(),
    };
    let (rounds, kept) = (Cell::new(0), RefCell::new(Vec::new()));
    let results = agenda.carry_out(&Course {
        tell: &|_| (),
        round_done: &|| rounds.set(rounds.get() + 1),
        keep: &|results| kept.borrow_mut().push((results.cells.len(), results.is_interrupted)),
        stop: &AtomicBool::new(false),
    });
    assert_eq!((rounds.get(), agenda.rounds_in_all()), (10, 10));
    assert_eq!(*kept.borrow(), [(1, true), (2, true)], "what is kept meanwhile says that it is not all");
    assert!(!results.is_interrupted);
    let same_as = |cell: usize| {
        let stores = &results.cells[cell].stores;
        assert!(stores.iter().map(|measured| measured.store).eq(agenda.stores.iter().copied()));
        stores.iter().map(|measured| (measured.rounds.len(), measured.same_as)).collect::<Vec<_>>()
    };
    assert_eq!(same_as(0), [(2, None), (2, None), (0, Some(StoreName::TriremePrefetch))]);
    assert_eq!(same_as(1), [(2, None); 3]);
}
