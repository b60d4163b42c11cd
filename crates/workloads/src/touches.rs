//! The records that one transaction touches, drawn ahead.
//!
//! A transaction is handed over by value several times in the measured loop, so its touches lie on the heap, whose memory the client uses
//! again ([`FreeList`]): inline, room for the most of them was moved each time, and took a third of the first cache for those that were drawn
//! ahead. A touch is one word, with the key on top: sorting words sorts keys.

use contract::{Access, Key};
use fastrand::Rng;

/// The most records that a transaction may touch.
pub(crate) const MOST_TOUCHES: usize = 64;
/// Bits below the key: the field, and whether it is written.
const KEY_SHIFT: u32 = 16;
/// Keys lie below this.
pub(crate) const KEY_END: u64 = 1 << (u64::BITS - KEY_SHIFT);
/// Fields lie below this.
pub(crate) const FIELD_END: u64 = 1 << (KEY_SHIFT - 1);

/// One access: a key, a field of its row, and whether it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Touch(u64);

impl Touch {
    #[inline]
    pub(crate) fn new(key: u64, field: u32, writes: bool) -> Self {
        // Not in release: 0.4 % of the instructions of a transaction of ten; parameters are checked against both.
        debug_assert!(key < KEY_END && u64::from(field) < FIELD_END);
        Touch(key << KEY_SHIFT | u64::from(field) << 1 | u64::from(writes))
    }

    #[inline]
    pub(crate) fn key(self) -> Key {
        Key(self.0 >> KEY_SHIFT)
    }

    #[inline]
    pub(crate) fn field(self) -> usize {
        (self.0 as usize >> 1) & (FIELD_END as usize - 1)
    }

    #[inline]
    pub(crate) fn writes(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline]
    pub(crate) fn access(self) -> Access {
        if self.writes() { Access::Write } else { Access::Read }
    }
}

/// Up to [`MOST_TOUCHES`] touches, in the order in which the transaction will make them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touches {
    /// Bit `key % 64` of every key among them: a key whose bit is clear is not.
    filter: u64,
    all: Vec<Touch>,
}

impl Touches {
    pub(crate) fn new() -> Self {
        Touches { filter: 0, all: Vec::with_capacity(MOST_TOUCHES) }
    }

    /// Adds a touch. Panics beyond [`MOST_TOUCHES`].
    #[inline]
    pub(crate) fn push(&mut self, touch: Touch) {
        assert!(self.all.len() < MOST_TOUCHES, "more than {MOST_TOUCHES} touches");
        self.all.push(touch);
        self.filter |= 1 << (touch.key().0 % 64);
    }

    /// Appends them to bytes.
    pub(crate) fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.as_slice().iter().flat_map(|touch| touch.0.to_le_bytes()));
    }

    /// Adds those that were encoded; `None`: the bytes are none.
    pub(crate) fn decode(mut self, bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks();
        if !rest.is_empty() || words.len() > MOST_TOUCHES {
            return None;
        }
        words.iter().for_each(|word| self.push(Touch(u64::from_le_bytes(*word))));
        Some(self)
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Touch] {
        &self.all
    }

    /// Whether `key` is among them.
    #[inline]
    pub(crate) fn hold(&self, key: u64) -> bool {
        self.filter & 1 << (key % 64) != 0 && self.as_slice().iter().any(|touch| touch.key() == Key(key))
    }

    /// The number of touches that write.
    #[inline]
    pub(crate) fn writes(&self) -> u64 {
        self.as_slice().iter().map(|touch| u64::from(touch.writes())).sum()
    }

    /// Puts them in the order of their keys.
    #[inline]
    pub(crate) fn sort_by_key(&mut self) {
        let all = self.all.as_mut_slice();
        for end in 1..all.len() {
            let (sorted, rest) = all.split_at_mut(end);
            let mut largest = rest[0];
            for touch in sorted {
                (*touch, largest) = ((*touch).min(largest), (*touch).max(largest));
            }
            rest[0] = largest;
        }
    }

    /// Puts them in random order.
    #[inline]
    pub(crate) fn shuffle(&mut self, rng: &mut Rng) {
        rng.shuffle(&mut self.all);
    }
}

/// Transactions that are drawn ahead and in flight, of most workers.
const MOST_AT_A_TIME: usize = 32;

/// The memory of transactions that have ended, for those that are drawn.
#[derive(Clone, Debug)]
pub(crate) struct FreeList(Vec<Touches>);

impl FreeList {
    /// For as many as most workers have at a time. A client whose worker has more allocates when it first does.
    pub(crate) fn new() -> Self {
        let mut free = Vec::with_capacity(2 * MOST_AT_A_TIME);
        free.resize_with(MOST_AT_A_TIME, Touches::new);
        FreeList(free)
    }

    /// None yet, in memory of one that has ended, if there is any.
    #[inline]
    pub(crate) fn take(&mut self) -> Touches {
        self.0.pop().unwrap_or_else(Touches::new)
    }

    /// Takes the memory of one back.
    #[inline]
    pub(crate) fn put(&mut self, mut touches: Touches) {
        touches.filter = 0;
        touches.all.clear();
        self.0.push(touches);
    }
}

#[cfg(test)]
mod tests {
    use super::{FIELD_END, KEY_END, MOST_TOUCHES, Touch, Touches};
    use contract::{Access, Key};
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn a_touch_is_what_it_was_made_of(
            key in 0..KEY_END,
            field in 0..FIELD_END as u32,
            writes in any::<bool>(),
        ) {
            let touch = Touch::new(key, field, writes);
            prop_assert_eq!((touch.key(), touch.field(), touch.writes()), (Key(key), field as usize, writes));
            prop_assert_eq!(touch.access(), if writes { Access::Write } else { Access::Read });
        }

        #[test]
        fn sorting_sorts_keys(keys in vec(0..KEY_END, 0..=MOST_TOUCHES), field in 0..7u32) {
            let mut touches = Touches::new();
            for (nth, &key) in keys.iter().enumerate() {
                touches.push(Touch::new(key, field, nth % 2 == 0));
            }
            prop_assert_eq!(touches.writes(), keys.len().div_ceil(2) as u64);
            prop_assert!(keys.iter().all(|&key| touches.hold(key)));
            touches.sort_by_key();
            let sorted: Vec<u64> = touches.as_slice().iter().map(|touch| touch.key().0).collect();
            let mut expected = keys;
            expected.sort_unstable();
            prop_assert_eq!(sorted, expected);
        }
    }
}
