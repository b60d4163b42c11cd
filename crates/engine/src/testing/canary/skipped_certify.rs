//! Write locks are not turned into certify locks: a commit changes what others have read and go on reading.

use super::{Broken, Defect};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::semaphore::{DEAD, Semaphore};
use crate::protocol::{Request, TwoVersionNoWait, Verdict, Waker};
use crate::transaction::access::Certified;

pub(crate) struct SkippedCertify;

impl Defect<TwoVersionNoWait> for SkippedCertify {
    type Access<A: Architecture<Protocol = Broken<TwoVersionNoWait, Self>>> = Certified;

    fn mark_deleted<P: Physical>(meta: &Semaphore<P>, _: Request<'_, TwoVersionNoWait, P, impl Waker>) {
        meta.set(DEAD);
    }

    fn prepare<P: Physical>(
        _: &Semaphore<P>,
        _: bool,
        _: Request<'_, TwoVersionNoWait, P, impl Waker>,
    ) -> Verdict {
        Verdict::Granted
    }

    fn unprepare<P: Physical>(_: &Semaphore<P>, _: bool, _: Request<'_, TwoVersionNoWait, P, impl Waker>) {}
}
