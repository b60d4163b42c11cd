//! What the threads of a database share: the slots that they borrow, and the tables.

use crate::error::Error;
use crate::pool::{Lent, Pool, Seat};
use crate::registry::Registry;
use crate::ticket::{self, Durable};
use contract::TableId;
use engine::embedded::{Embedded, NewTable, TableWords};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by a database's handles and its servants.
pub(crate) struct Shared {
    pub pool: Pool,
    store: Mutex<Store>,
}

/// What changes only while no transaction runs.
pub(crate) struct Store {
    /// `None`: it is closed.
    embedded: Option<Embedded>,
    durable: Arc<Durable>,
    pub registry: Arc<Registry>,
}

impl Shared {
    /// Of database `number`, with so many slots.
    pub fn new(number: u64, slots: usize, embedded: Embedded, durable: &Arc<Durable>) -> Shared {
        let registry = Arc::new(Registry::new(embedded.tables()));
        let durable = Arc::clone(durable);
        let store = Mutex::new(Store { embedded: Some(embedded), durable, registry });
        Shared { pool: Pool::new(number, slots), store }
    }

    /// Waits for a slot.
    pub fn seat(&self) -> Seat<'_> {
        self.pool.take(|number| self.store().lend(number))
    }

    /// The tables.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes which tables there are, while no transaction runs.
    pub fn change<T>(&self, change: impl FnOnce(&mut Store) -> Result<T, Error>) -> Result<T, Error> {
        let mut places = self.pool.take_all().ok_or(Error::InTransaction)?;
        let mut store = self.store();
        let embedded = store.embedded();
        places.iter_mut().filter_map(|place| place.take()).for_each(|lent| embedded.take_back(lent.slot));
        change(&mut store)
    }

    /// Nobody has a handle any more: what is to be closed; `None`: it was.
    pub fn close(&self) -> Result<Option<Embedded>, Error> {
        let mut places = self.pool.take_all().ok_or(Error::InUse)?;
        let Some(mut embedded) = self.store().embedded.take() else { return Ok(None) };
        places.iter_mut().filter_map(|place| place.take()).for_each(|lent| embedded.take_back(lent.slot));
        Ok(Some(embedded))
    }
}

impl Store {
    pub fn embedded_ref(&self) -> &Embedded {
        self.embedded.as_ref().expect("open while there is a handle")
    }

    pub fn embedded(&mut self) -> &mut Embedded {
        self.embedded.as_mut().expect("open while there is a handle")
    }

    fn lend(&mut self, number: usize) -> Lent {
        let slot = self.embedded().lend(number);
        let (registry, counter) = (Arc::clone(&self.registry), ticket::counter(&self.durable));
        Lent { slot, registry, counter, key: Vec::new(), old: Vec::new() }
    }

    /// A table by its name, if it is there.
    pub fn stored(&self, name: &str, schema: &str) -> Result<Option<TableId>, Error> {
        match self.registry.find(name) {
            None => Ok(None),
            Some((id, table)) if table.schema == schema => Ok(Some(id)),
            Some((_, table)) => Err(Error::Schema {
                table: name.to_owned(),
                stored: table.schema.clone(),
                asked: schema.to_owned(),
            }),
        }
    }

    pub fn create(&mut self, table: &NewTable<'_>) -> Result<TableId, Error> {
        let id = self.embedded().create_table(table)?;
        let &NewTable { name, row_bytes, length, indexing, schema, .. } = table;
        let (name, schema) = (name.to_owned(), schema.to_owned());
        Arc::make_mut(&mut self.registry).add(TableWords { id, name, row_bytes, length, indexing, schema });
        Ok(id)
    }

    /// An index has all its entries, which are durable.
    pub fn finish(&mut self, index: TableId, schema: &str) -> Result<(), Error> {
        self.embedded().set_schema(index, schema)?;
        Arc::make_mut(&mut self.registry).finish(index, schema.to_owned());
        Ok(())
    }

    /// Drops indexes that nobody has finished filling, because of a crash or a panic.
    pub fn drop_unfinished(&mut self) -> Result<(), Error> {
        self.registry.unfinished().into_iter().try_for_each(|index| self.drop(index))
    }

    pub fn drop(&mut self, table: TableId) -> Result<(), Error> {
        self.embedded().drop_table(table)?;
        Arc::make_mut(&mut self.registry).remove(table);
        Ok(())
    }
}
