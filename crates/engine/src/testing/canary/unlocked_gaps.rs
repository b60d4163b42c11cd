//! Inserts hold no gap, and heed nobody who does: phantoms. What protects missing keys and ranges from them under locking
//! is removed; those who find keys missing still hold the gaps, and an insert into a gap that its own transaction relies on is
//! as under NO_WAIT.

use super::unheld::Grant;
use crate::physical::Physical;
use crate::protocol::semaphore::{DEAD, Semaphore};
use crate::protocol::{Mode, NoWait, Request, Verdict, Waker};

pub(crate) struct UnlockedGaps;

impl Grant for UnlockedGaps {
    const MODE: Mode = Mode::Insert;

    fn grant<P: Physical>(meta: &Semaphore<P>, _: Request<'_, NoWait, P, impl Waker>) -> Verdict {
        if meta.flags() & DEAD != 0 { Verdict::Retry } else { Verdict::Granted }
    }
}
