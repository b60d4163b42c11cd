//! Reads take no lock: they see what a writer may yet undo.

use super::unheld::Grant;
use crate::physical::Physical;
use crate::protocol::semaphore::{DEAD, Semaphore};
use crate::protocol::{Mode, NoWait, Request, Verdict, Waker};

pub(crate) struct DirtyReads;

impl Grant for DirtyReads {
    const MODE: Mode = Mode::Shared;

    fn grant<P: Physical>(meta: &Semaphore<P>, _: Request<'_, NoWait, P, impl Waker>) -> Verdict {
        if meta.flags() & DEAD != 0 { Verdict::Retry } else { Verdict::Granted }
    }
}
