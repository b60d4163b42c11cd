//! Stored procedures: plain synchronous Rust, generic over the transaction.

use crate::plan::Plan;
use crate::table::{Key, TableId};
use crate::transaction::{Abort, Transaction};
use serde::{Deserialize, Serialize};

/// How a procedure ended by its own will.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Make its effects visible.
    Commit,
    /// Undo its effects; the workload's own decision, counted apart from aborts and not retried.
    Rollback,
}

/// One transaction with its parameters.
///
/// The engine runs it again after an abort, so everything that a run depends on is in `self` and in the
/// transaction, and results go to interior cells that a later run overwrites. It holds no guard across a call of
/// the transaction: the architecture may run it as a fiber and move it to another thread there.
pub trait Procedure: Send {
    /// The transaction's text.
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort>;

    /// What the transaction will touch, as far as it is known ahead.
    ///
    /// Used to prefetch, and by architectures that must declare partitions or lock sets: there, a key that `run` touches
    /// in a partition of which the plan names no key, or that it does not name itself, aborts it, and it is planned again. `look`
    /// is a transaction of its own for reconnaissance; it only reads, and what it saw may be stale by the time `run` starts.
    /// Where lock sets are declared, `run` itself finds out what there is beyond a plan that leaves some open
    /// ([`Plan::leave_open`]) or turned out to be incomplete: it runs without locks, nobody sees what it does, and it may see what
    /// nobody has committed. The default says nothing, which is an error there once `run` touches something.
    fn plan<T: Transaction + ?Sized>(&self, txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        let _ = (txn, plan);
        Ok(())
    }

    /// Which of its client's kinds of transactions it is, as a position in [`Client::kinds`](crate::Client::kinds).
    #[inline]
    fn kind(&self) -> usize {
        0
    }

    /// Whether the transaction may read a snapshot of the recent past, if the store has any: a state that the tables had at one time
    /// in the serial order. It then only reads, never waits and never aborts, and is serializable, but not strictly: it may miss what
    /// had committed when it began. Not by default.
    fn reads_snapshot(&self) -> bool {
        false
    }

    /// Whether the transaction can run in fragments, one at each instance that has something of it ("one-shot", Kallman et al., PVLDB 1(2), 2008). If so it
    /// tells `at` a key of every partition that it may touch. Not by default.
    ///
    /// A fragment is `run` where other instances' rows are out of reach: what is read or changed there is found, and is all zeros; what is inserted there
    /// was missing; a scan shows this instance's rows only. Whoever answers true promises that `run` then does to this instance's keys what it would do if
    /// it had them all, the same scans among it, and does not panic. Where a key turns out not to be there, or to be there already, the transaction is run again, without fragments.
    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        let _ = at;
        false
    }

    /// Where it has to be at home to run in fragments: a key of the partition to whose rows it does what depends on rows elsewhere, as home finds
    /// them in transcripts. From other instances it runs by messages. Anywhere by default.
    fn home_of_fragments(&self) -> Option<(TableId, Key)> {
        None
    }

    /// Appends what [`Client::decode`](crate::Client::decode) needs to make this procedure for another instance, where it runs as a fragment. To be written for
    /// what [runs in fragments](Procedure::runs_in_fragments).
    fn encode(&self, into: &mut Vec<u8>) {
        let _ = into;
    }
}
