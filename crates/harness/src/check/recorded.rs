//! What a checked run recorded, and how others read it.

use history::list_append::ListHistory;
use history::{ElleLayout, History, write_elle_registers};
use std::io::{self, Write};

/// What a checked run recorded.
pub enum Recorded {
    /// Versions of rows.
    Stamps(History),
    /// Lists.
    Lists(ListHistory),
    /// Nothing: a scenario is judged by what its players saw.
    Nothing,
}

impl Recorded {
    /// Writes the history for other people's checkers, as Elle and Jepsen read it: a JSON object an event.
    pub fn write(&self, layout: ElleLayout, writer: impl Write) -> io::Result<()> {
        match self {
            Recorded::Stamps(history) => write_elle_registers(history, layout, writer),
            Recorded::Lists(lists) => lists.write_elle(layout, writer),
            Recorded::Nothing => Ok(()),
        }
    }

    /// Transactions that ended.
    pub fn transactions(&self) -> usize {
        match self {
            Recorded::Stamps(history) => history.transactions(),
            Recorded::Lists(lists) => lists.transactions(),
            Recorded::Nothing => 0,
        }
    }
}
