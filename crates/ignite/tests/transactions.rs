//! A program's own transactions: one session against a model, operation by operation; two sessions that move money between the same rows.

use contract::{
    Abort, Direction, Indexing, Insertion, Key, Outcome, PartitionFunction, Presence, RowLength, Scan, Span,
    TableDescription, TableId, Transaction, TransactionExt,
};
use fastrand::Rng;
use ignite::nodes::Nodes;
use ignite::session::Session;
use ignite::transaction::IgniteTransaction;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::thread;

const NUMBERS: TableId = TableId(0);
const STRINGS: TableId = TableId(1);

fn tables() -> Vec<TableDescription> {
    let table = |name, length, indexing| TableDescription {
        name,
        row_bytes: 32,
        length,
        kept_bytes: 32,
        rows: 0,
        capacity: 100,
        indexing,
        partition: PartitionFunction::Remainder,
    };
    let strings = Indexing::OrderedBytes { most: 12 };
    vec![
        table("numbers", RowLength::Varying, Indexing::Hashed),
        table("strings", RowLength::Varying, strings),
        TableDescription {
            row_bytes: 8,
            kept_bytes: 8,
            ..table("balances", RowLength::Fixed, Indexing::Hashed)
        },
    ]
}

/// What both tables should hold; numbers are byte strings, too.
type Model = BTreeMap<(TableId, Vec<u8>), Vec<u8>>;

/// A key of either table: of two groups of strings, some of which are no longer than what a group begins with.
fn key(table: TableId, rng: &mut Rng) -> Vec<u8> {
    match table {
        NUMBERS => Key(rng.u64(..6)).bytes().to_vec(),
        _ => {
            let mut bytes = vec![b'a' + rng.u8(..2); 8];
            bytes.extend((0..rng.usize(..3)).map(|_| rng.u8(..3)));
            bytes
        }
    }
}

fn presence(is_there: bool) -> Presence {
    if is_there { Presence::Present } else { Presence::Missing }
}

/// One random operation on both.
fn operate(txn: &mut IgniteTransaction<'_>, model: &mut Model, rng: &mut Rng) -> Result<(), Abort> {
    let table = TableId(rng.u16(..2));
    let bytes = key(table, rng);
    let number = match table {
        NUMBERS => Key::prefix_of(&bytes),
        _ => txn.key(table, &bytes),
    };
    let row: Vec<u8> = (0..rng.usize(..20)).map(|_| rng.u8(..)).collect();
    let place = (table, bytes);
    match rng.u8(..5) {
        0 => {
            let mut seen = None;
            let found = txn.read_whole(table, number, &mut |row| seen = Some(row.to_vec()))?;
            assert_eq!((found, seen.as_ref()), (presence(model.contains_key(&place)), model.get(&place)));
        }
        1 => {
            let inserted = txn.insert(table, number, &row)?;
            assert_eq!(inserted == Insertion::Exists, model.contains_key(&place));
            model.entry(place).or_insert(row);
        }
        2 => {
            assert_eq!(txn.delete(table, number)?, presence(model.remove(&place).is_some()));
        }
        3 => {
            let replaced = txn.replace(table, number, &row)?;
            assert_eq!(replaced, presence(model.contains_key(&place)));
            model.entry(place).and_modify(|there| *there = row);
        }
        _ => {
            let (mut from, mut to) = (key(STRINGS, rng), key(STRINGS, rng));
            to[..8].copy_from_slice(&from.clone()[..8]);
            if from > to {
                std::mem::swap(&mut from, &mut to);
            }
            let (direction, limit) =
                (if rng.bool() { Direction::Forward } else { Direction::Backward }, rng.usize(1..4));
            let (low, high) = (Bound::Included(&from[..]), Bound::Excluded(&to[..]));
            let scan = Scan {
                table: STRINGS,
                from: low,
                to: high,
                direction,
                limit,
                span: Span::whole(32),
                within: None,
            };
            let mut shown = Vec::new();
            let count = txn.scan(&scan, &mut |key, row| shown.push((key.to_vec(), row.to_vec())))?;
            let strings = model.iter().filter(|((table, key), _)| *table == STRINGS && scan.covers(key));
            let mut expected: Vec<_> = strings.map(|((_, key), row)| (key.clone(), row.clone())).collect();
            if direction == Direction::Backward {
                expected.reverse();
            }
            expected.truncate(limit);
            assert_eq!((count, shown), (expected.len(), expected));
        }
    }
    Ok(())
}

#[test]
fn a_session_does_what_a_map_does_and_money_is_moved_whole() {
    let nodes = Nodes::start(2, 1).expect("two nodes");
    agrees_with_a_map(&nodes);
    money_is_moved_whole(&nodes);
}

fn agrees_with_a_map(nodes: &Nodes) {
    let mut session = Session::connect(nodes.clients(1), tables()).expect("a session");
    let (mut model, mut rng) = (Model::new(), Rng::with_seed(7));
    for _ in 0..150 {
        let mut tried = model.clone();
        let commits = rng.u8(..4) > 0;
        let (outcome, _) = session
            .attempt(|txn| {
                for _ in 0..rng.usize(1..8) {
                    operate(txn, &mut tried, &mut rng)?;
                }
                Ok(if commits { Outcome::Commit } else { Outcome::Rollback })
            })
            .expect("nobody else is there");
        assert_eq!(outcome == Outcome::Commit, commits);
        if commits {
            model = tried;
        }
    }
    assert!(!model.is_empty(), "nothing was left to be found");
}

fn money_is_moved_whole(nodes: &Nodes) {
    const BALANCES: TableId = TableId(2);
    const ACCOUNTS: u64 = 4;
    let mut teller = Session::connect(nodes.clients(0), tables()).expect("a session");
    let open = |txn: &mut IgniteTransaction<'_>| {
        (0..ACCOUNTS).try_for_each(|account| {
            assert_eq!(txn.insert_row(BALANCES, Key(account), &1_000_i64)?, Insertion::Inserted);
            Ok(())
        })
    };
    teller.transact(open).expect("accounts");
    thread::scope(|scope| {
        for number in 0..2 {
            scope.spawn(move || {
                let mut session = Session::connect(nodes.clients(number), tables()).expect("a session");
                let mut rng = Rng::with_seed(number as u64);
                for _ in 0..100 {
                    let (from, to, cents) = (rng.u64(..ACCOUNTS), rng.u64(..ACCOUNTS), rng.i64(1..100));
                    let moved = session.transact(|txn| {
                        txn.update_row(BALANCES, Key(from), |balance: &mut i64| *balance -= cents)?;
                        txn.update_row(BALANCES, Key(to), |balance: &mut i64| *balance += cents)
                    });
                    assert_eq!(moved, Ok(Some(())), "both accounts are there");
                }
            });
        }
    });
    let sum = teller.transact(|txn| {
        (0..ACCOUNTS).try_fold(0, |sum, account| {
            let balance = txn.read_row(BALANCES, Key(account), |balance: &i64| *balance)?;
            Ok(sum + balance.expect("an account"))
        })
    });
    assert_eq!(sum, Ok(1_000 * ACCOUNTS as i64));
}
