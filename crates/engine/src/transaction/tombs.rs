//! What deletes leave behind where transactions have timestamps from their begin on: the record stays linked, without a row, so that older
//! transactions find that they come too late, or find the row before, and is unlinked when there are none any more.
//!
//! A tombstone waits in its slot's queue ([`crate::storage::tombs`]) until its epoch has passed: everybody who was active when its transaction
//! committed has ended then, so all who run have begun later, and their timestamps are larger
//! ([`Draws::lose_batch`](crate::timestamp::Draws::lose_batch)): they find the key missing with or without it. Then the slot takes the
//! record for ever, if it still is that tombstone, and unlinks it as an abort unlinks an insert. One that is about to be written waits on; one
//! that was written is a row again, or the tombstone of another, who has it in a queue of its own.
//!
//! Where transactions read the past (see [`crate::protocol::Cicada`]), who does so may be older than a deletion, whatever the epoch: the
//! tombstone waits until nobody is.
//!
//! A tombstone is unlinked where it is. A fiber that migrates does that when its next transaction begins, and not when it takes stock of its
//! garbage, which is at home.
//!
//! When a run is over, what waits is unlinked by the store ([`crate::storage::Store`]): to the next protocol it would be a row.

use super::access_set::{Access, Kind};
use super::{Place, ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::index::hash::Hash;
use crate::protocol::{Answer, Versioning};
use crate::storage::tombs::Tomb;

impl<A: Architecture<Protocol: Versioning>> Txn<'_, A> {
    /// A record is this tombstone from now on.
    pub(super) fn leave_tomb(&mut self, position: usize, word: u64) {
        let Access { record, partition, table, key, .. } = self.accesses[position];
        let has_byte_strings = self.table(table).has_byte_strings();
        let bytes = if has_byte_strings { self.keys.bytes(key) } else { &[] };
        self.allocations.tombs.push(self.epoch, Tomb { record, table, partition, word }, bytes);
    }

    /// Between transactions: unlinks tombstones of epoch `reclaimable` and before, as long as they are not later ones than `last`.
    #[cold]
    pub(super) fn unlink_tombs_until(&mut self, reclaimable: u64, last: u64) {
        // Out of the slot's cache meanwhile, which unlinking needs.
        let mut tombs = std::mem::take(&mut self.allocations.tombs);
        for _ in 0..tombs.len() {
            if tombs.first_word().is_none_or(|word| word > last) {
                break;
            }
            let Some((tomb, bytes)) = tombs.next(reclaimable) else { break };
            let Tomb { record, partition, word, .. } = tomb;
            if self.architecture.enter(partition).is_err() {
                // It is about to have another owner.
                tombs.push_again(self.epoch, tomb);
                continue;
            }
            match self.architecture.at(partition, move |site| ProtocolOf::<A>::bury(site.meta(record), word))
            {
                Answer::Absent(_) => self.unlink_tomb(tomb, bytes),
                Answer::Wait => tombs.push_again(self.epoch, tomb),
                _ => {}
            }
        }
        self.allocations.tombs = tombs;
        self.release_all();
    }

    /// Unlinks a tombstone that is dead by now.
    fn unlink_tomb(&mut self, Tomb { record, partition, table, .. }: Tomb, bytes: &[u8]) {
        let table = self.table(table);
        let key = if table.has_byte_strings() { self.keys.intern(bytes) } else { record.key() };
        let place = Place { table, key, partition, hash: Hash::of(key) };
        let position = self.add(place, record, Kind::Absent, None);
        self.remove(position, 0);
        self.prune_emptied();
        self.forget();
    }
}
