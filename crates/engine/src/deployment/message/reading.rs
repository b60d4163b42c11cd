//! Messages as they are read. What comes is not trusted: bytes that are no message of ours are [`Malformed`].

use super::{Answer, Kind, Malformed, Message, Now, Operation, TELLS_ID, Vote, tag};
use crate::transaction::{LogPlace, Named};
use contract::{AbortReason, CommitId, Direction, Insertion, Key, Scan, Span, TableId};
use std::ops::Bound;

impl Message {
    /// Reads it from the beginning.
    pub(in crate::deployment) fn read(&self) -> Reading<'_> {
        Reading(&self.0)
    }

    /// Reads it from there.
    pub(in crate::deployment) fn read_from(&self, position: usize) -> Reading<'_> {
        Reading(&self.0[position..])
    }
}

/// What is left to be read of a message.
pub(in crate::deployment) struct Reading<'m>(&'m [u8]);

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
pub(in crate::deployment) fn rows(bytes: &[u8]) -> impl Iterator<Item = Result<(&[u8], &[u8]), Malformed>> {
    let mut left = Reading(bytes);
    std::iter::from_fn(move || (!left.0.is_empty()).then(|| Ok((left.string()?, left.string()?))))
}
