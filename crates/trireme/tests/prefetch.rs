//! Keys that a transaction tells ahead: it relies on none of them, and whatever they are, it goes on.

use std::thread;
use trireme::{
    ArchitectureName, Bytes, Database, Error, MAX_KEY_BYTES, ProtocolName, RetryPolicy, Table, Transaction,
};

const ORDERED: Table<i64, u64> = Table::new("ordered");
const HASHED: Table<i64, u64> = Table::<i64, u64>::new("hashed").hashed(100);
const NAMES: Table<(String, u8), Bytes> = Table::new("names");

const PROTOCOLS: [ProtocolName; 7] = [
    ProtocolName::Silo,
    ProtocolName::Mocc,
    ProtocolName::TicToc,
    ProtocolName::NoWait,
    ProtocolName::TwoVersionNoWait,
    ProtocolName::WaitDie,
    ProtocolName::DlDetect,
];

/// More than are asked for together, some of which are not there.
const TOLD: std::ops::Range<i64> = -30..30;

fn names() -> Vec<String> {
    TOLD.map(|key| format!("a name of more than eight bytes: {key}")).collect()
}

/// Tells all keys of all tables.
fn tell(db: &Database, tx: &mut Transaction<'_>) -> Result<(), Error> {
    tx.prefetch(db.table(ORDERED)?, TOLD)?;
    tx.prefetch(db.table(HASHED)?, TOLD)?;
    tx.prefetch(db.table(NAMES)?, names().iter().map(|name| (name.as_str(), 1)))
}

#[test]
fn nothing_that_is_told_ahead_is_relied_on() -> Result<(), Error> {
    for protocol in PROTOCOLS {
        let builder = Database::builder().system(ArchitectureName::SharedEverything, protocol);
        let db = builder.retry(RetryPolicy::ONCE).in_memory()?;
        let (ordered, hashed, texts) = (db.table(ORDERED)?, db.table(HASHED)?, db.table(NAMES)?);
        let names = names();
        db.transact(|tx| tell(&db, tx))?;
        db.transact(|tx| {
            for key in (TOLD.start..TOLD.end).filter(|key| key % 3 != 0) {
                let name = names[(key - TOLD.start) as usize].as_str();
                tx.insert(ordered, key, &1)?;
                tx.insert(hashed, key, &1)?;
                tx.insert(texts, (name, 1), &[1; 20])?;
            }
            Ok::<_, Error>(())
        })?;
        let mut tx = db.begin()?;
        tell(&db, &mut tx)?;
        let change = || {
            // In no way of it, and not undone for it: once is enough.
            db.transact(|other| {
                for key in TOLD {
                    let name = names[(key - TOLD.start) as usize].as_str();
                    match key % 3 {
                        0 => {
                            other.insert(ordered, key, &2)?;
                            other.insert(hashed, key, &2)?;
                            other.insert(texts, (name, 1), &[2; 30])?;
                        }
                        1 => {
                            other.update(ordered, key, |value| *value = 3)?;
                            other.update(hashed, key, |value| *value = 3)?;
                            other.upsert(texts, (name, 1), &[3; 40])?;
                        }
                        _ => {
                            assert!(other.remove(ordered, key)? && other.remove(hashed, key)?);
                            assert!(other.remove(texts, (name, 1))?);
                        }
                    }
                }
                Ok::<_, Error>(())
            })
        };
        thread::scope(|scope| scope.spawn(change).join().expect("no panic"))?;
        for key in TOLD {
            let name = names[(key - TOLD.start) as usize].as_str();
            let expected = match key % 3 {
                0 => Some(2),
                1 => Some(3),
                _ => None,
            };
            assert_eq!(tx.get(ordered, key)?, expected, "{protocol}");
            assert_eq!(tx.get(hashed, key)?, expected, "{protocol}");
            let text = tx.get_with(texts, (name, 1), |bytes| u64::from(bytes[0]))?;
            assert_eq!(text, expected, "{protocol}");
        }
        tx.upsert(ordered, 0, &4)?;
        let _ticket = tx.commit()?;
    }
    Ok(())
}

#[test]
fn what_cannot_be_a_key_is_refused() -> Result<(), Error> {
    let (db, other) = (Database::in_memory()?, Database::in_memory()?);
    let (ordered, elsewhere, texts) = (db.table(ORDERED)?, other.table(ORDERED)?, db.table(NAMES)?);
    let long = "x".repeat(MAX_KEY_BYTES);
    db.transact(|tx| {
        assert_eq!(tx.prefetch(elsewhere, [1]), Err(Error::OtherDatabase));
        assert_eq!(
            tx.prefetch(texts, [(long.as_str(), 1)]),
            Err(Error::KeyTooLong { bytes: MAX_KEY_BYTES + 3 })
        );
        tx.prefetch(ordered, [])
    })?;
    db.drop_table("ordered")?;
    let refused = db.transact(|tx| tx.prefetch(ordered, [1]));
    assert!(matches!(refused, Err(Error::NoTable { .. })), "{refused:?}");
    Ok(())
}
