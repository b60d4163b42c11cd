//! By what a table is partitioned: by its key, or by the quotient of its key, so that rows whose keys lie beside each other lie in one partition.
//!
//! `partition_key = "key / N"` puts the keys `0..N` into one group, `N..2 N` into the next, and so on; the groups go round the partitions, group `g` to partition `g % partitions`. `"key"` is `"key / 1"`: each row
//! is a group of its own.

use contract::{Key, PartitionFunction};
use std::num::NonZeroU64;

/// The largest divisor: no table has more rows.
const MOST_DIVISOR: u64 = super::specification::MOST_ROWS;
/// Where a table's rows are cut, so many groups are left, if there were as many: for the partitions of a large machine.
const GROUPS_LEFT: u64 = 128;

/// By what a table is partitioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PartitionKey {
    divisor: NonZeroU64,
}

impl PartitionKey {
    /// What is written, of a table of `written` rows of which `rows` are loaded. In words what is wrong with it.
    pub fn parse(text: &str, written: u64, rows: u64) -> Result<Self, String> {
        let allowed = || format!("allowed: key, or key / N with a whole N from 1 to {MOST_DIVISOR}");
        let divisor = divisor_of(text).filter(|divisor| (1..=MOST_DIVISOR).contains(divisor));
        let divisor = after_cut(divisor.ok_or_else(allowed)?, written, rows);
        Ok(PartitionKey { divisor: NonZeroU64::new(divisor).expect("a cut leaves a key to a group") })
    }

    /// Tells where keys live.
    pub fn function(self) -> PartitionFunction {
        match self.divisor {
            NonZeroU64::MIN => PartitionFunction::Remainder,
            divisor => PartitionFunction::Quotient(divisor),
        }
    }

    /// A key that lives in a partition.
    #[inline]
    pub fn key_in(self, partition: u32) -> Key {
        Key(u64::from(partition) * self.divisor.get())
    }
}

/// By the key.
impl Default for PartitionKey {
    fn default() -> Self {
        PartitionKey { divisor: NonZeroU64::MIN }
    }
}

/// The N of `key / N`, or 1 of `key`; `None`: it is neither.
fn divisor_of(text: &str) -> Option<u64> {
    let rest = text.trim().strip_prefix("key")?.trim_start();
    if rest.is_empty() {
        return Some(1);
    }
    let digits = rest.strip_prefix('/')?.trim_start();
    let is_whole = digits.starts_with(|c: char| c.is_ascii_digit());
    let is_whole = is_whole && digits.chars().all(|c| c.is_ascii_digit() || c == '_');
    is_whole.then(|| digits.replace('_', "").parse().ok())?
}

/// Where fewer rows are loaded than a file says, groups are smaller, too, so that a few rows do not all lie in one partition; they stay as they are while enough of them are left.
fn after_cut(divisor: u64, written: u64, rows: u64) -> u64 {
    if rows == written {
        return divisor;
    }
    let groups = written.div_ceil(divisor).min(GROUPS_LEFT);
    divisor.min(rows / groups).max(1)
}

/// The rows of a table, by partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    rows: u64,
    /// Keys of a group.
    size: u64,
    partitions: u64,
    /// Rounds of groups through all partitions whose keys all have rows.
    rounds: u64,
    /// Rows in the round that is not full.
    rest: u64,
}

impl Groups {
    /// Of the loaded rows with keys `0..rows`.
    pub fn new(rows: u64, key: PartitionKey, partitions: u32) -> Self {
        let (size, partitions) = (key.divisor.get(), u64::from(partitions));
        let round = size * partitions;
        Groups { rows, size, partitions, rounds: rows / round, rest: rows % round }
    }

    /// All rows.
    #[inline]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Partitions that have rows: the first so many.
    #[inline]
    pub fn inhabited(&self) -> u64 {
        if self.rounds > 0 { self.partitions } else { self.rest.div_ceil(self.size) }
    }

    /// Rows of a partition.
    #[inline]
    pub fn rows_in(&self, partition: u64) -> u64 {
        self.rounds * self.size + self.rest.saturating_sub(partition * self.size).min(self.size)
    }

    /// The `nth` key of a partition, in their order. Those of the first [`Groups::rows_in`] it have rows.
    #[inline]
    pub fn key(&self, partition: u64, nth: u64) -> u64 {
        (nth / self.size * self.partitions + partition) * self.size + nth % self.size
    }

    /// The `nth` key of a partition beyond the round in which the last row lies.
    #[inline]
    pub fn new_key(&self, partition: u64, nth: u64) -> u64 {
        self.key(partition, (self.rounds + u64::from(self.rest > 0)) * self.size + nth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::PartitionId;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    #[test]
    fn what_is_written_is_a_divisor_or_refused() {
        for (text, divisor) in
            [("key", 1), (" key ", 1), ("key / 1", 1), ("key/25", 25), ("key / 1_000", 1000)]
        {
            assert_eq!(divisor_of(text), Some(divisor), "{text}");
        }
        for text in [
            "",
            "keys",
            "key /",
            "key / -1",
            "key / 1.5",
            "key / _1",
            "key * 2",
            "all",
            "key / 99999999999999999999",
        ] {
            assert_eq!(divisor_of(text), None, "{text}");
        }
        let refused = |text| PartitionKey::parse(text, 10, 10).expect_err("not allowed");
        for text in ["key / 0", "key / 68719476737", "all"] {
            assert_eq!(refused(text), "allowed: key, or key / N with a whole N from 1 to 68719476736");
        }
        assert!(PartitionKey::parse("key / 68719476736", 10, 10).is_ok());
    }

    fn by(divisor: u64) -> PartitionKey {
        PartitionKey { divisor: NonZeroU64::new(divisor).expect("not 0") }
    }

    #[test]
    fn a_key_lives_where_its_quotient_says() {
        for divisor in [1, 2, 3, 1000] {
            let function = by(divisor).function();
            for partitions in [1, 2, 7, 8] {
                for key in [0, 1, 2, 999, 1000, 123_456_789, u64::MAX] {
                    let expected = PartitionId(((key / divisor) % u64::from(partitions)) as u32);
                    assert_eq!(
                        function.of(Key(key), partitions),
                        expected,
                        "{key} / {divisor} of {partitions}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_cut_leaves_groups_and_leaves_them_as_they_are_where_there_are_enough() {
        for (divisor, written, rows, expected) in [
            (1000, 1_000_000, 1_000_000, 1000),
            (1000, 0, 0, 1000),
            // A thousand groups, of which 200 are left.
            (1000, 1_000_000, 200_000, 1000),
            (1000, 1_000_000, 1000, 7),
            (4, 100_000, 1000, 4),
            (4, 100_000, 32, 1),
            (1000, 1_000_000, 32, 1),
            // Two groups stay two.
            (50_000, 100_000, 1000, 500),
            // And one stays one.
            (1 << 36, 100_000, 1000, 1000),
        ] {
            assert_eq!(after_cut(divisor, written, rows), expected, "key / {divisor}, {rows} of {written}");
        }
    }

    proptest! {
        #[test]
        fn partitions_have_the_rows_that_the_function_says(
            rows in 0..300u64, divisor in 1..20u64, partitions in 1..12u32, more in 0..50u64,
        ) {
            let key = by(divisor);
            let (groups, function) = (Groups::new(rows, key, partitions), key.function());
            let lives_in = |key: u64| function.of(Key(key), partitions).0;
            let mut inhabited = 0;
            for partition in 0..partitions {
                let expected: Vec<u64> = (0..rows).filter(|key| lives_in(*key) == partition).collect();
                let found = 0..groups.rows_in(u64::from(partition));
                let found: Vec<u64> = found.map(|nth| groups.key(u64::from(partition), nth)).collect();
                inhabited += u64::from(!found.is_empty());
                prop_assert_eq!(found, expected);
                prop_assert_eq!(lives_in(key.key_in(partition).0), partition);
                let new = groups.new_key(u64::from(partition), more);
                prop_assert!(new >= rows && lives_in(new) == partition);
                prop_assert!(new < groups.new_key(u64::from(partition), more + 1));
            }
            prop_assert_eq!(inhabited, groups.inhabited());
            prop_assert!((0..inhabited).all(|partition| groups.rows_in(partition) > 0));
        }
    }
}
