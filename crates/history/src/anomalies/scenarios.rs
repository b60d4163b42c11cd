//! The scenarios by name.

use super::Scenario;
use super::range_roles::*;
use super::roles::*;
use contract::Indexing;

/// x and y are there, n and m are not.
const ZEROS: &[Option<i64>] = &[Some(0), Some(0), None, None];
/// x and n are there; y lies between them, and m behind.
const EVERY_OTHER: &[Option<i64>] = &[Some(1), None, Some(1), None];
/// The first and the last of more keys than two leaves of an index hold.
const WIDE: &[Option<i64>] = &{
    let mut keys = [None; WIDE_KEYS];
    (keys[0], keys[WIDE_KEYS - 1]) = (Some(1), Some(1));
    keys
};

/// Every scenario, in the order in which they are listed.
pub fn scenarios() -> &'static [Scenario] {
    SCENARIOS
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "lost-update",
        description: "three read x and write back one more; none of the three may be lost",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("first", read_and_write_x), ("second", read_and_write_x), ("third", read_and_write_x)],
    },
    Scenario {
        name: "lost-merge",
        description: "three add one to x without reading it; none of the three may be lost",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("first", add_to_x), ("second", add_to_x), ("reader", read_and_write_x)],
    },
    Scenario {
        name: "dirty-write",
        description: "two each overwrite x and y blindly; x and y must be of the same one",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("ones", write_ones), ("twos", write_twos), ("reader", read_x_and_y)],
    },
    Scenario {
        name: "dirty-read",
        description: "one changes x twice; nobody may see x in between",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("changer", change_x_twice), ("reader", read_x_and_y), ("copier", copy_x_to_y)],
    },
    Scenario {
        name: "aborted-read",
        description: "one changes x and inserts n, then rolls back; nobody may see either",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("regretter", change_and_roll_back), ("reader", read_x_and_n), ("copier", copy_x_to_y)],
    },
    Scenario {
        name: "non-repeatable-read",
        description: "one reads x, y and x again while another changes both; x must stay the same",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("reader", read_x_y_x), ("changer", increment_x_and_y)],
    },
    Scenario {
        name: "read-skew",
        description: "one moves from x to y, others sum them up; the sum must stay the same",
        indexing: Indexing::Hashed,
        loaded: &[Some(10), Some(10), None, None],
        roles: &[("mover", move_x_to_y), ("forth", read_x_and_y), ("back", read_y_and_x)],
    },
    Scenario {
        name: "write-skew",
        description: "two read x and y, and clear one each if both are set; one must stay set",
        indexing: Indexing::Hashed,
        loaded: &[Some(1), Some(1), None, None],
        roles: &[("clears x", clear_x_if_both), ("clears y", clear_y_if_both)],
    },
    Scenario {
        name: "read-only-anomaly",
        description: "a deposit, a withdrawal with its penalty and a report, which must fit the penalty (Fekete 2004)",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("deposit", deposit), ("withdrawal", withdraw), ("report", read_x_and_y)],
    },
    Scenario {
        name: "missing-key-stays-missing",
        description: "one looks for n twice while another inserts n and changes y; n must stay missing",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("looker", look_for_n_twice), ("inserter", insert_n_and_increment_y)],
    },
    Scenario {
        name: "missing-key-write-skew",
        description: "one inserts m if n is missing, the other n if m is missing; only one may",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("inserts m", insert_m_unless_n), ("inserts n", insert_n_unless_m)],
    },
    Scenario {
        name: "insert-race",
        description: "three insert the same key; exactly one may succeed",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("ones", insert_n_one), ("twos", insert_n_two), ("threes", insert_n_three)],
    },
    Scenario {
        name: "delete-race",
        description: "two delete the same row while a third changes it; it goes once, changed or not",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("first", delete_x), ("second", delete_x), ("changer", increment_x_and_y)],
    },
    Scenario {
        name: "aborted-insert",
        description: "one inserts n and rolls back while another looks for it and inserts m; nothing of n may stay",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("regretter", insert_and_roll_back), ("looker", insert_m_unless_n)],
    },
    Scenario {
        name: "aborted-delete",
        description: "one deletes x and rolls back while others read and increment it; x must stay",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[
            ("regretter", delete_and_roll_back),
            ("incrementer", increment_x_and_y),
            ("reader", read_x_and_y),
        ],
    },
    Scenario {
        name: "inserted-anew",
        description: "one deletes x and increments y, another inserts x anew; who saw the old y sees the old x",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[
            ("deleter", delete_x_and_increment_y),
            ("inserter", insert_x_anew),
            ("reader", read_y_and_x),
        ],
    },
    Scenario {
        name: "insert-delete-insert",
        description: "one inserts n, deletes it and inserts it again; others see nothing or the last",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("inserter", insert_delete_insert), ("reader", read_x_and_n), ("looker", look_for_n_twice)],
    },
    Scenario {
        name: "delete-insert-delete",
        description: "one deletes x, inserts it and deletes it again while another increments it",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[
            ("deleter", delete_insert_delete),
            ("incrementer", increment_x_and_y),
            ("reader", read_x_and_y),
        ],
    },
    Scenario {
        name: "repeated-key",
        description: "two change x in several ways each; a transaction never conflicts with itself",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("first", change_x_in_many_ways), ("second", change_x_in_many_ways)],
    },
    Scenario {
        name: "read-upgraded-to-write",
        description: "two read x twice and then increment it; both see what they change",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("first", read_and_increment_x), ("second", read_and_increment_x)],
    },
    Scenario {
        name: "own-writes",
        description: "one writes x blindly, adds and updates, and reads it in between; it must see its own",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("writer", write_and_read_own), ("reader", read_x_and_y)],
    },
    Scenario {
        name: "own-inserts",
        description: "one inserts n, reads, changes and inserts it again; it must see its own",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("inserter", insert_and_read_own), ("looker", look_for_n_twice)],
    },
    Scenario {
        name: "own-deletes",
        description: "one deletes x and then reads, changes and deletes it again; it must find nothing",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("deleter", delete_and_read_own), ("incrementer", increment_x_and_y)],
    },
    Scenario {
        name: "poisoned-after-abort",
        description: "two change x and y in opposite order and go on after an abort; none of that may commit",
        indexing: Indexing::Hashed,
        loaded: ZEROS,
        roles: &[("forth", go_on_forth), ("back", go_on_back), ("reader", read_x_and_y)],
    },
    Scenario {
        name: "range-phantom",
        description: "one scans x to m twice while another inserts y and m; both are there or neither",
        indexing: Indexing::Ordered,
        loaded: EVERY_OTHER,
        roles: &[("scanner", scan_all_twice), ("inserter", insert_y_and_m)],
    },
    Scenario {
        name: "empty-range-phantom",
        description: "one scans n to m, where nothing is, twice while another inserts n and changes y",
        indexing: Indexing::Ordered,
        loaded: ZEROS,
        roles: &[("scanner", scan_n_to_m_twice), ("inserter", insert_n_and_increment_y)],
    },
    Scenario {
        name: "lower-end-phantom",
        description: "one scans y to m twice while another inserts y, where the range begins",
        indexing: Indexing::Ordered,
        loaded: EVERY_OTHER,
        roles: &[("scanner", scan_y_to_m_twice), ("inserter", insert_y)],
    },
    Scenario {
        name: "upper-end-phantom",
        description: "one scans x to y twice while others insert y, where the range ends, and m, behind it",
        indexing: Indexing::Ordered,
        loaded: EVERY_OTHER,
        roles: &[("scanner", scan_x_to_y_twice), ("at the end", insert_y), ("behind", insert_m)],
    },
    Scenario {
        name: "leaf-split-phantom",
        description: "one counts a range twice while another inserts so many keys that the index splits leaves there",
        indexing: Indexing::Ordered,
        loaded: WIDE,
        roles: &[("counter", count_wide_twice), ("inserter", fill_wide)],
    },
    Scenario {
        name: "range-delete",
        description: "one scans x to m twice while another deletes y and m; both are there or neither",
        indexing: Indexing::Ordered,
        loaded: &[Some(1), Some(2), Some(3), Some(4)],
        roles: &[("scanner", scan_all_twice), ("deleter", delete_y_and_m)],
    },
    Scenario {
        name: "backward-limit",
        description: "one scans the last two rows, m and y, twice; n may not come between, x behind them may at any time",
        indexing: Indexing::Ordered,
        loaded: &[None, Some(2), None, Some(4)],
        roles: &[("scanner", scan_last_two_twice), ("between", insert_n_one), ("behind", insert_x)],
    },
    Scenario {
        name: "range-write-skew",
        description: "two each count a range and insert the count into the other's; one must see what the other inserted",
        indexing: Indexing::Ordered,
        loaded: EVERY_OTHER,
        roles: &[("counts x to y", count_left_insert_right), ("counts n to m", count_right_insert_left)],
    },
    Scenario {
        name: "aborted-range",
        description: "one inserts y and deletes n, then rolls back; nobody who scans may see either",
        indexing: Indexing::Ordered,
        loaded: EVERY_OTHER,
        roles: &[("regretter", change_range_and_roll_back), ("scanner", scan_all_twice)],
    },
    Scenario {
        name: "own-range",
        description: "one inserts, changes and deletes, and scans in between; it must see its own, the other all or nothing",
        indexing: Indexing::Ordered,
        loaded: EVERY_OTHER,
        roles: &[("changer", change_range_and_scan_own), ("scanner", scan_all_twice)],
    },
];
