//! A database, its tables, and what runs in it.
//!
//! Who calls has a share of the engine for as long as the call lasts, so that it is closed only while nobody has one. A process that was forked has a copy of the
//! memory, and none of the threads that serve the database: there every call is refused, and what is dropped is forgotten ([`Home`]).

use crate::error::{Error, raised};
use crate::home::Home;
use crate::table::Table;
use crate::transaction::Lent;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use trireme::{ArchitectureName, Database as Engine, Durability, ProtocolName};

/// Transactions and snapshots that there can be at once.
const MOST_SLOTS: usize = 1024;

/// A database.
#[pyclass(frozen, module = "trireme._trireme")]
pub struct Database {
    home: Home,
    /// `None` once it is closed.
    open: Mutex<Option<Arc<Engine>>>,
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.home.is_here() {
            // To close it would be to wait for threads that are not here.
            mem::forget(self.opened().take());
        }
    }
}

/// Why a transaction's function ended.
enum Stop {
    /// It raised.
    Raised(PyErr),
    /// The engine ended it.
    Engine(trireme::Error),
}

impl From<trireme::Error> for Stop {
    fn from(error: trireme::Error) -> Stop {
        Stop::Engine(error)
    }
}

impl Database {
    /// A share of the engine.
    fn engine(&self) -> PyResult<Arc<Engine>> {
        self.home.admit()?;
        self.opened().clone().ok_or_else(|| Error::new_err("the database is closed"))
    }

    fn opened(&self) -> MutexGuard<'_, Option<Arc<Engine>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does this without the interpreter's lock.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&Engine) -> Result<R, trireme::Error> + Send,
    ) -> PyResult<R> {
        let engine = self.engine()?;
        py.detach(move || f(&engine)).map_err(|error| raised(&error))
    }
}

#[pymethods]
impl Database {
    /// Opens the database in this folder, or makes one; in memory only if there is none.
    #[new]
    #[pyo3(signature = (folder=None, *, durability="group", protocol="silo", slots=None, memory_limit=None))]
    fn new(
        py: Python<'_>,
        folder: Option<PathBuf>,
        durability: &str,
        protocol: &str,
        slots: Option<usize>,
        memory_limit: Option<u64>,
    ) -> PyResult<Database> {
        let durability: Durability = durability.parse().map_err(|allowed: String| {
            PyValueError::new_err(format!("durability {durability}: {allowed}"))
        })?;
        let protocol: ProtocolName =
            protocol.parse().map_err(|why| PyValueError::new_err(format!("{why}")))?;
        // The builder takes the nearest that can be; here a person has typed it.
        if let Some(slots) = slots.filter(|slots| !(1..=MOST_SLOTS).contains(slots)) {
            return Err(PyValueError::new_err(format!("slots {slots}: allowed: 1 to {MOST_SLOTS}")));
        }
        if memory_limit == Some(0) {
            return Err(PyValueError::new_err("memory_limit 0: allowed: 1 byte or more; None for no limit"));
        }
        let mut builder =
            Engine::builder().durability(durability).system(ArchitectureName::SharedEverything, protocol);
        if let Some(slots) = slots {
            builder = builder.slots(slots);
        }
        if let Some(bytes) = memory_limit {
            builder = builder.memory_limit(bytes);
        }
        let opened = py.detach(|| match &folder {
            Some(folder) => builder.open(folder),
            None => builder.in_memory(),
        });
        let engine = opened.map_err(|error| raised(&error))?;
        Ok(Database { home: Home::here(), open: Mutex::new(Some(Arc::new(engine))) })
    }

    /// The table of this name, which is made if there is none. `key`: the kind of its keys, int, str or bytes. `hashed`: for about how many rows it is hashed; it is in the order of its keys otherwise.
    #[pyo3(signature = (name, key="int", hashed=None))]
    fn table(&self, py: Python<'_>, name: &str, key: &str, hashed: Option<u64>) -> PyResult<Table> {
        let engine = self.engine()?;
        py.detach(|| Table::open(&engine, name, key, hashed))
    }

    /// Drops the table of this name.
    fn drop_table(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.with(py, |engine| engine.drop_table(name))
    }

    /// The names of the tables.
    fn tables(&self) -> PyResult<Vec<String>> {
        let tables = self.engine()?.tables().into_iter().filter(|table| !table.is_index);
        Ok(tables.map(|table| table.name).collect())
    }

    /// Calls the function with a transaction, again whenever that was aborted, until it commits, and waits until what it wrote is durable. What the function raises undoes the transaction, and is raised.
    fn transact(&self, py: Python<'_>, body: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let engine = self.engine()?;
        let ended = py.detach(move || {
            engine.transact(|transaction| {
                Python::attach(|py| {
                    let lent = Lent::new(transaction);
                    let object = Py::new(py, lent.object()).map_err(Stop::Raised)?;
                    let result = body.call1(py, (object,));
                    drop(lent);
                    // The function may have forked, and this be the child.
                    self.home.admit().map_err(Stop::Raised)?;
                    // Whether it is run again the engine knows itself: it has aborted the transaction.
                    result.map_err(Stop::Raised)
                })
            })
        });
        ended.map_err(|stop| match stop {
            Stop::Raised(error) => error,
            Stop::Engine(error) => raised(&error),
        })
    }

    /// Commits, roll-backs, aborts by reason, and the bytes of memory that are taken.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.engine()?.stats();
        let told = PyDict::new(py);
        told.set_item("commits", stats.commits)?;
        told.set_item("roll_backs", stats.roll_backs)?;
        told.set_item("memory_bytes", stats.memory_bytes)?;
        let aborts = PyDict::new(py);
        for (reason, count) in stats.aborts() {
            aborts.set_item(reason.name(), count)?;
        }
        told.set_item("aborts", aborts)?;
        Ok(told)
    }

    /// Whether tables, indexes and log agree: how many rows were looked at. Raises if they do not.
    fn verify(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |engine| engine.verify().map(|verified| verified.rows))
    }

    /// Takes a checkpoint; how many rows it has.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |engine| engine.checkpoint().map(|report| report.rows))
    }

    /// Writes a copy that can be opened like any other into this folder, while the database goes on; its bytes.
    fn backup_to(&self, py: Python<'_>, folder: PathBuf) -> PyResult<u64> {
        self.with(py, |engine| engine.backup_to(folder).map(|backup| backup.bytes))
    }

    /// Closes it; what was committed is durable. Refused, and open as before, while another call uses it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.home.admit()?;
        let mut opened = self.opened();
        let Some(engine) = opened.take() else { return Ok(()) };
        let engine = Arc::try_unwrap(engine).map_err(|shared| {
            *opened = Some(shared);
            Error::new_err("the database is in use, and stays open; allowed: to close it when transact and other calls have returned")
        })?;
        drop(opened);
        py.detach(|| engine.close()).map_err(|error| raised(&error))
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }
}
