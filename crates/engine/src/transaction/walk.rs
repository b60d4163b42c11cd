//! A step of a walk through a partition, for a checkpoint ([`crate::durability::checkpoint`]): which keys come next, told where the
//! partition's index may be read. It is a look, and protects nothing: the keys are then read by a transaction as any others.

use super::keys::Lent;
use super::{Place, Txn};
use crate::architecture::Architecture;
use crate::index::WalkPosition;
use crate::index::hash::Hash;
use contract::{Abort, Key, PartitionId, TableId};

/// Keys as ordered indexes have them, one behind the other; those in front are taken first.
#[derive(Default)]
pub(crate) struct KeyList {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    taken: usize,
}

impl KeyList {
    fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(u32::try_from(self.bytes.len()).expect("a step tells few keys"));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.taken = 0;
    }

    /// Whether all were taken.
    pub fn is_empty(&self) -> bool {
        self.taken == self.ends.len()
    }

    /// Takes so many.
    pub fn take(&mut self, keys: usize) {
        self.taken += keys;
        assert!(self.taken <= self.ends.len(), "only what is there is taken");
    }

    /// Those that were not taken.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let all = starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start as usize..end as usize]);
        all.skip(self.taken)
    }
}

/// What a step works on, in the client's memory.
struct Walking<'a> {
    position: &'a mut WalkPosition,
    keys: &'a mut KeyList,
}

impl<A: Architecture> Txn<'_, A> {
    /// In a look: replaces `keys` by those that come next in a partition, and goes on behind them.
    pub fn walk(
        &mut self,
        table: TableId,
        partition: PartitionId,
        position: &mut WalkPosition,
        keys: &mut KeyList,
    ) -> Result<(), Abort> {
        keys.clear();
        let key = Key(0);
        self.enter(Place { table: self.table(table), key, partition, hash: Hash::of(key) })?;
        let mut walking = Walking { position, keys };
        let walking = Lent::new(&mut walking);
        self.architecture.at(partition, move |site| {
            // SAFETY: the client waits for the answer, and touches nothing of it.
            let Walking { position, keys } = unsafe { walking.get() };
            site.partition(table, partition).index.walk(position, &mut |key| keys.push(key));
        });
        Ok(())
    }
}
