//! What an entry of a cache holds: a row, or a group of rows.
//!
//! Ignite finds entries by key alone, and validates them one by one. A table whose keys are numbers has an entry a row, under that number: of
//! such a table, keys between which there is nothing yet cannot be relied on, so it is not scanned. A table whose keys are byte strings has an entry for all
//! rows whose keys begin with the same eight bytes ([`Key::prefix_of`]), under those: what a scan within them relies on is that entry, and who
//! inserts there or deletes changes it. The price is that who changes a row of a group is in the way of who reads another.
//!
//! A group in bytes: for each row, in the order of the keys, the key's length and the row's, 32 bits each, little-endian, the key, the row.

use aligned_vec::{AVec, ConstAlign};
use contract::Key;
use std::collections::BTreeMap;

/// A row, where procedures may take it for a type of theirs.
pub type Row = AVec<u8, ConstAlign<8>>;

/// A row of these bytes.
pub fn row(bytes: &[u8]) -> Row {
    Row::from_slice(8, bytes)
}

/// Rows by key, all of which begin with the same eight bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group(pub BTreeMap<Vec<u8>, Row>);

impl Group {
    /// The group of these bytes; `None`: they are of no group.
    pub fn of(mut bytes: &[u8]) -> Option<Group> {
        let mut rows = BTreeMap::new();
        while !bytes.is_empty() {
            let (key_bytes, rest) = bytes.split_first_chunk()?;
            let (row_bytes, rest) = rest.split_first_chunk()?;
            let (key, rest) = rest.split_at_checked(u32::from_le_bytes(*key_bytes) as usize)?;
            let (of_key, rest) = rest.split_at_checked(u32::from_le_bytes(*row_bytes) as usize)?;
            rows.insert(key.to_vec(), row(of_key));
            bytes = rest;
        }
        Some(Group(rows))
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (key, row) in &self.0 {
            for length in [key.len(), row.len()] {
                bytes.extend(u32::try_from(length).expect("rows are smaller than 4 GiB").to_le_bytes());
            }
            bytes.extend(key);
            bytes.extend(&row[..]);
        }
        bytes
    }

    /// The key of the entry in which the rows of such a key are.
    pub fn key_of(key: &[u8]) -> u64 {
        Key::prefix_of(key).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_its_bytes_and_part_of_them_is_none() {
        let rows = [(&b"first"[..], &b"1"[..]), (b"", b""), (b"second", b"twenty-two")];
        let group = Group(rows.iter().map(|(key, of)| (key.to_vec(), row(of))).collect());
        let bytes = group.bytes();
        assert_eq!(Group::of(&bytes), Some(group));
        assert_eq!(Group::of(&[]), Some(Group::default()));
        let whole = [0, 8, 22];
        for end in (0..bytes.len()).filter(|end| !whole.contains(end)) {
            assert_eq!(Group::of(&bytes[..end]), None, "{end} of {}", bytes.len());
        }
    }

    #[test]
    fn rows_lie_where_types_may_be_seen_in_them() {
        for bytes in 0..40 {
            assert!((row(&vec![1; bytes]).as_ptr() as usize).is_multiple_of(8));
        }
    }
}
