//! Snapshots, read while others write.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use trireme::{ArchitectureName, Builder, Bytes, Database, Error, Index, ProtocolName, Table};

const ACCOUNTS: Table<u64, i64> = Table::new("accounts");
const HASHED: Table<u64, i64> = Table::new("hashed").hashed(100);
/// A job is there or not; its text says by how many bytes who has it.
const JOBS: Table<String, Bytes> = Table::new("jobs");
const BY_LENGTH: Index<String, Bytes, u32> = JOBS.index("by_length", |_, text| Some(text.len() as u32));

const NUMBER: u64 = 50;
const SUM: i64 = 100 * NUMBER as i64;

fn opened(protocol: ProtocolName) -> Builder {
    let builder = Database::builder().system(ArchitectureName::SharedEverything, protocol);
    builder.snapshots(true).epoch(Duration::from_micros(200))
}

/// What one that looks at everything twice finds: the same each time, and all the money.
fn look(db: &Database) -> Result<usize, Error> {
    let (accounts, hashed, jobs) = (db.table(ACCOUNTS)?, db.table(HASHED)?, db.table(JOBS)?);
    let by_length = db.index(BY_LENGTH)?;
    let mut snapshot = db.snapshot()?;
    let mut seen = Vec::new();
    for _ in 0..2 {
        let rows: Vec<(u64, i64)> = snapshot.range(accounts, ..)?.collect::<Result<_, _>>()?;
        let mut backward: Vec<(u64, i64)> = snapshot.range(accounts, ..)?.rev().collect::<Result<_, _>>()?;
        backward.reverse();
        assert_eq!(rows, backward);
        if rows.is_empty() {
            // It is of before the beginning.
            return Ok(0);
        }
        assert_eq!(rows.iter().map(|(_, balance)| balance).sum::<i64>(), SUM);
        for &(account, balance) in &rows {
            assert_eq!(snapshot.get(accounts, account)?, Some(balance));
            assert_eq!(snapshot.get(hashed, account)?, Some(-balance));
        }
        let there: Vec<(String, Vec<u8>)> = snapshot.range(jobs, ..)?.collect::<Result<_, _>>()?;
        let mut found = snapshot.find_between(by_length, .., usize::MAX)?;
        found.sort();
        assert_eq!(found, there);
        for (job, text) in &there {
            assert_eq!(snapshot.get(jobs, job)?.as_ref(), Some(text));
        }
        let mut counted = 0;
        assert_eq!(snapshot.scan_with(jobs, .., usize::MAX, |_, _| counted += 1)?, there.len());
        assert_eq!(counted, there.len());
        assert!(!snapshot.contains(jobs, "never")?);
        seen.push((rows, there));
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(seen[0], seen[1], "a snapshot stays what it is");
    Ok(1)
}

#[test]
fn a_snapshot_is_of_one_time_and_stays_so_under_every_protocol_that_has_them() -> Result<(), Error> {
    let protocols = [
        ProtocolName::Silo,
        ProtocolName::Mocc,
        ProtocolName::NoWait,
        ProtocolName::TwoVersionNoWait,
        ProtocolName::WaitDie,
        ProtocolName::DlDetect,
        ProtocolName::Dreadlocks,
        ProtocolName::Vll,
    ];
    for protocol in protocols {
        let db = opened(protocol).in_memory()?;
        let (accounts, hashed, jobs) = (db.table(ACCOUNTS)?, db.table(HASHED)?, db.table(JOBS)?);
        db.index(BY_LENGTH)?;
        db.transact(|tx| {
            (0..NUMBER).try_for_each(|account| {
                tx.insert(accounts, account, &100)?;
                tx.insert(hashed, account, &-100)
            })
        })?;
        let has_ended = AtomicBool::new(false);
        let looked = thread::scope(|scope| {
            for writer in 0..2u64 {
                let (db, has_ended) = (&db, &has_ended);
                scope.spawn(move || {
                    for round in 0u64.. {
                        if has_ended.load(Ordering::Relaxed) {
                            break;
                        }
                        let (from, to) = ((round * 7 + writer) % NUMBER, (round * 11 + 3) % NUMBER);
                        let job = format!("job {}", round % 7);
                        let moved = db.transact(|tx| {
                            for (account, cents) in [(from, -1), (to, 1)] {
                                tx.update(accounts, account, |balance| *balance += cents)?;
                                tx.update(hashed, account, |balance| *balance -= cents)?;
                            }
                            if !tx.remove(jobs, &job)? {
                                tx.insert(jobs, &job, &vec![writer as u8; (round % 100) as usize])?;
                            }
                            Ok::<_, Error>(())
                        });
                        moved.expect("it commits");
                    }
                });
            }
            let until = Instant::now() + Duration::from_millis(400);
            let mut looked: Result<usize, Error> = Ok(0);
            while looked.is_ok() && (Instant::now() < until || looked == Ok(0)) {
                looked = looked.and_then(|before| Ok(before + look(&db)?));
            }
            has_ended.store(true, Ordering::Relaxed);
            looked
        })?;
        assert!(looked > 0, "{protocol}");
    }
    Ok(())
}

#[test]
fn a_snapshot_follows_what_was_committed_and_outlasts_the_log() -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    for round in 1..4 {
        let db = opened(ProtocolName::Silo).open(folder.path())?;
        let accounts = db.table(ACCOUNTS)?;
        db.transact(|tx| tx.upsert(accounts, 1, &round))?;
        while db.snapshot()?.get(accounts, 1)? != Some(round) {
            thread::sleep(Duration::from_millis(1));
        }
        let mut old = db.snapshot()?;
        db.transact(|tx| tx.remove(accounts, 1).map(|_| ()))?;
        thread::sleep(Duration::from_millis(20));
        assert_eq!(old.get(accounts, 1)?, Some(round), "deleted since");
        // A table is not made while this thread reads.
        assert_eq!(db.table(HASHED).err(), if round == 1 { Some(Error::InTransaction) } else { None });
        drop(old);
        let hashed = db.table(HASHED)?;
        db.transact(|tx| tx.upsert(hashed, 1, &round))?;
        while db.snapshot()?.get(accounts, 1)?.is_some() {
            thread::sleep(Duration::from_millis(1));
        }
        db.checkpoint()?;
        db.transact(|tx| tx.upsert(accounts, 1, &round))?;
    }
    Ok(())
}

#[test]
fn who_keeps_no_snapshots_says_so() -> Result<(), Error> {
    let db = Database::in_memory()?;
    assert_eq!(db.snapshot().err(), Some(Error::NoSnapshots));
    let db = opened(ProtocolName::TicToc).in_memory()?;
    assert_eq!(db.snapshot().err(), Some(Error::NoSnapshots));
    Ok(())
}

/// Who panics while it is shown a value leaves no epoch that others wait for.
#[test]
fn a_panic_in_a_snapshot_holds_nobody_up() -> Result<(), Error> {
    let db = opened(ProtocolName::Silo).in_memory()?;
    let accounts = db.table(ACCOUNTS)?;
    db.transact(|tx| tx.insert(accounts, 1, &1))?;
    let is_seen = |balance: i64| -> Result<(), Error> {
        let deadline = Instant::now() + Duration::from_secs(60);
        while db.snapshot()?.get(accounts, 1)? != Some(balance) {
            assert!(Instant::now() < deadline, "no newer snapshot than that of a balance of {balance}");
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    };
    is_seen(1)?;
    let looks: [&dyn Fn(); 2] = [
        &|| drop(db.snapshot().expect("snapshots").get_with(accounts, 1, |_| panic!("of the program's own"))),
        &|| {
            let mut snapshot = db.snapshot().expect("snapshots");
            drop(snapshot.scan_with(accounts, .., 10, |_, _| panic!("of the program's own")));
        },
    ];
    for (balance, look) in (2..).zip(looks) {
        catch_unwind(AssertUnwindSafe(look)).expect_err("it panics");
        db.transact(|tx| tx.upsert(accounts, 1, &balance))?;
        is_seen(balance)?;
    }
    // Nor if it goes on.
    let mut snapshot = db.snapshot()?;
    let mut look = || drop(snapshot.get_with(accounts, 1, |_| panic!("of the program's own")));
    catch_unwind(AssertUnwindSafe(&mut look)).expect_err("it panics");
    let mut scan = || drop(snapshot.scan_with(accounts, .., 10, |_, _| panic!("of the program's own")));
    catch_unwind(AssertUnwindSafe(&mut scan)).expect_err("it panics");
    db.transact(|tx| tx.upsert(accounts, 1, &4))?;
    is_seen(4)?;
    assert_eq!(snapshot.get(accounts, 1)?, Some(3));
    assert_eq!(snapshot.range(accounts, ..)?.collect::<Result<Vec<_>, _>>()?, [(1, 3)]);
    Ok(())
}
