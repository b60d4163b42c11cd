//! A read is shown the newest version, also if that is of somebody younger.

use super::Lapse;
use crate::physical::Physical;
use crate::protocol::{Answer, Chained, Mvcc, Timestamping};
use crate::timestamp::Halves;

pub(crate) struct NewestVersion;

impl Lapse<Mvcc> for NewestVersion {
    fn read<P: Physical>(meta: &Chained<P>, by: Halves) -> Answer {
        match Mvcc::read(meta, by) {
            Answer::Older => Mvcc::newest(meta),
            otherwise => otherwise,
        }
    }
}
