//! What the transaction slot knows of where a key is, before it looks it up.
//!
//! - Where it has looked last in ordered tables: ten lines of an order are in one or two leaves, and what a scan has shown is deleted
//!   next. A slot remembers some fingers ([`crate::index::ordered`]), each with the partition of the table that it is of; the key's upper bits
//!   choose the one to try. They outlast the transaction: the leaf's state tells whether a finger still points. Keys that are byte
//!   strings have none.
//! - What it has met in hashed tables when it asked for the lines of keys that a procedure named ahead: these records, in the order of the keys,
//!   in which they are mostly looked up. A record that is met is verified by its key when it is looked up, and is remembered while the
//!   transaction's epoch lasts, so that its memory is a record's. It may have been unlinked since, as any that a look-up finds: the
//!   protocol finds it dead then, and asks for another look-up, which is made in the index.

use super::Place;
use crate::index::ordered::{Finger, MOST_AHEAD, place_of};
use crate::record::RecordRef;
use contract::{Key, PartitionId, TableId};

/// A power of two of them.
const PLACES: usize = 64;

/// A finger, and what it is of.
#[derive(Clone, Copy)]
struct Near {
    table: TableId,
    partition: PartitionId,
    finger: Finger,
}

/// A record that was met for a key; perhaps another key's with a hash that is alike.
#[derive(Clone, Copy)]
struct Met {
    table: TableId,
    key: Key,
    record: RecordRef,
}

/// What a slot knows.
pub(super) struct Nearby {
    fingers: Box<[Near; PLACES]>,
    /// Records to be looked up next, the first of them last.
    met: Vec<Met>,
}

impl Nearby {
    /// Nothing.
    pub fn new() -> Self {
        let nowhere = Near { table: TableId(0), partition: PartitionId(0), finger: Finger::NONE };
        Nearby { fingers: Box::new([nowhere; PLACES]), met: Vec::with_capacity(MOST_AHEAD) }
    }

    /// The slot goes on to another epoch, in which the records' memory may become that of others; or other keys are named.
    #[inline(always)]
    pub fn forget_met(&mut self) {
        self.met.clear();
    }

    /// Remembers a record that is to be looked up before those that were met before it.
    #[inline(always)]
    pub fn meet(&mut self, table: TableId, key: Key, record: RecordRef) {
        self.met.push(Met { table, key, record });
    }

    /// The record of a key of a hashed table, if it is the next that was met; once.
    #[inline(always)]
    pub fn take_met(&mut self, Place { table, key, .. }: Place<'_>) -> Option<RecordRef> {
        let met = *self.met.last()?;
        if met.key != key || met.table != table.id {
            return None;
        }
        self.met.pop();
        (met.record.key() == key).then_some(met.record)
    }

    /// The finger for a key of an ordered table; at no leaf if it was another table's, or another partition's.
    #[inline(always)]
    pub fn of(&mut self, Place { table, partition, key, .. }: Place<'_>) -> &mut Finger {
        self.at(table.id, partition, key)
    }

    /// The same.
    #[inline(always)]
    pub fn at(&mut self, table: TableId, partition: PartitionId, key: Key) -> &mut Finger {
        // Tables whose keys begin alike are told apart.
        let number = key.0 ^ u64::from(table.0) << 48 ^ u64::from(partition.0) << 24;
        let near = &mut self.fingers[place_of(number, PLACES)];
        if (near.table, near.partition) != (table, partition) {
            *near = Near { table, partition, finger: Finger::NONE };
        }
        &mut near.finger
    }
}
