//! Points in time as UTC, for folder names and reports.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A UTC date with its time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Utc {
    /// The system's clock; 1970 if that stands before.
    pub fn now() -> Utc {
        Utc::at(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs())
    }

    /// The date that lies `seconds` after the start of 1970.
    ///
    /// Days are counted from 1 March of year 0, so that a leap day ends its year; then 153 days are five months
    /// and 146,097 days are 400 years. This is Hinnant's `civil_from_days`.
    pub fn at(seconds: u64) -> Utc {
        let (days, time) = (seconds / 86_400 + 719_468, seconds % 86_400);
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Utc {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: time / 3600,
            minute: time / 60 % 60,
            second: time % 60,
        }
    }

    /// Fit for a file name, and sorted by time: `20260102T030405Z`.
    pub fn compact(&self) -> String {
        let Utc { year, month, day, hour, minute, second } = self;
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
    }

    /// Fit for a reader: `2026-01-02 03:04:05 UTC`.
    pub fn readable(&self) -> String {
        let Utc { year, month, day, hour, minute, second } = self;
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        let cases = [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (951_868_799, "2000-02-29 23:59:59 UTC"),
            (951_868_800, "2000-03-01 00:00:00 UTC"),
            (1_767_225_599, "2025-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ];
        for (seconds, text) in cases {
            assert_eq!(Utc::at(seconds).readable(), text);
        }
        assert_eq!(Utc::at(951_782_400).compact(), "20000229T000000Z");
    }
}
