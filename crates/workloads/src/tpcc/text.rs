//! Random strings of the population (clauses 4.3.2.2, 4.3.2.7 and 4.3.3.1), filled up with zeros.

use fastrand::Rng;

/// What a tenth of the items and of the stocks bear in their data.
pub(super) const ORIGINAL: &[u8; 8] = b"ORIGINAL";

/// Whether [`ORIGINAL`] is somewhere in the data of an item or a stock.
#[inline]
pub(super) fn is_original(data: &[u8; 50]) -> bool {
    let wanted = u64::from_ne_bytes(*ORIGINAL);
    data.windows(8).any(|word| word.first_chunk().copied().map(u64::from_ne_bytes) == Some(wanted))
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
