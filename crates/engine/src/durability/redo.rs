//! A slot's side of the log: the block that it fills.
//!
//! A slot appends what its transactions wrote to a block of its own, in the format of the file, and hands the block over when it is
//! full, and before it goes on to another epoch or rests. It touches nothing that others look at but then. Blocks come back from the
//! logger and are filled again.
//!
//! A slot that rests between any two transactions, because it is lent, would hand over a block for each. So it goes on with the block
//! that it handed over last, if the logger has not taken that yet and all of it is of the epoch in which the slot commits now: an
//! active slot's epoch is not complete, and no logger has marked it.
//!
//! A transaction is in one block, and so writes [`MOST_WRITTEN_BYTES`] at most.
//!
//! A slot whose logger is far behind waits before it begins another transaction, holding nothing; in the middle of one it takes
//! another block, so that nobody waits for a disk while holding locks.

use super::format::{BLOCK_HEADER_BYTES, MOST_PAYLOAD_BYTES, TRANSACTION_BYTES, Writer};
use super::log::Log;
use crate::facade::cpu;
use crate::facade::latched::Latched;
use contract::DurabilityCanary;

/// Bytes at which a block is handed over.
const FULL_BYTES: usize = 128 << 10;
/// Bytes of a block that is kept to be filled again.
const MOST_KEPT_BYTES: usize = 4 * FULL_BYTES;
/// Blocks that wait to be written before their slot does.
const MOST_WAITING: usize = 32;

/// Bytes that a transaction may write, each record as [`written_bytes`] says: what its slot has logged before is less than a full block.
pub const MOST_WRITTEN_BYTES: usize = MOST_PAYLOAD_BYTES - FULL_BYTES - TRANSACTION_BYTES;
/// Bytes of a record beside its key and its row, at most: its kind, its table, and lengths.
const RECORD_BYTES: usize = 3 + 2 + 4 + 4;

/// Bytes that a row, or a part of one, counts as which a transaction writes: as many as the log has of it, or some more.
pub const fn written_bytes(key_bytes: usize, row_bytes: usize) -> usize {
    RECORD_BYTES + key_bytes + row_bytes
}

/// Transactions of one slot, after room for the header.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Empty: the slot has none at hand.
    pub bytes: Vec<u8>,
    pub first_epoch: u64,
    pub last_epoch: u64,
}

impl Block {
    /// Bytes of its transactions.
    fn payload_bytes(&self) -> usize {
        self.bytes.len().saturating_sub(BLOCK_HEADER_BYTES)
    }
}

/// Where a slot and its logger exchange blocks.
#[derive(Default)]
pub(super) struct Mailbox {
    /// To be written, the oldest first.
    pub full: Vec<Block>,
    /// To be filled again.
    pub empty: Vec<Vec<u8>>,
}

impl Mailbox {
    /// Takes a block's memory back.
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() <= MOST_KEPT_BYTES && self.empty.len() < MOST_WAITING {
            self.empty.push(bytes);
        }
    }
}

/// What a slot logs.
pub(crate) struct Redo<'e> {
    log: &'e Log,
    mailbox: &'e Latched<Mailbox>,
    block: Block,
    /// In which the slot's transaction commits.
    epoch: u64,
    /// Of the transaction that is being logged: where it begins, and its records.
    open: Option<(usize, u32)>,
}

impl<'e> Redo<'e> {
    pub(super) fn new(log: &'e Log, mailbox: &'e Latched<Mailbox>) -> Self {
        Redo { log, mailbox, block: Block::default(), epoch: 0, open: None }
    }

    /// The slot's transaction, which is prepared, commits in this epoch if it does.
    #[inline]
    pub fn commits_in(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// In which epoch the slot's last transaction committed.
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// A step that is left out, for crash tests.
    pub fn canary(&self) -> Option<DurabilityCanary> {
        self.log.canary()
    }

    /// Appends to what transaction `id` has written.
    #[inline]
    pub fn append(&mut self, id: u64, append: impl FnOnce(&mut Writer<'_>)) {
        if self.block.bytes.is_empty() {
            self.take_block();
        }
        let payload = &mut self.block.bytes;
        let mut writer = match self.open {
            Some((from, records)) => Writer::go_on(payload, from, records),
            None => Writer::begin(payload, self.epoch, id),
        };
        append(&mut writer);
        self.open = Some(writer.state());
    }

    /// The slot's transaction has committed: nothing more is appended to it.
    #[inline]
    pub fn end(&mut self) {
        let Some((from, records)) = self.open.take() else { return };
        Writer::go_on(&mut self.block.bytes, from, records).end();
        assert!(
            self.block.payload_bytes() <= MOST_PAYLOAD_BYTES,
            "a transaction that writes more than {MOST_PAYLOAD_BYTES} bytes"
        );
        if self.block.first_epoch == 0 {
            self.block.first_epoch = self.epoch;
        }
        self.block.last_epoch = self.epoch;
        if self.block.payload_bytes() >= FULL_BYTES {
            self.hand_over();
        }
    }

    /// The slot's transaction has panicked while it was logged: nothing of it is.
    #[cold]
    pub fn break_off(&mut self) {
        if let Some((from, _)) = self.open.take() {
            self.block.bytes.truncate(from);
        }
    }

    /// The slot is about to go on to another epoch, or to rest: what it has logged goes to the logger.
    #[inline]
    pub fn before_epoch(&mut self) {
        if self.block.payload_bytes() > 0 {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        assert!(self.open.is_none(), "a transaction is handed over whole");
        let full = std::mem::take(&mut self.block);
        self.log.has_news_of(full.last_epoch);
        self.mailbox.with(|mailbox| mailbox.full.push(full));
    }

    /// For a transaction of `self.epoch`: the block that was handed over last, or one without transactions.
    #[cold]
    fn take_block(&mut self) {
        let epoch = self.epoch;
        let goes_on = |last: &mut Block| last.first_epoch == epoch && last.payload_bytes() < FULL_BYTES;
        self.block = self.mailbox.with(|mailbox| match mailbox.full.pop_if(goes_on) {
            Some(last) => last,
            None => Block { bytes: mailbox.empty.pop().unwrap_or_default(), ..Block::default() },
        });
        if self.block.first_epoch == 0 {
            self.block.bytes.reserve(FULL_BYTES + FULL_BYTES / 4);
            self.block.bytes.clear();
            self.block.bytes.resize(BLOCK_HEADER_BYTES, 0);
        }
    }

    /// Whether the logger is so far behind that the slot had better wait.
    #[inline]
    pub fn is_behind(&self) -> bool {
        // Only just after a block was handed over can it have become so.
        self.block.payload_bytes() == 0
            && !self.log.has_failed()
            && self.mailbox.with(|mailbox| mailbox.full.len() >= MOST_WAITING)
    }

    /// Accounts for copying so many bytes, where that is not seen.
    #[inline]
    pub fn work(bytes: usize) {
        cpu::work(20 + bytes as u64 / 16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::format::LoggedKey;
    use contract::Span;

    #[test]
    fn no_record_is_longer_than_it_counts() {
        for (key, key_bytes) in [(LoggedKey::Number([7; 8]), 8), (LoggedKey::String(&[7; 100]), 100)] {
            for row_bytes in [0, 1, 100, 1 << 17] {
                let span = Span::new(1 << 18, row_bytes);
                let writes: [&dyn Fn(&mut Writer<'_>); 3] = [
                    &|writer| writer.insert(9, key, row_bytes, |_| ()),
                    &|writer| writer.update(9, key, span, |_| ()),
                    &|writer| writer.delete(9, key),
                ];
                for write in writes {
                    let mut payload = Vec::new();
                    let mut writer = Writer::begin(&mut payload, 1, 1);
                    write(&mut writer);
                    writer.end();
                    assert!(payload.len() - TRANSACTION_BYTES <= written_bytes(key_bytes, row_bytes));
                }
            }
        }
    }
}
