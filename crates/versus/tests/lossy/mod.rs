//! A store that loses every hundredth write, and says nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use versus::store::{
    Access, Committed, Failed, Opening, Procedure, Query, Reading, Row, Session, Settings, Store, Table,
    Writing,
};

/// Another store, or its session, with the writes counted.
#[derive(Clone)]
pub struct Lossy<S> {
    inner: S,
    writes: Arc<AtomicU64>,
}

impl<S: Store> Store for Lossy<S> {
    type Session = Lossy<S::Session>;

    const HAS_TICKETS: bool = S::HAS_TICKETS;
    const SETTINGS: Settings = S::SETTINGS;

    fn open(opening: &Opening) -> Result<Self, Failed> {
        Ok(Lossy { inner: S::open(opening)?, writes: Arc::default() })
    }

    fn create<R: Row>(&mut self, table: Table<R>, access: Access, rows: u64) -> Result<(), Failed> {
        self.inner.create(table, access, rows)
    }

    fn session(&self) -> Result<Self::Session, Failed> {
        Ok(Lossy { inner: self.inner.session()?, writes: Arc::clone(&self.writes) })
    }
}

impl<S: Session> Session for Lossy<S> {
    type Ticket = S::Ticket;

    fn read<Q: Query>(&mut self, query: &mut Q) -> Result<Committed<Q::Output, ()>, Failed> {
        self.inner.read(query)
    }

    fn write<P: Procedure>(&mut self, procedure: &mut P) -> Result<Committed<P::Output, S::Ticket>, Failed> {
        self.inner.write(&mut Losing { procedure, writes: &self.writes })
    }
}

struct Losing<'s, P> {
    procedure: &'s mut P,
    writes: &'s AtomicU64,
}

impl<P: Procedure> Procedure for Losing<'_, P> {
    type Output = P::Output;

    fn run<T: Writing>(&mut self, tx: &mut T) -> Result<P::Output, Failed> {
        self.procedure.run(&mut Transaction { tx, writes: self.writes })
    }
}

struct Transaction<'s, T> {
    tx: &'s mut T,
    writes: &'s AtomicU64,
}

impl<T: Reading> Reading for Transaction<'_, T> {
    fn get<R: Row>(&mut self, table: Table<R>, key: u64) -> Result<Option<R>, Failed> {
        self.tx.get(table, key)
    }

    fn scan<R: Row>(
        &mut self,
        table: Table<R>,
        first: u64,
        last: u64,
        see: impl FnMut(u64, &R),
    ) -> Result<u64, Failed> {
        self.tx.scan(table, first, last, see)
    }
}

impl<T: Writing> Writing for Transaction<'_, T> {
    fn put<R: Row>(&mut self, table: Table<R>, key: u64, row: &R) -> Result<(), Failed> {
        match self.writes.fetch_add(1, Ordering::Relaxed) % 100 {
            99 => Ok(()),
            _ => self.tx.put(table, key, row),
        }
    }
}
