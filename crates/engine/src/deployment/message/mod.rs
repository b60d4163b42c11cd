//! What coordinators and participants say to each other, in bytes.
//!
//! A coordinator's message is operations, one behind the other: any number that ask for nothing, and at most one that does, the last. A participant's is one answer, with
//! the number of its instance before it. Numbers are little-endian.
//!
//! | file | what |
//! |---|---|
//! | [`writing`] | how it becomes bytes |
//! | [`reading`] | how it is read of them |

mod reading;
mod writing;

use crate::transaction::{LogPlace, Named};
use contract::{Abort, AbortReason, CommitId, Insertion, Presence, Scan, Span, TableId};
pub(super) use reading::rows;

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

impl Operation<'_> {
    /// Whether it may write.
    pub fn writes(&self) -> bool {
        use Operation as O;
        match self {
            O::ReadToWrite { .. } | O::WriteBack { .. } | O::Write { .. } => true,
            O::Replace { .. } | O::Insert { .. } | O::Delete { .. } => true,
            O::Run(_) => unreachable!("a transcript tells"),
            O::Read { .. } | O::ReadWhole { .. } | O::Scan(_) => false,
            O::Lock | O::Prepare(_) | O::Commit(_) | O::Abort => false,
        }
    }
}

impl<'m> Operation<'m> {
    /// The table and the key of one that a transcript may have an entry of; scans have none.
    pub fn on(&self) -> (TableId, Named<'m>) {
        use Operation as O;
        match *self {
            O::Read { table, key, .. } | O::ReadWhole { table, key } => (table, key),
            O::ReadToWrite { table, key, .. } | O::WriteBack { table, key, .. } => (table, key),
            O::Write { table, key, .. } | O::Replace { table, key, .. } => (table, key),
            O::Insert { table, key, .. } | O::Delete { table, key } => (table, key),
            O::Scan(Scan { table, .. }) => (table, Named::Bytes(b"")),
            O::Run(_) | O::Lock | O::Prepare(_) | O::Commit(_) | O::Abort => {
                unreachable!("{self:?} is of no key")
            }
        }
    }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{Direction, Key};
    use std::ops::Bound;

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
