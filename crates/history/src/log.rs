//! The log of one transaction under way. It travels inside the procedure, restarts with every attempt, and
//! goes back to its client's pool when the transaction ends, so a warm run allocates nothing but the ends of scans.
//!
//! Operations come with the transaction's own numbers for keys that are byte strings, and are noted by the history's
//! names for them.

use crate::checked::Deletes;
use crate::key_names::name_of;
use crate::layout::Layouts;
use crate::operation::{Operation, OperationKind};
use crate::scanned::ScanRecord;
use crate::version::{Stamp, Version, Writer, word};
use contract::{Key, Plan, Receipts, TableId};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// See the module.
#[derive(Debug)]
pub(crate) struct Log {
    pub layouts: Layouts,
    pub deletes: Deletes,
    /// Whose transaction it logs.
    worker: usize,
    /// Whose pool it is of.
    own: usize,
    /// The transaction's number among its worker's; 0 while the log is in the pool.
    transaction: u32,
    attempts: u32,
    writes: u32,
    operations: Vec<Operation>,
    scans: Vec<ScanRecord>,
    /// By table and the attempt's own number for a key that is a byte string, the key's name in the history.
    aliases: HashMap<(TableId, Key), Key, FixedState>,
    /// The names that the attempt met, and where the bytes of each end in `named_bytes`.
    named: Vec<(TableId, Key, usize)>,
    named_bytes: Vec<u8>,
    /// Positions in `operations` of the blind writes, in the order of the merges that carried them.
    blind: Vec<u32>,
    /// What the workload's own merges left in their arguments, end to end.
    merged: Vec<u8>,
    /// Where each of them ends in `merged`.
    merged_ends: Vec<u32>,
    /// Room for a checked row, or for the argument of a blind write.
    pub scratch: Vec<u8>,
    /// Room for the workload's plan before its spans are widened.
    pub plan: Plan,
}

/// Bytes of [`Log::fragment`].
pub(crate) const FRAGMENT_BYTES: usize = 16;

impl Log {
    pub fn new(worker: usize, layouts: Layouts, deletes: Deletes) -> Self {
        Log {
            layouts,
            deletes,
            worker,
            own: worker,
            transaction: 0,
            attempts: 0,
            writes: 0,
            operations: Vec::with_capacity(32),
            scans: Vec::new(),
            aliases: HashMap::default(),
            named: Vec::new(),
            named_bytes: Vec::new(),
            blind: Vec::with_capacity(32),
            merged: Vec::new(),
            merged_ends: Vec::new(),
            scratch: Vec::with_capacity(256),
            plan: Plan::with_capacity(32),
        }
    }

    /// Takes the log out of the pool for a new transaction.
    pub fn begin_transaction(&mut self, number: u32) {
        assert_eq!(self.transaction, 0, "a log serves one transaction at a time");
        self.transaction = number;
        self.attempts = 0;
    }

    /// Forgets an aborted attempt.
    pub fn begin_attempt(&mut self) {
        assert_ne!(self.transaction, 0, "a procedure ran after it had ended");
        self.attempts = self.attempts.saturating_add(1);
        self.writes = 0;
        self.operations.clear();
        self.scans.clear();
        self.aliases.clear();
        self.named.clear();
        self.named_bytes.clear();
        self.blind.clear();
        self.merged.clear();
        self.merged_ends.clear();
    }

    /// Ready for the pool.
    pub fn end_transaction(&mut self) {
        assert_ne!(self.transaction, 0, "a transaction ended twice");
        self.transaction = 0;
    }

    /// Whose attempt comes next, for who runs a fragment of it.
    pub fn fragment(&self) -> [u8; FRAGMENT_BYTES] {
        let mut bytes = [0; FRAGMENT_BYTES];
        bytes[..8].copy_from_slice(&(self.worker as u64).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.transaction.to_le_bytes());
        bytes[12..].copy_from_slice(&self.attempts.to_le_bytes());
        bytes
    }

    /// Takes the log out of the pool for a fragment of another worker's transaction.
    pub fn begin_fragment(&mut self, whose: &[u8; FRAGMENT_BYTES]) {
        assert_eq!(self.transaction, 0, "a log serves one transaction at a time");
        self.worker = word(&whose[..8]) as usize;
        let both = word(&whose[8..]);
        (self.transaction, self.attempts) = (both as u32, (both >> 32) as u32);
    }

    /// Ready for the pool of its own worker.
    pub fn end_fragment(&mut self) {
        self.worker = self.own;
        self.transaction = 0;
    }

    pub fn number(&self) -> u32 {
        self.transaction
    }

    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    pub fn scans(&self) -> &[ScanRecord] {
        &self.scans
    }

    /// The keys that are byte strings and that the attempt met, with their bytes.
    pub fn named(&self) -> impl Iterator<Item = (TableId, Key, &[u8])> {
        let starts = std::iter::once(0).chain(self.named.iter().map(|(.., end)| *end));
        starts
            .zip(&self.named)
            .map(|(start, (table, key, end))| (*table, *key, &self.named_bytes[start..*end]))
    }

    /// Notes that the attempt calls the key of these bytes `number`.
    pub fn alias(&mut self, table: TableId, number: Key, bytes: &[u8]) {
        let name = self.name(table, bytes);
        self.aliases.insert((table, number), name);
    }

    fn name(&mut self, table: TableId, bytes: &[u8]) -> Key {
        let name = name_of(bytes);
        self.named_bytes.extend_from_slice(bytes);
        self.named.push((table, name, self.named_bytes.len()));
        name
    }

    /// What the history calls the key that the transaction calls `key`.
    fn name_of_number(&self, table: TableId, key: Key) -> Key {
        if !self.layouts.table(table).has_strings {
            return key;
        }
        let name = self.aliases.get(&(table, key));
        *name.unwrap_or_else(|| panic!("{key:?} of table {} was not given by this transaction", table.0))
    }

    /// Notes a row that a scan showed.
    pub fn saw_in_scan(&mut self, table: TableId, key: &[u8], stamp: Stamp) {
        let key = if self.layouts.table(table).has_strings {
            self.name(table, key)
        } else {
            Key(u64::from_be_bytes(key.try_into().expect("a key that is a number has eight bytes")))
        };
        let Stamp { version, replaced } = stamp;
        self.operations.push(Operation::stamped(OperationKind::Read, table, key, version, replaced, 0));
    }

    /// Notes the scan whose rows these were.
    pub fn scanned(&mut self, scan: ScanRecord) {
        self.scans.push(scan);
    }

    /// The version that the attempt's next write will leave.
    pub fn next_version(&self) -> Version {
        Version::written(Writer {
            worker: self.worker,
            transaction: self.transaction,
            // Before the first attempt there is only a look, which writes nothing that stays.
            attempt: self.attempts.saturating_sub(1),
            write: self.writes,
        })
    }

    pub fn looked(
        &mut self,
        kind: OperationKind,
        table: TableId,
        key: Key,
        seen: Version,
        replaced: Version,
    ) {
        assert!(!kind.writes());
        let key = self.name_of_number(table, key);
        self.operations.push(Operation::stamped(kind, table, key, seen, replaced, 0));
    }

    /// Notes the write that left [`Log::next_version`].
    pub fn wrote(&mut self, kind: OperationKind, table: TableId, key: Key, seen: Version, replaced: Version) {
        assert!(kind.writes());
        if kind == OperationKind::Write {
            let position =
                u32::try_from(self.operations.len()).expect("an attempt's operations fit in a log");
            self.blind.push(position);
        }
        let key = self.name_of_number(table, key);
        self.operations.push(Operation::stamped(kind, table, key, seen, replaced, self.writes));
        self.writes += 1;
    }

    /// Keeps what one of the workload's own merges left in its argument.
    pub fn merged(&mut self, argument: &[u8]) {
        self.merged.extend_from_slice(argument);
        self.merged_ends
            .push(u32::try_from(self.merged.len()).expect("arguments of one attempt below 4 GiB"));
    }

    /// Fills in what the committed transaction's blind writes replaced.
    pub fn take_receipts(&mut self, receipts: &dyn Receipts) {
        for (nth, position) in self.blind.iter().enumerate() {
            let argument = receipts.argument(nth);
            self.operations[*position as usize].seen = Version(word(&argument[8..16]));
        }
    }
}

/// What the workload's own merges left, which the wrapper ran as updates.
impl Receipts for Log {
    fn argument(&self, nth: usize) -> &[u8] {
        let start = if nth == 0 { 0 } else { self.merged_ends[nth - 1] as usize };
        &self.merged[start..self.merged_ends[nth] as usize]
    }
}
