//! Workloads of files: the examples run, keep their sums, and stay where they say; what is wrong with a file is said in words.

mod common;

use common::{Store, parameters};
use contract::{Client, Key, Outcome, Seat, TableId, Workload};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use workloads::audit::{Audit, Audited};
use workloads::described::Goal;
use workloads::{Described, ParameterError};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/workloads/{name}.toml"))
}

fn described(file: &Path) -> Result<Described, ParameterError> {
    Described::new(&parameters(&[("file", file.to_str().expect("a path"))]))
}

fn of_text(text: &str) -> Result<Described, ParameterError> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it.toml");
    fs::write(&file, text).expect("written");
    described(&file)
}

#[test]
fn the_examples_run_and_plan_what_they_touch() {
    for name in ["bank", "shop", "queue", "telecom"] {
        let workload = described(&example(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut store = Store::new(&workload);
        for worker in 0..4 {
            let mut client = workload.client(Seat::new(worker, 4, 42).over(4));
            let rollbacks = store.run_declared(&mut client, 500);
            assert!(rollbacks < 500, "{name}: {rollbacks}");
        }
    }
}

fn value(store: &mut Store<'_, Described>, table: u16, key: u64, column: usize) -> i64 {
    let row = store.row(TableId(table), Key(key)).expect("a row");
    i64::from_le_bytes(row[8 * column..][..8].try_into().expect("eight bytes"))
}

const BANK: &str = r#"
[tables.accounts]
rows = 2
columns = ["balance", "seen"]
fill = { balance = 10 }
[transactions.move]
weight = 1
draw = [{ name = "from", row_of = "accounts" }, { name = "to", row_of = "accounts", other_than = "from" }]
steps = [
    { update = "accounts", key = "from", as = "payer", require = "balance >= 4", set = { balance = "balance - 4", seen = "balance" } },
    { update = "accounts", key = "to", set = { balance = "balance + 4", seen = "payer.balance" } },
]
[[invariants]]
sum_of = "accounts.balance"
"#;

#[test]
fn steps_do_what_they_say_or_nothing() {
    let workload = of_text(BANK).expect("a workload");
    let mut store = Store::whole(&workload);
    let mut client = workload.client(Seat::new(0, 1, 1));
    let mut balances = [10, 10];
    let mut rolled_back = 0;
    for _ in 0..100 {
        let outcome = store.run(&mut client);
        let now = [value(&mut store, 0, 0, 0), value(&mut store, 0, 1, 0)];
        if outcome == Outcome::Rollback {
            assert_eq!(now, balances);
            rolled_back += 1;
            continue;
        }
        let payer = usize::from(now[1] < balances[1]);
        assert_eq!((balances[payer] - now[payer], now[1 - payer] - balances[1 - payer]), (4, 4));
        // Of the row as it was.
        for account in 0..2 {
            assert_eq!(value(&mut store, 0, account, 1), balances[payer]);
        }
        balances = now;
    }
    assert!(rolled_back > 0, "an account has less than 4 now and then");
}

#[test]
fn sums_are_audited() {
    let workload = of_text(BANK).expect("a workload");
    let audit = workload.audit().expect("there is an invariant");
    let mut store = Store::whole(&workload);
    let mut clients = vec![workload.client(Seat::new(0, 1, 1))];
    for _ in 0..20 {
        store.run(&mut clients[0]);
    }
    for lost in [false, true] {
        if lost {
            store.row(TableId(0), Key(1)).expect("a row")[0] ^= 1;
        }
        let mut rows = Store::whole(&audit);
        for key in 0..2 {
            let row = store.row(TableId(0), Key(key)).expect("a row").to_vec();
            rows.row(TableId(0), Key(key)).expect("a row").copy_from_slice(&row);
        }
        let mut auditors: Vec<_> = (0..3).map(|worker| audit.client(Seat::new(worker, 3, 1))).collect();
        loop {
            let transactions = audit.assign(&mut auditors);
            if transactions == 0 {
                break;
            }
            for auditor in &mut auditors {
                (0..transactions).for_each(|_| {
                    rows.run(auditor);
                });
            }
        }
        assert_eq!(audit.verdict(&clients, &auditors).is_err(), lost);
    }
}

/// A transaction whose later keys follow from what it has written itself.
const OWN: &str = r#"
[tables.counter]
rows = 2
columns = ["n", "unused"]
[tables.log]
rows = 0
capacity = 100
columns = ["prev"]
[tables.items]
rows = 1000
columns = ["v"]
[transactions.x]
weight = 1
draw = [{ name = "entry", new_key_of = "log" }]
steps = [
    { update = "counter", key = 0, set = { n = "n + 1", unused = "n" } },
    { read = "counter", key = 0, as = "c" },
    { update = "items", key = "c.n", set = { v = "v + 1" } },
    { insert = "log", key = "entry", set = { prev = "c.n + 100" } },
    { read = "log", key = "entry", as = "l" },
    { update = "items", key = "l.prev", set = { v = "v + 1" } },
    { write = "log", key = "entry", set = { prev = "c.n + 200" } },
    { read = "log", key = "entry", as = "m" },
    { update = "items", key = "m.prev", set = { v = "v + 1" } },
    { delete = "log", key = "entry" },
    { read = "log", key = "entry", as = "gone" },
    { update = "items", key = "gone.prev + c.unused + 500", set = { v = "v + 1" } },
]
"#;

#[test]
fn a_plan_knows_what_the_transaction_writes_itself() {
    let workload = of_text(OWN).expect("a workload");
    let mut store = Store::new(&workload);
    let mut client = workload.client(Seat::new(0, 1, 1));
    assert_eq!(store.run_declared(&mut client, 3), 0);
    // Tables are in the order of their names.
    for key in [1, 2, 3, 101, 102, 103, 201, 202, 203, 500, 501, 502] {
        assert_eq!(value(&mut store, 1, key, 0), 1, "item {key}");
    }
}

/// Sums over several columns, of which each changes.
const RESERVED: &str = r#"
[tables.buyers]
rows = 100
columns = ["credit", "reserved"]
fill = { credit = 7 }
[tables.bank]
rows = 1
columns = ["fees"]
[transactions.reserve]
weight = 1
draw = [{ name = "buyer", row_of = "buyers" }]
steps = [
    { update = "buyers", key = "buyer", set = { credit = "credit - 3", reserved = "reserved + 2" } },
    { update = "bank", key = 0, set = { fees = "fees + 1" } },
]
[[invariants]]
sum_of = ["buyers.credit", "buyers.reserved", "bank.fees"]
"#;

#[test]
fn a_sum_may_be_of_several_columns() {
    for (fee, expected) in
        [(1, None), (2, Some("the sum of buyers.credit + buyers.reserved + bank.fees is 705"))]
    {
        let text = RESERVED.replace("fees + 1", &format!("fees + {fee}"));
        let workload = of_text(&text).expect("a workload");
        let mut store = Store::whole(&workload);
        let mut clients = vec![workload.client(Seat::new(0, 1, 1))];
        for _ in 0..5 {
            store.run(&mut clients[0]);
        }
        let audit = workload.audit().expect("there is an invariant");
        let mut rows = Store::whole(&audit);
        for (table, keys) in [(0, 1), (1, 100)] {
            for key in (0..keys).map(Key) {
                let row = store.row(TableId(table), key).expect("a row").to_vec();
                rows.row(TableId(table), key).expect("a row").copy_from_slice(&row);
            }
        }
        let mut auditors = [audit.client(Seat::new(0, 1, 1))];
        let transactions = audit.assign(&mut auditors);
        for _ in 0..transactions {
            rows.run(&mut auditors[0]);
        }
        let found = audit.verdict(&clients, &auditors).err().map(|error| error.to_string());
        match expected {
            None => assert_eq!(found, None),
            Some(words) => assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{found:?}"),
        }
    }
}

const SKEWED: &str = r#"
[tables.rows]
rows = 1000
columns = ["value"]
[transactions.look]
weight = 1
draw = [{ name = "hot", row_of = "rows", theta = 0.9, remote = 50 }, { name = "other", row_of = "rows", theta = 0, remote = 0 }]
steps = [{ read = "rows", key = "hot" }, { read = "rows", key = "other" }]
[goal]
latency_p99_us = 250
durability = "group"
"#;

/// A client at home in odd rows draws 1000 transactions of [`SKEWED`]: how often the first row and the second are one of the ten hottest, and how often even.
fn drawn(given: &[(&str, &str)]) -> [[usize; 2]; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it.toml");
    fs::write(&file, SKEWED).expect("written");
    let given = [&[("file", file.to_str().expect("a path"))], given].concat();
    let workload = Described::new(&parameters(&given)).expect("a workload");
    let mut client = workload.client(Seat::new(1, 2, 7).over(2));
    let mut drawn = [[0; 2]; 2];
    for _ in 0..1000 {
        let mut store = Store::new(&workload);
        store.run(&mut client);
        for (number, (_, key, ..)) in store.log.iter().enumerate() {
            drawn[number][0] += usize::from(*key < 10);
            drawn[number][1] += usize::from(key.is_multiple_of(2));
        }
    }
    drawn
}

#[test]
fn skew_and_distance_of_a_file_can_be_changed() {
    let near = |drawn: usize, percent: usize| drawn.abs_diff(10 * percent) < 50;
    let [[hot, away], [cold, home]] = drawn(&[]);
    assert!(hot > 200 && cold < 50 && near(away, 50) && home == 0, "as written: {hot} {cold} {away} {home}");
    let [[hot, _], [cold, _]] = drawn(&[("theta", "0")]);
    assert!(hot < 50 && cold < 50, "only what is skewed loses its skew: {hot} {cold}");
    let [[_, away], [_, home]] = drawn(&[("remote", "20")]);
    assert!(near(away, 20) && home == 0, "what stays at home does so: {away} {home}");
    let [[few, _], _] = drawn(&[("theta", "0"), ("most-rows", "10")]);
    assert_eq!(few, 1000, "there are no more rows");
}

#[test]
fn a_goal_is_told() {
    let goal = of_text(SKEWED).expect("a workload").goal();
    assert_eq!(goal.latency_p99, Some(Duration::from_micros(250)));
    assert_eq!(goal.durability, Some(contract::Durability::Group));
    assert_eq!(of_text(BANK).expect("a workload").goal(), Goal::default());
}

/// Lines of an order lie beside it.
const REGIONS: &str = r#"
[tables.customers]
rows = 4000
columns = ["orders"]
partition_key = "key / 100"
[tables.lines]
rows = 0
capacity = 1000
columns = ["customer"]
ordered = true
partition_key = "key / 2"
[tables.orders]
rows = 0
capacity = 1000
columns = ["customer"]
[transactions.order]
weight = 1
draw = [
    { name = "customer", row_of = "customers", theta = 0.9, remote = 0 },
    { name = "other", row_of = "customers", remote = 100, other_than = "customer" },
    { name = "order", new_key_of = "orders" },
]
steps = [
    { update = "customers", key = "customer", set = { orders = "orders + 1" } },
    { insert = "orders", key = "order", set = { customer = "customer" } },
    { insert = "lines", key = "2 * order", set = { customer = "customer" } },
    { insert = "lines", key = "2 * order + 1", set = { customer = "customer" } },
    { read = "customers", key = "other" },
    { scan = "lines", key = 0, rows = 10 },
]
"#;

#[test]
fn rows_of_a_partition_key_lie_together() {
    let workload = of_text(REGIONS).expect("a workload");
    let (tables, partitions) = (workload.tables(), 8);
    let lives_in = |table: u16, key: u64| tables[usize::from(table)].partition.of(Key(key), partitions).0;
    let places: Vec<u32> = (0..1000).step_by(50).map(|key| lives_in(0, key)).collect();
    assert_eq!(places, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 0, 0, 1, 1]);
    for worker in 0..8 {
        let mut store = Store::new(&workload);
        let mut client = workload.client(Seat::new(worker, 8, 42).over(partitions));
        for _ in 0..100 {
            store.forget();
            store.run(&mut client);
            let at: Vec<u32> = store.log.iter().map(|(table, key, ..)| lives_in(*table, *key)).collect();
            let home = worker as u32;
            assert_eq!(at[..4], [home; 4], "the customer, the order and its lines: {:?}", store.log);
            assert_ne!(at[4], home, "another customer: {:?}", store.log);
        }
        // A scan may come to all partitions.
        let planned = common::planned(&mut store, &client.next());
        let lines: HashSet<u32> =
            planned.iter().filter(|key| key.0 == 1).map(|key| lives_in(1, key.1)).collect();
        assert_eq!(lines.len(), 8, "{planned:?}");
    }
}

/// Otherwise a check, which loads a thousand rows, would have all of them in one partition.
#[test]
fn fewer_rows_are_smaller_groups() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it.toml");
    fs::write(&file, REGIONS).expect("written");
    for (most, apart) in [("4000", 100), ("1000", 25), ("10", 1)] {
        let given = [("file", file.to_str().expect("a path")), ("most-rows", most)];
        let tables = Described::new(&parameters(&given)).expect("a workload").tables();
        let at = |table: usize, key| tables[table].partition.of(Key(key), 1 << 20).0;
        assert_eq!((at(0, apart - 1), at(0, apart)), (0, 1), "{most}");
        assert_eq!((at(1, 1), at(1, 2)), (0, 1), "no row of it was cut");
    }
}

fn many_tables() -> String {
    let tables = (0..1001).map(|number| format!("[tables.t{number}]\nrows = 1\ncolumns = ['a']\n"));
    tables.chain([BANK.replace("[tables.accounts]", "[tables.t]")]).skip(1).collect()
}

#[test]
fn what_is_no_text_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("it.toml");
    fs::write(&file, b"# one\n# \xff\n").expect("written");
    let error = described(&file).expect_err("no text").to_string();
    assert!(error.contains("line 2: it is not UTF-8; allowed: text in UTF-8"), "{error}");
}

/// A draw whose name is a column's would be taken for the column.
#[test]
fn what_the_examples_draw_is_what_they_set() {
    for (name, table, column) in [("telecom", "subscribers", "location"), ("queue", "jobs", "worker")] {
        let workload = described(&example(name)).expect("a workload");
        let number = workload.tables().iter().position(|described| described.name == table).expect("a table");
        let column = fs::read_to_string(example(name))
            .expect("text")
            .lines()
            .filter(|line| line.starts_with("columns"))
            .find_map(|line| line.split('"').skip(1).step_by(2).position(|one| one == column))
            .expect("a column");
        let mut store = Store::new(&workload);
        let mut client = workload.client(Seat::new(0, 1, 42));
        for _ in 0..2000 {
            store.run(&mut client);
        }
        let touched: Vec<Key> = store.keys(TableId(number as u16)).collect();
        let changed = touched.iter().any(|key| value(&mut store, number as u16, key.0, column) != 0);
        assert!(changed, "{name}: {column}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, why) in [
        ("", "it has 0 tables; allowed: 1 to 1000"),
        (
            "[tables.t]\nrows = 1\ncolumns = ['a']\n[transactions]",
            "it has 0 kinds of transactions; allowed: 1 to 1000",
        ),
        (
            &BANK.replace("rows = 2", "rows = 1"),
            "transactions.move: line 8: draw to: table 'accounts' has 1 rows; allowed: 2 at least",
        ),
        (
            &BANK.replace("balance >= 4", "balanc >= 4"),
            "line 10: require 'balanc >= 4': 'balanc' is not known here; names here: balance, seen, from, to",
        ),
        (
            &BANK.replace("payer.balance\"", "payee.balance\""),
            "line 11: set.seen 'payee.balance': 'payee.balance' is not known here",
        ),
        (&BANK.replace("key = \"to\"", "key = \"two\""), "line 11: key 'two': 'two' is not known here"),
        (&BANK.replace("weight = 1", "weight = 0"), "transactions.move: weight 0.0: allowed: more than 0"),
        (
            &BANK.replace("weight = 1", "weight = 1e308"),
            "transactions.move: weight 1e308: allowed: more than 0",
        ),
        (&BANK.replace("weight = 1", "weight = 1e-320"), "allowed: more than 0"),
        (
            &BANK.replace("{ name = \"to\"", "{ name = \"balance\", from = 1, to = 2 }, { name = \"to\""),
            "line 10: require 'balance >= 4': 'balance' is a column of accounts and what was drawn; allowed: another name",
        ),
        (
            &BANK.replace("key = \"to\",", "key = \"to\", as = \"payer\","),
            "line 11: as 'payer': a row that was read before has this name; allowed: another name",
        ),
        (&BANK.replace("as = \"payer\"", "as = \"a b\""), "line 10: as 'a b': allowed: names of letters"),
        (
            &BANK.replace("columns = [\"balance\", \"seen\"]", "columns = [\"balance\", \"balance\"]"),
            "tables.accounts: columns: 'balance' is there twice; allowed: each once",
        ),
        (&BANK.replace("name = \"to\"", "name = \"from\""), "line 8: draw from: it is drawn twice"),
        (&BANK.replace("name = \"to\"", "name = \"and\""), "line 8: draw and: allowed: names of letters"),
        (
            &BANK.replace(
                "update = \"accounts\", key = \"to\"",
                "insert = \"accounts\", key = \"to\", missing = \"roll-back\"",
            ),
            "line 11: missing does not go with insert",
        ),
        (
            &BANK.replace("key = \"to\"", "key = 1.5"),
            "line 11: invalid type: floating point `1.5`, expected a whole number or an expression in quotes",
        ),
        (
            &BANK.replace("rows = 2", "rows = -10"),
            "line 3: invalid value: integer `-10`, expected a whole number, 0 at least",
        ),
        (&BANK.replace("rows = 2", "rows = 2\nrows = 3"), "line 4: 'rows' is there twice"),
        (
            &BANK.replace("balance >= 4", &format!("{}1 > 0", "(".repeat(200_000))),
            "more than 64 brackets and signs are open",
        ),
        (&many_tables(), "it has 1001 tables; allowed: 1 to 1000"),
        (
            &BANK.replace("sum_of = \"accounts.balance\"", "sum_of = 3"),
            "expected 'TABLE.COLUMN', or several of them between brackets",
        ),
        (
            &BANK.replace("sum_of = \"accounts.balance\"", "sum_of = ['accounts.seen', 'accounts.seen']"),
            "invariants: sum_of 'accounts.seen' is there twice; allowed: each column once",
        ),
        (
            &BANK.replace("sum_of = \"accounts.balance\"", "sum_of = \"accounts.money\""),
            "invariants: sum_of 'accounts.money': allowed: a column of accounts: balance, seen",
        ),
        (
            &BANK.replace("columns = [\"balance\", \"seen\"]", "columns = [\"a b\"]"),
            "tables.accounts: columns: 'a b': allowed: names of letters",
        ),
        (
            &BANK.replace("rows = 2\n", "rows = 2\nrow_bytes = 12\n"),
            "tables.accounts: row_bytes 12: allowed: a multiple of 8 from 16",
        ),
        (
            &BANK.replace("rows = 2\n", "rows = 2\npartition_key = \"key / 0\"\n"),
            "tables.accounts: line 4: partition_key 'key / 0': allowed: key, or key / N with a whole N from 1 to 68719476736",
        ),
        (
            &BANK.replace("rows = 2\n", "rows = 2\npartition_key = \"balance\"\n"),
            "tables.accounts: line 4: partition_key 'balance': allowed: key, or key / N with a whole N",
        ),
        (
            &BANK.replace("rows = 2\n", "rows = 2\npartition_key = 5\n"),
            "line 4: expected \"key\", or \"key / N\" in quotes",
        ),
        (&BANK.replace("other_than = \"from\"", "theta = 1.5"), "draw to:"),
        (&format!("{BANK}[goal]\nlatency_p99_us = 0\n"), "goal: latency_p99_us 0: allowed: more than 0"),
        (
            &format!("{BANK}[goal]\ndurability = 'disk'\n"),
            "goal: durability 'disk': allowed: none, buffered, group, sync",
        ),
        ("cores = 4", "it is a machine, which goes with --on"),
        ("workload = 'micro'\n[axes]", "it is an experiment, which 'trireme sweep' takes"),
        (
            &BANK.replace("update = \"accounts\", key = \"to\"", "scan = \"accounts\", key = \"to\""),
            "line 11: set does not go with scan",
        ),
    ] {
        let error = of_text(text).expect_err(why).to_string();
        assert!(error.contains(why), "{error}\nnot: {why}");
    }
    let missing = described(Path::new("no/such.toml")).expect_err("no file").to_string();
    assert!(missing.starts_with("no/such.toml: "), "{missing}");
    let file = example("bank");
    let resolved = described(&file).expect("a workload").resolved();
    let same = resolved.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
    assert_eq!(Described::new(&parameters(&same)).expect("the same").resolved(), resolved);
    let other = [("file", file.to_str().expect("a path")), ("contents", "0000000000000000")];
    let changed = Described::new(&parameters(&other)).expect_err("another file").to_string();
    assert!(changed.contains("its contents are"), "{changed}");
}
