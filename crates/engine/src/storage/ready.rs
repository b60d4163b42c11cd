//! How much of a growing region is faulted in ahead.
//!
//! Loading faults in what it fills. What is inserted later would fault while transactions run, and the system would clear
//! pages in their time; so before a run as much is faulted in as the run before it took, and a quarter more. What a run takes
//! beyond that is faulted in chunk by chunk.

use crate::facade::atomic::{AtomicUsize, Ordering};
use crate::facade::region::Region;
use std::ops::Range;

/// Up to where a region is faulted in, in bytes, and where it was used up to when the last run began. Relaxed words: they
/// change between runs, and order nothing.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    until: AtomicUsize,
    /// One more than it was; 0 before the first run.
    used_before: AtomicUsize,
}

impl Ready {
    /// `used` bytes are used, and a run is about to begin. `left` are the bytes that may be taken from the system for that.
    pub fn before_run(&self, region: &Region, used: usize, left: &mut u64) {
        let used_before = self.used_before.swap(used + 1, Ordering::Relaxed).checked_sub(1);
        let grown = used - used_before.unwrap_or(used);
        let from = self.until.load(Ordering::Relaxed).max(used);
        let wanted = (used + grown + grown / 4).min(region.len()).saturating_sub(from);
        let bytes = wanted.min(usize::try_from(*left).unwrap_or(usize::MAX));
        *left -= bytes as u64;
        region.fault_in(from..from + bytes);
        self.until.store(from + bytes, Ordering::Relaxed);
    }

    /// What was just taken must be faulted in.
    #[inline]
    pub fn taken(&self, region: &Region, bytes: Range<usize>) {
        if bytes.end > self.until.load(Ordering::Relaxed) {
            region.fault_in(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ready;
    use crate::facade::atomic::{AtomicUsize, Ordering};
    use crate::facade::region::Region;

    #[test]
    fn as_much_as_the_last_run_took_and_a_quarter_more() {
        let region = Region::reserve(1 << 20).expect("a MiB");
        let ready = Ready::default();
        let until = |ready: &Ready| ready.until.load(Ordering::Relaxed);
        let mut left = 500_000;
        ready.before_run(&region, 100_000, &mut left);
        assert_eq!((until(&ready), left), (100_000, 500_000), "nothing is known of how it grows");
        ready.before_run(&region, 140_000, &mut left);
        assert_eq!((until(&ready), left), (190_000, 450_000));
        ready.before_run(&region, 150_000, &mut left);
        assert_eq!((until(&ready), left), (190_000, 450_000), "it is ready for ten thousand more");
        ready.before_run(&region, 1_000_000, &mut left);
        assert_eq!(until(&ready), 1 << 20, "no more than there is");
        let ready = Ready { until: AtomicUsize::new(0), used_before: AtomicUsize::new(1) };
        ready.before_run(&region, 100_000, &mut 20_000);
        assert_eq!(until(&ready), 120_000, "no more than may be taken");
        ready.taken(&region, 1_000_000..1_000_100);
    }
}
