//! TATP, the Telecom Application Transaction Processing benchmark (version 1.0): the home location register of a mobile
//! network, four tables and seven transactions of one subscriber each, most of which read a row or two.
//!
//! | transaction | share | what it does | succeeds |
//! |---|---|---|---|
//! | GET_SUBSCRIBER_DATA | 35 % | reads a subscriber | always |
//! | GET_NEW_DESTINATION | 10 % | where calls go now: reads a facility, and its forwardings that begin by a given time | about 15 % |
//! | GET_ACCESS_DATA | 35 % | reads one access of a subscriber | 62.5 % |
//! | UPDATE_SUBSCRIBER_DATA | 2 % | writes a bit of a subscriber and a byte of a facility | 62.5 % |
//! | UPDATE_LOCATION | 14 % | writes where a subscriber is, by number | always |
//! | INSERT_CALL_FORWARDING | 2 % | adds a forwarding to a facility, by number | about 31 % |
//! | DELETE_CALL_FORWARDING | 2 % | removes a forwarding, by number | about 31 % |
//!
//! Arguments are drawn without looking at the tables, so that rows are missing, or there already, as often as the standard
//! wants it. Such a failure is the workload's own rollback. (For GET_NEW_DESTINATION the standard itself says 23.9 %, which is
//! not what its rules of population and its arguments come to.) UPDATE_SUBSCRIBER_DATA writes the subscriber before it finds the
//! facility missing, so that it has something to undo.
//!
//! Subscribers are drawn by the standard's non-uniform function, `(rnd(0..=A) | rnd(1..=P)) % P + 1`, whose A grows in three
//! steps with the number of subscribers P; `distribution=uniform` is the standard's option.
//!
//! Three of the transactions know a subscriber by the fifteen digits of `sub_nbr`. The secondary index behind them is a
//! table of its own, from number to `s_id`. The standard populates `sub_nbr` as `s_id` with zeros in front; nobody but the
//! population and the partition function relies on that, so a transaction looks up what it needs, and its plan names the
//! entry of the index only. That entry lies in the subscriber's partition, as all rows of a subscriber do, so every
//! transaction stays within one partition.
//!
//! A forwarding's primary key has a start time, which is one of 0, 8 and 16: a range of start times is up to three keys, and
//! no scan.
//!
//! `from=home` draws subscribers of the client's own partition, as a router in front of a partitioned system would send them;
//! where it has none, from anywhere.

mod client;
mod keys;
mod parameters;
mod population;
mod rows;
mod subscribers;
mod transaction;

pub use client::TatpClient;
pub use transaction::TatpTransaction;

use crate::audit::{Audited, Unaudited};
use crate::parameters::{ParameterError, Parameters, WorkloadDescription};
use contract::{
    Indexing, Key, PartitionFunction, PartitionId, RowLength, Seat, TableDescription, TableId, Workload,
};
use parameters::TatpParameters;
use rows::{AccessInfo, CallForwarding, SpecialFacility, Subscriber};

/// Subscribers by `s_id`.
const SUBSCRIBER: TableId = TableId(0);
/// The secondary index: `s_id` by `sub_nbr`.
const NUMBER: TableId = TableId(1);
/// Accesses by `s_id` and `ai_type`.
const ACCESS_INFO: TableId = TableId(2);
/// Facilities by `s_id` and `sf_type`.
const SPECIAL_FACILITY: TableId = TableId(3);
/// Forwardings by `s_id`, `sf_type` and `start_time`.
const CALL_FORWARDING: TableId = TableId(4);

/// TATP.
#[derive(Clone, Debug)]
pub struct Tatp {
    parameters: TatpParameters,
}

impl Tatp {
    /// Its name and its parameters.
    pub const DESCRIPTION: WorkloadDescription = TatpParameters::DESCRIPTION;

    /// TATP as `given` wants it.
    pub fn new(given: &Parameters) -> Result<Self, ParameterError> {
        Ok(Tatp { parameters: TatpParameters::resolve(given)? })
    }

    /// Every parameter with its effective value.
    pub fn resolved(&self) -> Vec<(&'static str, String)> {
        self.parameters.resolved()
    }

    fn subscribers(&self) -> u64 {
        self.parameters.subscribers.get()
    }
}

impl Workload for Tatp {
    type Client = TatpClient;

    fn tables(&self) -> Vec<TableDescription> {
        let subscribers = self.subscribers();
        let table = |name, row_bytes, rows, partition: fn(Key, u32) -> PartitionId| TableDescription {
            name,
            row_bytes,
            length: RowLength::Fixed,
            kept_bytes: row_bytes,
            rows,
            capacity: rows,
            indexing: Indexing::Hashed,
            partition: PartitionFunction::By(partition),
        };
        let accesses = population::accesses(subscribers);
        let facilities = population::facilities(subscribers);
        let forwardings = population::forwardings(subscribers);
        vec![
            table("subscriber", size_of::<Subscriber>(), subscribers, keys::partition_of_subscriber),
            table("subscriber-number", size_of::<u64>(), subscribers, keys::partition_of_subscriber),
            table("access-info", size_of::<AccessInfo>(), accesses, keys::partition_of_typed),
            table("special-facility", size_of::<SpecialFacility>(), facilities, keys::partition_of_typed),
            TableDescription {
                // A facility has at most one forwarding for each start time.
                capacity: facilities * keys::START_TIMES,
                ..table(
                    "call-forwarding",
                    size_of::<CallForwarding>(),
                    forwardings,
                    keys::partition_of_forwarding,
                )
            },
        ]
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        match table {
            ACCESS_INFO => population::access_key(row),
            SPECIAL_FACILITY => population::facility_key(row),
            CALL_FORWARDING => population::forwarding_key(row),
            // Numbers spell what they stand for.
            _ => keys::subscriber(row + 1),
        }
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        rows::fill(table, key, row);
    }

    fn client(&self, seat: Seat) -> TatpClient {
        TatpClient::new(&self.parameters, seat)
    }
}

/// Nothing is known of what must be left.
impl Audited for Tatp {
    type Audit<'a> = Unaudited;

    type Compilation = contract::OwnType;

    fn audit(&self) -> Option<Unaudited> {
        None
    }
}
