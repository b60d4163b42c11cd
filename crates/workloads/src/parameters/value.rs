//! Values of parameters: each type says what it allows, reads it from text, and writes it back.
//!
//! Numbers may be written `2000000`, `2_000_000`, `2e6`, `2M`; `k`, `M` and `G` are powers of a thousand, in
//! either case.

use std::fmt;

/// A type of parameter. What it displays, it parses.
pub(crate) trait ParameterValue: Sized + fmt::Display {
    /// The values allowed, in words.
    const ALLOWED: &'static str;

    /// The value that `text` says, if it is one that is allowed.
    fn parse(text: &str) -> Option<Self>;
}

/// A number, finite.
pub(crate) fn number(text: &str) -> Option<f64> {
    exponential(text)?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A whole number. Beyond 2^53 only digits say it exactly, so nothing else is taken there.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let text = exponential(text)?;
    text.parse().ok().or_else(|| {
        let number = text.parse::<f64>().ok()?;
        let exact = number.fract() == 0.0 && (0.0..=(1u64 << 53) as f64).contains(&number);
        exact.then_some(number as u64)
    })
}

/// The same number without underscores, and with an exponent for a suffix; exponents, unlike products, are
/// exact.
fn exponential(text: &str) -> Option<String> {
    let stray = |(nth, _): (usize, &str)| {
        let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        !(nth > 0 && digit(text.as_bytes().get(nth - 1)) && digit(text.as_bytes().get(nth + 1)))
    };
    if text.match_indices('_').any(stray) {
        return None;
    }
    let plain = text.replace('_', "");
    let (digits, exponent) = match plain.char_indices().last()? {
        (end, 'k' | 'K') => (&plain[..end], "e3"),
        (end, 'm' | 'M') => (&plain[..end], "e6"),
        (end, 'g' | 'G') => (&plain[..end], "e9"),
        _ => (plain.as_str(), ""),
    };
    // What is left is for the standard library to judge, but for its words for numbers that are not finite.
    let numeric = |c: char| c.is_ascii_digit() || ".eE+-".contains(c);
    digits.chars().all(numeric).then(|| format!("{digits}{exponent}"))
}

/// A part of a hundred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(pub(crate) f64);

impl ParameterValue for Percent {
    const ALLOWED: &'static str = "a percentage from 0 to 100";

    fn parse(text: &str) -> Option<Self> {
        number(text).filter(|percent| (0.0..=100.0).contains(percent)).map(|percent| Percent(percent.abs()))
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Declares a type of whole numbers from a least to a most.
macro_rules! count {
    ($(#[$doc:meta])* $type:ident, $least:literal to $most:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $type(u64);

        impl $type {
            pub(crate) const MOST: u64 = $most;

            pub(crate) const fn get(self) -> u64 {
                self.0
            }
        }

        impl $crate::parameters::ParameterValue for $type {
            const ALLOWED: &'static str =
                concat!("a whole number from ", stringify!($least), " to ", stringify!($most));

            fn parse(text: &str) -> Option<Self> {
                let allowed = $least..=Self::MOST;
                $crate::parameters::whole(text).filter(|number| allowed.contains(number)).map($type)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}
pub(crate) use count;

/// Declares a type of named choices.
macro_rules! choice {
    ($(#[$doc:meta])* $type:ident:
     $(#[$first_doc:meta])* $first:ident = $first_name:literal
     $(, $(#[$next_doc:meta])* $next:ident = $next_name:literal)+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $type {
            $(#[$first_doc])* $first,
            $($(#[$next_doc])* $next,)+
        }

        impl $crate::parameters::ParameterValue for $type {
            const ALLOWED: &'static str = concat!($first_name $(, " | ", $next_name)+);

            fn parse(text: &str) -> Option<Self> {
                match text {
                    $first_name => Some($type::$first),
                    $($next_name => Some($type::$next),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $type::$first => $first_name,
                    $($type::$next => $next_name,)+
                })
            }
        }
    };
}
pub(crate) use choice;

#[cfg(test)]
mod tests {
    use super::{ParameterValue, Percent, number, whole};

    count!(
        /// For the tests.
        Count, 2 to 1_000
    );
    choice!(
        /// For the tests.
        Colour: Red = "red", DarkBlue = "dark-blue"
    );

    #[test]
    fn whole_numbers_are_written_in_many_ways() {
        for text in
            ["2000000", "2_000_000", "2e6", "2E6", "2M", "2m", "2000k", "2_000K", "0.002G", "2.0e6", "+2e6"]
        {
            assert_eq!(whole(text), Some(2_000_000), "{text}");
        }
        assert_eq!(whole("1.001k"), Some(1001), "no rounding on the way");
        assert_eq!(whole("18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole("0"), Some(0));
    }

    #[test]
    fn what_is_not_a_whole_number_is_refused() {
        let texts = [
            "",
            " ",
            "k",
            "M",
            "_",
            "1_",
            "_1",
            "1__0",
            "1_k",
            "1._5",
            "-1",
            "1.5",
            "1.0001k",
            "1e-1",
            "1e400",
            "1e3k",
            "inf",
            "nan",
            "NaN",
            "infinity",
            "0x10",
            "1 000",
            "1,000",
            "2MM",
            "2kB",
            "ten",
            "18446744073709551616",
            "9007199254740994.0",
            "٣",
            "2é",
        ];
        for text in texts {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_finite() {
        for (text, value) in [("0.8", 0.8), (".8", 0.8), ("8e-1", 0.8), ("1", 1.0), ("-0.5", -0.5)] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in ["", "inf", "-inf", "nan", "1e999", "0,8", "0.8x", "--1"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn percentages_end_at_a_hundred() {
        for (text, shown) in [("0", "0"), ("-0", "0"), ("50", "50"), ("12.5", "12.5"), ("1e2", "100")] {
            assert_eq!(Percent::parse(text).expect(text).to_string(), shown);
        }
        for text in ["-1", "100.1", "50%", "half", ""] {
            assert_eq!(Percent::parse(text), None, "{text}");
        }
    }

    #[test]
    fn counts_and_choices_say_what_they_allow() {
        assert_eq!(Count::ALLOWED, "a whole number from 2 to 1_000");
        let counts = ["1", "2", "1k", "1001"].map(|text| Count::parse(text).map(Count::get));
        assert_eq!(counts, [None, Some(2), Some(1000), None]);

        assert_eq!(Colour::ALLOWED, "red | dark-blue");
        assert_eq!(Colour::parse("dark-blue"), Some(Colour::DarkBlue));
        assert_eq!(Colour::DarkBlue.to_string(), "dark-blue");
        assert_eq!(
            (Colour::parse("Red"), Colour::parse(""), Colour::Red.to_string()),
            (None, None, "red".into())
        );
    }
}
