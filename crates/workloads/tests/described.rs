//! Workloads of files: the examples run, keep their sums, and stay where they say; what is wrong with a file is said in words.

mod common;

use common::{Store, parameters};
use contract::{Key, Outcome, Seat, TableId, Workload};
use std::fs;
use std::path::{Path, PathBuf};
use workloads::audit::{Audit, Audited};
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
                (0..transactions).for_each(|_| drop(rows.run(auditor)));
            }
        }
        assert_eq!(audit.verdict(&clients, &auditors).is_err(), lost);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, why) in [
        ("", "line 1: missing field `tables`"),
        ("[tables]\n[transactions]", "it has no tables, or no transactions"),
        (
            &BANK.replace("rows = 2", "rows = 1"),
            "transactions.move: draw to: table 'accounts' has 1 rows; allowed: 2 at least",
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
        (&BANK.replace("weight = 1", "weight = 0"), "transactions.move: weight 0: allowed: more than 0"),
        (
            &BANK.replace("sum_of = \"accounts.balance\"", "sum_of = \"accounts.money\""),
            "invariants: sum_of 'accounts.money': allowed: a column of accounts: balance, seen",
        ),
        (
            &BANK.replace("columns = [\"balance\", \"seen\"]", "columns = [\"a b\"]"),
            "tables.accounts: columns: allowed: names of letters",
        ),
        (
            &BANK.replace("rows = 2\n", "rows = 2\nrow_bytes = 12\n"),
            "tables.accounts: row_bytes 12: allowed: a multiple of 8 from 16",
        ),
        (&BANK.replace("other_than = \"from\"", "theta = 1.5"), "draw to:"),
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
