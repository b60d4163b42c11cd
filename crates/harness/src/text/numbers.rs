//! Numbers with thousands separators, percentages, and units that keep three significant digits.

/// A count or a rate, rounded, with thousands separators: `1,234,567`.
pub fn thousands(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let digits = format!("{:.0}", value.abs().round());
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value.round() < 0.0 {
        text.push('-');
    }
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many things, of a noun that takes an `s`: `1 worker`, `2 workers`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A part of a whole as a percentage: `12.3 %`; `0 %` only if it is zero.
pub fn percent(part: f64) -> String {
    let percent = part * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        small if small < 0.01 => "< 0.01 %".to_owned(),
        small if small < 1.0 => format!("{percent:.2} %"),
        medium if medium < 100.0 => format!("{percent:.1} %"),
        _ => format!("{} %", thousands(percent)),
    }
}

/// How many times: `0.85`, with as many digits as tell something; `0` only if it is zero.
pub fn ratio(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        tiny if tiny < 0.0001 => "< 0.0001".to_owned(),
        small if small < 0.01 => format!("{value:.4}"),
        small if small < 1.0 => format!("{value:.3}"),
        medium if medium < 10.0 => format!("{value:.2}"),
        medium if medium < 100.0 => format!("{value:.1}"),
        _ => thousands(value),
    }
}

/// A part of the best: `0.85`, or `1/230` if two digits behind the point would be two zeros.
pub fn part_of_best(value: f64) -> String {
    match value {
        small if small > 0.0 && small < 0.01 => format!("1/{}", thousands(1.0 / small)),
        _ => format!("{value:.2}"),
    }
}

/// A latency given in nanoseconds, in the unit that suits it: `850 ns`, `12.3 µs`, `1.05 ms`, `2.00 s`.
pub fn latency(ns: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    for (unit, name) in UNITS {
        if ns >= unit {
            return format!("{} {name}", three_digits(ns as f64 / unit as f64));
        }
    }
    format!("{ns} ns")
}

/// The same of a latency that there may be none of: a dash.
pub fn latency_if_any(ns: Option<u64>) -> String {
    ns.map_or("–".to_owned(), latency)
}

/// A latency given in nanoseconds, for the ticks of an axis: `100 ns`, `20 µs`.
pub fn short_latency(ns: f64) -> String {
    let (unit, name) = match ns {
        seconds if seconds >= 0.999e9 => (1e9, "s"),
        millis if millis >= 0.999e6 => (1e6, "ms"),
        micros if micros >= 0.999e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    format!("{} {name}", without_zeros(format!("{:.3}", ns / unit)))
}

/// Bytes in binary units: `1.50 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    for (shift, name) in UNITS {
        if bytes >= 1 << shift {
            return format!("{} {name}", three_digits(bytes as f64 / (1u64 << shift) as f64));
        }
    }
    format!("{bytes} B")
}

/// A short form for the ticks of an axis: `1.5M`, `200k`, `0.05`.
pub fn short(value: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    for (unit, name) in UNITS {
        if value.abs() >= unit * 0.999_999 {
            return format!("{}{name}", without_zeros(format!("{:.3}", value / unit)));
        }
    }
    without_zeros(format!("{value:.6}"))
}

fn three_digits(value: f64) -> String {
    match value {
        large if large >= 99.95 => thousands(value),
        medium if medium >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn without_zeros(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let cases = [(0.0, "0"), (999.4, "999"), (999.5, "1,000"), (1_234_567.0, "1,234,567")];
        for (value, text) in cases {
            assert_eq!(thousands(value), text);
        }
        assert_eq!(thousands(-1234.0), "-1,234");
        assert_eq!(thousands(-0.2), "0");
        assert_eq!(thousands(f64::NAN), "–");
    }

    #[test]
    fn one_thing_is_singular() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "core")), ["0 cores", "1 core", "2 cores"]);
    }

    #[test]
    fn percentages_never_hide_a_difference_from_zero() {
        let cases =
            [(0.0, "0 %"), (0.000_01, "< 0.01 %"), (0.005, "0.50 %"), (0.123, "12.3 %"), (12.3, "1,230 %")];
        for (part, text) in cases {
            assert_eq!(percent(part), text);
        }
    }

    #[test]
    fn ratios_keep_what_tells_something() {
        let cases = [(0.0, "0"), (0.000_02, "< 0.0001"), (0.0031, "0.0031"), (0.85, "0.850"), (14.0, "14.0")];
        for (value, text) in cases {
            assert_eq!(ratio(value), text);
        }
    }

    #[test]
    fn a_small_part_of_the_best_is_a_fraction() {
        let cases = [(0.0, "0.00"), (0.000_05, "1/20,000"), (0.004, "1/250"), (0.926, "0.93"), (1.0, "1.00")];
        for (value, text) in cases {
            assert_eq!(part_of_best(value), text);
        }
    }

    #[test]
    fn latencies_take_the_unit_that_suits() {
        let cases = [(0, "0 ns"), (850, "850 ns"), (12_345, "12.3 µs"), (1_050_000, "1.05 ms")];
        for (ns, text) in cases {
            assert_eq!(latency(ns), text);
        }
        assert_eq!(latency(2_000_000_000), "2.00 s");
        assert_eq!(latency(999_960), "1,000 µs");
        assert_eq!(short_latency(100.0) + &short_latency(2e4) + &short_latency(1e9), "100 ns20 µs1 s");
    }

    #[test]
    fn bytes_are_binary() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(3 << 29), "1.50 GiB");
    }

    #[test]
    fn ticks_are_short() {
        let cases = [
            (0.0, "0"),
            (0.05, "0.05"),
            (200_000.0, "200k"),
            (1_500_000.0, "1.5M"),
            (1000.0, "1k"),
            (2e9, "2G"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }
}
