//! Parameters from the outside: what is described, what is refused, and in which words.

mod common;

use common::parameters;
use contract::Workload;
use workloads::{AnyWorkload, Parameters, WorkloadVisitor, build, descriptions};

fn error(workload: &str, given: &[(&str, &str)]) -> String {
    match build(workload, &parameters(given)) {
        Ok(built) => panic!("{workload} with {given:?} should be refused, and is {:?}", built.resolved()),
        Err(error) => error.to_string(),
    }
}

fn resolved(workload: &str, given: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    build(workload, &parameters(given)).expect("valid parameters").resolved()
}

fn value(workload: &str, given: &[(&str, &str)], name: &str) -> String {
    let resolved = resolved(workload, given);
    resolved.into_iter().find(|(known, _)| *known == name).expect("a parameter of the workload").1
}

/// With nothing given but what must be.
fn by_defaults(workload: &str) -> AnyWorkload {
    let given: &[(&str, &str)] = match workload {
        "described" => &[("file", "examples/workloads/bank.toml")],
        _ => &[],
    };
    build(workload, &parameters(given)).expect("the defaults are valid")
}

#[test]
fn a_workload_of_files_needs_one() {
    let allowed = "the path of a workload's file in TOML, such as bank.toml";
    assert_eq!(error("described", &[]), format!("bad value '' for 'file'; allowed: {allowed}"));
}

#[test]
fn what_is_described_is_what_is_built() {
    for description in descriptions() {
        let built = by_defaults(description.name);
        assert_eq!(built.name(), description.name);
        let resolved = built.resolved();
        assert_eq!(resolved.len(), description.parameters.len());
        for (parameter, (name, value)) in description.parameters.iter().zip(resolved) {
            assert_eq!(parameter.name, name);
            // Half reads and half read-modify-writes are mix F, whether or not it was asked for. A file is asked for, and has contents.
            if !["mix", "file", "contents"].contains(&name) {
                assert_eq!(parameter.default, value, "the default of {name} is written as results write it");
            }
            assert!(!parameter.help.is_empty() && !parameter.help.starts_with(' '), "{name}");
            assert!(!parameter.allowed.is_empty(), "{name}");
        }
    }
}

#[test]
fn results_can_be_given_back() {
    for (workload, given) in [
        ("micro", vec![]),
        ("micro", vec![("writes", "33.3"), ("order", "key"), ("records", "1e8")]),
        ("ycsb", vec![]),
        ("ycsb", vec![("mix", "A")]),
        ("ycsb", vec![("mix", "B"), ("update", "read-modify-write")]),
        ("ycsb", vec![("mix", "D"), ("theta", "0.99")]),
        ("ycsb", vec![("mix", "E"), ("scan-lengths", "zipfian")]),
        ("ycsb", vec![("mix", "E"), ("scan-rows", "7"), ("accesses", "3")]),
        ("ycsb", vec![("scan-rows", "10"), ("distribution", "latest")]),
        ("ycsb", vec![("scan-rows", "10000"), ("accesses", "64"), ("records", "30000"), ("mix", "none")]),
        ("ycsb", vec![("index", "ordered")]),
        ("ycsb", vec![("mix", "C"), ("update", "blind"), ("theta", "0.6")]),
        ("smallbank", vec![("remote", "12.5"), ("mix", "original"), ("amounts", "h-store"), ("hot", "0")]),
        ("tatp", vec![("subscribers", "1e6"), ("distribution", "uniform"), ("from", "home")]),
        ("tpcc", vec![("warehouses", "3"), ("item", "shared"), ("mix", "delivery"), ("room", "7")]),
        (
            "described",
            vec![
                ("file", "examples/workloads/shop.toml"),
                ("theta", "0.25"),
                ("remote", "12.5"),
                ("most-rows", "1k"),
            ],
        ),
    ] {
        let first = resolved(workload, &given);
        let again = build(workload, &first.iter().cloned().collect()).expect("what was resolved is valid");
        assert_eq!(again.resolved(), first, "{workload} {given:?}");
    }
}

#[test]
fn numbers_are_written_as_people_write_them() {
    for text in ["2_000_000", "2e6", "2M", "2000k"] {
        assert_eq!(value("ycsb", &[("records", text)], "records"), "2000000");
    }
    assert_eq!(value("ycsb", &[("theta", "8e-1")], "theta"), "0.8");
    for (text, shown) in [("none", "none"), ("0", "none"), ("all", "all"), ("100", "all"), ("1e1", "10")] {
        assert_eq!(value("micro", &[("writes", text)], "writes"), shown);
    }
}

#[test]
fn a_mix_stands_for_reads_and_update() {
    let means = |given: &[(&str, &str)]| ["mix", "reads", "update"].map(|name| value("ycsb", given, name));
    assert_eq!(means(&[("mix", "A")]), ["A", "50", "blind"]);
    assert_eq!(means(&[("mix", "B")]), ["B", "95", "blind"]);
    assert_eq!(means(&[("mix", "C")]), ["C", "100", "read-modify-write"]);
    assert_eq!(means(&[("mix", "D")]), ["D", "95", "insert"]);
    assert_eq!(value("ycsb", &[("mix", "D")], "distribution"), "latest");
    assert_eq!(value("ycsb", &[("mix", "A")], "distribution"), "zipfian");
    assert_eq!(means(&[("mix", "E")]), ["E", "95", "insert"]);
    let scans =
        |given: &[(&str, &str)]| ["scan-rows", "accesses", "index"].map(|name| value("ycsb", given, name));
    assert_eq!(scans(&[("mix", "E")]), ["100", "1", "ordered"]);
    assert_eq!(scans(&[("mix", "E"), ("accesses", "16"), ("scan-rows", "5")]), ["5", "16", "ordered"]);
    assert_eq!(scans(&[("scan-rows", "5")]), ["5", "16", "ordered"]);
    assert_eq!(scans(&[("mix", "D")]), ["0", "16", "hash"]);
    assert_eq!(
        means(&[("update", "insert"), ("reads", "95"), ("scan-rows", "50")]),
        ["E", "95", "insert"],
        "scans of any length"
    );
    assert_eq!(means(&[("mix", "F")]), ["F", "50", "read-modify-write"]);
    assert_eq!(
        means(&[("update", "insert"), ("reads", "95"), ("distribution", "latest")]),
        ["D", "95", "insert"],
        "in whatever way it was asked for"
    );
    assert_eq!(means(&[("update", "insert"), ("reads", "95")]), ["none", "95", "insert"]);
    assert_eq!(
        means(&[("mix", "B"), ("reads", "95")]),
        ["B", "95", "blind"],
        "repeating the mix is no conflict"
    );
    assert_eq!(means(&[("mix", "none"), ("reads", "80")]), ["none", "80", "read-modify-write"]);
    assert_eq!(
        means(&[("reads", "100")]),
        ["C", "100", "read-modify-write"],
        "a mix is known by what it does"
    );
    assert_eq!(means(&[("update", "blind")]), ["A", "50", "blind"]);
    assert_eq!(
        means(&[("mix", "A"), ("update", "read-modify-write")]),
        ["F", "50", "read-modify-write"],
        "an explicit update replaces that of the mix"
    );
    assert_eq!(means(&[("mix", "B"), ("update", "read-modify-write")]), ["none", "95", "read-modify-write"]);
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    assert_eq!(
        error("tpcx", &[]),
        "unknown workload 'tpcx'; allowed: micro, ycsb, smallbank, tatp, tpcc, described"
    );
    assert_eq!(
        error("micro", &[("theta", "0.5")]),
        "workload micro has no parameter 'theta'; \
         allowed: records, hot-records, hot, hot-from, operations, remote, multi-partition, writes, order"
    );
    assert_eq!(
        error("ycsb", &[("records", "1"), ("Theta", "0.5")]),
        "workload ycsb has no parameter 'Theta'; \
         allowed: records, fields, field-bytes, accesses, theta, hot-records, hot, distribution, mix, reads, split, \
         scan-rows, scan-lengths, index, update, touch, order, distinct, touched-partitions, multi-partition, read-only"
    );
}

#[test]
fn bad_values_are_answered_with_what_is_allowed() {
    let table = [
        ("micro", "records", "0", "a whole number from 1 to 1_000_000_000_000"),
        ("micro", "records", "1.5", "a whole number from 1 to 1_000_000_000_000"),
        ("micro", "hot-records", "-1", "a whole number from 0 to 1_000_000_000_000"),
        ("micro", "hot", "65", "a whole number from 0 to 64"),
        ("micro", "operations", "0", "a whole number from 1 to 64"),
        ("micro", "operations", "65", "a whole number from 1 to 64"),
        ("micro", "writes", "some", "none | all | home | a percentage from 0 to 100"),
        ("micro", "writes", "101", "none | all | home | a percentage from 0 to 100"),
        ("micro", "hot-from", "local", "anywhere | remote"),
        ("micro", "remote", "65", "a whole number from 0 to 64, any or any-but-one"),
        ("micro", "remote", "none", "a whole number from 0 to 64, any or any-but-one"),
        ("micro", "multi-partition", "101", "a percentage from 0 to 100"),
        ("micro", "order", "cold-first", "hot-first | random | key"),
        ("ycsb", "records", "many", "a whole number from 1 to 1_000_000_000_000"),
        ("ycsb", "records", "2T", "a whole number from 1 to 1_000_000_000_000"),
        ("ycsb", "fields", "0", "a whole number from 1 to 1_000"),
        ("ycsb", "field-bytes", "8193", "a whole number from 1 to 8_192"),
        ("ycsb", "accesses", "100", "a whole number from 1 to 64"),
        ("ycsb", "theta", "1", "0 <= theta < 1"),
        ("ycsb", "theta", "-0.1", "0 <= theta < 1"),
        ("ycsb", "theta", "nan", "0 <= theta < 1"),
        ("ycsb", "theta", "high", "0 <= theta < 1"),
        ("ycsb", "mix", "e", "none | A | B | C | D | E | F"),
        ("ycsb", "scan-rows", "100000", "a whole number from 0 to 10_000"),
        ("ycsb", "scan-lengths", "long", "uniform | zipfian"),
        ("ycsb", "index", "tree", "hash | ordered"),
        ("ycsb", "reads", "50%", "a percentage from 0 to 100"),
        ("ycsb", "reads", "-1", "a percentage from 0 to 100"),
        ("ycsb", "split", "thread", "access | transaction | worker"),
        ("ycsb", "distribution", "uniform", "zipfian | latest"),
        ("ycsb", "update", "rmw", "read-modify-write | blind | insert"),
        ("ycsb", "touch", "", "field | row"),
        ("ycsb", "order", "hot-first", "drawn | key"),
        ("ycsb", "distinct", "true", "no | yes"),
        ("ycsb", "read-only", "past", "snapshot | present"),
        ("smallbank", "customers", "1", "a whole number from 2 to 1_000_000_000"),
        ("smallbank", "hot-customers", "many", "a whole number from 0 to 1_000_000_000"),
        ("smallbank", "hot", "101", "a percentage from 0 to 100"),
        ("smallbank", "mix", "standard", "h-store | original"),
        ("smallbank", "amounts", "large", "balanced | h-store"),
        ("smallbank", "remote", "all", "a percentage from 0 to 100, or any"),
        ("tatp", "subscribers", "0", "a whole number from 1 to 1_000_000_000"),
        ("tatp", "distribution", "zipfian", "non-uniform | uniform"),
        ("tatp", "from", "local", "anywhere | home"),
        ("described", "theta", "1", "as-written, or 0 <= theta < 1"),
        ("described", "remote", "any", "as-written, or a percentage from 0 to 100"),
        ("described", "most-rows", "0", "as-written, or a whole number, at least 1"),
    ];
    for (workload, parameter, given, allowed) in table {
        let file: &[(&str, &str)] = match workload {
            "described" => &[("file", "examples/workloads/bank.toml")],
            _ => &[],
        };
        assert_eq!(
            error(workload, &[file, &[(parameter, given)]].concat()),
            format!("bad value '{given}' for '{parameter}'; allowed: {allowed}")
        );
    }
}

#[test]
fn values_that_do_not_go_together_are_told_apart() {
    type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);
    let table: [Case; 22] = [
        (
            "micro",
            &[("records", "10")],
            "value '16' for 'hot-records' does not go with '10' for 'records'; \
             allowed: at most as many hot records as records",
        ),
        (
            "micro",
            &[("hot", "11")],
            "value '11' for 'hot' does not go with '10' for 'operations'; \
             allowed: at most as many hot operations as operations",
        ),
        (
            "micro",
            &[("hot-records", "1")],
            "value '2' for 'hot' does not go with '1' for 'hot-records'; \
             allowed: at most as many hot operations as hot records, which a transaction does not repeat",
        ),
        (
            "micro",
            &[("records", "20")],
            "value '10' for 'operations' does not go with '20' for 'records'; \
             allowed: at most as many cold operations (operations less hot) \
             as cold records (records less hot-records), which a transaction does not repeat",
        ),
        (
            "micro",
            &[("remote", "9")],
            "value '9' for 'remote' does not go with '10' for 'operations'; \
             allowed: at most as many remote operations as cold ones (operations less hot)",
        ),
        (
            "ycsb",
            &[("fields", "100")],
            "value '100' for 'field-bytes' does not go with '100' for 'fields'; \
             allowed: rows (fields times field-bytes) of at most 8192 bytes",
        ),
        (
            "ycsb",
            &[("distinct", "yes"), ("records", "15")],
            "value '16' for 'accesses' does not go with '15' for 'records'; \
             allowed: at most as many accesses as records, or distinct=no",
        ),
        (
            "ycsb",
            &[("mix", "A"), ("reads", "80")],
            "value '80' for 'reads' does not go with 'A' for 'mix'; \
             allowed: the reads of the mix, or mix=none",
        ),
        (
            "ycsb",
            &[("mix", "C"), ("reads", "0")],
            "value '0' for 'reads' does not go with 'C' for 'mix'; \
             allowed: the reads of the mix, or mix=none",
        ),
        (
            "ycsb",
            &[("update", "blind"), ("mix", "F")],
            "value 'blind' for 'update' does not go with 'F' for 'mix'; \
             allowed: update=read-modify-write, or mix=A",
        ),
        (
            "ycsb",
            &[("mix", "D"), ("distribution", "zipfian")],
            "value 'zipfian' for 'distribution' does not go with 'D' for 'mix'; \
             allowed: the distribution of the mix, or mix=none",
        ),
        (
            "ycsb",
            &[("mix", "C"), ("distribution", "latest")],
            "value 'latest' for 'distribution' does not go with 'C' for 'mix'; \
             allowed: the distribution of the mix, or mix=none",
        ),
        (
            "ycsb",
            &[("mix", "D"), ("update", "blind")],
            "value 'blind' for 'update' does not go with 'D' for 'mix'; \
             allowed: update=insert, or mix=none",
        ),
        (
            "ycsb",
            &[("mix", "E"), ("update", "read-modify-write")],
            "value 'read-modify-write' for 'update' does not go with 'E' for 'mix'; \
             allowed: update=insert, or mix=none",
        ),
        (
            "ycsb",
            &[("mix", "E"), ("scan-rows", "0")],
            "value '0' for 'scan-rows' does not go with 'E' for 'mix'; \
             allowed: scans of a row at least, or mix=none",
        ),
        (
            "ycsb",
            &[("mix", "B"), ("scan-rows", "10")],
            "value '10' for 'scan-rows' does not go with 'B' for 'mix'; allowed: 0, mix=E, or mix=none",
        ),
        (
            "ycsb",
            &[("mix", "E"), ("index", "hash")],
            "value 'hash' for 'index' does not go with '100' for 'scan-rows'; \
             allowed: index=ordered, or scan-rows=0",
        ),
        (
            "ycsb",
            &[("mix", "E"), ("accesses", "64"), ("scan-rows", "10000")],
            "value '10000' for 'scan-rows' does not go with '64' for 'accesses'; \
             allowed: scans of a transaction (accesses times scan-rows) of at most 32768 rows together",
        ),
        (
            "ycsb",
            &[("mix", "E"), ("distribution", "latest")],
            "value 'latest' for 'distribution' does not go with 'E' for 'mix'; \
             allowed: the distribution of the mix, or mix=none",
        ),
        (
            "smallbank",
            &[("customers", "999")],
            "value '1000' for 'hot-customers' does not go with '999' for 'customers'; \
             allowed: at most as many hot customers as customers",
        ),
        (
            "smallbank",
            &[("hot-customers", "1")],
            "value '1' for 'hot-customers' does not go with '90' for 'hot'; \
             allowed: at least two hot customers, or hot=0",
        ),
        (
            "smallbank",
            &[("customers", "1001")],
            "value '1000' for 'hot-customers' does not go with '1001' for 'customers'; \
             allowed: at least two customers that are not hot, or hot=100",
        ),
    ];
    for (workload, given, message) in table {
        assert_eq!(error(workload, given), message);
    }
}

#[test]
fn few_records_repeat_where_keys_may() {
    assert_eq!(value("ycsb", &[("records", "1")], "records"), "1");
}

#[test]
fn only_tatp_and_tpcc_delete() {
    let deletes = |workload: &workloads::WorkloadDescription| by_defaults(workload.name).deletes();
    let deleting: Vec<&str> =
        descriptions().iter().filter(|workload| deletes(workload)).map(|workload| workload.name).collect();
    assert_eq!(deleting, ["tatp", "tpcc"]);
}

struct RowBytes;

impl WorkloadVisitor for RowBytes {
    type Output = usize;

    fn visit<W: Workload>(self, workload: &W) -> usize {
        let row_bytes = workload.tables()[0].row_bytes;
        let mut row = vec![0; row_bytes];
        workload.fill(contract::TableId(0), workload.loaded_key(contract::TableId(0), 3), &mut row);
        assert!(row.iter().any(|byte| *byte != 0), "a loaded row is told from an empty one");
        row_bytes
    }
}

#[test]
fn a_visitor_sees_the_workload_itself() {
    let built = build("micro", &Parameters::new()).expect("the defaults are valid");
    assert!(matches!(built, AnyWorkload::Micro(_)));
    assert_eq!(built.visit(RowBytes), 80);
    assert_eq!(build("ycsb", &Parameters::new()).expect("the defaults are valid").visit(RowBytes), 1000);
}
