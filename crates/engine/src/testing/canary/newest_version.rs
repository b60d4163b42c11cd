//! A read is shown the newest version, also if that is of somebody younger; but not one that is being written: two who wait for somebody younger
//! may wait for each other.

use super::{Amiss, Lapse};
use crate::architecture::Architecture;
use crate::physical::Physical;
use crate::protocol::{Answer, Chained, Mvcc, Timestamping};
use crate::timestamp::Halves;
use crate::transaction::access::Timestamped;

pub(crate) struct NewestVersion;

impl Lapse<Mvcc> for NewestVersion {
    type Access<A: Architecture<Protocol = Amiss<Mvcc, Self>>> = Timestamped;

    fn read<P: Physical>(meta: &Chained<P>, by: Halves) -> Answer {
        match Mvcc::read(meta, by) {
            Answer::Older => match Mvcc::newest(meta) {
                Answer::Wait => Answer::Older,
                newest => newest,
            },
            otherwise => otherwise,
        }
    }
}
