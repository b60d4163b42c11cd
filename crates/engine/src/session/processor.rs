//! What a worker's processor counts of it in the interval ([`EngineOptions::counters`]): instructions, cycles and misses, as a part of the run's effort.
//!
//! Counters are opened before the run, begin and end where the interval does, by the worker's own clock, and are closed after the run. So a run asks the system for
//! nothing between the ends of its interval; where nobody wants them, not even there. A worker's thread is one however many fibers it runs, and what its fibers do away from it, the thread that runs them counts.

use crate::facade::counters::{Counters, Counts};
use contract::{CountersName, Effort, EngineOptions, Events};

/// The counters of a worker's processor; they are boxed, because they are touched twice.
pub(super) struct Processor(Option<Box<Counters>>);

impl Processor {
    /// Those of the thread that calls, if they are asked for; at rest.
    pub fn of_this_thread(options: &EngineOptions) -> Self {
        let is_asked = options.counters != CountersName::Off;
        Processor(is_asked.then(|| Box::new(Counters::of_this_thread())))
    }

    /// The interval begins.
    #[cold]
    pub fn begin(&mut self) {
        if let Some(counters) = &mut self.0 {
            counters.begin();
        }
    }

    /// The interval has ended: what was counted in it.
    #[cold]
    pub fn end(&mut self) -> Effort {
        self.0.as_mut().map_or(Effort::default(), |counters| of_counts(counters.end()))
    }
}

fn of_counts(counts: Counts) -> Effort {
    let [instructions, cycles, cache_misses, tlb_misses, branch_misses, page_faults] =
        counts.map(Events::of_thread);
    Effort { instructions, cycles, cache_misses, tlb_misses, branch_misses, page_faults, ..Effort::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_is_its_own_and_of_one_thread() {
        let mut of_two = of_counts([Some(1), Some(2), Some(3), Some(4), Some(5), None]);
        of_two.merge(&of_counts([Some(10), Some(20), None, Some(40), Some(50), None]));
        let all = |events: Events| events.of_all(2);
        assert_eq!(
            [of_two.instructions, of_two.cycles, of_two.tlb_misses, of_two.branch_misses].map(all),
            [Some(11), Some(22), Some(44), Some(55)]
        );
        // Of one of both, and of neither.
        assert_eq!([of_two.cache_misses, of_two.page_faults].map(all), [None, None]);
        assert_eq!(of_two.cache_misses, Events { threads: 1, events: 3 });
    }

    #[test]
    fn who_does_not_ask_counts_nothing() {
        let mut processor = Processor::of_this_thread(&EngineOptions::default());
        processor.begin();
        assert_eq!(processor.end(), Effort::default());
    }
}
