//! TATP's seven transactions.

use super::keys::{self, START_STEP, TYPES};
use super::rows::{AccessInfo, CallForwarding, SpecialFacility, Subscriber};
use super::{ACCESS_INFO, CALL_FORWARDING, NUMBER, SPECIAL_FACILITY, SUBSCRIBER};
use contract::{
    Abort, Access, Insertion, Key, Outcome, Plan, Presence, Procedure, Span, TableId, Transaction,
    TransactionExt,
};
use std::hint::black_box;
use std::mem::offset_of;

/// Which of the seven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    GetSubscriberData,
    GetNewDestination,
    GetAccessData,
    UpdateSubscriberData,
    UpdateLocation,
    InsertCallForwarding,
    DeleteCallForwarding,
}

impl Kind {
    pub(super) const ALL: [Kind; 7] = [
        Kind::GetSubscriberData,
        Kind::GetNewDestination,
        Kind::GetAccessData,
        Kind::UpdateSubscriberData,
        Kind::UpdateLocation,
        Kind::InsertCallForwarding,
        Kind::DeleteCallForwarding,
    ];

    /// Their names in results, in that order.
    pub(super) const NAMES: [&str; 7] = [
        "get-subscriber-data",
        "get-new-destination",
        "get-access-data",
        "update-subscriber-data",
        "update-location",
        "insert-call-forwarding",
        "delete-call-forwarding",
    ];

    /// Its share of all transactions.
    pub(super) fn percent(self) -> f64 {
        match self {
            Kind::GetSubscriberData | Kind::GetAccessData => 35.0,
            Kind::GetNewDestination => 10.0,
            Kind::UpdateLocation => 14.0,
            Kind::UpdateSubscriberData | Kind::InsertCallForwarding | Kind::DeleteCallForwarding => 2.0,
        }
    }
}

/// One of the seven transactions with its arguments, of which each uses its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TatpTransaction {
    pub(super) kind: Kind,
    /// `s_id`, or the number that `sub_nbr` spells.
    pub(super) subscriber: u64,
    /// `ai_type` or `sf_type`: 1 to 4.
    pub(super) of_type: u8,
    /// 0, 8 or 16.
    pub(super) start_time: u8,
    /// 1 to 24.
    pub(super) end_time: u8,
    /// What is written: a bit and a byte, a location, a telephone number.
    pub(super) value: u64,
}

/// What was not there, or was there already, ends the transaction by its own will.
fn found(presence: Presence) -> Outcome {
    match presence {
        Presence::Present => Outcome::Commit,
        Presence::Missing => Outcome::Rollback,
    }
}

impl TatpTransaction {
    fn get_subscriber_data<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let subscriber = txn.read_row(SUBSCRIBER, self.subscriber_key(), |row: &Subscriber| *row)?;
        black_box(subscriber.expect("subscribers never leave"));
        Ok(Outcome::Commit)
    }

    fn get_new_destination<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let active =
            txn.read_row(SPECIAL_FACILITY, self.typed_key(), |row: &SpecialFacility| row.is_active)?;
        if active != Some(1) {
            return Ok(Outcome::Rollback);
        }
        let mut destinations = 0;
        for start_time in self.start_times() {
            let number =
                txn.read_row(CALL_FORWARDING, self.forwarding_key(start_time), |row: &CallForwarding| {
                    (self.end_time < row.end_time).then_some(row.numberx)
                })?;
            if let Some(number) = number.flatten() {
                black_box(number);
                destinations += 1;
            }
        }
        Ok(if destinations > 0 { Outcome::Commit } else { Outcome::Rollback })
    }

    fn get_access_data<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let access = txn.read_row(ACCESS_INFO, self.typed_key(), |row: &AccessInfo| {
            (row.data1, row.data2, row.data3, row.data4)
        })?;
        Ok(if black_box(access).is_some() { Outcome::Commit } else { Outcome::Rollback })
    }

    fn update_subscriber_data<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let [bit, data_a, ..] = self.value.to_le_bytes();
        let subscriber = txn.write(SUBSCRIBER, self.subscriber_key(), BIT_1.start(), &[bit & 1])?;
        assert!(subscriber == Presence::Present, "subscribers never leave");
        txn.write(SPECIAL_FACILITY, self.typed_key(), DATA_A.start(), &[data_a]).map(found)
    }

    fn update_location<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let s_id = self.look_up(txn)?;
        let location = (self.value as u32).max(1);
        let offset = offset_of!(Subscriber, vlr_location);
        let subscriber = txn.write(SUBSCRIBER, keys::subscriber(s_id), offset, &location.to_ne_bytes())?;
        assert!(subscriber == Presence::Present, "subscribers never leave");
        Ok(Outcome::Commit)
    }

    /// A forwarding refers to a facility, so the subscriber's are looked at first, as in the standard.
    fn insert_call_forwarding<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let s_id = self.look_up(txn)?;
        let wanted = u64::from(self.of_type);
        let mut is_there = false;
        for sf_type in 1..=TYPES {
            let facility =
                txn.read_row(SPECIAL_FACILITY, keys::typed(s_id, sf_type), |row: &SpecialFacility| {
                    row.sf_type
                })?;
            is_there |= sf_type == wanted && facility.is_some();
        }
        if !is_there {
            return Ok(Outcome::Rollback);
        }
        let start_time = u64::from(self.start_time);
        let row = CallForwarding::new(s_id, wanted, start_time, u64::from(self.end_time), self.value);
        let insertion = txn.insert_row(CALL_FORWARDING, keys::forwarding(s_id, wanted, start_time), &row)?;
        Ok(match insertion {
            Insertion::Inserted => Outcome::Commit,
            Insertion::Exists => Outcome::Rollback,
        })
    }

    fn delete_call_forwarding<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        let s_id = self.look_up(txn)?;
        let key = keys::forwarding(s_id, u64::from(self.of_type), u64::from(self.start_time));
        txn.delete(CALL_FORWARDING, key).map(found)
    }

    /// `s_id` by `sub_nbr`.
    fn look_up<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<u64, Abort> {
        let s_id = txn.read_row(NUMBER, self.subscriber_key(), |s_id: &u64| *s_id)?;
        Ok(s_id.expect("numbers are never given back"))
    }

    fn subscriber_key(&self) -> Key {
        keys::subscriber(self.subscriber)
    }

    fn typed_key(&self) -> Key {
        keys::typed(self.subscriber, u64::from(self.of_type))
    }

    fn forwarding_key(&self, start_time: u64) -> Key {
        keys::forwarding(self.subscriber, u64::from(self.of_type), start_time)
    }

    /// Up to the one given.
    fn start_times(&self) -> impl Iterator<Item = u64> {
        (0..=u64::from(self.start_time)).step_by(START_STEP as usize)
    }
}

/// The column `bit_1`.
const BIT_1: Span = Span { offset: offset_of!(Subscriber, bit) as u32, len: 1 };
/// The column `data_a`.
const DATA_A: Span = Span { offset: offset_of!(SpecialFacility, data_a) as u32, len: 1 };

impl Procedure for TatpTransaction {
    #[inline]
    fn kind(&self) -> usize {
        self.kind as usize
    }

    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        match self.kind {
            Kind::GetSubscriberData => self.get_subscriber_data(txn),
            Kind::GetNewDestination => self.get_new_destination(txn),
            Kind::GetAccessData => self.get_access_data(txn),
            Kind::UpdateSubscriberData => self.update_subscriber_data(txn),
            Kind::UpdateLocation => self.update_location(txn),
            Kind::InsertCallForwarding => self.insert_call_forwarding(txn),
            Kind::DeleteCallForwarding => self.delete_call_forwarding(txn),
        }
    }

    /// By `s_id`: every key. By `sub_nbr`: the entry of the index, and with it the partition of what it leads to.
    fn plan<T: Transaction + ?Sized>(&self, _txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        let mut read =
            |table: TableId, key, row_bytes| plan.touch(table, key, Span::whole(row_bytes), Access::Read);
        match self.kind {
            Kind::GetSubscriberData => read(SUBSCRIBER, self.subscriber_key(), size_of::<Subscriber>()),
            Kind::GetNewDestination => {
                read(SPECIAL_FACILITY, self.typed_key(), size_of::<SpecialFacility>());
                for start_time in self.start_times() {
                    read(CALL_FORWARDING, self.forwarding_key(start_time), size_of::<CallForwarding>());
                }
            }
            Kind::GetAccessData => read(ACCESS_INFO, self.typed_key(), size_of::<AccessInfo>()),
            Kind::UpdateSubscriberData => {
                plan.touch(SUBSCRIBER, self.subscriber_key(), BIT_1, Access::Write);
                plan.touch(SPECIAL_FACILITY, self.typed_key(), DATA_A, Access::Write);
            }
            Kind::UpdateLocation | Kind::InsertCallForwarding | Kind::DeleteCallForwarding => {
                read(NUMBER, self.subscriber_key(), size_of::<u64>());
                plan.leave_open();
            }
        }
        Ok(())
    }

    fn reads_snapshot(&self) -> bool {
        matches!(self.kind, Kind::GetSubscriberData | Kind::GetNewDestination | Kind::GetAccessData)
    }
}
