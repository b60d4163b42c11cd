//! What is kept of a measurement that was interrupted: the repetitions that had ended, as many of every system, because repetitions
//! are compared round by round. Of systems in groups ([`super::Stores`]) those of the groups are kept that had most.

use crate::failure::Failure;
use crate::summary::{Measured, Turns};
use crate::text::numbers::counted;
use std::collections::BTreeMap;

/// Keeps what every system of a group has, if `repetitions` were asked for and one has fewer; if one has none, those that have some stay.
/// Answers that it was interrupted, in words.
pub fn keep_whole_rounds(
    measured: &mut Vec<Measured>,
    turns: &Turns,
    repetitions: usize,
) -> Result<Option<String>, Failure> {
    if measured.iter().all(|system| system.repetitions.len() >= repetitions) {
        return Ok(None);
    }
    measured.retain(|system| !system.repetitions.is_empty());
    let mut rounds: BTreeMap<usize, usize> = BTreeMap::new();
    for system in &*measured {
        let (group, own) = (turns.group_of(system.pair), system.repetitions.len());
        rounds.entry(group).and_modify(|fewest| *fewest = own.min(*fewest)).or_insert(own);
    }
    let Some(kept) = rounds.values().copied().max() else { return Err(Failure::Interrupted) };
    measured.retain(|system| rounds[&turns.group_of(system.pair)] == kept);
    measured.iter_mut().for_each(|system| system.repetitions.truncate(kept));
    Ok(Some(format!("interrupted: {kept} of {} measured", counted(repetitions, "repetition"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{After, measure, supported};
    use crate::mock::{Counting, Mock};
    use crate::observer::{Event, Observer};
    use crate::options::RunOptions;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Interrupts once so many runs have begun.
    struct Impatient(AtomicUsize);

    impl Observer for Impatient {
        fn tell(&self, event: Event<'_>) {
            if let Event::RunBegins { .. } = event {
                // Relaxed: a counter.
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }

        fn is_interrupted(&self) -> bool {
            self.0.load(Ordering::Relaxed) == 0
        }
    }

    /// Bytes of memory that there are for stores: all of them lie side by side.
    const ROOM: u64 = 1 << 40;

    fn interrupted_after<const REPEATS: bool, const ROOM: u64>(
        runs: usize,
    ) -> Result<(Vec<usize>, Option<String>), Failure> {
        let options = RunOptions { repeat: 3, ..RunOptions::for_compare(2) };
        let (pairs, _) = supported::<Mock<REPEATS, ROOM>>(&options);
        let observer = Impatient(AtomicUsize::new(runs));
        let workload = Counting { rows: 10 };
        let measured =
            measure::<Mock<REPEATS, ROOM>, _>(&workload, &pairs, &options, After::Audit, &observer);
        let (measured, turns) = measured?;
        assert!(measured.iter().all(|system| !system.checks.is_empty()), "what is kept is audited");
        Ok((measured.iter().map(|system| system.repetitions.len()).collect(), turns.interrupted))
    }

    /// Of five systems, three repetitions each.
    #[test]
    fn whole_rounds_are_kept() {
        let said = |kept| Some(format!("interrupted: {kept} of 3 repetitions measured"));
        let taken = |runs| interrupted_after::<false, ROOM>(runs).expect("some runs had ended");
        assert_eq!(taken(100), (vec![3; 5], None), "nobody interrupted");
        assert_eq!(taken(15), (vec![3; 5], None), "the last run had begun");
        assert_eq!(taken(12), (vec![2; 5], said(2)));
        assert_eq!(taken(5), (vec![1; 5], said(1)));
        assert_eq!(taken(2), (vec![1; 2], said(1)), "the others were not measured");
        assert!(matches!(interrupted_after::<false, ROOM>(0), Err(Failure::Interrupted)));
    }

    /// Four systems share a store, then there is room for that of the fifth.
    #[test]
    fn what_an_earlier_group_has_is_kept() {
        let said = |kept| Some(format!("interrupted: {kept} of 3 repetitions measured"));
        let taken = |runs| interrupted_after::<false, 0>(runs).expect("some runs had ended");
        assert_eq!(taken(15), (vec![3; 5], None));
        assert_eq!(taken(14), (vec![3; 4], said(3)), "the fifth had two");
        assert_eq!(taken(12), (vec![3; 4], said(3)), "the fifth had none");
        assert_eq!(taken(11), (vec![2; 4], said(2)));
    }

    /// Where runs go on apart, a system's come one after the other.
    #[test]
    fn so_they_are_where_runs_repeat() {
        let (kept, said) = interrupted_after::<true, ROOM>(7).expect("some runs had ended");
        assert_eq!(kept, [1, 1, 1], "{said:?}");
        assert!(matches!(interrupted_after::<true, ROOM>(0), Err(Failure::Interrupted)));
    }
}
