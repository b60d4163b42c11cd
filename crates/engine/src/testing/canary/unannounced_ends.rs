//! Who commits draws its end without having said that it prepares: who looks in between takes it for active, and its end for a later one.

use super::Slip;
use crate::physical::Physical;
use crate::protocol::{Ends, Hekaton, SlotId};

pub(crate) struct UnannouncedEnds;

impl Slip<Hekaton> for UnannouncedEnds {
    fn prepare<P: Physical>(_: &Ends, _: SlotId) {}
}
