//! A step of a walk through a partition, for a checkpoint ([`crate::durability::checkpoint`]): which keys come next, told where the
//! partition's index may be read. It is a look, and protects nothing: the keys are then read by a transaction as any others.

use super::keys::Lent;
use super::{Place, Txn};
use crate::architecture::Architecture;
use crate::index::hash::Hash;
use crate::index::{KeyList, WalkPosition};
use contract::{Abort, Key, PartitionId, TableId};

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
