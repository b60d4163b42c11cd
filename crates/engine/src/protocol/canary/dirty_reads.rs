//! Reads take no lock: they see what a writer may yet undo.

use super::unheld_reads::UnheldRead;
use crate::physical::{Physical, Word};
use crate::protocol::counter_word::DEAD;
use crate::protocol::{Requester, Verdict, Waker};

pub(crate) struct DirtyReads;

impl UnheldRead for DirtyReads {
    fn grant<P: Physical>(meta: &P::Word64, _: Requester, _: &impl Waker) -> Verdict {
        if meta.read() & DEAD != 0 { Verdict::Again } else { Verdict::Granted }
    }
}
