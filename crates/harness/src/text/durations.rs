//! Durations as people type them: `500ms`, `1s`, `1.5s`, `2m`.

use std::time::Duration;

/// What [`parse`] takes, for messages.
pub const ALLOWED: &str = "a number with ns, us, ms, s, m or h, such as 500ms, 1.5s or 2m, at most a year";

/// Reads a duration; `None` if it is not one, or is longer than a year of 366 days.
pub fn parse(text: &str) -> Option<Duration> {
    const LONGEST_S: f64 = 366.0 * 24.0 * 3600.0;
    let unit_starts = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(unit_starts);
    let unit_s = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * unit_s;
    (0.0..=LONGEST_S).contains(&seconds).then(|| {
        // Whole nanoseconds, so that 1.1s is 1,100,000,000 ns and prints as it was typed.
        Duration::from_nanos((seconds * 1e9).round() as u64)
    })
}

/// Writes a duration so that [`parse`] reads the same one back, in the largest unit that needs no fraction.
pub fn show(duration: Duration) -> String {
    const UNITS: [(u128, &str); 5] = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ];
    let ns = duration.as_nanos();
    if ns == 0 {
        return "0s".to_owned();
    }
    for (unit, name) in UNITS {
        if ns.is_multiple_of(unit) {
            return format!("{}{name}", ns / unit);
        }
    }
    format!("{ns}ns")
}

/// Writes about how long something takes, for progress: `33 s`, `4 min 10 s`, `2 h 5 min`.
pub fn roughly(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..90 => format!("{whole} s"),
        90..5400 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_type_is_read() {
        let cases = [("1s", 1000), ("500ms", 500), ("1.5s", 1500), ("2m", 120_000), ("0s", 0), ("0.1s", 100)];
        for (text, ms) in cases {
            assert_eq!(parse(text), Some(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(parse("250us"), Some(Duration::from_micros(250)));
    }

    #[test]
    fn anything_else_is_not() {
        for text in ["", "1", "s", "-1s", "1 s", "1sec", "1e3s", "..s", "9999999h", "nans", "infs"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_back() {
        for ns in [0, 1, 999, 1000, 1_000_000, 1_100_000_000, 60_000_000_000, 7_200_000_000_000] {
            let duration = Duration::from_nanos(ns);
            assert_eq!(parse(&show(duration)), Some(duration), "{}", show(duration));
        }
        assert_eq!(show(Duration::from_millis(1500)), "1500ms");
    }

    #[test]
    fn progress_is_told_roughly() {
        assert_eq!(roughly(Duration::from_millis(2500)), "2.5 s");
        assert_eq!(roughly(Duration::from_secs(33)), "33 s");
        assert_eq!(roughly(Duration::from_secs(250)), "4 min 10 s");
        assert_eq!(roughly(Duration::from_secs(7500)), "2 h 5 min");
    }
}
