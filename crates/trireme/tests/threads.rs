//! Many threads over one database: more than there are slots, and than there are cores.

use serde::Deserialize as _;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::tempdir;
use trireme::{ArchitectureName, Bytes, Database, Error, Index, ProtocolName, RetryPolicy, Serde, Table};

const ACCOUNTS: Table<u32, i64> = Table::new("accounts");
const NOTES: Table<(u32, u64), Bytes> = Table::new("notes");

const PROTOCOLS: [ProtocolName; 10] = [
    ProtocolName::Silo,
    ProtocolName::Mocc,
    ProtocolName::TicToc,
    ProtocolName::Hekaton,
    ProtocolName::NoWait,
    ProtocolName::TwoVersionNoWait,
    ProtocolName::WaitDie,
    ProtocolName::DlDetect,
    ProtocolName::Dreadlocks,
    ProtocolName::Vll,
];

fn random(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

/// Money moves, each move leaves notes of a length of its own, and whoever looks finds the same sum.
fn transfer(db: &Database, threads: u64, rounds: u64) -> Result<(), Error> {
    let (accounts, notes) = (db.table(ACCOUNTS)?, db.table(NOTES)?);
    let count = 6u32;
    db.transact(|tx| (0..count).try_for_each(|account| tx.insert(accounts, account, &100)))?;
    let moves = AtomicU64::new(0);
    let work = |thread: u64| -> Result<(), Error> {
        let mut seed = thread;
        for round in 0..rounds {
            let from = random(&mut seed, count.into()) as u32;
            let to = random(&mut seed, count.into()) as u32;
            let amount = random(&mut seed, 5) as i64;
            let length = random(&mut seed, 200) as usize;
            match random(&mut seed, 4) {
                0 => {
                    let sum = db.transact(|tx| {
                        tx.range(accounts, ..)?
                            .map(|row| row.map(|(_, balance)| balance))
                            .sum::<Result<i64, Error>>()
                    })?;
                    assert_eq!(sum, i64::from(count) * 100);
                }
                1 => {
                    let (_, _ticket) = db.submit(|tx| {
                        let old: Vec<_> =
                            tx.range(notes, (from, 0)..(from + 1, 0))?.take(3).collect::<Result<_, _>>()?;
                        for (key, note) in old {
                            assert!(note.iter().all(|&byte| byte == note.len() as u8), "torn");
                            tx.remove(notes, (key.0, key.1))?;
                        }
                        Ok::<_, Error>(())
                    })?;
                }
                _ => {
                    let (moved, _ticket) = db.submit(|tx| {
                        tx.update(accounts, from, |balance| *balance -= amount)?;
                        tx.update(accounts, to, |balance| *balance += amount)?;
                        tx.upsert(notes, (from, thread * rounds + round), &vec![length as u8; length])?;
                        Ok::<_, Error>(1)
                    })?;
                    moves.fetch_add(moved, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    let sum: i64 = db.transact(|tx| {
        tx.range(accounts, ..)?.map(|row| row.map(|(_, balance)| balance)).sum::<Result<i64, Error>>()
    })?;
    assert_eq!(sum, i64::from(count) * 100);
    assert!(moves.into_inner() > 0);
    Ok(())
}

#[test]
fn sums_are_kept_under_every_protocol() -> Result<(), Error> {
    for protocol in PROTOCOLS {
        let db =
            Database::builder().system(ArchitectureName::SharedEverything, protocol).slots(3).in_memory()?;
        transfer(&db, 8, 400)?;
        db.close()?;
    }
    Ok(())
}

#[test]
fn sums_are_kept_where_commits_are_logged_and_are_there_again() -> Result<(), Error> {
    for protocol in PROTOCOLS {
        let folder = tempdir().expect("a folder");
        let open = || {
            Database::builder()
                .system(ArchitectureName::SharedEverything, protocol)
                .epoch(Duration::from_millis(1))
                .loggers(2)
                .open(folder.path())
        };
        let db = open()?;
        transfer(&db, 6, 300)?;
        let (accounts, notes) = (db.table(ACCOUNTS)?, db.table(NOTES)?);
        let all = |db: &Database| {
            db.transact(|tx| {
                let money = tx.range(accounts, ..)?.collect::<Result<Vec<_>, _>>()?;
                Ok::<_, Error>((money, tx.range(notes, ..)?.collect::<Result<Vec<_>, _>>()?))
            })
        };
        let before = all(&db)?;
        drop(db);
        let db = open()?;
        let (accounts, notes) = (db.table(ACCOUNTS)?, db.table(NOTES)?);
        let after = db.transact(|tx| {
            let money = tx.range(accounts, ..)?.collect::<Result<Vec<_>, _>>()?;
            Ok::<_, Error>((money, tx.range(notes, ..)?.collect::<Result<Vec<_>, _>>()?))
        })?;
        assert!(before == after, "under {protocol}");
    }
    Ok(())
}

const JOBS: Table<u64, Serde<(bool, u64)>> = Table::new("jobs");
const WAITING: Index<u64, Serde<(bool, u64)>, bool> =
    JOBS.index("waiting", |_, (done, _)| (!done).then_some(true));

/// A queue by an index: each job is done once, whoever is faster.
#[test]
fn each_job_is_taken_once() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let (jobs, waiting) = (db.table(JOBS)?, db.index(WAITING)?);
    let total = 300;
    db.transact(|tx| (0..total).try_for_each(|job| tx.insert(jobs, job, &(false, job * job))))?;
    let done: Vec<u64> = thread::scope(|scope| {
        let work = || -> Result<Vec<u64>, Error> {
            let mut mine = Vec::new();
            loop {
                let taken = db.transact(|tx| {
                    let Some((job, (_, payload))) = tx.find_up_to(waiting, true, 1)?.pop() else {
                        return Ok(None);
                    };
                    tx.upsert(jobs, job, &(true, payload))?;
                    Ok::<_, Error>(Some(job))
                })?;
                match taken {
                    Some(job) => mine.push(job),
                    None => return Ok(mine),
                }
            }
        };
        let running: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no panic").expect("no error")).collect()
    });
    let mut sorted = done;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..total).collect::<Vec<_>>());
    Ok(())
}

/// Tables are made, filled with indexes, and dropped while others run transactions.
#[test]
fn tables_come_and_go_beside_transactions() -> Result<(), Error> {
    let db = Database::in_memory()?;
    let accounts = db.table(ACCOUNTS)?;
    db.transact(|tx| tx.insert(accounts, 0, &0))?;
    thread::scope(|scope| {
        let counting: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    (0..2000).try_for_each(|_| {
                        db.transact(|tx| tx.update(accounts, 0, |count| *count += 1).map(|_| ()))
                    })
                })
            })
            .collect();
        for round in 0..10u64 {
            let jobs = db.table(JOBS)?;
            db.transact(|tx| (0..50).try_for_each(|job| tx.insert(jobs, job, &(job % 2 == 0, round))))?;
            let waiting = db.index(WAITING)?;
            assert_eq!(db.transact(|tx| tx.find(waiting, true))?.len(), 25);
            db.drop_table("jobs")?;
        }
        counting.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    assert_eq!(db.transact(|tx| tx.get(accounts, 0))?, Some(6000));
    Ok(())
}

#[test]
fn retries_end_where_the_policy_says() -> Result<(), Error> {
    for (policy, most) in
        [(RetryPolicy::attempts(3), 3), (RetryPolicy::within(Duration::from_millis(20)), u32::MAX)]
    {
        let db = Database::builder()
            .system(ArchitectureName::SharedEverything, ProtocolName::NoWait)
            .retry(policy)
            .in_memory()?;
        let accounts = db.table(ACCOUNTS)?;
        db.transact(|tx| tx.insert(accounts, 0, &0))?;
        let mut in_the_way = db.begin()?;
        in_the_way.update(accounts, 0, |balance| *balance += 1)?;
        let runs = AtomicU64::new(0);
        let gave_up = thread::scope(|scope| {
            scope
                .spawn(|| {
                    db.transact(|tx| {
                        runs.fetch_add(1, Ordering::Relaxed);
                        tx.get(accounts, 0)
                    })
                })
                .join()
                .expect("no panic")
        });
        let Err(error @ Error::GaveUp { attempts, .. }) = gave_up else { panic!("{gave_up:?}") };
        assert!(error.is_retryable() && attempts <= most && u64::from(attempts) == runs.into_inner());
        in_the_way.commit()?.wait()?;
        assert_eq!(db.transact(|tx| tx.get(accounts, 0))?, Some(1));
    }
    Ok(())
}

/// An error that a transaction answers counts only if what it has seen was there at one time.
#[test]
fn nobody_is_refused_for_what_never_was() -> Result<(), Error> {
    for protocol in PROTOCOLS {
        let db = Database::builder().system(ArchitectureName::SharedEverything, protocol).in_memory()?;
        let (accounts, jobs, waiting) = (db.table(ACCOUNTS)?, db.table(JOBS)?, db.index(WAITING)?);
        db.transact(|tx| (0..2).try_for_each(|account| tx.insert(accounts, account, &50)))?;
        thread::scope(|scope| {
            let writing = scope.spawn(|| {
                (0..3000u64).try_for_each(|round| {
                    db.transact(|tx| {
                        tx.update(accounts, 0, |balance| *balance -= 1)?;
                        tx.update(accounts, 1, |balance| *balance += 1)?;
                        if !tx.remove(jobs, round % 3)? {
                            tx.insert(jobs, round % 3, &(false, round))?;
                        }
                        Ok::<_, Error>(())
                    })
                })
            });
            let mut looked = 0;
            while !writing.is_finished() || looked < 100 {
                db.transact(|tx| {
                    let found = tx.find(waiting, true)?;
                    let sum = tx.get(accounts, 0)?.expect("there") + tx.get(accounts, 1)?.expect("there");
                    if sum != 100 || found.len() > 3 { Err(Error::InUse) } else { Ok(()) }
                })?;
                looked += 1;
            }
            writing.join().expect("no panic")
        })?;
    }
    Ok(())
}

/// A value that is looked at: then something is done, once.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Seen {
    #[serde(deserialize_with = "look")]
    state: u8,
}

thread_local! {
    /// What this thread does when it looks at a value.
    static WHEN_SEEN: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

fn look<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u8, D::Error> {
    if let Some(then) = WHEN_SEEN.take() {
        then();
    }
    u8::deserialize(from)
}

const ITEMS: Table<u64, Serde<Seen>> = Table::new("items");
const BY_STATE: Index<u64, Serde<Seen>, u8> = ITEMS.index("by_state", |_, item| Some(item.state));

/// An index names a row that goes before it is read: of the two only one was there at any time.
#[test]
fn by_hand_too_nobody_is_refused_for_what_never_was() -> Result<(), Error> {
    for protocol in [ProtocolName::Silo, ProtocolName::Mocc, ProtocolName::TicToc] {
        let db = Database::builder().system(ArchitectureName::SharedEverything, protocol).in_memory()?;
        let (items, by_state) = (db.table(ITEMS)?, db.index(BY_STATE)?);
        db.transact(|tx| (0..2).try_for_each(|item| tx.insert(items, item, &Seen { state: 7 })))?;
        let mut tx = db.begin()?;
        let removes = {
            let db = db.clone();
            move || -> Result<bool, Error> { db.transact(|tx| tx.remove(items, 1)) }
        };
        WHEN_SEEN.set(Some(Box::new(move || {
            assert_eq!(thread::spawn(removes).join().expect("no panic"), Ok(true));
        })));
        let found = tx.find(by_state, 7).expect_err("one is gone");
        assert!(found.is_retryable(), "{protocol}: {found}");
        assert_eq!(tx.get(items, 0).err(), Some(found.clone()));
        assert_eq!(tx.commit().err(), Some(found));
        assert_eq!(db.transact(|tx| tx.find(by_state, 7))?.len(), 1);
    }
    Ok(())
}
