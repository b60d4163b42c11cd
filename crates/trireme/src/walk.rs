//! Going through a table, some rows at a time, in a transaction for each time, while nobody else runs.

use crate::error::Error;
use contract::{Direction, Scan, Span, TableId};
use engine::embedded::Slot;
use std::ops::Bound;

/// Rows that one transaction looks at.
const ROWS_AT_ONCE: usize = 1024;

/// A key and a row, in bytes.
pub(crate) type Seen = (Vec<u8>, Vec<u8>);

/// What is done with rows.
pub(crate) type Look<'l> = &'l mut dyn FnMut(&mut Slot, &[Seen]) -> Result<(), Error>;

/// Shows all rows of an ordered table to `look`, which may go on with the transaction.
pub(crate) fn in_steps(slot: &mut Slot, table: TableId, look: Look<'_>) -> Result<(), Error> {
    let mut from = Bound::Unbounded;
    loop {
        slot.begin(true);
        let mut seen: Vec<Seen> = Vec::with_capacity(ROWS_AT_ONCE);
        let scan = Scan {
            table,
            from: from.as_ref().map(Vec::as_slice),
            to: Bound::Unbounded,
            direction: Direction::Forward,
            limit: ROWS_AT_ONCE,
            span: Span::whole(slot.row_bytes(table)),
            within: None,
        };
        let scanned = slot.transaction().scan(&scan, &mut |key, row| seen.push((key.to_vec(), row.to_vec())));
        let looked = scanned.map_err(Error::from).and_then(|_| look(slot, &seen));
        if let Err(error) = looked {
            slot.abort();
            return Err(error);
        }
        slot.commit()?;
        match seen.pop() {
            Some((last, _)) if seen.len() + 1 == ROWS_AT_ONCE => from = Bound::Excluded(last),
            _ => return Ok(()),
        }
    }
}
