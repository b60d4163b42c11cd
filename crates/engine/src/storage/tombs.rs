//! Tombstones that a slot's transactions have left, until they are unlinked: see `transaction/tombs.rs`.

use crate::record::RecordRef;
use contract::{PartitionId, TableId};
use std::collections::VecDeque;

/// A record that a delete has left linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tomb {
    pub record: RecordRef,
    pub table: TableId,
    pub partition: PartitionId,
    /// The first word of its metadata, as long as it is this tombstone.
    pub word: u64,
}

/// A tombstone that waits.
struct Waiting {
    /// Of its transaction.
    epoch: u64,
    tomb: Tomb,
    /// Bytes of its key, if that is a byte string.
    key_bytes: u16,
}

/// The queue of a slot, the oldest first.
#[derive(Default)]
pub(crate) struct Tombs {
    queue: VecDeque<Waiting>,
    /// Keys that are byte strings, one behind the other.
    keys: VecDeque<u8>,
    /// The key of the last that was taken.
    key: Vec<u8>,
}

impl Tombs {
    /// A transaction of local epoch `epoch` has left one; `key` is its key if that is a byte string.
    pub fn push(&mut self, epoch: u64, tomb: Tomb, key: &[u8]) {
        assert!(self.queue.back().is_none_or(|last| last.epoch <= epoch));
        self.keys.extend(key);
        self.queue.push_back(Waiting { epoch, tomb, key_bytes: key.len() as u16 });
    }

    /// Takes the oldest, with its key, if its epoch is `reclaimable` or before.
    pub fn next(&mut self, reclaimable: u64) -> Option<(Tomb, &[u8])> {
        self.queue.front().filter(|first| first.epoch <= reclaimable)?;
        let Waiting { tomb, key_bytes, .. } = self.queue.pop_front().expect("the first was there");
        self.key.clear();
        self.key.extend(self.keys.drain(..usize::from(key_bytes)));
        Some((tomb, &self.key))
    }

    /// The word of the oldest.
    pub fn first_word(&self) -> Option<u64> {
        self.queue.front().map(|first| first.tomb.word)
    }

    /// The one that was taken last waits on, as if it was left in local epoch `epoch`.
    pub fn push_again(&mut self, epoch: u64, tomb: Tomb) {
        let key = std::mem::take(&mut self.key);
        self.push(epoch, tomb, &key);
        self.key = key;
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// A table is gone.
    pub fn forget_table(&mut self, table: TableId) {
        for _ in 0..self.len() {
            let epoch = self.queue[0].epoch;
            let (tomb, _) = self.next(u64::MAX).expect("as many as there were");
            if tomb.table != table {
                // Round and round: not in the order of epochs meanwhile.
                self.keys.extend(&self.key);
                self.queue.push_back(Waiting { epoch, tomb, key_bytes: self.key.len() as u16 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Tomb, Tombs};
    use crate::record::RecordRef;
    use contract::{PartitionId, TableId};
    use std::ptr::NonNull;

    #[test]
    fn each_has_its_key_and_waits_for_its_epoch() {
        let mut place = 0u128;
        // SAFETY: the record is never touched.
        let record = unsafe { RecordRef::new(NonNull::from(&mut place).cast()) };
        let tomb =
            |word: u64| Tomb { record, table: TableId(word as u16 % 2), partition: PartitionId(0), word };
        let mut tombs = Tombs::default();
        for (word, key) in [(1, "a"), (2, ""), (3, "long"), (4, "b")] {
            tombs.push(word, tomb(word), key.as_bytes());
        }
        assert_eq!(tombs.next(0), None);
        assert_eq!(tombs.next(1), Some((tomb(1), &b"a"[..])));
        assert_eq!(tombs.next(1), None);
        tombs.forget_table(TableId(0));
        assert_eq!(tombs.next(9), Some((tomb(3), &b"long"[..])));
        tombs.push_again(9, tomb(3));
        assert_eq!(tombs.next(8), None);
        assert_eq!(tombs.next(9), Some((tomb(3), &b"long"[..])));
        assert_eq!(tombs.len(), 0);
    }
}
