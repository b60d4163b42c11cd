//! A transaction: the operations of [`contract::Transaction`], over any architecture and protocol.
//!
//! The text follows the protocol's way of access ([`access`]) and reaches records through the architecture's verbs only. It is
//! spread over a file for each idea:
//!
//! | file | what |
//! |---|---|
//! | [`operations`] | the operations, as the contracts name them |
//! | `mod.rs` | each for keys that the transaction touches for the first time |
//! | [`read_own_writes`] | the same for keys that it has touched before: a transaction never conflicts with itself |
//! | [`access`] | the ways of access, a module each |
//! | [`in_place`], [`copies`] | writing in place, or to private copies |
//! | [`locking`] | asking records for locks, and waiting |
//! | [`preclaiming`] | locking all that the plan names, in order, before anything else |
//! | [`running_ahead`] | running without locks, to find out what to lock |
//! | [`requesting`], [`known`] | asking for all that is known ahead, at once; what is known |
//! | [`observing`] | reading without locks |
//! | [`protecting`], [`lock_list`] | locking what is hot before it is read; what is held so, and what a retry will want |
//! | [`timestamping`] | asking records by timestamps |
//! | [`claiming`] | looking at records by timestamps, claiming them, and validating what was seen |
//! | [`visible`] | what a timestamp finds |
//! | [`looking`] | looking at them by timestamps, and asking them at commit |
//! | [`gaps`] | keys that are missing |
//! | [`structure`], [`linking`] | inserts and deletes; in ordered tables |
//! | [`tombs`] | what deletes leave behind where timestamps decide |
//! | [`values`] | rows that vary in length |
//! | [`near`] | what it knows of where a key is |
//! | [`scan`], [`batch`] | scans; locking their records in batches |
//! | [`keys`] | keys that are byte strings |
//! | [`commit`] | commit and abort |
//! | [`redo`] | what goes to the log |
//! | [`versions`], [`ahead`] | previous versions of what it writes, for snapshots; made before anything is held |
//! | [`old_versions`] | the same for older transactions, where timestamps decide |
//! | [`snapshot`], [`snapshot_scan`] | reading a snapshot |
//! | [`access_set`], [`write_log`] | what it has touched and what it will write |
//! | [`prefetch`] | asking for lines ahead |
//! | [`fetch`] | asking for lines, and letting others run until they may have come |
//! | [`walk`] | which keys come next, for a checkpoint |
//! | [`stopwatch`] | where its time goes |
//!
//! Invariants:
//! - A record has at most one entry in the access set, and the locks held are exactly those that the entries and gaps
//!   name. An entry is added when its lock is granted, never before.
//! - Once poisoned, no operation touches anything until the transaction is aborted.

pub(crate) mod access;
mod access_set;
mod ahead;
mod batch;
mod claiming;
mod commit;
mod copies;
mod fetch;
mod gaps;
mod in_place;
mod keys;
pub(crate) mod known;
mod linking;
pub(crate) mod lock_list;
mod locking;
mod looking;
mod near;
mod observing;
mod old_versions;
mod operations;
mod preclaiming;
mod prefetch;
pub(crate) mod protecting;
mod read_own_writes;
mod redo;
mod requesting;
mod running_ahead;
mod scan;
mod snapshot;
mod snapshot_scan;
mod stopwatch;
mod structure;
mod timestamping;
mod tombs;
mod values;
mod versions;
mod visible;
mod walk;
mod write_log;

pub(crate) use commit::{Decision, Prepared};
pub(crate) use redo::LogPlace;
pub use snapshot::SnapshotRead;

use crate::architecture::{Architecture, Beginning};
use crate::commit_id::CommitIds;
use crate::durability::Redo;
use crate::epoch::Epochs;
use crate::facade::{clock, cpu};
use crate::index::hash::Hash;
use crate::index::{GapId, Index, OrderedAs};
use crate::protocol::{Attempt, Mode, Protocol, RecordPlace, Requester, SlotId, SlotState, StampOf};
use crate::record::RecordRef;
use crate::storage::AllocationCache;
use crate::storage::Table;
use crate::timestamp::{Draws, Timestamp};
use crate::versions::cache::Superseded;
use crate::work;
use access::Access as _;
use access::AccessOf;
use access_set::{Access, AccessSet, Gap, Kind, NO_WRITE, Token};
use ahead::Ahead as VersionAhead;
use batch::Ahead;
use contract::{
    Abort, AbortReason, Access as Use, CommitId, Key, Merge, PartitionId, Plan, PlannedKey, Presence,
    Receipts, RunError, SnapshotCanary, Span, TableId, TimeClass,
};
use fetch::Met;
use gaps::GapPlace;
use keys::{Keys, Spot};
use near::Nearby;
use requesting::WantedBy;
use scan::Cursor;
use snapshot_scan::Stride;
use std::time::Duration;
use stopwatch::Stopwatch;
use write_log::WriteLog;

/// The protocol of an architecture.
pub(crate) type ProtocolOf<A> = <A as Architecture>::Protocol;
/// Its metadata, in the architecture's synchronization policy.
pub(crate) type MetaOf<A> = <ProtocolOf<A> as Protocol>::Meta<<A as Architecture>::Physical>;
/// What its records have before their rows.
pub(crate) type HeaderOf<A> = <ProtocolOf<A> as Protocol>::Header;
/// Who asks, with its stamp.
pub(crate) type RequesterOf<A> = Requester<StampOf<ProtocolOf<A>>>;
/// An ordered index, in the same synchronization policy.
pub(crate) type OrderedOf<A> = OrderedAs<<A as Architecture>::Physical>;

/// A key, and all that follows from it.
#[derive(Clone, Copy)]
pub(crate) struct Place<'e> {
    table: &'e Table,
    key: Key,
    partition: PartitionId,
    /// To find it by, in a hashed table and in the access set.
    hash: Hash,
}

impl Place<'_> {
    /// A gap of the same partition.
    fn gap(self, id: GapId) -> GapPlace {
        GapPlace { table: self.table.id, partition: self.partition, id }
    }
}

/// What a blind change does to the bytes that it names.
#[derive(Clone, Copy)]
pub(crate) enum Blind<'a> {
    Replace(&'a [u8]),
    Merge(Merge, &'a [u8]),
}

/// Why a transaction's operations do not go their usual way: all of them ask for that first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aside {
    /// It can only be aborted.
    Poisoned(AbortReason),
    /// It reads a snapshot.
    Snapshot,
}

impl Aside {
    /// What an operation answers that is of the usual way only.
    #[cold]
    fn refuse(self) -> Abort {
        match self {
            Aside::Poisoned(reason) => Abort(reason),
            Aside::Snapshot => panic!("a transaction that reads a snapshot writes"),
        }
    }
}

/// A key, whatever transaction it is of: a number or a byte string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named<'k> {
    Number(Key),
    Bytes(&'k [u8]),
}

/// The same, had by itself.
#[derive(Debug)]
pub(crate) enum Name {
    Number(Key),
    Bytes(Vec<u8>),
}

impl Name {
    /// Lent.
    pub fn named(&self) -> Named<'_> {
        match self {
            Name::Number(key) => Named::Number(*key),
            Name::Bytes(bytes) => Named::Bytes(bytes),
        }
    }
}

/// One transaction slot: runs transactions one after the other, and keeps its memory.
pub(crate) struct Txn<'e, A: Architecture> {
    pub architecture: A,
    pub stopwatch: Stopwatch,
    pub allocations: &'e mut AllocationCache,
    /// Where ids come from, if they are asked for.
    pub ids: Option<&'e CommitIds>,
    /// Where what it writes is logged, if it is.
    redo: Option<Redo<'e>>,
    tables: &'e [Table],
    epochs: &'e Epochs,
    slot: SlotId,
    /// Its number among those of the epochs.
    in_epochs: usize,
    /// The slot's local epoch.
    epoch: u64,
    /// That in which the transaction commits, if its store is logged or has snapshots; once it is prepared.
    commit_epoch: u64,
    /// Whether the store has snapshots.
    keeps_versions: bool,
    /// Versions that the transaction has made of rows that it overwrites or deletes.
    made_versions: Vec<Superseded>,
    /// Those that are not linked yet.
    ahead: Vec<VersionAhead>,
    /// An epoch, and the first snapshot that shows what is committed in it.
    shown_by: (u64, u64),
    /// A step of snapshots that is left out.
    pub snapshot_canary: Option<SnapshotCanary>,
    /// Whether rows are written over what they were, without keeping that.
    pub overwrites: bool,
    /// Whether who validates waits for a record that is locked, to read it; otherwise he aborts.
    pub readers_wait: bool,
    /// For how long it waits for one lock, if not for as long as it takes.
    deadlock_timeout_ticks: Option<u64>,
    /// The snapshot that it reads, if that is [`Aside::Snapshot`].
    snapshot: u64,
    /// What its scans have at hand.
    stride: Option<Box<Stride>>,
    /// What the protocol keeps for the slot.
    state: <ProtocolOf<A> as Protocol>::Slot,
    /// For the timestamps that it draws.
    draws: Draws,
    accesses: AccessSet,
    gaps: Vec<Gap>,
    /// Byte strings that are keys.
    keys: Keys,
    /// Keys of leaves that the transaction has emptied.
    emptied: Vec<Place<'e>>,
    /// What it asks for when it begins, where that is asked for at once.
    wanted: Vec<WantedBy<'e, A>>,
    /// What it has met on the way to its operation.
    met: Option<Met>,
    /// Whether it asks for the lines of what a procedure names ahead, and of what its scans come to.
    heeds_hints: bool,
    /// Whether it locks all that its plan names before it does anything.
    preclaims: bool,
    /// What it locks so.
    claims: Vec<(RecordPlace, Mode)>,
    /// What it knows of where keys are.
    nearby: Nearby,
    /// Of scans, one a partition.
    cursors: Vec<Cursor>,
    /// Records that a scan locks together: some of one leaf.
    batch: Vec<Ahead<'e>>,
    /// Positions in the access set of what commit must write.
    write_set: Vec<u32>,
    /// Whether it deletes something of it.
    deletes: bool,
    /// Entries of `write_set` that are prepared.
    prepared: usize,
    log: WriteLog,
    /// A row, or part of one, on its way to a closure.
    scratch: Vec<u64>,
    /// A row that it would write, copied while it runs ahead.
    row_ahead: Vec<u8>,
    /// Why operations do not go their usual way.
    aside: Option<Aside>,
    /// The transaction only reads, to make a plan.
    reconnaissance: bool,
    /// And it is the procedure itself that runs, without locks.
    runs_ahead: bool,
    /// What that has touched.
    footprint: Plan,
    /// Drawn when it was prepared.
    id: Option<CommitId>,
    /// The key that was refused last, because it, or its partition, was not planned; of a byte string its prefix.
    refused: Option<PlannedKey>,
}

impl<'e, A: Architecture> Txn<'e, A> {
    /// A slot over these tables. The slot is active until this is dropped.
    pub fn new(
        architecture: A,
        tables: &'e [Table],
        epochs: &'e Epochs,
        slot: SlotId,
        allocations: &'e mut AllocationCache,
    ) -> Self {
        Self::at_place(architecture, tables, epochs, slot, slot.0 as usize, allocations)
    }

    /// The same where the slot has another number among those of the epochs: slots of several instances have the same epochs.
    pub fn at_place(
        architecture: A,
        tables: &'e [Table],
        epochs: &'e Epochs,
        slot: SlotId,
        in_epochs: usize,
        allocations: &'e mut AllocationCache,
    ) -> Self {
        let largest_row = tables.iter().map(|table| table.shape.row_bytes).max().unwrap_or(0);
        Txn {
            architecture,
            stopwatch: Stopwatch::new(),
            allocations,
            ids: None,
            redo: None,
            tables,
            epochs,
            slot,
            in_epochs,
            epoch: epochs.enter(in_epochs),
            commit_epoch: 0,
            keeps_versions: epochs.has_snapshots(),
            made_versions: Vec::new(),
            ahead: Vec::new(),
            // No slot is ever in this epoch.
            shown_by: (0, 0),
            snapshot_canary: None,
            overwrites: true,
            readers_wait: true,
            deadlock_timeout_ticks: None,
            snapshot: 0,
            stride: None,
            state: SlotState::new(),
            draws: Draws::new(slot.0),
            accesses: AccessSet::new(ProtocolOf::<A>::MOST_RECORDS),
            gaps: Vec::with_capacity(64),
            keys: Keys::new(),
            emptied: Vec::with_capacity(16),
            wanted: Vec::with_capacity(if ProtocolOf::<A>::REQUESTS_AHEAD { 256 } else { 0 }),
            met: None,
            heeds_hints: false,
            preclaims: false,
            claims: Vec::new(),
            nearby: Nearby::new(),
            cursors: Vec::new(),
            batch: Vec::with_capacity(16),
            write_set: Vec::with_capacity(256),
            deletes: false,
            prepared: 0,
            log: WriteLog::new(),
            scratch: vec![0; largest_row.div_ceil(8) + 2],
            row_ahead: Vec::new(),
            aside: None,
            reconnaissance: false,
            runs_ahead: false,
            footprint: Plan::with_capacity(if A::LOCKS_PLANS { 256 } else { 0 }),
            id: None,
            refused: None,
        }
    }

    /// Gives up a lock for which it has waited so long; `None`: waits for as long as it takes.
    pub fn wait_at_most(&mut self, ns: Option<u64>) {
        self.deadlock_timeout_ticks = ns.map(|ns| clock::ticks_of(Duration::from_nanos(ns)));
    }

    /// Asks from now on for the lines of what a procedure names ahead ([`contract::Transaction::ahead`]), and of what its scans come to.
    pub fn heed_hints_if(&mut self, heeds_hints: bool) {
        self.heeds_hints = heeds_hints;
    }

    /// Locks from now on all that the plan names before it does anything, if the protocol lets it.
    pub fn preclaim_if(&mut self, preclaims: bool) {
        self.preclaims = ProtocolOf::<A>::MAY_PRECLAIM && preclaims;
        if self.preclaims {
            self.claims.reserve(256);
        }
    }

    /// Whether it does.
    #[inline(always)]
    pub fn preclaims(&self) -> bool {
        ProtocolOf::<A>::MAY_PRECLAIM && self.preclaims
    }

    /// Starts a transaction; the one before has committed or aborted.
    #[inline(always)]
    pub fn begin(&mut self, attempt: Attempt, plan: &Plan) {
        self.clear();
        if A::MIGRATES {
            // Which may lead elsewhere.
            AccessOf::<A>::unlink_tombs(self);
        }
        self.begin_attempt(attempt);
        self.reconnaissance = false;
        self.enter_declared(plan);
        AccessOf::<A>::request_known(self, plan);
    }

    /// Waits for the partitions that the plan declares, where the architecture wants it to.
    #[inline(always)]
    fn enter_declared(&mut self, plan: &Plan) {
        if A::DECLARES {
            let Txn { architecture, stopwatch, draws, .. } = self;
            let timestamp = match architecture.wants_timestamp() {
                true => draw(architecture, stopwatch, draws),
                false => Timestamp::default(),
            };
            let before = stopwatch.enter(TimeClass::Wait);
            architecture.begin(plan, timestamp, |beginning| match beginning {
                Beginning::Asks => _ = stopwatch.enter(TimeClass::Manager),
                Beginning::Waits => _ = stopwatch.enter(TimeClass::Wait),
                Beginning::Got => stopwatch.holds_something(),
            });
            stopwatch.enter(before);
        } else {
            self.architecture.begin(plan, Timestamp::default(), |_| ());
        }
    }

    /// Starts a transaction that only reads, to make a plan; [`Txn::end_reconnaissance`] ends it.
    #[inline(always)]
    pub fn begin_reconnaissance(&mut self, attempt: Attempt) {
        self.clear();
        self.begin_attempt(attempt);
        self.reconnaissance = true;
        self.architecture.begin_reconnaissance();
    }

    /// Tells the protocol, which may draw a timestamp.
    #[inline(always)]
    fn begin_attempt(&mut self, attempt: Attempt) {
        AccessOf::<A>::before_drawing(self);
        let Txn { architecture, stopwatch, draws, state, .. } = self;
        architecture.begin_attempt(attempt);
        state.begin(attempt, || draw(architecture, stopwatch, draws));
        AccessOf::<A>::drawn(self);
    }

    #[inline(always)]
    fn clear(&mut self) {
        assert!(self.accesses.is_empty() && self.gaps.is_empty(), "the last transaction has ended");
        self.log.clear();
        self.keys.clear();
        self.id = None;
        self.refresh_epoch();
    }

    /// Goes on to the global epoch. The slot has found nothing that it will look at again.
    #[inline(always)]
    fn refresh_epoch(&mut self) {
        self.nearby.forget_met();
        self.met = None;
        let (redo, draws) = (&mut self.redo, &mut self.draws);
        self.epoch = self.epochs.refresh_after(self.in_epochs, self.epoch, || {
            draws.lose_batch();
            if let Some(redo) = redo {
                redo.before_epoch();
            }
        });
    }

    /// Between transactions: goes on to the global epoch.
    #[cold]
    pub fn go_on_to_epoch(&mut self) {
        self.clear();
    }

    /// The epoch that the slot is in, if it is in one.
    #[inline(always)]
    pub fn local_epoch(&self) -> u64 {
        self.epoch
    }

    /// Between transactions, for lack of one: lets a little time pass, in which the slot is in no epoch.
    pub fn rest(&mut self, rest: &mut cpu::Spin) {
        self.suspend();
        self.architecture.idle(rest);
        self.resume();
    }

    /// Between transactions: from now on, until [`Txn::resume`], the slot is in no epoch.
    pub fn suspend(&mut self) {
        self.clear();
        self.leave_epoch();
    }

    /// Before the first transaction after [`Txn::suspend`].
    pub fn resume(&mut self) {
        self.draws.lose_batch();
        self.epoch = self.epochs.enter(self.in_epochs);
    }

    /// The slot is in no epoch from now on.
    pub fn leave_epoch(&mut self) {
        if let Some(redo) = &mut self.redo {
            redo.before_epoch();
        }
        AccessOf::<A>::rests(self);
        self.epochs.leave(self.in_epochs);
    }

    /// Before anything is touched in the place's partition.
    #[inline(always)]
    fn enter(&mut self, place: Place<'_>) -> Result<(), Abort> {
        let entered = if A::MIGRATES && self.stopwatch.is_on() && !self.architecture.is_here(place.partition)
        {
            let before = self.stopwatch.enter(TimeClass::Wait);
            let entered = self.architecture.enter(place.partition);
            self.stopwatch.enter(before);
            entered
        } else {
            self.architecture.enter(place.partition)
        };
        entered.map_err(|reason| {
            self.refuse(place.table, self.prefix(place.table, place.key), Use::Read, reason)
        })
    }

    /// What would be used so is not the transaction's.
    #[cold]
    fn refuse(&mut self, table: &Table, key: Key, access: Use, reason: AbortReason) -> Abort {
        let (span, partition) = (Span::new(0, 0), table.partition_of(key));
        self.refused = Some(PlannedKey { table: table.id, key, span, access, partition });
        self.poison(reason)
    }

    /// What the last attempt that was refused something was after.
    fn last_refused(&self) -> PlannedKey {
        self.refused.expect("an attempt was refused something")
    }

    /// The same, as an error.
    pub fn refused(&self) -> RunError {
        let PlannedKey { table, key, partition, .. } = self.last_refused();
        let table = self.table(table).description.name;
        match A::LOCKS_PLANS {
            true => RunError::Unplanned { table, key },
            false => RunError::Undeclared { table, key, partition },
        }
    }

    /// Adds it to a plan.
    pub fn plan_what_was_refused(&self, plan: &mut Plan) {
        let PlannedKey { table, key, span, access, .. } = self.last_refused();
        plan.touch(table, key, span, access);
    }

    /// After a panic in a procedure: what its transaction holds is released.
    pub fn abandon(&mut self) {
        if self.runs_ahead {
            self.stop_running_ahead();
        } else if self.accesses.is_empty() && self.gaps.is_empty() && !self.has_begun_snapshot() {
            self.release_all();
        } else {
            self.abort();
        }
    }

    /// Locks of hot records that the slot has got since this was last asked.
    pub fn take_hot_locks(&mut self) -> u64 {
        self.state.take_hot_locks()
    }

    /// What the merges of the last committed transaction left; until the next begins.
    pub fn receipts(&self) -> &dyn Receipts {
        &self.log
    }

    #[inline(always)]
    fn alive(&self) -> Result<(), Abort> {
        match self.aside {
            None => Ok(()),
            Some(aside) => Err(aside.refuse()),
        }
    }

    /// From here on, the transaction can only be aborted.
    #[cold]
    fn poison(&mut self, reason: AbortReason) -> Abort {
        self.aside.get_or_insert(Aside::Poisoned(reason));
        Abort(reason)
    }

    #[inline(always)]
    fn table(&self, table: TableId) -> &'e Table {
        let tables = self.tables;
        &tables[table.index()]
    }

    #[inline(always)]
    fn place(&self, table: &'e Table, key: Key) -> Place<'e> {
        let partition = table.partition_of(self.prefix(table, key));
        Place { table, key, partition, hash: Hash::of(key) }
    }

    /// The partition of a key.
    #[inline(always)]
    pub fn partition_of(&self, table: TableId, key: Key) -> PartitionId {
        let table = self.table(table);
        table.partition_of(self.prefix(table, key))
    }

    /// The same of a key, or of the prefix of one.
    pub fn partition_of_prefix(&self, table: TableId, prefix: Key) -> PartitionId {
        self.table(table).partition_of(prefix)
    }

    /// The bytes of a table's rows, if they do not vary.
    pub fn row_bytes(&self, table: TableId) -> usize {
        self.table(table).description.row_bytes
    }

    /// A key as other transactions name it.
    pub fn name(&self, table: TableId, key: Key) -> Name {
        match self.table(table).has_byte_strings() {
            true => Name::Bytes(self.keys.bytes(key).to_vec()),
            false => Name::Number(key),
        }
    }

    /// As this transaction names it.
    pub fn key_named(&mut self, table: TableId, named: Named<'_>) -> Key {
        match named {
            Named::Number(key) => key,
            Named::Bytes(bytes) => contract::Transaction::key(self, table, bytes),
        }
    }

    /// Whether it has written, inserted or deleted anything.
    pub fn has_written(&self) -> bool {
        !self.write_set.is_empty()
    }

    /// What decides a key's partition.
    #[inline(always)]
    fn prefix(&self, table: &Table, key: Key) -> Key {
        match table.has_byte_strings() {
            true => Key::prefix_of(self.keys.bytes(key)),
            false => key,
        }
    }

    /// A key of an ordered table, for a step.
    fn spot(&self, place: Place<'_>) -> Spot {
        let Place { table, partition, key, .. } = place;
        match table.has_byte_strings() {
            true => Spot::bytes(table.id, partition, self.keys.bytes(key)),
            false => Spot::number(table.id, partition, key),
        }
    }

    /// A key's record, and what protects the key if it has none. Reads the index from here, wherever its partition is.
    #[inline(always)]
    fn look_up(&mut self, place: Place<'_>) -> (Option<RecordRef>, GapId) {
        match &place.table.partition(place.partition).index {
            Index::Hashed(index) => (index.find(place.hash, place.key), GapId::Bucket(place.hash)),
            Index::Ordered(index) => {
                if let Some(found) = self.take_found(place, index) {
                    return (found.record, GapId::Leaf(found.leaf));
                }
                // SAFETY: the key stays where it is meanwhile.
                let found = unsafe { self.spot(place).with(|key| index.find(key)) };
                (found.record, GapId::Leaf(found.leaf))
            }
        }
    }

    /// The same; starts from what the slot knows of where the key is.
    #[inline(always)]
    fn look_up_near(&mut self, place: Place<'_>) -> (Option<RecordRef>, GapId) {
        match &place.table.partition(place.partition).index {
            Index::Ordered(index) if !place.table.has_byte_strings() => {
                let found = match self.take_found(place, index) {
                    Some(found) => found,
                    None => index.find_near(self.nearby.of(place), &place.key.bytes()),
                };
                (found.record, GapId::Leaf(found.leaf))
            }
            Index::Hashed(index) => {
                let met = match self.take_record(place) {
                    Some(record) => Some(record),
                    None => self.nearby.take_met(place),
                };
                // Not by a closure: this is to be in line.
                let found = if met.is_some() { met } else { index.find(place.hash, place.key) };
                (found, GapId::Bucket(place.hash))
            }
            Index::Ordered(_) => self.look_up(place),
        }
    }

    #[inline(always)]
    fn find_own(&self, place: Place<'_>) -> Option<usize> {
        self.accesses.find(place.table.id, place.key, place.hash)
    }

    /// The requester of the next entry of the access set.
    #[inline(always)]
    fn next_requester(&self, partition: PartitionId) -> RequesterOf<A> {
        self.requester(partition, self.accesses.len())
    }

    /// The same, for the record of a place.
    #[inline(always)]
    fn next_requester_for(&self, place: Place<'_>) -> RequesterOf<A> {
        let who = self.next_requester(place.partition);
        match Self::record_place(place) {
            Some(place) => Requester { stamp: self.state.stamp_for(place), ..who },
            None => who,
        }
    }

    /// A record's place among all, unless its key is a byte string, whose number is this transaction's own.
    #[inline(always)]
    fn record_place(Place { table, key, .. }: Place<'_>) -> Option<RecordPlace> {
        (!table.has_byte_strings()).then_some((table.id, key))
    }

    /// The requester of an entry of the access set: even numbers, so that the first of either kind are close together.
    #[inline(always)]
    fn requester(&self, partition: PartitionId, position: usize) -> RequesterOf<A> {
        self.ask(partition, 2 * position as u32)
    }

    /// The requester of an entry that there is.
    #[inline(always)]
    fn requester_of(&self, position: usize) -> RequesterOf<A> {
        self.requester(self.accesses[position].partition, position)
    }

    /// The requester of a gap: odd numbers.
    #[inline(always)]
    fn gap_requester(&self, partition: PartitionId, number: usize) -> RequesterOf<A> {
        self.ask(partition, 2 * number as u32 + 1)
    }

    #[inline(always)]
    fn ask(&self, partition: PartitionId, access: u32) -> RequesterOf<A> {
        Requester { slot: self.slot, partition: partition.0, access, stamp: self.state.stamp() }
    }

    #[inline(always)]
    fn add(&mut self, place: Place<'_>, record: RecordRef, kind: Kind, token: Option<Token>) -> usize {
        let Place { table, key, partition, hash, .. } = place;
        let position = self.accesses.push(
            Access {
                record,
                key,
                token,
                partition,
                table: table.id,
                kind,
                first_write: NO_WRITE,
                is_revived: false,
                has_version: false,
            },
            hash,
        );
        if AccessOf::<A>::ENTRIES_ARE_LOCKS {
            self.stopwatch.holds_something();
            if let Some(place) = Self::record_place(place) {
                self.state.holds(place);
            }
        }
        if kind != Kind::Read && kind != Kind::Absent {
            assert!(!self.reconnaissance || self.runs_ahead, "a procedure writes while it plans");
            self.write_set.push(position as u32);
        }
        position
    }

    /// Shows bytes of what a record has for its row. Where it is to fetch, others run while lines are on their way ([`fetch`]).
    #[inline(always)]
    fn read_span<const FETCHES: bool>(
        &mut self,
        table: &'e Table,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        work::operation(span.length());
        let place = self.place(table, key);
        if let Some(position) = self.find_own(place) {
            return self.read_own(position, span, see);
        }
        self.enter(place)?;
        if FETCHES {
            self.fetch(place, span, false);
        }
        AccessOf::<A>::read(self, place, span, see)
    }

    /// The same to change them.
    #[inline(always)]
    fn update_span<const FETCHES: bool>(
        &mut self,
        table: &'e Table,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        table.check(span);
        work::operation(span.length());
        let place = self.place(table, key);
        if let Some(position) = self.find_own(place) {
            return self.update_own(position, span, change);
        }
        self.enter(place)?;
        if FETCHES {
            self.fetch(place, span, true);
        }
        AccessOf::<A>::update(self, place, span, change)
    }

    /// An entry for a row that is to be written, or removed, without having been read; `None`: there is none.
    fn find_any_to_write(&mut self, place: Place<'_>) -> Result<Option<usize>, Abort> {
        if let Some(position) = self.find_own(place) {
            let presence = self.make_writable(position)?;
            return Ok((presence == Presence::Present).then_some(position));
        }
        self.enter(place)?;
        self.fetch_header(place, true);
        AccessOf::<A>::find_to_write(self, place)
    }

    /// The same without having read them.
    fn blind<const FETCHES: bool>(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        blind: Blind<'_>,
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let table = self.table(table);
        table.check(span);
        work::operation(span.length());
        let place = self.place(table, key);
        if let Some(position) = self.find_own(place) {
            return self.blind_own(position, span, blind);
        }
        self.enter(place)?;
        if FETCHES {
            self.fetch(place, span, true);
        }
        let Some(position) = AccessOf::<A>::find_to_write(self, place)? else {
            return Ok(Presence::Missing);
        };
        AccessOf::<A>::write_blind(self, position, span, blind);
        Ok(Presence::Present)
    }
}

/// Draws a timestamp for a slot.
#[inline(always)]
fn draw(architecture: &impl Architecture, stopwatch: &mut Stopwatch, draws: &mut Draws) -> Timestamp {
    let before = stopwatch.enter(TimeClass::Timestamp);
    let drawn = architecture.site().timestamps.draw(draws);
    stopwatch.enter(before);
    drawn
}

/// Ends the slot. If a procedure panicked, what its transaction holds is released, so that the others can end, too.
impl<A: Architecture> Drop for Txn<'_, A> {
    fn drop(&mut self) {
        self.abandon();
        self.leave_epoch();
    }
}
