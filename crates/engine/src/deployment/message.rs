//! What coordinators and participants say to each other, in bytes.
//!
//! A coordinator's message is operations, one behind the other: any number that ask for nothing, and at most one that does, the last. A participant's is one answer, with
//! the number of its instance before it. Numbers are little-endian.

use crate::transaction::{LogPlace, Named};
use contract::{Abort, AbortReason, CommitId, Direction, Insertion, Key, Presence, Scan, Span, TableId};
use std::ops::Bound;

/// Bytes that are put together, or that have come.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

/// What a coordinator asks of a branch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation<'m> {
    /// Bytes of a row.
    Read { table: TableId, key: Named<'m>, span: Span },
    /// A row.
    ReadWhole { table: TableId, key: Named<'m> },
    /// Bytes of a row that will be written, and others behind them that are only seen.
    ReadToWrite { table: TableId, key: Named<'m>, span: Span, shown: Span },
    /// What became of them. Asks for nothing.
    WriteBack { table: TableId, key: Named<'m>, offset: usize, bytes: &'m [u8] },
    /// A blind write.
    Write { table: TableId, key: Named<'m>, offset: usize, bytes: &'m [u8] },
    /// A row in the place of another.
    Replace { table: TableId, key: Named<'m>, row: &'m [u8] },
    /// A new row.
    Insert { table: TableId, key: Named<'m>, row: &'m [u8] },
    /// No row.
    Delete { table: TableId, key: Named<'m> },
    /// The instance's rows of a range.
    Scan(Scan<'m>),
    /// A fragment of a transaction, which is this procedure.
    Run(&'m [u8]),
    /// Lock what was written, where it is not locked yet.
    Lock,
    /// Vote. Between processes with the transaction's id, if it has one.
    Prepare(Option<CommitId>),
    /// The transaction commits, and stands there in the log. Asks for nothing.
    Commit(LogPlace),
    /// The transaction aborts. Asks for nothing.
    Abort,
}

/// What an operation was that a transcript has an entry of ([`super::fragment`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    ReadWhole,
    Update,
    Write,
    Replace,
    Insert,
    Delete,
    Scan,
}

/// How a branch votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vote {
    /// It can commit, and waits for the decision.
    Prepared,
    /// It has only read, has committed, and is gone.
    ReadOnly,
}

/// What a participant answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer<'m> {
    /// The branch has aborted, and is gone.
    Aborted(AbortReason),
    /// No row.
    Missing,
    /// A row, and the bytes of it that were asked for.
    Present(&'m [u8]),
    /// Of an insert.
    Inserted(Insertion),
    /// Rows of a scan: their bytes, to be read by [`rows`].
    Rows(&'m [u8]),
    /// What was written is locked.
    Locked,
    /// The branch's vote.
    Votes(Vote),
    /// A fragment has run, and whether the branch has voted with it. Its transcript.
    Ran { has_voted: bool, transcript: &'m [u8] },
}

/// What an answer tells of its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Now {
    /// In which its transactions commit.
    pub epoch: u64,
    /// Between processes, if transactions have ids: none that was drawn there is larger.
    pub last_id: Option<CommitId>,
}

/// Beside an instance's number: an id follows.
const TELLS_ID: u64 = 1 << 63;

/// Bytes that are no message of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

mod tag {
    pub const READ: u8 = 0;
    pub const READ_WHOLE: u8 = 1;
    pub const READ_TO_WRITE: u8 = 2;
    pub const WRITE_BACK: u8 = 3;
    pub const WRITE: u8 = 4;
    pub const REPLACE: u8 = 5;
    pub const INSERT: u8 = 6;
    pub const DELETE: u8 = 7;
    pub const SCAN: u8 = 8;
    pub const LOCK: u8 = 9;
    pub const PREPARE: u8 = 10;
    pub const COMMIT: u8 = 11;
    pub const ABORT: u8 = 12;
    pub const RUN: u8 = 13;
    pub const PREPARE_AS: u8 = 14;

    pub const ABORTED: u8 = 0;
    pub const MISSING: u8 = 1;
    pub const PRESENT: u8 = 2;
    pub const INSERTED: u8 = 3;
    pub const EXISTS: u8 = 4;
    pub const ROWS: u8 = 5;
    pub const LOCKED: u8 = 6;
    pub const PREPARED: u8 = 7;
    pub const READ_ONLY: u8 = 8;
    pub const RAN: u8 = 9;
    pub const RAN_AND_VOTED: u8 = 10;

    pub const UNBOUNDED: u8 = 0;
    pub const INCLUDED: u8 = 1;
    pub const EXCLUDED: u8 = 2;

    pub const NUMBER: u8 = 0;
    pub const BYTES: u8 = 1;
}

impl Message {
    /// An empty one with room for short ones.
    pub fn new() -> Self {
        Message(Vec::with_capacity(512))
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What others put them into.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// Forgets them, keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes these for its own.
    pub fn become_copy_of(&mut self, bytes: &[u8]) {
        self.0.clear();
        self.0.extend_from_slice(bytes);
    }

    /// Adds an operation.
    pub(super) fn ask(&mut self, operation: Operation<'_>) {
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
    pub(super) fn answer(&mut self, instance: usize, told: Now, answer: Answer<'_>) {
        self.clear();
        match told.last_id {
            None => self.number(instance as u64).number(told.epoch),
            Some(CommitId(id)) => self.number(instance as u64 | TELLS_ID).number(told.epoch).number(id),
        };
        self.put(answer);
    }

    /// Adds what an operation was, and on what; what it found comes behind.
    pub(super) fn begin_entry(&mut self, kind: Kind, table: TableId, key: Named<'_>) {
        self.head(kind as u8, table, key);
    }

    /// Forgets what is behind so many bytes.
    pub(super) fn cut(&mut self, bytes: usize) {
        self.0.truncate(bytes);
    }

    /// Adds bytes that are to be filled, for one thing and for another.
    pub(super) fn add_two(&mut self, one: usize, other: usize) -> (&mut [u8], &mut [u8]) {
        let start = self.0.len();
        self.0.resize(start + one + other, 0);
        self.0[start..].split_at_mut(one)
    }

    /// Adds that there is a row, and bytes of two parts of it that are to be filled.
    pub(super) fn put_present(&mut self, one: usize, other: usize) -> (&mut [u8], &mut [u8]) {
        self.byte(tag::PRESENT).number((one + other) as u64);
        self.add_two(one, other)
    }

    /// Adds an answer.
    pub(super) fn put(&mut self, answer: Answer<'_>) {
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
    pub(super) fn row(&mut self, key: &[u8], row: &[u8]) {
        self.string(key).string(row);
    }

    /// Reads it from the beginning.
    pub(super) fn read(&self) -> Reading<'_> {
        Reading(&self.0)
    }

    /// Reads it from there.
    pub(super) fn read_from(&self, position: usize) -> Reading<'_> {
        Reading(&self.0[position..])
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

/// What is left to be read of a message.
pub(super) struct Reading<'m>(&'m [u8]);

impl<'m> Reading<'m> {
    /// The next operation; `None`: there is none.
    pub fn operation(&mut self) -> Result<Option<Operation<'m>>, Malformed> {
        use Operation as O;
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.byte()?;
        Ok(Some(match tag {
            tag::SCAN => O::Scan(self.scan()?),
            tag::RUN => O::Run(self.string()?),
            tag::LOCK => O::Lock,
            tag::PREPARE => O::Prepare(None),
            tag::PREPARE_AS => O::Prepare(Some(CommitId(self.number()?))),
            tag::COMMIT => {
                let (has_id, id, epoch) = (self.byte()? != 0, self.number()?, self.number()?);
                O::Commit(LogPlace { id: has_id.then_some(CommitId(id)), epoch })
            }
            tag::ABORT => O::Abort,
            _ => {
                let (table, key) = (self.table()?, self.key()?);
                match tag {
                    tag::READ => O::Read { table, key, span: self.span()? },
                    tag::READ_WHOLE => O::ReadWhole { table, key },
                    tag::READ_TO_WRITE => {
                        O::ReadToWrite { table, key, span: self.span()?, shown: self.span()? }
                    }
                    tag::WRITE_BACK => {
                        O::WriteBack { table, key, offset: self.length()?, bytes: self.string()? }
                    }
                    tag::WRITE => O::Write { table, key, offset: self.length()?, bytes: self.string()? },
                    tag::REPLACE => O::Replace { table, key, row: self.string()? },
                    tag::INSERT => O::Insert { table, key, row: self.string()? },
                    tag::DELETE => O::Delete { table, key },
                    _ => return Err(Malformed),
                }
            }
        }))
    }

    /// Who answers, and what that tells of it.
    fn answer_head(&mut self) -> Result<(usize, Now), Malformed> {
        let (instance, epoch) = (self.number()?, self.number()?);
        let last_id = if instance & TELLS_ID == 0 { None } else { Some(CommitId(self.number()?)) };
        let instance = usize::try_from(instance & !TELLS_ID).map_err(|_| Malformed)?;
        Ok((instance, Now { epoch, last_id }))
    }

    /// What an answer tells of its instance.
    pub fn now(mut self) -> Result<Now, Malformed> {
        self.answer_head().map(|(_, now)| now)
    }

    /// An answer, and the instance that gave it.
    pub fn answer(mut self) -> Result<(usize, Answer<'m>), Malformed> {
        let (instance, _) = self.answer_head()?;
        let answer = self.found()?;
        self.0.is_empty().then_some((instance, answer)).ok_or(Malformed)
    }

    /// Of the next entry of a transcript, the bytes that say what the operation was, and those that say what it found; `None`: it is of another operation, or there is
    /// none.
    pub fn entry(
        mut self,
        kind: Kind,
        table: TableId,
        key: Named<'_>,
    ) -> Result<Option<(usize, usize)>, Malformed> {
        let all = self.0.len();
        if all == 0 || self.byte()? != kind as u8 || self.table()? != table || self.key()? != key {
            return Ok(None);
        }
        let behind_head = self.0.len();
        let _ = self.found()?;
        Ok(Some((all - behind_head, behind_head - self.0.len())))
    }

    /// What an operation found.
    pub fn found(&mut self) -> Result<Answer<'m>, Malformed> {
        Ok(match self.byte()? {
            tag::ABORTED => {
                let reason = AbortReason::ALL.get(usize::from(self.byte()?));
                Answer::Aborted(*reason.ok_or(Malformed)?)
            }
            tag::MISSING => Answer::Missing,
            tag::PRESENT => Answer::Present(self.string()?),
            tag::INSERTED => Answer::Inserted(Insertion::Inserted),
            tag::EXISTS => Answer::Inserted(Insertion::Exists),
            tag::ROWS => Answer::Rows(self.string()?),
            tag::LOCKED => Answer::Locked,
            tag::PREPARED => Answer::Votes(Vote::Prepared),
            tag::READ_ONLY => Answer::Votes(Vote::ReadOnly),
            tag::RAN => Answer::Ran { has_voted: false, transcript: self.string()? },
            tag::RAN_AND_VOTED => Answer::Ran { has_voted: true, transcript: self.string()? },
            _ => return Err(Malformed),
        })
    }

    fn take(&mut self, bytes: usize) -> Result<&'m [u8], Malformed> {
        let (taken, left) = self.0.split_at_checked(bytes).ok_or(Malformed)?;
        self.0 = left;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        let bytes = self.take(size_of::<u64>())?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn length(&mut self) -> Result<usize, Malformed> {
        usize::try_from(self.number()?).map_err(|_| Malformed)
    }

    fn string(&mut self) -> Result<&'m [u8], Malformed> {
        let length = self.length()?;
        self.take(length)
    }

    fn span(&mut self) -> Result<Span, Malformed> {
        let both = self.number()?;
        Ok(Span { offset: (both >> 32) as u32, len: both as u32 })
    }

    fn table(&mut self) -> Result<TableId, Malformed> {
        u16::try_from(self.number()?).map(TableId).map_err(|_| Malformed)
    }

    fn key(&mut self) -> Result<Named<'m>, Malformed> {
        match self.byte()? {
            tag::NUMBER => Ok(Named::Number(Key(self.number()?))),
            tag::BYTES => Ok(Named::Bytes(self.string()?)),
            _ => Err(Malformed),
        }
    }

    fn bound(&mut self) -> Result<Bound<&'m [u8]>, Malformed> {
        match self.byte()? {
            tag::UNBOUNDED => Ok(Bound::Unbounded),
            tag::INCLUDED => Ok(Bound::Included(self.string()?)),
            tag::EXCLUDED => Ok(Bound::Excluded(self.string()?)),
            _ => Err(Malformed),
        }
    }

    fn scan(&mut self) -> Result<Scan<'m>, Malformed> {
        let (table, from, to) = (self.table()?, self.bound()?, self.bound()?);
        let direction = if self.byte()? == 0 { Direction::Forward } else { Direction::Backward };
        let (limit, span) = (self.length()?, self.span()?);
        let within = match self.byte()? {
            0 => None,
            _ => Some(Key(self.number()?)),
        };
        Ok(Scan { table, from, to, direction, limit, span, within })
    }
}

/// The rows of a scan, each with its key.
pub(super) fn rows(bytes: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8]), Malformed>> {
    let mut left = Reading(bytes);
    std::iter::from_fn(move || (!left.0.is_empty()).then(|| Ok((left.string()?, left.string()?))))
}

impl Answer<'_> {
    /// Of an operation that finds a row or none.
    pub fn of(presence: Presence, bytes: &[u8]) -> Answer<'_> {
        match presence {
            Presence::Present => Answer::Present(bytes),
            Presence::Missing => Answer::Missing,
        }
    }
}

impl From<Abort> for Answer<'_> {
    fn from(Abort(reason): Abort) -> Self {
        Answer::Aborted(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(message: &Message) -> Result<Vec<String>, Malformed> {
        let (mut reading, mut operations) = (message.read(), Vec::new());
        while let Some(operation) = reading.operation()? {
            operations.push(format!("{operation:?}"));
        }
        Ok(operations)
    }

    #[test]
    fn operations_are_read_as_they_were_written_and_nothing_less_is() {
        let (table, span, row) = (TableId(3), Span::new(8, 5), &b"a row"[..]);
        let (key, bytes) = (Named::Number(Key(u64::MAX)), Named::Bytes(b"k"));
        let scan = Scan {
            table,
            from: Bound::Included(b"a"),
            to: Bound::Excluded(b"bc"),
            direction: Direction::Backward,
            limit: usize::MAX,
            span,
            within: Some(Key(4)),
        };
        let whole = Scan { from: Bound::Unbounded, direction: Direction::Forward, within: None, ..scan };
        let operations = [
            Operation::Read { table, key, span },
            Operation::ReadWhole { table, key: bytes },
            Operation::ReadToWrite { table, key, span, shown: Span::new(40, 3) },
            Operation::WriteBack { table, key, offset: 8, bytes: row },
            Operation::Write { table, key: bytes, offset: 0, bytes: b"" },
            Operation::Replace { table, key, row },
            Operation::Insert { table, key, row },
            Operation::Delete { table, key },
            Operation::Scan(scan),
            Operation::Scan(whole),
            Operation::Run(row),
            Operation::Run(b""),
            Operation::Lock,
            Operation::Prepare(None),
            Operation::Prepare(Some(CommitId(3))),
            Operation::Commit(LogPlace { id: None, epoch: 0 }),
            Operation::Commit(LogPlace { id: Some(CommitId(u64::MAX)), epoch: 7 }),
            Operation::Abort,
        ];
        let mut all = Message::new();
        for operation in operations {
            all.ask(operation);
            let mut one = Message::new();
            one.ask(operation);
            for length in 1..one.bytes().len() {
                let mut part = Message::new();
                part.become_copy_of(&one.bytes()[..length]);
                assert_eq!(shown(&part), Err(Malformed), "{length} bytes of {operation:?}");
            }
        }
        let written: Vec<String> = operations.iter().map(|operation| format!("{operation:?}")).collect();
        assert_eq!(shown(&all), Ok(written));
        all.become_copy_of(&[200]);
        assert_eq!(shown(&all), Err(Malformed));
    }

    #[test]
    fn answers_are_read_as_they_were_written() {
        let mut shown_rows = Message::new();
        shown_rows.row(b"key", b"");
        shown_rows.row(b"", b"row");
        let answers = [
            Answer::Aborted(AbortReason::Phantom),
            Answer::Missing,
            Answer::Present(b"row"),
            Answer::Inserted(Insertion::Inserted),
            Answer::Inserted(Insertion::Exists),
            Answer::Rows(shown_rows.bytes()),
            Answer::Locked,
            Answer::Votes(Vote::Prepared),
            Answer::Votes(Vote::ReadOnly),
            Answer::Ran { has_voted: false, transcript: b"entries" },
            Answer::Ran { has_voted: true, transcript: b"" },
        ];
        let mut message = Message::new();
        for answer in answers {
            for last_id in [None, Some(CommitId(u64::MAX))] {
                let told = Now { epoch: 5, last_id };
                message.answer(7, told, answer);
                let (instance, read) = message.read().answer().expect("an answer");
                assert_eq!((instance, format!("{read:?}")), (7, format!("{answer:?}")));
                assert_eq!(message.read().now(), Ok(told));
            }
        }
        let both: Result<Vec<_>, _> = rows(shown_rows.bytes()).collect();
        assert_eq!(both, Ok(vec![(&b"key"[..], &b""[..]), (&b""[..], &b"row"[..])]));
        let (table, key) = (TableId(2), Named::Number(Key(9)));
        message.clear();
        message.begin_entry(Kind::Update, table, key);
        let start = message.bytes().len();
        message.put(Answer::Present(b"a first look"));
        message.cut(start);
        message.put(Answer::Present(b"row"));
        let whole = message.bytes().len();
        let entry = |kind, table, key| message.read_from(0).entry(kind, table, key).expect("an entry");
        assert_eq!(entry(Kind::Update, table, key), Some((start, whole - start)));
        assert!(matches!(message.read_from(start).found(), Ok(Answer::Present(b"row"))));
        assert!(entry(Kind::Read, table, key).is_none());
        assert!(entry(Kind::Update, TableId(3), key).is_none());
        assert!(entry(Kind::Update, table, Named::Bytes(b"9")).is_none());
        assert!(message.read_from(whole).entry(Kind::Update, table, key).expect("nothing").is_none());
        message.become_copy_of(b"short");
        assert!(message.read().answer().is_err());
    }
}
