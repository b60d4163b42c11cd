//! How much of a growing region is faulted in ahead.
//!
//! Loading faults in what it fills. What is inserted later would fault while transactions run, and the system would clear
//! pages in their time; so before a run as much is faulted in as the run before it took, and a quarter more. What a run takes
//! beyond that is faulted in chunk by chunk.

use crate::facade::region::Region;
use std::ops::Range;

/// Up to where a region is faulted in, in bytes, and where it was used up to when the last run began.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    until: usize,
    used_before: Option<usize>,
}

impl Ready {
    /// `used` bytes are used, and a run is about to begin. `left` are the bytes that may be taken from the system for that.
    pub fn before_run(&mut self, region: &Region, used: usize, left: &mut u64) {
        let grown = used - self.used_before.unwrap_or(used);
        self.used_before = Some(used);
        let from = self.until.max(used);
        let wanted = (used + grown + grown / 4).min(region.len()).saturating_sub(from);
        let bytes = wanted.min(usize::try_from(*left).unwrap_or(usize::MAX));
        *left -= bytes as u64;
        region.fault_in(from..from + bytes);
        self.until = from + bytes;
    }

    /// What was just taken must be faulted in.
    #[inline]
    pub fn taken(&self, region: &Region, bytes: Range<usize>) {
        if bytes.end > self.until {
            region.fault_in(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ready;
    use crate::facade::region::Region;

    #[test]
    fn as_much_as_the_last_run_took_and_a_quarter_more() {
        let region = Region::reserve(1 << 20).expect("a MiB");
        let mut ready = Ready::default();
        let mut left = 500_000;
        ready.before_run(&region, 100_000, &mut left);
        assert_eq!((ready.until, left), (100_000, 500_000), "nothing is known of how it grows");
        ready.before_run(&region, 140_000, &mut left);
        assert_eq!((ready.until, left), (190_000, 450_000));
        ready.before_run(&region, 150_000, &mut left);
        assert_eq!((ready.until, left), (190_000, 450_000), "it is ready for ten thousand more");
        ready.before_run(&region, 1_000_000, &mut left);
        assert_eq!(ready.until, 1 << 20, "no more than there is");
        let mut ready = Ready { until: 0, used_before: Some(0) };
        ready.before_run(&region, 100_000, &mut 20_000);
        assert_eq!(ready.until, 120_000, "no more than may be taken");
        ready.taken(&region, 1_000_000..1_000_100);
    }
}
