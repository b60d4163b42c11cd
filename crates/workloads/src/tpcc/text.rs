//! Random strings of the population (clauses 4.3.2.2, 4.3.2.7 and 4.3.3.1), filled up with zeros.

use fastrand::Rng;

/// What a tenth of the items and of the stocks bear in their data.
pub(super) const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Whether [`ORIGINAL`] is somewhere in the data of an item or a stock.
///
/// Wherever it is, the first whole aligned word of four bytes in it is one of four. Most data have none of them, which is found out
/// without a branch for each byte.
#[inline]
pub(super) fn is_original(data: &[u8; 50]) -> bool {
    const PARTS: [u32; 4] = [part(0), part(1), part(2), part(3)];
    let words = data.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word));
    let may_be =
        words.fold(false, |found, word| found | PARTS.iter().fold(false, |any, part| any | (word == *part)));
    may_be && data.windows(ORIGINAL.len()).any(|bytes| bytes == ORIGINAL)
}

/// Four bytes of [`ORIGINAL`] as a word.
const fn part(first: usize) -> u32 {
    u32::from_ne_bytes([ORIGINAL[first], ORIGINAL[first + 1], ORIGINAL[first + 2], ORIGINAL[first + 3]])
}

/// Letters and digits, at least so many: the standard's a-string.
pub(super) fn letters<const MOST: usize>(rng: &mut Rng, least: usize) -> [u8; MOST] {
    let mut string = [0; MOST];
    let len = rng.usize(least..=MOST);
    string[..len].iter_mut().for_each(|byte| *byte = rng.alphanumeric() as u8);
    string
}

/// Digits, as many as fit: the standard's n-string.
pub(super) fn digits<const COUNT: usize>(rng: &mut Rng) -> [u8; COUNT] {
    std::array::from_fn(|_| rng.u8(b'0'..=b'9'))
}

/// Four random digits, and five ones.
pub(super) fn zip(rng: &mut Rng) -> [u8; 9] {
    let mut zip = [b'1'; 9];
    zip[..4].copy_from_slice(&digits::<4>(rng));
    zip
}

/// An a-string of 26 to 50, one in ten with [`ORIGINAL`] somewhere in it.
pub(super) fn data(rng: &mut Rng) -> [u8; 50] {
    let mut data = letters::<50>(rng, 26);
    if rng.u8(0..10) == 0 {
        let len = super::rows::text(&data).len();
        let first = rng.usize(0..=len - ORIGINAL.len());
        data[first..first + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_wherever_it_is_and_nothing_like_it() {
        let longest = |text: &[u8], at: usize| {
            let mut data = [b'x'; 50];
            data[at..at + text.len()].copy_from_slice(text);
            data
        };
        for at in 0..=50 - ORIGINAL.len() {
            assert!(is_original(&longest(ORIGINAL, at)), "at {at}");
            for like_it in [b"ORIGINAl", b"oRIGINAL", b"ORIGxNAL", b"xRIGINAL", b"ORIGINxL"] {
                assert!(!is_original(&longest(like_it, at)), "at {at}");
            }
        }
        assert!(!is_original(&longest(b"ORIGINA", 43)));
    }
}
