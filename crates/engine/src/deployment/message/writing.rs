//! Messages as they are put together: operations, one behind the other; an answer; the entries of a transcript ([`crate::deployment::fragment`]).

use super::{Answer, Kind, Message, Now, Operation, TELLS_ID, Vote, tag};
use crate::transaction::{LogPlace, Named};
use contract::{CommitId, Direction, Insertion, Key, Scan, Span, TableId};
use std::ops::Bound;

impl Message {
    /// Adds an operation.
    pub(in crate::deployment) fn ask(&mut self, operation: Operation<'_>) {
        use Operation as O;
        match operation {
            O::Read { table, key, span } => self.head(tag::READ, table, key).span(span),
            O::ReadWhole { table, key } => self.head(tag::READ_WHOLE, table, key),
            O::ReadToWrite { table, key, span, shown } => {
                self.head(tag::READ_TO_WRITE, table, key).span(span).span(shown)
            }
            O::WriteBack { table, key, offset, bytes } => {
                self.head(tag::WRITE_BACK, table, key).number(offset as u64).string(bytes)
            }
            O::Write { table, key, offset, bytes } => {
                self.head(tag::WRITE, table, key).number(offset as u64).string(bytes)
            }
            O::Replace { table, key, row } => self.head(tag::REPLACE, table, key).string(row),
            O::Insert { table, key, row } => self.head(tag::INSERT, table, key).string(row),
            O::Delete { table, key } => self.head(tag::DELETE, table, key),
            O::Scan(scan) => self.scan(&scan),
            O::Run(procedure) => self.byte(tag::RUN).string(procedure),
            O::Lock => self.byte(tag::LOCK),
            O::Prepare(None) => self.byte(tag::PREPARE),
            O::Prepare(Some(CommitId(id))) => self.byte(tag::PREPARE_AS).number(id),
            O::Commit(LogPlace { id, epoch }) => {
                self.byte(tag::COMMIT).byte(u8::from(id.is_some()));
                self.number(id.map_or(0, |CommitId(id)| id)).number(epoch)
            }
            O::Abort => self.byte(tag::ABORT),
        };
    }

    /// Becomes an answer of an instance.
    pub(in crate::deployment) fn answer(&mut self, instance: usize, told: Now, answer: Answer<'_>) {
        self.clear();
        match told.last_id {
            None => self.number(instance as u64).number(told.epoch),
            Some(CommitId(id)) => self.number(instance as u64 | TELLS_ID).number(told.epoch).number(id),
        };
        self.put(answer);
    }

    /// Adds what an operation was, and on what; what it found comes behind.
    pub(in crate::deployment) fn begin_entry(&mut self, kind: Kind, table: TableId, key: Named<'_>) {
        self.head(kind as u8, table, key);
    }

    /// Forgets what is behind so many bytes.
    pub(in crate::deployment) fn cut(&mut self, bytes: usize) {
        self.0.truncate(bytes);
    }

    /// Adds bytes that are to be filled, for one thing and for another.
    pub(in crate::deployment) fn add_two(&mut self, one: usize, other: usize) -> (&mut [u8], &mut [u8]) {
        let start = self.0.len();
        self.0.resize(start + one + other, 0);
        self.0[start..].split_at_mut(one)
    }

    /// Adds that there is a row, and bytes of two parts of it that are to be filled.
    pub(in crate::deployment) fn put_present(&mut self, one: usize, other: usize) -> (&mut [u8], &mut [u8]) {
        self.byte(tag::PRESENT).number((one + other) as u64);
        self.add_two(one, other)
    }

    /// Adds an answer.
    pub(in crate::deployment) fn put(&mut self, answer: Answer<'_>) {
        match answer {
            Answer::Aborted(reason) => self.byte(tag::ABORTED).byte(reason.index() as u8),
            Answer::Missing => self.byte(tag::MISSING),
            Answer::Present(bytes) => self.byte(tag::PRESENT).string(bytes),
            Answer::Inserted(Insertion::Inserted) => self.byte(tag::INSERTED),
            Answer::Inserted(Insertion::Exists) => self.byte(tag::EXISTS),
            Answer::Rows(rows) => self.byte(tag::ROWS).string(rows),
            Answer::Locked => self.byte(tag::LOCKED),
            Answer::Votes(Vote::Prepared) => self.byte(tag::PREPARED),
            Answer::Votes(Vote::ReadOnly) => self.byte(tag::READ_ONLY),
            Answer::Ran { has_voted: false, transcript } => self.byte(tag::RAN).string(transcript),
            Answer::Ran { has_voted: true, transcript } => self.byte(tag::RAN_AND_VOTED).string(transcript),
        };
    }

    /// Adds a row to those of a scan.
    pub(in crate::deployment) fn row(&mut self, key: &[u8], row: &[u8]) {
        self.string(key).string(row);
    }

    fn byte(&mut self, byte: u8) -> &mut Self {
        self.0.push(byte);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn string(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn span(&mut self, span: Span) -> &mut Self {
        self.number(u64::from(span.offset) << 32 | u64::from(span.len))
    }

    fn head(&mut self, tag: u8, TableId(table): TableId, key: Named<'_>) -> &mut Self {
        self.byte(tag).number(u64::from(table));
        match key {
            Named::Number(Key(key)) => self.byte(tag::NUMBER).number(key),
            Named::Bytes(bytes) => self.byte(tag::BYTES).string(bytes),
        }
    }

    fn scan(&mut self, scan: &Scan<'_>) -> &mut Self {
        self.byte(tag::SCAN).number(u64::from(scan.table.0));
        for bound in [scan.from, scan.to] {
            match bound {
                Bound::Unbounded => self.byte(tag::UNBOUNDED),
                Bound::Included(bytes) => self.byte(tag::INCLUDED).string(bytes),
                Bound::Excluded(bytes) => self.byte(tag::EXCLUDED).string(bytes),
            };
        }
        self.byte(u8::from(scan.direction == Direction::Backward)).number(scan.limit as u64).span(scan.span);
        match scan.within {
            None => self.byte(0),
            Some(Key(key)) => self.byte(1).number(key),
        }
    }
}
