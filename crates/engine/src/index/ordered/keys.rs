//! Keys in pieces of eight bytes, which compare as numbers.
//!
//! A *slice* is eight bytes of a key as a big-endian number, zeroes where the key has ended. Slices order keys unless
//! they are equal; then lengths, or what comes after, decide:
//!
//! - In a leaf an entry has a *class* beside its slice: the bytes of the key that are in the slice, 0 to 8, or
//!   [`LONG`]. Pairs of slice and class order keys unless both are long.
//! - In an inner node a separator has no class. One that is stored in its slice alone does not end in a zero byte, so its
//!   length is known; and a key with an equal slice is not less than the separator: it has at least the separator's
//!   bytes, the last of which is no padding. Separators that are longer, or end in a zero byte, are out of line.
//!
//! Separators are cut as short as they can be (prefix B-trees; Bayer and Unterauer, 1977).

use std::cmp::Ordering;

/// Bytes of a slice.
pub(super) const SLICE_BYTES: usize = 8;

/// The class of keys that go beyond their slice.
pub(super) const LONG: usize = SLICE_BYTES + 1;

/// A key that is looked for.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    pub bytes: &'a [u8],
    /// Its first slice.
    head: u64,
}

#[inline(always)]
fn big_endian(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + SLICE_BYTES].try_into().expect("eight bytes"))
}

impl<'a> Probe<'a> {
    /// Panics if the key is longer than [`super::MAX_KEY_BYTES`].
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Self {
        assert!(
            bytes.len() <= super::MAX_KEY_BYTES,
            "a key of {} bytes; {} are allowed",
            bytes.len(),
            super::MAX_KEY_BYTES
        );
        let head = if bytes.len() < SLICE_BYTES { slice_of(bytes) } else { big_endian(bytes, 0) };
        Probe { bytes, head }
    }

    /// The slice that starts at byte `at`, which the key has or is its end.
    #[inline(always)]
    pub fn slice_at(&self, at: usize) -> u64 {
        let length = self.bytes.len();
        if length <= SLICE_BYTES {
            return self.head.unbounded_shl(8 * at as u32);
        }
        let left = length - at;
        if left >= SLICE_BYTES {
            big_endian(self.bytes, at)
        } else {
            // The last slice of the key, without the bytes before `at`.
            big_endian(self.bytes, length - SLICE_BYTES).unbounded_shl(64 - 8 * left as u32)
        }
    }

    /// The class of the key where a slice starts at byte `at`.
    #[inline(always)]
    pub fn class_at(&self, at: usize) -> usize {
        (self.bytes.len() - at).min(LONG)
    }
}

/// The slice of bytes, eight at most.
#[inline]
pub(super) fn slice_of(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(all) => u64::from_be_bytes(*all),
        // Shifted in byte by byte: a copy of unknown length is a call.
        None => {
            let end = bytes.iter().fold(0, |slice, &byte| slice << 8 | u64::from(byte));
            end.unbounded_shl(8 * (SLICE_BYTES - bytes.len()) as u32)
        }
    }
}

/// Bytes that two keys have in common, from the first.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Bytes that a separator, which is stored in this slice alone, and other bytes have in common, from the first.
pub(super) fn common_of_slice(slice: u64, bytes: &[u8]) -> usize {
    let most = inline_length(slice).min(bytes.len());
    let differing = slice ^ slice_of(&bytes[..bytes.len().min(SLICE_BYTES)]);
    most.min(differing.leading_zeros() as usize / 8)
}

/// Bytes of a separator that is stored in its slice alone.
#[inline]
pub(super) fn inline_length(slice: u64) -> usize {
    SLICE_BYTES - slice.trailing_zeros() as usize / 8
}

/// Whether a separator with these bytes after the node's prefix can be stored in its slice alone.
pub(super) fn fits_inline(suffix: &[u8]) -> bool {
    suffix.len() <= SLICE_BYTES && suffix.last().is_some_and(|&byte| byte != 0)
}

/// The shortest key above `low` and not above `high`, as bytes of `high`.
pub(super) fn separator_length(low: &[u8], high: &[u8]) -> usize {
    assert!(low.cmp(high) == Ordering::Less);
    common_prefix(low, high) + 1
}

/// An end of a node's range, as a descent meets it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fence {
    /// No key lies beyond.
    Open,
    /// The first `prefix` bytes of the key that is looked for, then those of a slice.
    Inline { prefix: usize, slice: u64 },
    /// Out of line.
    Long(u32),
}

/// Bytes of a key that is put together without clearing room for the longest one.
const SHORT_BYTES: usize = 32;

/// A key put together from its pieces.
pub(super) struct KeyBuffer {
    bytes: Room,
    length: usize,
}

/// Room for a key.
#[expect(
    clippy::large_enum_variant,
    reason = "on the stack, and not moved: most keys are short, and need not have the rest cleared"
)]
enum Room {
    Short([u8; SHORT_BYTES]),
    Long([u8; super::MAX_KEY_BYTES]),
}

impl KeyBuffer {
    /// Bytes as they are.
    pub fn of(bytes: &[u8]) -> Self {
        let mut all = [0; super::MAX_KEY_BYTES];
        all[..bytes.len()].copy_from_slice(bytes);
        KeyBuffer { bytes: Room::Long(all), length: bytes.len() }
    }

    /// A prefix and the first `length` bytes of a slice.
    pub fn join(prefix: &[u8], slice: u64, length: usize) -> Self {
        let (end, slice) = (prefix.len() + length, slice.to_be_bytes());
        if prefix.len() + SLICE_BYTES <= SHORT_BYTES {
            let mut bytes = [0; SHORT_BYTES];
            bytes[..prefix.len()].copy_from_slice(prefix);
            // All of it: what is too much is not the key's.
            bytes[prefix.len()..prefix.len() + SLICE_BYTES].copy_from_slice(&slice);
            return KeyBuffer { bytes: Room::Short(bytes), length: end };
        }
        let mut bytes = [0; super::MAX_KEY_BYTES];
        bytes[..prefix.len()].copy_from_slice(prefix);
        bytes[prefix.len()..end].copy_from_slice(&slice[..length]);
        KeyBuffer { bytes: Room::Long(bytes), length: end }
    }

    /// Bytes that `fill` writes, answering how many.
    pub fn filled(fill: impl FnOnce(&mut [u8]) -> usize) -> Self {
        let mut bytes = [0; super::MAX_KEY_BYTES];
        let length = fill(&mut bytes);
        KeyBuffer { bytes: Room::Long(bytes), length }
    }
}

impl std::ops::Deref for KeyBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Room::Short(bytes) => &bytes[..self.length],
            Room::Long(bytes) => &bytes[..self.length],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_keys_of_all_lengths() {
        let bytes: Vec<u8> = (1..=40).collect();
        for length in 0..bytes.len() {
            let probe = Probe::new(&bytes[..length]);
            for at in 0..=length {
                let end = (at + SLICE_BYTES).min(length);
                assert_eq!(probe.slice_at(at), slice_of(&bytes[at..end]), "{length} bytes, from {at}");
                assert_eq!(probe.class_at(at), (length - at).min(LONG));
            }
        }
    }

    #[test]
    fn what_a_slice_has_in_common_with_bytes() {
        for separator in [&b"a"[..], b"\0a", b"ab\0c", b"abcdefgh", b"\xFF"] {
            for bytes in [
                &b""[..],
                b"a",
                b"\0",
                b"ab",
                b"ab\0",
                b"ab\0c",
                b"ab\0cd",
                b"abcdefgh",
                b"abcdefghi",
                b"\xFF\0",
            ] {
                assert_eq!(common_of_slice(slice_of(separator), bytes), common_prefix(separator, bytes));
            }
        }
    }

    #[test]
    fn keys_are_put_together_in_room_of_either_size() {
        for prefix in (0..64).map(|length| vec![7; length]) {
            for length in 0..=SLICE_BYTES {
                let whole = [&prefix[..], &b"abcdefgh"[..length]].concat();
                assert_eq!(&*KeyBuffer::join(&prefix, slice_of(b"abcdefgh"), length), whole);
                assert_eq!(&*KeyBuffer::of(&whole), whole);
            }
        }
    }

    #[test]
    fn separators_say_their_length() {
        for suffix in [&b"a"[..], b"\0a", b"abcdefgh", b"\xFF"] {
            assert!(fits_inline(suffix));
            assert_eq!(inline_length(slice_of(suffix)), suffix.len());
        }
        assert!(!fits_inline(b"a\0"));
        assert!(!fits_inline(b"abcdefghi"));
    }
}
