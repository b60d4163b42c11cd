//! Last names (clause 4.3.2.3): three syllables, each from a digit of a number from 0 to 999.

/// Numbers of last names.
pub const LAST_NAMES: u32 = 1_000;

/// By digit.
const SYLLABLES: [&[u8]; 10] =
    [b"BAR", b"OUGHT", b"ABLE", b"PRI", b"PRES", b"ESE", b"ANTI", b"CALLY", b"ATION", b"EING"];

/// The last name with this number, filled up with zeros. Panics from [`LAST_NAMES`] on.
pub fn last_name(number: u32) -> [u8; 16] {
    assert!(number < LAST_NAMES, "last name {number}");
    let mut name = [0; 16];
    let mut end = 0;
    for digit in [number / 100, number / 10 % 10, number % 10] {
        let syllable = SYLLABLES[digit as usize];
        name[end..end + syllable.len()].copy_from_slice(syllable);
        end += syllable.len();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{LAST_NAMES, last_name};
    use crate::tpcc::rows::text;
    use std::collections::HashSet;

    #[test]
    fn names_are_made_of_syllables() {
        assert_eq!(text(&last_name(371)), b"PRICALLYOUGHT", "the standard's example");
        assert_eq!(text(&last_name(40)), b"BARPRESBAR", "the standard's example");
        assert_eq!(text(&last_name(0)), b"BARBARBAR");
        assert_eq!(text(&last_name(777)), b"CALLYCALLYCALLY", "the longest");
        assert_eq!((0..LAST_NAMES).map(last_name).collect::<HashSet<_>>().len(), 1000);
    }
}
