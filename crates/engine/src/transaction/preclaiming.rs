//! Locking all that the plan names, one after the other in the order of tables and keys, before the transaction does anything: preclaiming, or
//! conservative two-phase locking. With [`DeadlockFree`](crate::protocol::DeadlockFree) it is *orthrus* 4's "Deadlock free locking", which "analyzes
//! each transaction prior to its execution [...] and acquires locks in the lexicographical order".
//!
//! What is locked becomes an entry of the access set, as if the transaction had touched it: so its operations find what it holds, and it is
//! released with the rest. Of a key that is missing it holds the gap. What is inserted or deleted, keys that are byte strings and what the plan does
//! not name are locked when the transaction comes to them.

use super::access_set::Kind;
use super::requesting::mode_of;
use super::{RecordPlace, Txn};
use crate::architecture::Architecture;
use crate::protocol::{Locking, Mode};
use contract::{Abort, Access, Plan, TimeClass};

impl<A: Architecture<Protocol: Locking>> Txn<'_, A> {
    /// Locks what the plan names. If that aborts, the transaction's operations will find it poisoned.
    pub(super) fn preclaim(&mut self, plan: &Plan) {
        let before = self.stopwatch.enter(TimeClass::Manager);
        let mut claims = std::mem::take(&mut self.claims);
        claims.clear();
        let named = plan.keys().iter().filter(|key| key.access != Access::Structure);
        claims.extend(named.filter_map(|key| Some(((key.table, key.key), mode_of(key)?))));
        // The stronger lock of a key that is named twice.
        claims.sort_unstable_by_key(|&(place, mode)| (place, mode == Mode::Shared));
        claims.dedup_by_key(|&mut (place, _)| place);
        let _: Result<(), Abort> =
            claims.iter().try_for_each(|&(place, mode)| self.claim_record(place, mode));
        self.claims = claims;
        self.stopwatch.enter(before);
    }

    fn claim_record(&mut self, (table, key): RecordPlace, mode: Mode) -> Result<(), Abort> {
        let table = self.table(table);
        if table.has_byte_strings() {
            // The plan has a prefix only.
            return Ok(());
        }
        let place = self.place(table, key);
        self.enter(place)?;
        self.fetch_header(place, true);
        if let Some(record) = self.lock_record(place, mode)? {
            let kind = if mode == Mode::Exclusive { Kind::Write } else { Kind::Read };
            self.add(place, record, kind, None);
        }
        Ok(())
    }
}
