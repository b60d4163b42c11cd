//! The content of fields: printable characters, made, changed and read eight at a time.
//!
//! The alphabet is the 64 characters from space to underscore, so that a character is six random bits plus a
//! space, in any byte of a word without a carry into the next.

use crate::random::{choose, mix};
use fastrand::Rng;

/// The most bytes of a row.
pub(crate) const MOST_BYTES: usize = 8_192;
/// Excerpts begin at any of so many places.
const BEGINNINGS: usize = 1_024;

/// Six bits of every byte.
const SIX_BITS: u64 = 0x3f3f_3f3f_3f3f_3f3f;
/// A space in every byte.
const SPACES: u64 = 0x2020_2020_2020_2020;
const WORD: usize = size_of::<u64>();

/// What blind writes write: excerpts of one text, so that they generate and copy nothing.
static TEXT: [u8; MOST_BYTES + BEGINNINGS] = {
    let mut text = [0; MOST_BYTES + BEGINNINGS];
    let mut nth = 0;
    while nth < text.len() {
        text[nth] = b' ' + (mix(nth as u64) >> 58) as u8;
        nth += 1;
    }
    text
};

#[inline]
fn printable(word: u64) -> u64 {
    (word & SIX_BITS) + SPACES
}

/// Fills `bytes` with the text that belongs to `seed`.
pub(super) fn fill(bytes: &mut [u8], seed: u64) {
    let mut rng = Rng::with_seed(mix(seed));
    let (words, rest) = bytes.as_chunks_mut::<WORD>();
    for word in words {
        *word = printable(rng.u64(..)).to_le_bytes();
    }
    rest.copy_from_slice(&printable(rng.u64(..)).to_le_bytes()[..rest.len()]);
}

/// A number that depends on every byte.
#[inline]
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<WORD>();
    let sum = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)))
}

/// Replaces every character by one that depends on it and on `salt`: by another one, but for one salt in 64.
#[inline]
pub(super) fn alter(bytes: &mut [u8], salt: u64) {
    // A sum of two six-bit numbers stays within its byte.
    let altered = |word: u64| printable((word & SIX_BITS) + (salt & SIX_BITS));
    let (words, rest) = bytes.as_chunks_mut::<WORD>();
    for word in words {
        *word = altered(u64::from_le_bytes(*word)).to_le_bytes();
    }
    for byte in rest {
        *byte = altered(u64::from(*byte)) as u8;
    }
}

/// `len` bytes of text. Panics beyond [`MOST_BYTES`].
#[inline]
pub(super) fn excerpt(salt: u64, len: usize) -> &'static [u8] {
    let first = choose(salt, BEGINNINGS as u32) as usize;
    &TEXT[first..first + len]
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, alter, digest, excerpt, fill};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_assert_ne, proptest};

    fn is_printable(bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| (b' '..=b'_').contains(byte))
    }

    proptest! {
        #[test]
        fn text_stays_printable(len in 0usize..100, seed in any::<u64>(), salts in any::<[u64; 4]>()) {
            let mut bytes = vec![0; len];
            fill(&mut bytes, seed);
            prop_assert!(is_printable(&bytes));
            for salt in salts {
                alter(&mut bytes, salt);
                prop_assert!(is_printable(&bytes));
            }
        }

        #[test]
        fn alterations_depend_on_every_byte(len in 1usize..100, seed in any::<u64>(), at in 0usize..100) {
            let mut bytes = vec![0; len];
            fill(&mut bytes, seed);
            let (mut other, at) = (bytes.clone(), at % len);
            other[at] = b' ' + (other[at] - b' ' + 1) % 64;
            prop_assert_ne!(digest(&bytes), digest(&other));
            let before = bytes.clone();
            alter(&mut bytes, seed);
            alter(&mut other, seed);
            prop_assert_ne!(bytes[at], other[at]);
            prop_assert_eq!(&bytes[..at], &other[..at]);
            prop_assert_eq!(&bytes[at + 1..], &other[at + 1..]);
            // Altering turns every character by so many of 64 positions, so 64 turns are whole ones.
            for _ in 1..64 {
                alter(&mut bytes, seed);
            }
            prop_assert_eq!(bytes, before);
        }

        #[test]
        fn excerpts_have_their_length(salt in any::<u64>(), len in 0..=MOST_BYTES) {
            let bytes = excerpt(salt, len);
            prop_assert_eq!(bytes.len(), len);
            prop_assert!(is_printable(bytes));
        }
    }

    #[test]
    fn neighbours_differ_and_use_the_whole_alphabet() {
        let row = |key| {
            let mut row = [0; 1000];
            fill(&mut row, key);
            row
        };
        let same = row(1).iter().zip(row(2)).filter(|(one, two)| **one == *two).count();
        assert!(same < 50, "{same} of 1000 characters agree, 16 expected");
        let mut used = [false; 128];
        row(1).iter().for_each(|byte| used[usize::from(*byte)] = true);
        assert_eq!(used.iter().filter(|used| **used).count(), 64);
        assert_eq!(row(1), row(1), "the key decides");
    }
}
