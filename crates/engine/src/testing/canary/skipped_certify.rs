//! Write locks are not turned into certify locks: a commit changes what others have read and go on reading.

use super::Defect;
use crate::physical::Physical;
use crate::protocol::semaphore::{DEAD, Semaphore};
use crate::protocol::{Request, TwoVersionNoWait, Verdict, Waker};

pub(crate) struct SkippedCertify;

impl Defect<TwoVersionNoWait> for SkippedCertify {
    fn mark_deleted<P: Physical>(meta: &Semaphore<P>, _: Request<'_, TwoVersionNoWait, P, impl Waker>) {
        meta.set(DEAD);
    }

    fn prepare<P: Physical>(_: &Semaphore<P>, _: bool) -> Verdict {
        Verdict::Granted
    }

    fn unprepare<P: Physical>(_: &Semaphore<P>, _: bool) {}
}
