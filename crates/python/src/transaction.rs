//! A transaction, lent to a Python function for as long as that runs.
//!
//! The engine's transaction is a reference that ends with the call, and Python's objects may live on, and be given to other threads. So the object has a pointer, which
//! is taken back when the function returns ([`Lent`]): an object that was kept says so from then on. The pointer is out of its place while an operation uses it, so that
//! there is never a second reference; and only the thread that it was lent to takes it.

use crate::error::{Error, raised};
use crate::home::Home;
use crate::table::{Key, Open, Table, mixed};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use std::ops::Bound as End;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread::{self, ThreadId};

type Borrowed = trireme::Transaction<'static>;

/// What a Python function is called with.
#[pyclass(frozen, module = "trireme._trireme")]
pub struct Transaction(Arc<Loan>);

/// What was lent, and to whom.
struct Loan {
    home: Home,
    thread: ThreadId,
    /// Null while an operation uses it, and once the loan has ended. Of its thread, which alone reads and writes it: so every access of it is relaxed.
    pointer: AtomicPtr<Borrowed>,
}

/// The loan, which ends when this is dropped.
pub struct Lent(Arc<Loan>);

impl Lent {
    /// Lends it to this thread.
    pub fn new(transaction: &mut trireme::Transaction<'_>) -> Lent {
        let pointer = AtomicPtr::new(ptr::from_mut(transaction).cast::<Borrowed>());
        Lent(Arc::new(Loan { home: Home::here(), thread: thread::current().id(), pointer }))
    }

    /// What Python has of it.
    pub fn object(&self) -> Transaction {
        Transaction(self.0.clone())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.pointer.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// A pointer that is used by a closure on the same thread.
struct Here(NonNull<Borrowed>);

// SAFETY: `Python::detach` calls its closure on the thread that calls it; it asks for `Send` to keep out what belongs to the interpreter, which this does not.
unsafe impl Send for Here {}

impl Transaction {
    /// Does this with the transaction, without the interpreter's lock.
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        operation: impl FnOnce(&mut Borrowed) -> Result<R, trireme::Error> + Send,
    ) -> PyResult<R> {
        self.0.home.admit()?;
        if thread::current().id() != self.0.thread {
            return Err(Error::new_err(
                "the transaction is of another thread; allowed: that which called transact",
            ));
        }
        let taken = self.0.pointer.swap(ptr::null_mut(), Ordering::Relaxed);
        let Some(pointer) = NonNull::new(taken) else {
            return Err(Error::new_err(
                "the transaction has ended; allowed: within the function that was given to transact",
            ));
        };
        let back = Back { place: &self.0.pointer, pointer: taken };
        let here = Here(pointer);
        let result = py.detach(move || {
            let mut here = here;
            // SAFETY: the pointer is from the reference that `Lent::new` had, which lives until that is dropped, and then the place is empty. It was taken out of its place, so nobody has another reference from it; and this is the thread that had the reference.
            operation(unsafe { here.as_mut() })
        });
        drop(back);
        result.map_err(|error| raised(&error))
    }
}

impl Here {
    /// # Safety
    /// What it points to lives, and nobody else refers to it.
    unsafe fn as_mut(&mut self) -> &mut Borrowed {
        // SAFETY: by this function's own contract.
        unsafe { self.0.as_mut() }
    }
}

/// Puts the pointer back, whatever comes.
struct Back<'a> {
    place: &'a AtomicPtr<Borrowed>,
    pointer: *mut Borrowed,
}

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.place.store(self.pointer, Ordering::Relaxed);
    }
}

/// By the kind of the table's keys.
macro_rules! by_kind {
    ($table:expr, $key:expr, |$open:ident, $given:ident| $do:expr) => {
        match ($table.open, $key) {
            (Open::Number($open), Key::Number(key)) => {
                let $given = key;
                $do
            }
            (Open::Text($open), Key::Text(key)) => {
                let $given = key.as_str();
                $do
            }
            (Open::Raw($open), Key::Raw(key)) => {
                let $given = key.as_slice();
                $do
            }
            _ => Err(mixed()),
        }
    };
}

#[pymethods]
impl Transaction {
    /// The value of this key, or None.
    fn get<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let found = by_kind!(table, table.key(key)?, |open, key| self.with(py, move |tx| tx.get(open, key)))?;
        Ok(found.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Adds a row; there is none of this key yet.
    fn insert(
        &self,
        py: Python<'_>,
        table: &Table,
        key: &Bound<'_, PyAny>,
        value: PyBackedBytes,
    ) -> PyResult<()> {
        by_kind!(table, table.key(key)?, |open, key| self.with(py, move |tx| tx.insert(
            open,
            key,
            &value[..]
        )))
    }

    /// Adds a row, or gives the one of this key another value.
    fn put(
        &self,
        py: Python<'_>,
        table: &Table,
        key: &Bound<'_, PyAny>,
        value: PyBackedBytes,
    ) -> PyResult<()> {
        by_kind!(table, table.key(key)?, |open, key| self
            .with(py, move |tx| tx.upsert(open, key, &value[..]).map(|_| ())))
    }

    /// Removes the row of this key; whether there was one.
    fn remove(&self, py: Python<'_>, table: &Table, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        by_kind!(table, table.key(key)?, |open, key| self.with(py, move |tx| tx.remove(open, key)))
    }

    /// At most `limit` rows in the order of their keys, from `first` on and before `last`, as pairs.
    #[pyo3(signature = (table, first=None, last=None, limit=None))]
    fn range<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        first: Option<Bound<'py, PyAny>>,
        last: Option<Bound<'py, PyAny>>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let key = |given: Option<Bound<'py, PyAny>>| given.map(|given| table.key(&given)).transpose();
        let (first, last, limit) = (key(first)?, key(last)?, limit.unwrap_or(usize::MAX));
        /// Where a range begins or ends.
        macro_rules! ends {
            ($kind:path, |$key:ident| $given:expr) => {{
                let first = match &first {
                    Some($kind($key)) => End::Included($given),
                    _ => End::Unbounded,
                };
                let last = match &last {
                    Some($kind($key)) => End::Excluded($given),
                    _ => End::Unbounded,
                };
                (first, last)
            }};
        }
        let list = PyList::empty(py);
        match table.open {
            Open::Number(open) => {
                let keys = ends!(Key::Number, |key| *key);
                let rows = self
                    .with(py, move |tx| tx.range(open, keys)?.take(limit).collect::<Result<Vec<_>, _>>())?;
                rows.iter().try_for_each(|(key, value)| list.append((*key, PyBytes::new(py, value))))?;
            }
            Open::Text(open) => {
                let keys = ends!(Key::Text, |key| key.as_str());
                let rows = self
                    .with(py, move |tx| tx.range(open, keys)?.take(limit).collect::<Result<Vec<_>, _>>())?;
                rows.iter().try_for_each(|(key, value)| list.append((key, PyBytes::new(py, value))))?;
            }
            Open::Raw(open) => {
                let keys = ends!(Key::Raw, |key| key.as_slice());
                let rows = self
                    .with(py, move |tx| tx.range(open, keys)?.take(limit).collect::<Result<Vec<_>, _>>())?;
                rows.iter().try_for_each(|(key, value)| {
                    list.append((PyBytes::new(py, key), PyBytes::new(py, value)))
                })?;
            }
        }
        Ok(list)
    }
}
