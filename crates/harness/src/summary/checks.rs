//! What must hold after a run.

use contract::LeakCheck;
use serde::{Deserialize, Serialize};

/// Something that must hold after a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name, kebab-case.
    pub name: String,
    /// Whether it held, every time.
    pub passed: bool,
    /// What was found if it did not hold; else empty.
    pub detail: String,
}

impl Check {
    /// A check with what to say if it failed.
    pub fn new(name: &str, passed: bool, found: impl FnOnce() -> String) -> Check {
        Check { name: name.to_owned(), passed, detail: if passed { String::new() } else { found() } }
    }

    /// After a run nobody holds a record or a bucket any more.
    pub fn nothing_held(leaks: &LeakCheck) -> Check {
        let held = leaks.held;
        Check::new("nothing-held", held == 0, || {
            format!("{held} records or buckets are still held after the run")
        })
    }

    /// After a run there are as many rows that vary in length as records that have them.
    pub fn no_value_lost(leaks: &LeakCheck) -> Check {
        let LeakCheck { linked_values, allocated_values, .. } = *leaks;
        Check::new("no-value-lost", linked_values == allocated_values, || {
            format!(
                "{allocated_values} rows that vary in length are kept, and {linked_values} records have one"
            )
        })
    }

    /// Adds a further repetition's checks: one that failed once has failed.
    pub fn join(all: &mut Vec<Check>, further: Vec<Check>) {
        for check in further {
            match all.iter_mut().find(|known| known.name == check.name) {
                Some(known) if known.passed => *known = check,
                Some(_) => {}
                None => all.push(check),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_stays_failed() {
        let mut checks = Vec::new();
        let check = |passed| vec![Check::new("nothing-held", passed, || "3 are held".to_owned())];
        for passed in [true, false, true] {
            Check::join(&mut checks, check(passed));
        }
        assert_eq!(checks, check(false));
    }
}
