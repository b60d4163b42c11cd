//! What a history calls a row whose key is a byte string: a number that is the same for all workers.
//!
//! A transaction names such a key by a number of its own, which means nothing to anybody else. So the history hashes the
//! bytes to 64 bits, with a fixed seed, and keeps the bytes beside, for the order of the keys and for reports. Two keys of
//! one hash would be judged as one row, whose versions would not fit together: as the bytes are there, that is noticed and
//! refused. It happens once in about 10^7 runs of a million keys.
//!
//! A key that is a number is its own name, and its bytes are [`Key::bytes`].

use contract::{Key, TableId};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::fmt;
use std::hash::BuildHasher;

/// The name of a key that is a byte string.
pub(crate) fn name_of(bytes: &[u8]) -> Key {
    Key(foldhash::quality::FixedState::default().hash_one(bytes))
}

/// The bytes of all keys that are byte strings, by their names.
#[derive(Clone, Debug, Default)]
pub struct KeyNames(HashMap<(TableId, Key), Box<[u8]>, FixedState>);

impl KeyNames {
    /// Names a key.
    ///
    /// Panics if another key of the table has the same name.
    pub fn name(&mut self, table: TableId, bytes: &[u8]) -> Key {
        let key = name_of(bytes);
        self.keep(table, key, bytes);
        key
    }

    /// The bytes of a key; `None` if it is a number.
    pub fn bytes(&self, table: TableId, key: Key) -> Option<&[u8]> {
        self.0.get(&(table, key)).map(AsRef::as_ref)
    }

    pub(crate) fn keep(&mut self, table: TableId, key: Key, bytes: &[u8]) {
        let kept = self.0.entry((table, key)).or_insert_with(|| bytes.into());
        assert!(
            **kept == *bytes,
            "'{}' and '{}' of table {} have the same hash: such a run cannot be judged",
            kept.escape_ascii(),
            bytes.escape_ascii(),
            table.0
        );
    }

    /// Every key with its bytes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TableId, Key, &[u8])> {
        self.0.iter().map(|((table, key), bytes)| (*table, *key, &**bytes))
    }

    pub(crate) fn absorb(&mut self, other: KeyNames) {
        for ((table, key), bytes) in other.0 {
            self.keep(table, key, &bytes);
        }
    }

    /// Whether any key of the table is a byte string that was met.
    pub(crate) fn has_table(&self, table: TableId) -> bool {
        self.0.keys().any(|(of, _)| *of == table)
    }
}

/// A key as bytes, in whose order an ordered table has its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyBytes<'a> {
    Number([u8; 8]),
    String(&'a [u8]),
}

impl AsRef<[u8]> for KeyBytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            KeyBytes::Number(bytes) => bytes,
            KeyBytes::String(bytes) => bytes,
        }
    }
}

impl fmt::Display for KeyBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyBytes::Number(bytes) => write!(f, "{}", u64::from_be_bytes(*bytes)),
            KeyBytes::String(bytes) => write!(f, "'{}'", bytes.escape_ascii()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_for_all_and_give_the_bytes_back() {
        let (mut one, mut other) = (KeyNames::default(), KeyNames::default());
        let name = one.name(TableId(3), b"ab");
        assert_eq!(other.name(TableId(3), b"ab"), name);
        assert_ne!(other.name(TableId(3), b"ba"), name);
        one.absorb(other);
        assert_eq!(one.bytes(TableId(3), name), Some(&b"ab"[..]));
        assert_eq!(one.bytes(TableId(2), name), None);
        assert!(one.has_table(TableId(3)) && !one.has_table(TableId(2)));
    }

    #[test]
    #[should_panic(expected = "'ab' and 'cd' of table 3 have the same hash")]
    fn keys_of_one_hash_are_refused() {
        let mut names = KeyNames::default();
        names.keep(TableId(3), Key(1), b"ab");
        names.keep(TableId(3), Key(1), b"cd");
    }
}
