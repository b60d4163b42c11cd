//! What a program does with tables, in one thread.

use std::collections::BTreeMap;
use trireme::{
    ArchitectureName, Bytes, Database, Error, Index, ProtocolName, RetryPolicy, Serde, Table, Transaction,
};

const NUMBERS: Table<i32, u64> = Table::new("numbers");
const NAMES: Table<String, Bytes> = Table::new("names");
const PAIRS: Table<(u16, String), Serde<Option<String>>> = Table::new("pairs");

fn in_memory() -> Database {
    Database::in_memory().expect("memory")
}

#[test]
fn what_is_written_is_read() -> Result<(), Error> {
    let db = in_memory();
    let (numbers, names, pairs) = (db.table(NUMBERS)?, db.table(NAMES)?, db.table(PAIRS)?);
    db.transact(|tx| {
        assert_eq!(tx.get(numbers, -5)?, None);
        tx.insert(numbers, -5, &7)?;
        assert_eq!(tx.insert(numbers, -5, &8), Err(Error::Exists { table: "numbers".to_owned() }));
        assert_eq!(tx.get(numbers, -5)?, Some(7));
        tx.upsert(numbers, -5, &9)?;
        assert_eq!(tx.update(numbers, -5, |value| std::mem::replace(value, 10))?, Some(9));
        assert_eq!(tx.update(numbers, 5, |_| ())?, None);
        for bytes in [0, 1, 15, 16, 17, 4095, 1 << 20] {
            tx.upsert(names, "one", &vec![bytes as u8; bytes])?;
            assert_eq!(tx.get_with(names, "one", <[u8]>::len)?, Some(bytes));
        }
        tx.insert(pairs, (3, "x"), &Some("value".to_owned()))
    })?;
    db.transact(|tx| {
        assert_eq!(tx.get(numbers, -5)?, Some(10));
        assert_eq!(tx.get(names, "one")?, Some(vec![0; 1 << 20]));
        assert_eq!(tx.get(pairs, (3, "x"))?, Some(Some("value".to_owned())));
        assert!(tx.remove(names, "one")? && !tx.remove(names, "one")?);
        assert!(!tx.contains(names, "one")? && tx.contains(numbers, -5)?);
        Ok::<_, Error>(())
    })?;
    assert_eq!(db.stats().commits, 2);
    Ok(())
}

#[test]
fn who_answers_an_error_has_done_nothing() -> Result<(), Error> {
    #[derive(Debug, PartialEq)]
    enum Own {
        Refused,
        Database(Error),
    }
    impl From<Error> for Own {
        fn from(error: Error) -> Own {
            Own::Database(error)
        }
    }
    let db = in_memory();
    let (numbers, names) = (db.table(NUMBERS)?, db.table(NAMES)?);
    db.transact(|tx| tx.insert(names, "kept", b"as it was"))?;
    let refused = db.transact(|tx| {
        tx.insert(numbers, 1, &1)?;
        tx.upsert(names, "kept", b"changed")?;
        tx.insert(names, "new", b"new")?;
        Err::<(), _>(Own::Refused)
    });
    assert_eq!(refused, Err(Own::Refused));
    let mut by_hand = db.begin()?;
    by_hand.insert(numbers, 2, &2)?;
    by_hand.roll_back();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        db.transact(|tx| {
            tx.insert(numbers, 3, &3)?;
            tx.remove(names, "kept")?;
            if tx.contains(numbers, 3)? {
                panic!("a defect of the program")
            }
            Ok::<_, Error>(())
        })
    }));
    assert!(panicked.is_err());
    db.transact(|tx| {
        assert_eq!(tx.range(numbers, ..)?.count(), 0);
        assert_eq!(
            tx.range(names, ..)?.collect::<Result<Vec<_>, _>>()?,
            [("kept".to_owned(), b"as it was".to_vec())]
        );
        Ok::<_, Error>(())
    })?;
    assert_eq!(db.stats().roll_backs, 3);
    Ok(())
}

#[test]
fn ranges_go_from_both_ends() -> Result<(), Error> {
    let db = in_memory();
    let (numbers, pairs) = (db.table(NUMBERS)?, db.table(PAIRS)?);
    db.transact(|tx| {
        (-500..500).try_for_each(|key| tx.insert(numbers, 3 * key, &(key as u64)))?;
        for (first, second) in [(1, "b"), (1, ""), (2, "a"), (1, "a\0"), (1, "a")] {
            tx.insert(pairs, (first, second), &None)?;
        }
        Ok::<_, Error>(())
    })?;
    let keys = |rows: Vec<Result<(i32, u64), Error>>| -> Result<Vec<i32>, Error> {
        rows.into_iter().map(|row| row.map(|(key, _)| key)).collect()
    };
    db.transact(|tx| {
        let all: Vec<i32> = (-500..500).map(|key| 3 * key).collect();
        assert_eq!(keys(tx.range(numbers, ..)?.collect())?, all);
        assert_eq!(
            keys(tx.range(numbers, ..)?.rev().collect())?,
            all.iter().rev().copied().collect::<Vec<_>>()
        );
        assert_eq!(keys(tx.range(numbers, -4..=6)?.collect())?, [-3, 0, 3, 6]);
        assert_eq!(keys(tx.range(numbers, -3..6)?.rev().take(2).collect())?, [3, 0]);
        let (from, to) = (6, -6);
        assert_eq!(tx.range(numbers, from..to)?.count(), 0, "the wrong way round");
        let mut seen = Vec::new();
        let see = |key, bytes: &[u8]| seen.push((key, u64::from_ne_bytes(bytes.try_into().expect("a row"))));
        assert_eq!(tx.scan_with(numbers, -4..=6, usize::MAX, see)?, 4);
        assert_eq!(seen, [(-3, u64::MAX), (0, 0), (3, 1), (6, 2)]);
        assert_eq!(tx.scan_with(numbers, 1.., 2, |key, _| assert!([3, 6].contains(&key)))?, 2);
        let mut both = tx.range(numbers, ..)?;
        let (mut low, mut high) = (Vec::new(), Vec::new());
        while let Some(row) = both.next() {
            low.push(row);
            high.extend(both.next_back());
        }
        let mut met = keys(low)?;
        met.extend(keys(high.into_iter().rev().collect())?);
        assert_eq!(met, all, "each once, from whichever end");
        let second = tx.range(pairs, (1, "")..(2, ""))?.map(|row| row.map(|((_, second), _)| second));
        assert_eq!(second.collect::<Result<Vec<_>, _>>()?, ["", "a", "a\0", "b"]);
        Ok::<_, Error>(())
    })
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
struct Person {
    name: String,
    city: String,
    mail: Option<String>,
}

const PEOPLE: Table<u64, Serde<Person>> = Table::new("people");
const BY_CITY: Index<u64, Serde<Person>, String> =
    PEOPLE.index("by_city", |_, person| Some(person.city.clone()));
const BY_MAIL: Index<u64, Serde<Person>, String> =
    PEOPLE.unique_index("by_mail", |_, person| person.mail.clone());

fn person(name: &str, city: &str, mail: Option<&str>) -> Person {
    Person { name: name.to_owned(), city: city.to_owned(), mail: mail.map(str::to_owned) }
}

#[test]
fn indexes_are_kept() -> Result<(), Error> {
    let db = in_memory();
    let people = db.table(PEOPLE)?;
    db.transact(|tx| tx.insert(people, 1, &person("Ada", "London", Some("ada@x"))))?;
    // Made of a table that has rows.
    let (by_city, by_mail) = (db.index(BY_CITY)?, db.index(BY_MAIL)?);
    db.transact(|tx| {
        tx.insert(people, 2, &person("Bo", "London", None))?;
        tx.insert(people, 3, &person("Cy", "Lon", None))?;
        tx.insert(people, 4, &person("Di", "London ", Some("di@x")))
    })?;
    let names = |tx: &mut Transaction<'_>, city: &str| -> Result<Vec<String>, Error> {
        Ok(tx.find(by_city, city)?.into_iter().map(|(_, person)| person.name).collect())
    };
    db.transact(|tx| {
        assert_eq!(names(tx, "London")?, ["Ada", "Bo"]);
        assert_eq!(names(tx, "Lon")?, ["Cy"]);
        assert_eq!(tx.find(by_mail, "ada@x")?, [(1, person("Ada", "London", Some("ada@x")))]);
        tx.update(people, 1, |ada| ada.city = "Lon".to_owned())?;
        tx.upsert(people, 2, &person("Bo", "London", Some("bo@x")))?;
        tx.remove(people, 4)?;
        assert_eq!(names(tx, "Lon")?, ["Ada", "Cy"]);
        Ok::<_, Error>(())
    })?;
    let taken = db.transact(|tx| tx.insert(people, 5, &person("Ed", "York", Some("bo@x"))));
    assert_eq!(taken, Err(Error::NotUnique { index: "people/by_mail".to_owned() }));
    db.transact(|tx| {
        assert_eq!(names(tx, "London")?, ["Bo"]);
        assert_eq!(names(tx, "York")?, Vec::<String>::new());
        assert_eq!(tx.find(by_mail, "di@x")?, []);
        // Free again.
        tx.insert(people, 6, &person("Di", "Bern", Some("di@x")))?;
        let between = tx.find_between(by_city, "C".."London", 10)?;
        assert_eq!(between.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [1, 3]);
        let first = tx.find_between(by_city, .., 2)?;
        assert_eq!(first.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [6, 1]);
        Ok::<_, Error>(())
    })?;
    let twice = db.begin()?;
    assert_eq!(db.drop_index(BY_CITY), Err(Error::InTransaction));
    drop(twice);
    db.drop_index(BY_CITY)?;
    assert_eq!(
        db.tables().iter().map(|table| &table.name[..]).collect::<Vec<_>>(),
        ["people", "people/by_mail"]
    );
    Ok(())
}

#[test]
fn a_unique_index_of_rows_that_are_not_is_refused() -> Result<(), Error> {
    let db = in_memory();
    let people = db.table(PEOPLE)?;
    db.transact(|tx| {
        (0..3000).try_for_each(|key| tx.insert(people, key, &person("", "", Some(&(key % 2999).to_string()))))
    })?;
    let refused = db.index(BY_MAIL).map(|_| ());
    assert_eq!(refused, Err(Error::NotUnique { index: "people/by_mail".to_owned() }));
    assert_eq!(db.tables().len(), 1);
    db.transact(|tx| tx.remove(people, 2999))?;
    let by_mail = db.index(BY_MAIL)?;
    db.transact(|tx| {
        assert_eq!(tx.find(by_mail, "2998")?.len(), 1);
        assert_eq!(tx.find_between(by_mail, .., usize::MAX)?.len(), 2999);
        Ok(())
    })
}

#[test]
fn a_name_that_an_index_could_have_is_refused() -> Result<(), Error> {
    let db = in_memory();
    let refused = db.table(Table::<i32, u64>::new("a/b")).map(|_| ()).expect_err("it has a slash");
    assert_eq!(refused, Error::Name { table: "a/b".to_owned() });
    assert_eq!(refused.to_string(), "no table can be called 'a/b'; allowed: a name without '/'");
    assert!(db.tables().is_empty());
    Ok(())
}

#[test]
fn tables_come_and_go() -> Result<(), Error> {
    let db = in_memory();
    let numbers = db.table(NUMBERS)?;
    db.transact(|tx| tx.insert(numbers, 1, &1))?;
    let other: Table<i32, u32> = Table::new("numbers");
    assert_eq!(
        db.table(other).map(|_| ()),
        Err(Error::Schema {
            table: "numbers".to_owned(),
            stored: "i32 to rows of 8 bytes".to_owned(),
            asked: "i32 to rows of 4 bytes".to_owned()
        })
    );
    db.drop_table("numbers")?;
    assert_eq!(db.drop_table("numbers"), Err(Error::NoTable { table: "numbers".to_owned() }));
    assert_eq!(db.transact(|tx| tx.get(numbers, 1)), Err(Error::NoTable { table: "0".to_owned() }));
    let again = db.table(other)?;
    assert_eq!(db.transact(|tx| tx.get(again, 1))?, None);
    let elsewhere = in_memory().table(other)?;
    assert_eq!(db.transact(|tx| tx.get(elsewhere, 1)), Err(Error::OtherDatabase));
    for round in 0..20 {
        let names = db.table(NAMES)?;
        db.transact(|tx| tx.insert(names, "long", &vec![round; 1 << 20]))?;
        db.drop_table("names")?;
    }
    assert!(db.stats().memory_bytes < 200 << 20, "{} bytes", db.stats().memory_bytes);
    Ok(())
}

#[test]
fn a_memory_limit_refuses_what_adds_and_serves_the_rest() -> Result<(), Error> {
    let limit = 64 << 20;
    let db = Database::builder().memory_limit(limit).in_memory()?;
    let names = db.table(NAMES)?;
    let mut written = 0;
    let refused = loop {
        match db.transact(|tx| tx.insert(names, &written.to_string(), &[1; 100_000])) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Memory { limit: 67_108_864, taken } if taken > limit), "{refused}");
    assert!((100..2000).contains(&written), "{written} of 100,000 bytes");
    db.transact(|tx| {
        assert!(tx.contains(names, "7")?);
        (0..written).try_for_each(|key| tx.remove(names, &key.to_string()).map(|_| ()))
    })?;
    // What was removed is free once its epoch has passed.
    let mut tries = 0;
    while let Err(error) = db.transact(|tx| tx.insert(names, "again", b"")) {
        assert!(matches!(error, Error::Memory { .. }) && tries < 1000, "{error}");
        std::thread::sleep(std::time::Duration::from_millis(10));
        // Slots give memory back as they go on.
        (0..100).try_for_each(|_| db.transact(|tx| tx.get(names, "no").map(|_| ())))?;
        tries += 1;
    }
    Ok(())
}

#[test]
fn hashed_tables_find_by_key_only() -> Result<(), Error> {
    const HASHED: Table<i16, u64> = Table::new("hashed").hashed(100);
    const ODD: Index<i16, u64, bool> = HASHED.index("odd", |_, value| Some(value % 2 == 1));
    let db = in_memory();
    let hashed = db.table(HASHED)?;
    db.transact(|tx| (-500..500).try_for_each(|key| tx.insert(hashed, key, &(key.unsigned_abs().into()))))?;
    db.transact(|tx| {
        assert_eq!(tx.get(hashed, -3)?, Some(3));
        assert_eq!(tx.get(hashed, 500)?, None);
        assert!(matches!(tx.scan_with(hashed, .., 1, |_, _| ()), Err(Error::NotOrdered { .. })));
        let refused = tx.range(hashed, ..).map(|_| ());
        assert_eq!(refused, Err(Error::NotOrdered { table: "hashed".to_owned() }));
        Ok::<_, Error>(())
    })?;
    assert_eq!(db.index(ODD).map(|_| ()), Err(Error::NotOrdered { table: "hashed".to_owned() }));
    db.transact(|tx| (-500..500).try_for_each(|key| tx.remove(hashed, key).map(|_| ())))?;
    let odd = db.index(ODD)?;
    db.transact(|tx| {
        (0..10).try_for_each(|key| tx.insert(hashed, key, &(key as u64)))?;
        assert_eq!(tx.find(odd, true)?.len(), 5);
        Ok(())
    })
}

#[test]
fn transactions_may_be_large_and_are_refused_where_the_protocol_has_a_limit() -> Result<(), Error> {
    let db = in_memory();
    let numbers = db.table(NUMBERS)?;
    let rows = 100_000;
    db.transact(|tx| (0..rows).try_for_each(|key| tx.insert(numbers, key, &1)))?;
    assert_eq!(db.transact(|tx| Ok::<_, Error>(tx.range(numbers, ..)?.count()))?, rows as usize);
    let db =
        Database::builder().system(ArchitectureName::SharedEverything, ProtocolName::WaitDie).in_memory()?;
    let numbers = db.table(NUMBERS)?;
    let too_large = Err(Error::TooLarge { most: 32_768 });
    assert_eq!(db.transact(|tx| (0..rows).try_for_each(|key| tx.insert(numbers, key, &1))), too_large);
    (0..40).try_for_each(|part| {
        db.transact(|tx| (0..1000).try_for_each(|key| tx.insert(numbers, 1000 * part + key, &1)))
    })?;
    let all = db.transact(|tx| tx.range(numbers, ..)?.try_for_each(|row| row.map(|_| ())));
    assert_eq!(all, too_large);
    Ok(())
}

/// All that a transaction does, against a map.
#[test]
fn a_table_is_a_map() -> Result<(), Error> {
    let mut seed = 7u64;
    let mut random = move |bound: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % bound
    };
    let db = Database::builder().retry(RetryPolicy::ONCE).in_memory()?;
    let names = db.table(NAMES)?;
    let mut model: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for _ in 0..2000 {
        let mut after = model.clone();
        let mut tx = db.begin()?;
        for _ in 0..random(8) {
            let key = "k".repeat(random(30) as usize);
            let value = vec![random(256) as u8; random(100) as usize];
            match random(6) {
                0 => assert_eq!(tx.insert(names, &key, &value).is_ok(), {
                    let is_new = !after.contains_key(&key);
                    after.entry(key).or_insert(value);
                    is_new
                }),
                1 => {
                    tx.upsert(names, &key, &value)?;
                    after.insert(key, value);
                }
                2 => assert_eq!(tx.remove(names, &key)?, after.remove(&key).is_some()),
                3 => assert_eq!(
                    tx.update(names, &key, |found| found.extend_from_slice(&value))?,
                    after.get_mut(&key).map(|found| found.extend_from_slice(&value))
                ),
                4 => assert_eq!(tx.get(names, &key)?.as_ref(), after.get(&key)),
                _ => {
                    let seen: Vec<_> = tx.range(names, &key[..]..)?.collect::<Result<_, _>>()?;
                    let there: Vec<_> =
                        after.range(key..).map(|(key, value)| (key.clone(), value.clone())).collect();
                    assert_eq!(seen, there);
                }
            }
        }
        if random(4) == 0 {
            tx.roll_back();
        } else {
            tx.commit()?.wait()?;
            model = after;
        }
    }
    Ok(())
}
