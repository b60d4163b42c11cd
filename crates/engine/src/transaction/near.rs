//! Where the transaction slot has looked last in ordered tables, so that what is near is found without a descent: ten lines of an
//! order are in one or two leaves, and what a scan has shown is deleted next.
//!
//! A slot remembers some fingers ([`crate::index::ordered`]), each with the partition of the table that it is of; the key's upper bits choose
//! the one to try. They outlast the transaction: the leaf's state tells whether a finger still points. Keys that are byte strings have none.

use super::Place;
use crate::index::ordered::{Finger, place_of};
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

/// The fingers of a slot.
pub(super) struct Nearby(Box<[Near; PLACES]>);

impl Nearby {
    /// At no leaf.
    pub fn new() -> Self {
        let nowhere = Near { table: TableId(0), partition: PartitionId(0), finger: Finger::NONE };
        Nearby(Box::new([nowhere; PLACES]))
    }

    /// The finger for a key of an ordered table; at no leaf if it was another table's, or another partition's.
    #[inline(always)]
    pub fn of(&mut self, Place { table, partition, key, .. }: Place<'_>) -> &mut Finger {
        self.at(table.id, partition, key)
    }

    #[inline(always)]
    pub fn at(&mut self, table: TableId, partition: PartitionId, key: Key) -> &mut Finger {
        // Tables whose keys begin alike are told apart.
        let number = key.0 ^ u64::from(table.0) << 48 ^ u64::from(partition.0) << 24;
        let near = &mut self.0[place_of(number, PLACES)];
        if (near.table, near.partition) != (table, partition) {
            *near = Near { table, partition, finger: Finger::NONE };
        }
        &mut near.finger
    }
}
