//! Asking for the lines of planned keys before they are needed: first the index's, later the records'. Lines of
//! partitions whose steps run elsewhere are left to who will run them.

use super::access::{Access as _, AccessOf};
use super::{HeaderOf, Txn};
use crate::architecture::Architecture;
use crate::index::Index;
use crate::index::hash::Hash;
use crate::record::value::WORD;
use contract::{Access, Plan};

impl<A: Architecture> Txn<'_, A> {
    /// Once a plan is made: says where its keys live.
    #[inline(always)]
    pub fn locate(&self, plan: &mut Plan) {
        plan.locate(|table, key| self.table(table).partition_of(key));
    }

    /// Asks for the index line of every planned key.
    #[inline(always)]
    pub fn prefetch_index(&self, plan: &Plan) {
        for planned in plan.keys() {
            if !self.architecture.is_here(planned.partition) {
                continue;
            }
            let table = self.table(planned.table);
            match &table.partition(planned.partition).index {
                Index::Hashed(index) => index.prefetch(Hash::of(planned.key)),
                // Of a byte string the plan has a prefix.
                Index::Ordered(_) if table.has_byte_strings() => {}
                Index::Ordered(index) => index.prefetch(&planned.key.bytes()),
            }
        }
    }

    /// Asks for the record lines of every planned key; their index lines should be there by now.
    #[inline(always)]
    pub fn prefetch_records(&self, plan: &Plan) {
        for planned in plan.keys() {
            if !self.architecture.is_here(planned.partition) {
                continue;
            }
            // The records of an ordered table are left to the look-up.
            let table = self.table(planned.table);
            let Index::Hashed(index) = &table.partition(planned.partition).index else { continue };
            if let Some(record) = index.candidate(Hash::of(planned.key)) {
                // A lock is a write even if the row is only read.
                let writes = planned.access != Access::Read;
                let header = AccessOf::<A>::READS_WRITE_METADATA || writes;
                let row = writes && AccessOf::<A>::WRITES_IN_PLACE;
                let span = if table.varies() { WORD } else { planned.span };
                record.row::<HeaderOf<A>>().prefetch(span, header, row);
            }
        }
    }
}
