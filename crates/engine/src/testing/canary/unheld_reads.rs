//! A lock that is granted to a reader is given back at once, and what was read under it is not validated: others write it
//! meanwhile.

use super::{Flaw, Flawed};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Held, Mocc, Mode, Protecting, Verdict};
use crate::transaction::access::MostlyValidated;

pub(crate) struct UnheldReads;

impl Flaw<Mocc> for UnheldReads {
    type Access<A: Architecture<Protocol = Flawed<Mocc, Self>>> = MostlyValidated;

    fn hold<P: Physical>(meta: &P::SingleWriter, mode: Mode) -> Verdict {
        let verdict = Mocc::hold::<P>(meta, mode);
        if mode == Mode::Shared && verdict == Verdict::Granted {
            Mocc::give_back::<P>(meta, Held::Shared, false);
        }
        verdict
    }

    fn lock<P: Physical>(meta: &P::SingleWriter, held: Option<Held>, inserted: bool) -> Verdict {
        Mocc::lock::<P>(meta, held.filter(|&held| held != Held::Shared), inserted)
    }

    fn give_back<P: Physical>(meta: &P::SingleWriter, held: Held, cools: bool) {
        if held != Held::Shared {
            Mocc::give_back::<P>(meta, held, cools);
        }
    }
}
