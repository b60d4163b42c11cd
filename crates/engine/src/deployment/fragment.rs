//! Fragments: what a transaction does at one instance, in one go.
//!
//! A procedure that can run in fragments ([`Procedure::runs_in_fragments`](contract::Procedure::runs_in_fragments)) is sent, whole, to every other instance that has
//! something of it, and runs there over the keys of that instance. The answer is a *transcript*: what its operations on these keys found, in their order. Home runs the procedure
//! over its own keys and reads what is elsewhere from the transcripts, so that it comes to the results that it would have come to by asking.
//!
//! An instance takes everything elsewhere to be there, and everything that is inserted elsewhere to have been missing. If it was not so, or a transcript does not have what home's run asks
//! for next, the fragments were wrong: all is aborted, and the transaction is run again by messages.

use super::message::{Answer, Kind, Message};
use crate::architecture::Instance;
use crate::physical::Physical;
use crate::protocol::Protocol;
use crate::transaction::{Named, Txn};
use contract::{Abort, Insertion, Key, Merge, Presence, Scan, Span, TableId, Transaction};
use zerocopy::IntoBytes;

/// What an instance's operations found.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    message: Message,
    /// Where the next entry begins, in bytes.
    position: usize,
    /// Where what the last entry found begins.
    found: usize,
}

impl Transcript {
    /// Takes the answer in which it came for its own, and leaves its memory for the next; whether the branch has voted with it.
    pub fn take(&mut self, answer: &mut Message) -> bool {
        std::mem::swap(&mut self.message, answer);
        let Ok((_, Answer::Ran { has_voted, transcript })) = self.message.read().answer() else {
            unreachable!("participants are of this engine")
        };
        self.position = self.message.bytes().len() - transcript.len();
        has_voted
    }

    /// Goes on to the next entry, unless that is of another operation, or there is none.
    pub fn advance(&mut self, kind: Kind, table: TableId, key: Named<'_>) -> bool {
        let entry = self.message.read_from(self.position).entry(kind, table, key);
        let Some((head, found)) = entry.expect("participants are of this engine") else { return false };
        self.found = self.position + head;
        self.position = self.found + found;
        true
    }

    /// What the operation of that entry found.
    pub fn found(&self) -> Answer<'_> {
        self.message.read_from(self.found).found().expect("it was read before")
    }

    /// Whether all of it was read.
    pub fn is_over(&self) -> bool {
        self.position == self.message.bytes().len()
    }
}

/// A procedure's transaction at an instance that is not its home.
pub(super) struct Fragment<'t, 'e, P: Protocol, F: Physical> {
    pub txn: &'t mut Txn<'e, Instance<'e, P, F>>,
    /// The transcript, as it will be sent.
    pub entries: &'t mut Message,
    /// What rows elsewhere show.
    pub zeros: &'t mut Vec<u64>,
}

impl<P: Protocol, F: Physical> Fragment<'_, '_, P, F>
where
    P::Common<F>: Sync,
{
    fn is_here(&self, table: TableId, key: Key) -> bool {
        self.txn.architecture.has(self.txn.partition_of(table, key))
    }

    /// So many bytes of a row elsewhere, whatever was done to the last ones.
    fn zeros(&mut self, bytes: usize) -> &mut [u8] {
        self.zeros.clear();
        self.zeros.resize(bytes.div_ceil(size_of::<u64>()), 0);
        &mut self.zeros.as_mut_bytes()[..bytes]
    }

    /// Does something to a key of this instance that shows its bytes, and enters what it shows last.
    fn show(
        &mut self,
        kind: Kind,
        (table, key): (TableId, Key),
        touch: impl FnOnce(&mut Txn<'_, Instance<'_, P, F>>, &mut dyn FnMut(&[u8])) -> Result<Presence, Abort>,
    ) -> Result<Presence, Abort> {
        let name = self.txn.name(table, key);
        self.entries.begin_entry(kind, table, name.named());
        let entries = &mut *self.entries;
        let start = entries.bytes().len();
        let presence = touch(self.txn, &mut |bytes| {
            entries.cut(start);
            entries.put(Answer::Present(bytes));
        })?;
        if presence == Presence::Missing {
            self.entries.cut(start);
            self.entries.put(Answer::Missing);
        }
        Ok(presence)
    }

    /// Enters what something that shows nothing has found.
    fn found(&mut self, kind: Kind, (table, key): (TableId, Key), answer: Answer<'_>) {
        let name = self.txn.name(table, key);
        self.entries.begin_entry(kind, table, name.named());
        self.entries.put(answer);
    }
}

impl<P: Protocol, F: Physical> Transaction for Fragment<'_, '_, P, F>
where
    P::Common<F>: Sync,
{
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        if !self.is_here(table, key) {
            see(self.zeros(span.length()));
            return Ok(Presence::Present);
        }
        self.show(Kind::Read, (table, key), |txn, enter| {
            txn.read(table, key, span, &mut |bytes| {
                enter(bytes);
                see(bytes);
            })
        })
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        if !self.is_here(table, key) {
            change(self.zeros(span.length()));
            return Ok(Presence::Present);
        }
        self.show(Kind::Update, (table, key), |txn, enter| {
            txn.update(table, key, span, &mut |bytes| {
                enter(bytes);
                change(bytes);
            })
        })
    }

    /// Enters both parts, as they were before: the changed one, and behind it the one that was seen.
    fn update_seeing(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
        shown: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        if !self.is_here(table, key) {
            see(self.zeros(shown.length()));
            change(self.zeros(span.length()));
            return Ok(Presence::Present);
        }
        let name = self.txn.name(table, key);
        self.entries.begin_entry(Kind::Update, table, name.named());
        let start = self.entries.bytes().len();
        let (changed, seen) = self.entries.put_present(span.length(), shown.length());
        let change = &mut |bytes: &mut [u8]| {
            changed.copy_from_slice(bytes);
            change(bytes);
        };
        let presence = self.txn.update_seeing(table, key, span, change, shown, &mut |bytes| {
            seen.copy_from_slice(bytes);
            see(bytes);
        })?;
        if presence == Presence::Missing {
            self.entries.cut(start);
            self.entries.put(Answer::Missing);
        }
        Ok(presence)
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        if !self.is_here(table, key) {
            return Ok(Presence::Present);
        }
        let presence = self.txn.write(table, key, offset, bytes)?;
        self.found(Kind::Write, (table, key), Answer::of(presence, b""));
        Ok(presence)
    }

    /// What it leaves in its argument, home finds out by itself.
    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        let mut left = Vec::with_capacity(argument.len());
        self.update(table, key, span, &mut |bytes| {
            left.clear();
            left.extend_from_slice(argument);
            merge(bytes, &mut left);
        })
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        if !self.is_here(table, key) {
            let bytes = self.txn.row_bytes(table);
            see(self.zeros(bytes));
            return Ok(Presence::Present);
        }
        self.show(Kind::ReadWhole, (table, key), |txn, enter| {
            txn.read_whole(table, key, &mut |bytes| {
                enter(bytes);
                see(bytes);
            })
        })
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        if !self.is_here(table, key) {
            return Ok(Presence::Present);
        }
        let presence = self.txn.replace(table, key, row)?;
        self.found(Kind::Replace, (table, key), Answer::of(presence, b""));
        Ok(presence)
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        if !self.is_here(table, key) {
            return Ok(Insertion::Inserted);
        }
        let insertion = self.txn.insert(table, key, row)?;
        self.found(Kind::Insert, (table, key), Answer::Inserted(insertion));
        Ok(insertion)
    }

    fn ahead(&mut self, table: TableId, keys: &[Key]) {
        let mut left = keys;
        while !left.is_empty() {
            let is_here = |key: &Key| self.is_here(table, *key);
            let first = is_here(&left[0]);
            let (keys, others) = left.split_at(left.iter().take_while(|key| is_here(key) == first).count());
            if first {
                self.txn.ahead(table, keys);
            }
            left = others;
        }
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        if !self.is_here(table, key) {
            return Ok(Presence::Present);
        }
        let presence = self.txn.delete(table, key)?;
        self.found(Kind::Delete, (table, key), Answer::of(presence, b""));
        Ok(presence)
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        self.txn.key(table, bytes)
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        let is_here = |prefix| self.txn.architecture.has(self.txn.partition_of_prefix(scan.table, prefix));
        if scan.within.is_some_and(|prefix| !is_here(prefix)) {
            return Ok(0);
        }
        let mut rows = Message::new();
        let shown = self.txn.scan(scan, &mut |key, row| {
            rows.row(key, row);
            see(key, row);
        })?;
        self.entries.begin_entry(Kind::Scan, scan.table, Named::Bytes(b""));
        self.entries.put(Answer::Rows(rows.bytes()));
        Ok(shown)
    }
}
