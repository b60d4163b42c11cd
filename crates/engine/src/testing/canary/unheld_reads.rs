//! A lock that is granted at an access is given back at once, and what was read under it is not validated: others write it
//! meanwhile.
//!
//! Every record is taken for hot, which is no defect, so that also short runs come to the step that is one.

use super::{Flaw, Flawed};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Held, Mocc, Mode, Protecting, Validating, Validity, Verdict};
use crate::transaction::access::MostlyValidated;
use crate::transaction::lock_list::LockList;

pub(crate) struct UnheldReads;

impl Flaw<Mocc> for UnheldReads {
    type Access<A: Architecture<Protocol = Flawed<Mocc, Self>>> = MostlyValidated;

    fn is_hot<P: Physical>(_: &P::SingleWriter) -> bool {
        true
    }

    fn hold<P: Physical>(meta: &P::SingleWriter, mode: Mode) -> Verdict {
        let verdict = Mocc::hold::<P>(meta, mode);
        if verdict == Verdict::Granted {
            Mocc::give_back::<P>(meta, mode.into(), false);
        }
        verdict
    }

    fn lock<P: Physical>(meta: &P::SingleWriter, held: Option<Held>, inserted: bool) -> Verdict {
        Mocc::lock::<P>(meta, held.filter(|&held| held == Held::Locked), inserted)
    }

    fn give_back<P: Physical>(meta: &P::SingleWriter, held: Held, cools: bool) {
        if held == Held::Locked {
            Mocc::give_back::<P>(meta, held, cools);
        }
    }

    fn validate<P: Physical>(
        meta: &P::SingleWriter,
        token: u64,
        mine: bool,
        locks: &LockList,
        id: u64,
    ) -> Validity {
        // What is written was read under such a lock, too.
        if mine { Validity::Valid } else { Mocc::validate::<P>(meta, token, mine, locks, id) }
    }
}
