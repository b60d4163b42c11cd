//! The process in which something was made.
//!
//! `fork` copies a process's memory and one of its threads, that which called it. A database has threads of its own, and locks that others may have held: in the child
//! nobody writes its log, and nobody leaves those locks.

use crate::error::Error;
use pyo3::prelude::*;
use std::process;

/// By the number of the process.
#[derive(Clone, Copy)]
pub struct Home(u32);

impl Home {
    /// This process.
    pub fn here() -> Home {
        Home(process::id())
    }

    /// Whether it is this process.
    pub fn is_here(self) -> bool {
        self.0 == process::id()
    }

    /// Refuses any other.
    pub fn admit(self) -> PyResult<()> {
        match self.is_here() {
            true => Ok(()),
            false => Err(Error::new_err(format!(
                "the database was opened by process {}, and this is process {}, forked from it; allowed: to open one after the fork, or to start processes by \
                 multiprocessing's 'spawn'",
                self.0,
                process::id()
            ))),
        }
    }
}
