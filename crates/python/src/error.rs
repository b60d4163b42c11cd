//! What goes wrong, as exceptions: `Error`, and those below it that a program tells apart.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(trireme, Error, PyException, "What a database refuses, or could not do.");
create_exception!(
    trireme,
    Aborted,
    Error,
    "The transaction met another one. Let it through: the function is called again."
);
create_exception!(trireme, Exists, Error, "There is a row of this key already.");

/// The exception for an error of the engine.
pub fn raised(error: &trireme::Error) -> PyErr {
    let words = error.to_string();
    match error {
        error if error.is_retryable() => Aborted::new_err(words),
        trireme::Error::Exists { .. } => Exists::new_err(words),
        _ => Error::new_err(words),
    }
}

/// Makes them known.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<Error>())?;
    module.add("Aborted", module.py().get_type::<Aborted>())?;
    module.add("Exists", module.py().get_type::<Exists>())
}
