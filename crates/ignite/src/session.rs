//! A connection over which transactions are tried until they commit: by the workers of a measured run, and by a program of its own.
//!
//! ```no_run
//! use contract::{Key, TableDescription, TableId, TransactionExt};
//! use ignite::session::Session;
//! # fn move_one(balances: TableDescription) -> Result<(), ignite::wire::Failed> {
//! const BALANCES: TableId = TableId(0);
//! let mut session = Session::connect(([127, 0, 0, 1], 10800).into(), vec![balances])?;
//! session.transact(|txn| {
//!     txn.update_row(BALANCES, Key(7), |cents: &mut i64| *cents -= 100)?;
//!     txn.update_row(BALANCES, Key(8), |cents: &mut i64| *cents += 100)
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! An attempt that Ignite refuses because of another transaction is an abort, and is tried again after a random time below the first back-off,
//! doubled with each further attempt up to the cap, as our engine does. Where nobody says otherwise both are [`SLOWER`] times our engine's ([`patient`]). There is no precedence for who was aborted often
//! ([`EngineOptions::precedence_after`]): Ignite has no such thing.

use crate::isolation::Isolation;
use crate::store::Table;
use crate::transaction::{IgniteTransaction, Left};
use crate::wire::{Connection, Failed};
use contract::{Abort, EngineOptions, Outcome, TableDescription};
use fastrand::Rng;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How long a lock is waited for under pessimistic concurrency. Locks are asked for in one order, so that nobody waits for ever.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Back-off has to be as long as the transactions in the way take, and those of milliseconds, not microseconds, are in the way here: with ours, four
/// workers that wanted two rows aborted each other without end.
pub const SLOWER: u64 = 1_000;

/// Options whose back-off is what nobody has asked to be otherwise: [`SLOWER`] times what it is over our engine.
pub fn patient(options: EngineOptions) -> EngineOptions {
    let ours = EngineOptions::default();
    EngineOptions {
        back_off_first_ns: ours.back_off_first_ns * SLOWER,
        back_off_cap_ns: ours.back_off_cap_ns * SLOWER,
        ..options
    }
}

/// See the module.
pub struct Session {
    connection: Connection,
    tables: Arc<[Table]>,
    isolation: Isolation,
    is_quiet: bool,
    back_off_ns: (u64, u64),
    random: Rng,
}

impl Session {
    /// Over tables of a cluster, the client of one of whose nodes it becomes; tables that are not there are made. A cluster must have a template of caches
    /// that fits `table-*` and is transactional, as `node/Node.java` has.
    pub fn connect(address: SocketAddr, tables: Vec<TableDescription>) -> Result<Session, Failed> {
        let mut connection = Connection::open(address)?;
        let opened = tables.into_iter().map(|description| Table::open(&mut connection, description));
        let tables = opened.collect::<Result<Arc<[Table]>, Failed>>()?;
        let options = patient(EngineOptions::default());
        Ok(Session::over(connection, tables, Isolation::OptimisticSerializable, &options))
    }

    /// Over tables that are open, with the options' back-off, as it is.
    pub fn over(
        connection: Connection,
        tables: Arc<[Table]>,
        isolation: Isolation,
        options: &EngineOptions,
    ) -> Session {
        Session {
            connection,
            tables,
            isolation,
            is_quiet: false,
            back_off_ns: (options.back_off_first_ns, options.back_off_cap_ns),
            random: Rng::with_seed(options.seed),
        }
    }

    /// The same while nobody changes rows, so that tables can be scanned whose keys are numbers.
    pub fn quiet(self, is_quiet: bool) -> Session {
        Session { is_quiet, ..self }
    }

    /// Requests sent so far, and how long their answers took together.
    pub fn round_trips(&self) -> (u64, Duration) {
        self.connection.round_trips()
    }

    /// Runs `body` as one transaction, again if it has to be, and answers what it answered in the attempt that committed.
    pub fn transact<T>(
        &mut self,
        mut body: impl FnMut(&mut IgniteTransaction<'_>) -> Result<T, Abort>,
    ) -> Result<T, Failed> {
        for attempts in 1.. {
            let mut answered = None;
            let attempt = self.attempt(|txn| {
                answered = Some(body(txn)?);
                Ok(Outcome::Commit)
            });
            match attempt {
                Ok(_) => return Ok(answered.expect("it has committed")),
                Err(Failed::Aborted(_)) => self.back_off(attempts),
                Err(failed) => return Err(failed),
            }
        }
        unreachable!("it is tried until it commits")
    }

    /// Tries once; answers what merges left, too.
    pub fn attempt(
        &mut self,
        body: impl FnOnce(&mut IgniteTransaction<'_>) -> Result<Outcome, Abort>,
    ) -> Result<(Outcome, Left), Failed> {
        let id = self.connection.begin(self.isolation, LOCK_TIMEOUT)?;
        let mut txn = IgniteTransaction::new(&mut self.connection, &self.tables, id, self.is_quiet);
        match body(&mut txn) {
            Ok(Outcome::Commit) => txn.commit().map(|left| (Outcome::Commit, left)),
            Ok(Outcome::Rollback) => txn.roll_back().map_or(Ok((Outcome::Rollback, Left::default())), Err),
            // Its own reason: it found the rows in no state that there was.
            Err(Abort(reason)) => Err(txn.roll_back().unwrap_or(Failed::Aborted(reason))),
        }
    }

    /// Lets time pass after so many attempts.
    pub fn back_off(&mut self, attempts: u32) {
        let (first, cap) = self.back_off_ns;
        let bound = first.saturating_mul(1 << (attempts - 1).min(32)).min(cap);
        if bound > 0 {
            thread::sleep(Duration::from_nanos(self.random.u64(0..bound)));
        }
    }
}
