//! How far the transactions of a slot reach: as far as their architecture does, or to other instances of a deployment.

use crate::architecture::{Architecture, Dora, InFibers, Orthrus};
use crate::physical::{Owned, Shared};
use crate::protocol::{Planning, Protocol};
use crate::session::Run;
use crate::transaction::Txn;
use contract::{Abort, EngineOptions, Outcome, Procedure, Receipts};

/// How a slot runs the transactions of its client and ends them.
pub(crate) trait Reach<'e, A: Architecture> {
    /// Whether procedures may look ahead, in a transaction of their own, to plan.
    const MAY_PLAN: bool = true;

    /// Runs a procedure in a transaction that has begun.
    fn run<P: Procedure>(&mut self, txn: &mut Txn<'e, A>, procedure: &P) -> Result<Outcome, Abort>;

    /// See [`Txn::commit`].
    fn commit(&mut self, txn: &mut Txn<'e, A>) -> Result<(), Abort>;

    /// See [`Txn::roll_back`].
    fn roll_back(&mut self, txn: &mut Txn<'e, A>) -> Result<(), Abort>;

    /// See [`Txn::abort`].
    fn abort(&mut self, txn: &mut Txn<'e, A>);

    /// See [`Txn::abandon`].
    fn abandon(&mut self, txn: &mut Txn<'e, A>);

    /// Shows what the merges of the last committed transaction left.
    fn with_receipts<R>(&self, txn: &Txn<'e, A>, f: impl FnOnce(&dyn Receipts) -> R) -> R;
}

/// All that they touch is reached by steps of their architecture.
pub(crate) struct Whole;

impl<'e, A: Architecture> Reach<'e, A> for Whole {
    #[inline(always)]
    fn run<P: Procedure>(&mut self, txn: &mut Txn<'e, A>, procedure: &P) -> Result<Outcome, Abort> {
        procedure.run(txn)
    }

    #[inline(always)]
    fn commit(&mut self, txn: &mut Txn<'e, A>) -> Result<(), Abort> {
        txn.commit()
    }

    #[inline(always)]
    fn roll_back(&mut self, txn: &mut Txn<'e, A>) -> Result<(), Abort> {
        txn.roll_back()
    }

    #[inline(always)]
    fn abort(&mut self, txn: &mut Txn<'e, A>) {
        txn.abort();
    }

    #[inline(always)]
    fn abandon(&mut self, txn: &mut Txn<'e, A>) {
        txn.abandon();
    }

    #[inline(always)]
    fn with_receipts<R>(&self, txn: &Txn<'e, A>, f: impl FnOnce(&dyn Receipts) -> R) -> R {
        f(txn.receipts())
    }
}

/// What unwinds a transaction that waits for a branch which will never answer. The panic is told where it was.
pub(crate) struct BranchPanicked;

/// Where procedures of other instances' clients are decoded: the worker's client.
pub(crate) trait Fragments {
    /// What its clients issue.
    type Procedure: Procedure;

    /// See [`contract::Client::decode`].
    fn decode(&mut self, bytes: &[u8]) -> Option<Self::Procedure>;

    /// See [`contract::Client::take_back`].
    fn take_back(&mut self, fragment: Self::Procedure);
}

/// An architecture in fibers, and what its transaction slots do.
pub(crate) trait InSlots<'e>: InFibers<'e> {
    /// How far its transactions reach.
    type Reach: Reach<'e, Self>;

    /// What a slot has to reach so far.
    fn reach(&self, options: &EngineOptions) -> Self::Reach;

    /// Runs branches of other instances' transactions in a slot for them ([`InFibers::branch_slots`]), until the run is over.
    fn serve_branches(txn: &mut Txn<'e, Self>, fragments: impl Fragments, run: Run<'e>) {
        let _ = (txn, fragments, run);
        unreachable!("it has no such slots")
    }
}

impl<'e, P: Protocol> InSlots<'e> for Dora<'e, P>
where
    P::Common<Owned>: Sync,
{
    type Reach = Whole;

    fn reach(&self, _: &EngineOptions) -> Whole {
        Whole
    }
}

impl<'e, P: Planning> InSlots<'e> for Orthrus<'e, P>
where
    P::Common<Shared>: Sync,
{
    type Reach = Whole;

    fn reach(&self, _: &EngineOptions) -> Whole {
        Whole
    }
}
