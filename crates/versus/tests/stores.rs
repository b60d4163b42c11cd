//! Every store does every workload in every class of durability, and its tables are checked; one that loses writes is found out.

mod lossy;

use clap::ValueEnum;
use lossy::Lossy;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
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
        let Settings { memory, buffered, group, in_flight } = settings(store);
        let row = format!("| {memory} | {buffered} | {group} | {in_flight} |");
        assert!(page.contains(&row), "{}: {row}", shown(&store));
    }
}
