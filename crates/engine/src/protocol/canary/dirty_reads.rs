//! Reads take no lock: they see what a writer may yet undo.

use super::unheld_reads::UnheldRead;
use crate::physical::Physical;
use crate::protocol::semaphore::{DEAD, Semaphore};
use crate::protocol::{Requester, Verdict, Waker};

pub(crate) struct DirtyReads;

impl UnheldRead for DirtyReads {
    fn grant<P: Physical>(meta: &Semaphore<P>, _: Requester, _: &impl Waker) -> Verdict {
        if meta.flags() & DEAD != 0 { Verdict::Again } else { Verdict::Granted }
    }
}
