//! `trireme._trireme`: the database in a Python process. The package around it, in `python/trireme`, makes values of bytes, and calls the command.
//!
//! | file | what |
//! |---|---|
//! | [`database`] | a database, its tables, and what runs in it |
//! | [`transaction`] | what a Python function does in a transaction that is lent to it |
//! | [`table`] | tables by the kind of their keys |
//! | [`home`] | the process in which a database was opened |
//! | [`error`] | what goes wrong, as exceptions |
//!
//! Whoever waits in the engine, for a lock, a slot or the disk, does so without the interpreter's lock: another thread that holds what is waited for needs that lock to go on.

mod database;
mod error;
mod home;
mod table;
mod transaction;

use pyo3::prelude::*;

#[pymodule]
fn _trireme(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<database::Database>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<transaction::Transaction>()?;
    error::register(module)
}
