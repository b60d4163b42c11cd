//! Tables by the kind of their keys: whole numbers of 64 bits, texts, or bytes. Values are bytes.

use crate::error::{Error, raised};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use trireme::{Bytes, Database, OpenTable};

/// A table that is open.
#[pyclass(frozen, module = "trireme._trireme")]
pub struct Table {
    /// Its name.
    #[pyo3(get)]
    name: &'static str,
    /// The kind of its keys.
    #[pyo3(get)]
    key: &'static str,
    pub(crate) open: Open,
}

/// By the kind of keys.
#[derive(Clone, Copy)]
pub enum Open {
    /// `int`.
    Number(OpenTable<i64, Bytes>),
    /// `str`.
    Text(OpenTable<String, Bytes>),
    /// `bytes`.
    Raw(OpenTable<Vec<u8>, Bytes>),
}

/// A key, as it was given.
#[derive(Clone, Debug)]
pub enum Key {
    /// Of a table whose keys are numbers.
    Number(i64),
    /// Of one whose keys are texts.
    Text(String),
    /// Of one whose keys are bytes.
    Raw(Vec<u8>),
}

impl Table {
    /// Opens it, or makes it.
    pub fn open(db: &Database, name: &str, key: &str, hashed: Option<u64>) -> PyResult<Table> {
        let name = kept(name);
        let failed = |error: trireme::Error| raised(&error);
        let (key, open) = match (key, hashed) {
            ("int", None) => ("int", Open::Number(db.table(trireme::Table::new(name)).map_err(failed)?)),
            ("int", Some(rows)) => {
                let table = trireme::Table::new(name).hashed(rows);
                ("int", Open::Number(db.table(table).map_err(failed)?))
            }
            ("str" | "bytes", Some(_)) => {
                return Err(PyValueError::new_err(format!(
                    "hashed of a table with {key} keys: allowed: of one with int keys"
                )));
            }
            ("str", None) => ("str", Open::Text(db.table(trireme::Table::new(name)).map_err(failed)?)),
            ("bytes", None) => ("bytes", Open::Raw(db.table(trireme::Table::new(name)).map_err(failed)?)),
            _ => return Err(PyValueError::new_err(format!("key {key}: allowed: int, str, bytes"))),
        };
        Ok(Table { name, key, open })
    }

    /// A key of this table.
    pub fn key(&self, given: &Bound<'_, PyAny>) -> PyResult<Key> {
        let key = match self.open {
            Open::Number(_) => given.extract().map(Key::Number),
            Open::Text(_) => given.extract().map(Key::Text),
            // A list of numbers is no key, though it could be made one.
            Open::Raw(_) => {
                let bytes = given.extract::<PyBackedBytes>().map_err(PyErr::from);
                bytes.map(|bytes| Key::Raw(bytes.to_vec()))
            }
        };
        key.map_err(|why: PyErr| {
            PyTypeError::new_err(format!(
                "a key of the table {}: {why}; allowed: {}",
                self.name,
                self.allowed()
            ))
        })
    }

    fn allowed(&self) -> &'static str {
        match self.open {
            Open::Number(_) => "an int, -2^63 to 2^63 - 1",
            Open::Text(_) => "a str of at most 1,022 bytes in UTF-8, a zero counting twice",
            Open::Raw(_) => "bytes, at most 1,022, a zero counting twice",
        }
    }
}

#[pymethods]
impl Table {
    fn __repr__(&self) -> String {
        format!("<table {} by {}>", self.name, self.key)
    }
}

/// Names of tables are constants of a program. Each is kept once.
fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}

/// A table is used with the keys of another kind.
pub fn mixed() -> PyErr {
    Error::new_err("a key of another kind than the table's")
}
