//! What a worker has at hand of a partition's memory: records, and nodes of its index.

use super::arena::RecordCache;
use crate::index::ordered;

/// One worker's supply for one partition.
#[derive(Default)]
pub(crate) struct PartitionSupply {
    pub records: RecordCache,
    /// Of an ordered index.
    pub nodes: ordered::Supply,
}

/// One worker's supplies, by table and partition.
pub(crate) type Supply = Vec<Vec<PartitionSupply>>;

impl PartitionSupply {
    /// Frees everything: no transaction runs.
    pub fn reclaim_all(&mut self) {
        self.records.reclaim_all();
        self.nodes.reclaim_all();
    }
}
