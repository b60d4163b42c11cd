//! Asking for the lines of planned keys before they are needed: first the index's, later the records'. Lines of
//! partitions whose steps run elsewhere are left to who will run them.

use super::{ProtocolOf, Txn};
use crate::architecture::Architecture;
use crate::protocol::{Protocol, Reads, Writes};
use contract::{Access, Plan};

impl<A: Architecture> Txn<'_, A> {
    /// Asks for the index line of every planned key.
    #[inline(always)]
    pub fn prefetch_index(&self, plan: &Plan) {
        for planned in plan.keys() {
            let table = self.table(planned.table);
            let (partition, hash) = table.locate(planned.key);
            if !self.architecture.is_here(partition) {
                continue;
            }
            table.partition(partition).index.prefetch(hash);
        }
    }

    /// Asks for the record lines of every planned key; their index lines should be there by now.
    #[inline(always)]
    pub fn prefetch_records(&self, plan: &Plan) {
        for planned in plan.keys() {
            let table = self.table(planned.table);
            let (partition, hash) = table.locate(planned.key);
            if !self.architecture.is_here(partition) {
                continue;
            }
            if let Some(record) = table.partition(partition).index.candidate(hash) {
                // A lock is a write even if the row is only read.
                let writes = planned.access != Access::Read;
                let header = ProtocolOf::<A>::READS == Reads::Locked || writes;
                let row = writes && ProtocolOf::<A>::WRITES == Writes::InPlace;
                record.prefetch(planned.span, header, row);
            }
        }
    }
}
