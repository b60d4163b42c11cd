//! Slots: who waits for one, and who does not.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;
use trireme::{ArchitectureName, Database, Error, ProtocolName, Table};

const NUMBERS: Table<u64, u64> = Table::new("numbers");
/// Nobody has to wait for so long.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn who_waits_is_served_whichever_slot_becomes_free() -> Result<(), Error> {
    let db = Database::builder().slots(2).snapshots(true).in_memory()?;
    let numbers = db.table(NUMBERS)?;
    // The threads of each round begin to look at other places.
    for round in 0..6 {
        let snapshot = db.snapshot()?;
        thread::scope(|scope| {
            let ((began, has_begun), (end, has_ended)) = (channel(), channel::<()>());
            let db = &db;
            let holds = scope.spawn(move || {
                let transaction = db.begin()?;
                began.send(()).expect("somebody waits");
                assert_eq!(has_ended.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
                transaction.commit().map(|_| ())
            });
            has_begun.recv_timeout(LONG).expect("a slot is free");
            let (done, is_done) = channel();
            let waits = scope.spawn(move || {
                db.transact(|tx| tx.upsert(numbers, 1, &round))?;
                done.send(()).expect("somebody waits");
                Ok::<_, Error>(())
            });
            assert_eq!(is_done.recv_timeout(Duration::from_millis(20)), Err(RecvTimeoutError::Timeout));
            drop(end);
            let served = is_done.recv_timeout(LONG);
            drop(snapshot);
            assert_eq!(served, Ok(()), "the snapshot was in nobody's way");
            holds.join().expect("no panic")?;
            waits.join().expect("no panic")
        })?;
    }
    Ok(())
}

#[test]
fn nobody_waits_for_itself() -> Result<(), Error> {
    for slots in [1, 2] {
        let db = Database::builder().slots(slots).snapshots(true).in_memory()?;
        let numbers = db.table(NUMBERS)?;
        let write = || db.transact(|tx| tx.upsert(numbers, 1, &1));
        write()?;
        let mut snapshots: Vec<_> = (0..slots).map(|_| db.snapshot()).collect::<Result<_, _>>()?;
        assert_eq!(db.snapshot().err(), Some(Error::NoSlot));
        assert_eq!(db.begin().err(), Some(Error::NoSlot));
        assert_eq!(write(), Err(Error::NoSlot));
        snapshots.pop();
        write()?;
        assert!(db.snapshot().is_ok());
    }
    Ok(())
}

#[test]
fn a_thread_has_one_transaction_at_a_time() -> Result<(), Error> {
    for protocol in [ProtocolName::Silo, ProtocolName::NoWait, ProtocolName::DlDetect] {
        let builder =
            Database::builder().system(ArchitectureName::SharedEverything, protocol).snapshots(true);
        let (db, other) = (builder.in_memory()?, builder.in_memory()?);
        let (numbers, elsewhere) = (db.table(NUMBERS)?, other.table(NUMBERS)?);
        let in_it = db.transact(|tx| {
            tx.upsert(numbers, 1, &1)?;
            assert_eq!(db.begin().err(), Some(Error::InTransaction));
            assert_eq!(db.submit(|tx| tx.upsert(numbers, 2, &2)).err(), Some(Error::InTransaction));
            // What waits for nobody, and what is of another database.
            assert_eq!(db.snapshot()?.get(numbers, 1)?, None);
            other.transact(|tx| tx.upsert(elsewhere, 1, &1))?;
            db.transact(|tx| tx.upsert(numbers, 1, &2))
        });
        assert_eq!(in_it, Err(Error::InTransaction));
        assert_eq!(db.transact(|tx| tx.get(numbers, 1))?, None, "{protocol}: it was undone");
    }
    Ok(())
}
