//! Where the last keys went, so that the next ones need not descend if they go there, too.
//!
//! Orders come with ten lines, and loading goes through keys in order: most keys that are linked follow the last one, or the last one
//! of their district. A [`Finger`] remembers a leaf, its state, and a part of its range: from a key that the leaf was responsible for
//! to the fence above the leaf. As long as the leaf's state is the same, so is its range, and a caller that finds it so has what a
//! descent would have brought. Nothing is held: a leaf that has died or begun another life has another state.
//!
//! There are several [`Fingers`], of which a key's upper bits choose one: keys that are near each other share it, and places of the
//! index that are far from each other mostly have one each. A worker's allocation cache has some for the keys that it links, a
//! transaction slot some for those that it looks up ([`crate::transaction`]).
//!
//! Beside each finger stands where the leaf that a split made for a key is in its parent ([`Appending`]). Keys that ascend fill that leaf next, and it is
//! split without a descent. What is noted is a guess as well: the split latches parent and leaf at the states that were noted, or not at all.
//!
//! The range is kept as numbers that order keys as their bytes do, which keys of at most 15 bytes have; for longer ones nothing
//! is remembered. (Finger search; Guibas, McCreight, Plass and Roberts, 1977.)

use super::descend::{Place, Stop};
use super::keys::{Fence, Probe, SLICE_BYTES, inline_length};
use super::state::State;

/// A key's place among all keys of at most [`Rank::MOST_BYTES`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u128);

impl Rank {
    const MOST_BYTES: usize = 15;
    const LAST: Rank = Rank(u128::MAX);

    /// The bytes, zeroes where the key has ended, and its length: of two keys that differ in zeroes only, the shorter one
    /// comes first.
    #[inline(always)]
    pub fn of(key: &Probe<'_>) -> Option<Rank> {
        let length = key.bytes.len();
        if length > Self::MOST_BYTES {
            return None;
        }
        let head = (key.slice_at(0) as u128) << 64;
        let tail = if length > SLICE_BYTES { key.slice_at(SLICE_BYTES) } else { 0 };
        Some(Rank(head | tail as u128 | length as u128))
    }

    /// Of a fence that was met by descending to the key of this rank.
    #[inline(always)]
    pub fn of_fence(self, fence: Fence) -> Option<Rank> {
        match fence {
            Fence::Open => Some(Self::LAST),
            Fence::Inline { prefix, slice } => {
                let length = prefix + inline_length(slice);
                if length > Self::MOST_BYTES {
                    return None;
                }
                // What is in the slice beyond its bytes is zero, so that nothing reaches the last byte, the length.
                let prefix_bits = 8 * prefix as u32;
                let shared = self.0 & !u128::MAX.checked_shr(prefix_bits).unwrap_or(0);
                let rest = ((slice as u128) << 64).checked_shr(prefix_bits).unwrap_or(0);
                Some(Rank(shared | rest | length as u128))
            }
            Fence::Long(_) => None,
        }
    }
}

/// A leaf, and a part of its range when it had this state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finger {
    at: Stop,
    from: Rank,
    to: Rank,
}

/// A power of two of them: districts of a warehouse are ten.
const FINGERS: usize = 32;
/// Keys whose numbers differ in so many lower bits only have the same finger.
const NEAR_BITS: u32 = 10;

/// Fingers, one for each of several places of an index.
pub(super) struct Fingers([Finger; FINGERS]);

impl Fingers {
    /// At no leaf.
    pub const NONE: Fingers = Fingers([Finger::NONE; FINGERS]);

    /// The one for a key.
    #[inline(always)]
    pub fn of(&mut self, key: &Probe<'_>) -> &mut Finger {
        &mut self.0[place_of(key.slice_at(0), FINGERS)]
    }
}

/// For each of the [`Fingers`] the leaf that a split made last for a key, and its place in its parent, which holds as long as the parent's state
/// is the same.
///
/// Takes no memory before a leaf is split.
#[derive(Default)]
pub(super) struct Appending(Option<Box<[(u32, Place); FINGERS]>>);

impl Appending {
    const NONE: (u32, Place) =
        (0, Place { parent: Stop { node: 0, state: State(0) }, position: 0, upper: Fence::Open });

    /// Makes room for what is noted from here on: under latches nothing is asked of the system.
    #[inline(always)]
    pub fn provide(&mut self) {
        if self.0.is_none() {
            self.0 = Some(Box::new([Self::NONE; FINGERS]));
        }
    }

    /// A leaf has this place now. A fence out of line is not remembered: whoever changes a node above may retire its piece.
    #[inline(always)]
    pub fn note(&mut self, key: &Probe<'_>, leaf: u32, place: Place) {
        if let (Some(noted), false) = (&mut self.0, matches!(place.upper, Fence::Long(_))) {
            noted[place_of(key.slice_at(0), FINGERS)] = (leaf, place);
        }
    }

    /// The place of a leaf that is responsible for the key, if it was noted: it is there still if the parent's state is the same.
    #[inline(always)]
    pub fn place_of(&self, key: &Probe<'_>, leaf: u32) -> Option<Place> {
        let (noted, place) = self.0.as_ref()?[place_of(key.slice_at(0), FINGERS)];
        (noted == leaf).then_some(place)
    }

    /// Takes all parents for unchanged. For tests, which must notice.
    pub fn believe(&mut self, state_of: impl Fn(u32) -> State) {
        for (_, place) in self.0.iter_mut().flat_map(|noted| noted.iter_mut()).filter(|(leaf, _)| *leaf != 0)
        {
            place.parent.state = state_of(place.parent.node);
        }
    }
}

/// Which one of so many places, a power of two, is for a number and those that are near.
#[inline(always)]
pub(crate) fn place_of(number: u64, places: usize) -> usize {
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    ((number >> NEAR_BITS).wrapping_mul(SPREAD) >> 32) as usize & (places - 1)
}

impl Finger {
    /// At no leaf.
    pub const NONE: Finger = Finger { at: Stop { node: 0, state: State(0) }, from: Rank::LAST, to: Rank(0) };

    /// At the leaf that is responsible for the key of this rank, and for what follows it up to the fence above.
    #[inline(always)]
    pub(super) fn new(at: Stop, key: Option<Rank>, upper: Fence) -> Finger {
        Self::between(at, key, key.and_then(|key| key.of_fence(upper)))
    }

    /// At a leaf that is responsible for a key, and for what follows it up to another.
    #[inline(always)]
    pub(super) fn between(at: Stop, from: Option<Rank>, to: Option<Rank>) -> Finger {
        match (from, to) {
            (Some(from), Some(to)) => Finger { at, from, to },
            _ => Finger::NONE,
        }
    }

    /// At a leaf that has entries of these ranks, the first and the last one included.
    #[inline(always)]
    pub(super) fn at_entries(at: Stop, first: Option<Rank>, last: Option<Rank>) -> Finger {
        // No key comes between the last one and the rank after its own.
        Self::between(at, first, last.map(|Rank(last)| Rank(last.saturating_add(1))))
    }

    /// The leaf that is responsible for the key of this rank if its state still is the same.
    #[inline(always)]
    pub(super) fn towards(&self, key: Option<Rank>) -> Option<Stop> {
        key.is_some_and(|key| self.from <= key && key < self.to).then_some(self.at)
    }

    /// A leaf at which the finger may be was changed from here, but its range was not.
    #[inline(always)]
    pub(super) fn advance(&mut self, from: Stop, state: State) {
        if (self.at.node, self.at.state) == (from.node, from.state) {
            self.at.state = state;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(key: &[u8]) -> Rank {
        Rank::of(&Probe::new(key)).expect("a short key")
    }

    /// Keys of few different bytes, so that many share prefixes and end in zeroes.
    fn keys() -> Vec<Vec<u8>> {
        let mut keys = vec![vec![]];
        for length in 1..=4 {
            for number in 0..3_usize.pow(length) {
                let digits = (0..length).map(|at| [0, 1, 0xFF][number / 3_usize.pow(at) % 3]);
                keys.push(digits.collect());
            }
        }
        let longer = keys.iter().map(|key| [&[7; 6][..], key, &[0; 5][..]].concat());
        keys.extend(longer.collect::<Vec<_>>());
        keys
    }

    #[test]
    fn ranks_order_keys_as_their_bytes_do() {
        for a in keys() {
            for b in keys() {
                assert_eq!(rank(&a).cmp(&rank(&b)), a.cmp(&b), "{a:?} {b:?}");
            }
        }
        assert!(Rank::of(&Probe::new(&[0; 16])).is_none());
    }

    #[test]
    fn a_fence_has_the_rank_of_its_bytes() {
        for key in keys() {
            for prefix in 0..=key.len() {
                for suffix in [&b"\x01"[..], b"\0\x01", b"\xFF\xFF\xFF", b"abcdefgh"] {
                    let fence = Fence::Inline { prefix, slice: super::super::keys::slice_of(suffix) };
                    let bytes = [&key[..prefix], suffix].concat();
                    let expected = (bytes.len() <= Rank::MOST_BYTES).then(|| rank(&bytes));
                    assert_eq!(rank(&key).of_fence(fence), expected, "{key:?} {prefix} {suffix:?}");
                }
            }
        }
    }
}
