//! Write locks are not turned into certify locks: a commit changes what others have read and go on reading.

use super::Defect;
use crate::physical::{Physical, Word};
use crate::protocol::counter_word::DEAD;
use crate::protocol::{Requester, TwoVersionNoWait, Verdict, Waker};

pub(crate) struct SkippedCertify;

impl Defect<TwoVersionNoWait> for SkippedCertify {
    fn bury<P: Physical>((): &(), meta: &P::Word64, _: Requester, _: &impl Waker) {
        meta.store(DEAD);
    }

    fn prepare<P: Physical>(_: &P::Word64, _: bool) -> Verdict {
        Verdict::Granted
    }

    fn unprepare<P: Physical>(_: &P::Word64, _: bool) {}
}
