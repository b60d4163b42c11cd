//! Slots that are lent by a store that is open: what a program's threads do with them, and what goes wrong there.

use contract::{
    ArchitectureName, Durability, EngineOptions, Indexing, Insertion, Key, LogOptions, PairName, Presence,
    ProtocolName, RecoveryOptions, RowLength, Span, TableId,
};
use engine::embedded::{Embedded, MOST_WRITTEN_BYTES, NewTable, OpenOptions, Slot};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

fn options(protocol: ProtocolName, folder: &Path) -> OpenOptions {
    OpenOptions {
        pair: PairName { architecture: ArchitectureName::SharedEverything, protocol },
        slots: 2,
        log: Some(LogOptions::new(Durability::Buffered, folder)),
        recovery: RecoveryOptions::default(),
        engine: EngineOptions::default(),
    }
}

fn table(store: &mut Embedded, name: &str, row_bytes: usize, length: RowLength) -> TableId {
    let table = NewTable { name, row_bytes, length, indexing: Indexing::Ordered, capacity: 10, schema: "" };
    store.create_table(&table).expect("a new name")
}

/// Sets a row; the epoch of the commit.
fn set(slot: &mut Slot, table: TableId, number: u64) -> u64 {
    slot.begin(true);
    let row = number.to_le_bytes();
    if slot.transaction().insert(table, Key(1), &row).expect("alone") == Insertion::Exists {
        let _ = slot.transaction().write(table, Key(1), 0, &row).expect("alone");
    }
    slot.commit().expect("alone").epoch.expect("it is logged")
}

fn merge_that_panics(_: &mut [u8], _: &mut [u8]) {
    panic!("of the workload's own")
}

/// Merges run while a transaction is prepared.
#[test]
fn a_panic_while_a_transaction_commits_holds_nobody_up() {
    for protocol in [ProtocolName::Silo, ProtocolName::Mocc, ProtocolName::TicToc] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut store, _) = Embedded::open(&options(protocol, folder.path())).expect("a small store");
        let table = table(&mut store, "numbers", 8, RowLength::Fixed);
        let (mut panics, mut other) = (store.lend(0), store.lend(1));
        let services = store.services();
        set(&mut other, table, 1);
        panics.begin(true);
        let merged = panics.transaction().merge(table, Key(1), Span::whole(8), merge_that_panics, &[0]);
        assert_eq!(merged, Ok(Presence::Present));
        catch_unwind(AssertUnwindSafe(|| panics.commit())).expect_err("the merge panics");
        // Its row is free, its slot is in no epoch, and runs another transaction.
        for slot in [&mut other, &mut panics] {
            let epoch = set(slot, table, 2);
            services.write_through(epoch);
            assert!(services.durable_epoch() >= epoch, "{protocol}");
            assert_eq!(services.failure(), None);
        }
        store.take_back(panics);
        store.take_back(other);
        drop(services);
        store.close().expect("all is written");
    }
}

/// What is installed by then others may have read, and nobody can say what of it is logged.
#[test]
fn a_panic_once_others_see_the_transaction_stops_the_log() {
    // Under HEKATON and VLL others know of a slot beyond the records that it holds.
    for protocol in [ProtocolName::Silo, ProtocolName::Hekaton, ProtocolName::Vll] {
        panic_once_others_see_it(protocol);
    }
}

fn panic_once_others_see_it(protocol: ProtocolName) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut store, _) = Embedded::open(&options(protocol, folder.path())).expect("a small store");
    let texts = table(&mut store, "texts", 16 << 20, RowLength::Varying);
    let numbers = table(&mut store, "numbers", 8, RowLength::Fixed);
    let (mut panics, mut other) = (store.lend(0), store.lend(1));
    let services = store.services();
    let epoch = set(&mut other, numbers, 1);
    services.write_through(epoch);
    panics.begin(true);
    let text = vec![7; 16 << 20];
    assert!(64 * text.len() > MOST_WRITTEN_BYTES);
    for key in 0..64 {
        let inserted = panics.transaction().insert(texts, Key(key), &text);
        assert_eq!(inserted, Ok(Insertion::Inserted));
    }
    catch_unwind(AssertUnwindSafe(|| panics.commit())).expect_err("it is too much for the log");
    let failure = services.failure().expect("it has stopped");
    assert!(failure.contains("panicked"), "{failure}");
    // Both go on, in no epoch of the past; of what they do nothing becomes durable.
    for slot in [&mut other, &mut panics] {
        let epoch = set(slot, numbers, 2);
        services.write_through(epoch);
        assert!(services.durable_epoch() < epoch);
    }
    store.take_back(panics);
    store.take_back(other);
    drop(services);
    store.close().expect_err("not all is written");
    let (store, recovered) = Embedded::open(&options(protocol, folder.path())).expect("as it was");
    assert_eq!(recovered.map(|recovered| recovered.transactions), Some(1));
    assert_eq!(store.tables().len(), 2);
}
