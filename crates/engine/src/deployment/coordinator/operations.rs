//! What the procedure of a transaction with branches does: at home in place, elsewhere by the branch there.
//!
//! An update asks for the row, to be written, changes it here, and lets what became of it go with the next message. Where the branch has a fragment, all is read in its transcript
//! ([`super::fragments`]).

use super::{Distributed, Receipt};
use crate::deployment::message::{Answer, Kind, Operation, rows};
use crate::physical::Physical;
use crate::protocol::Protocol;
use crate::transaction::access::{Change, See};
use contract::{Abort, Direction, Insertion, Key, Merge, Presence, Scan, Span, TableId, Transaction};

/// Whether there was a row.
fn presence(answer: Answer<'_>) -> Presence {
    match answer {
        Answer::Present(_) => Presence::Present,
        Answer::Missing => Presence::Missing,
        other => unreachable!("{other:?} to an operation that finds a row or none"),
    }
}

impl<P: Protocol, F: Physical> Transaction for Distributed<'_, '_, P, F>
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
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.read(table, key, span, see)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let key = name.named();
                self.show(instance, Kind::Read, Operation::Read { table, key, span }, see)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.update(table, key, span, change)?,
            Some(instance) => {
                let nothing = Span::new(span.start(), 0);
                self.update_away(instance, (table, key), (span, change), (nothing, &mut |_| ()))?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    /// Away from home both parts come, and the changed one goes back.
    fn update_seeing(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
        shown: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.update_seeing(table, key, span, change, shown, see)?,
            Some(instance) => self.update_away(instance, (table, key), (span, change), (shown, see))?,
        };
        Ok(self.coordinator.finds(presence))
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.write(table, key, offset, bytes)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let operation = Operation::Write { table, key: name.named(), offset, bytes };
                self.find(instance, Kind::Write, operation).map(presence)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    /// Away from home it is an update: what was there before is locked, or validated.
    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let is_away = self.away(table, key).is_some();
        let receipt = if is_away {
            let start = self.coordinator.arguments.len();
            self.coordinator.arguments.extend_from_slice(argument);
            Receipt::Kept(start..start + argument.len())
        } else {
            let at_home = |receipt: &&Receipt| matches!(receipt, Receipt::Home(_));
            Receipt::Home(self.coordinator.receipts.iter().filter(at_home).count())
        };
        let presence = if is_away {
            let mut kept = argument.to_vec();
            let presence = self.update(table, key, span, &mut |bytes| merge(bytes, &mut kept))?;
            if let Receipt::Kept(range) = &receipt {
                self.coordinator.arguments[range.clone()].copy_from_slice(&kept);
            }
            presence
        } else {
            self.home.merge(table, key, span, merge, argument)?
        };
        if presence == Presence::Present {
            self.coordinator.receipts.push(receipt);
        }
        Ok(self.coordinator.finds(presence))
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.read_whole(table, key, see)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let key = name.named();
                self.show(instance, Kind::ReadWhole, Operation::ReadWhole { table, key }, see)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.replace(table, key, row)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let operation = Operation::Replace { table, key: name.named(), row };
                self.find(instance, Kind::Replace, operation).map(presence)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        self.alive()?;
        let insertion = match self.away(table, key) {
            None => self.home.insert(table, key, row)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let operation = Operation::Insert { table, key: name.named(), row };
                match self.find(instance, Kind::Insert, operation)? {
                    Answer::Inserted(insertion) => insertion,
                    other => unreachable!("{other:?} to an insert"),
                }
            }
        };
        Ok(self.coordinator.inserts(insertion))
    }

    /// What is elsewhere is nobody's here.
    fn ahead(&mut self, table: TableId, keys: &[Key]) {
        let mut left = keys;
        while !left.is_empty() {
            let is_here = |key: &Key| self.away(table, *key).is_none();
            let first = is_here(&left[0]);
            let (keys, others) = left.split_at(left.iter().take_while(|key| is_here(key) == first).count());
            if first {
                self.home.ahead(table, keys);
            }
            left = others;
        }
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        self.alive()?;
        let presence = match self.away(table, key) {
            None => self.home.delete(table, key)?,
            Some(instance) => {
                let name = self.home.name(table, key);
                let operation = Operation::Delete { table, key: name.named() };
                self.find(instance, Kind::Delete, operation).map(presence)?
            }
        };
        Ok(self.coordinator.finds(presence))
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        self.home.key(table, bytes)
    }

    /// Of several instances each shows as many rows as are asked for, and they are merged here.
    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        self.alive()?;
        let here = self.home.architecture.instance();
        let only = scan
            .within
            .map(|key| self.home.architecture.instance_of(self.home.partition_of_prefix(scan.table, key)));
        if only == Some(here) {
            return self.home.scan(scan, see);
        }
        let mut shown: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for instance in 0..self.home.architecture.instances() {
            if only.is_some_and(|only| only != instance) {
                continue;
            }
            if instance == here {
                let _: usize =
                    self.home.scan(scan, &mut |key, row| shown.push((key.to_vec(), row.to_vec())))?;
                continue;
            }
            match self.find(instance, Kind::Scan, Operation::Scan(*scan))? {
                Answer::Rows(bytes) => {
                    let all = rows(bytes).map(|row| row.expect("participants are of this engine"));
                    shown.extend(all.map(|(key, row)| (key.to_vec(), row.to_vec())));
                }
                other => unreachable!("{other:?} to a scan"),
            }
        }
        shown.sort_unstable_by(|(one, _), (other, _)| match scan.direction {
            Direction::Forward => one.cmp(other),
            Direction::Backward => other.cmp(one),
        });
        shown.truncate(scan.limit);
        for (key, row) in &shown {
            with_aligned(row, |row| see(key, row));
        }
        Ok(shown.len())
    }
}

impl<P: Protocol, F: Physical> Distributed<'_, '_, P, F>
where
    P::Common<F>: Sync,
{
    /// What an operation finds at another instance: what its fragment has found, or what the branch answers.
    fn find(&mut self, instance: usize, kind: Kind, operation: Operation<'_>) -> Result<Answer<'_>, Abort> {
        if self.coordinator.fragment(instance).is_some() {
            return self.replay(instance, kind, operation);
        }
        self.alive()?;
        if self.coordinator.has_fragments() {
            // It has said nothing of this one, where it could wait for somebody who waits for it elsewhere.
            return Err(self.coordinator.fragments_were_wrong());
        }
        self.ask(instance, operation)
    }

    /// The same of one that shows bytes of a row.
    fn show(
        &mut self,
        instance: usize,
        kind: Kind,
        operation: Operation<'_>,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let answer = self.find(instance, kind, operation)?;
        if let Answer::Present(bytes) = answer {
            with_aligned(bytes, see);
        }
        Ok(presence(answer))
    }

    /// Changes bytes of a row at another instance, and shows others as they were before. What becomes of the first it is told with the next
    /// message, unless it has done the same.
    fn update_away(
        &mut self,
        instance: usize,
        (table, key): (TableId, Key),
        (span, change): (Span, Change<'_>),
        (shown, see): (Span, See<'_>),
    ) -> Result<Presence, Abort> {
        let mut row = std::mem::take(&mut self.coordinator.row);
        let name = self.home.name(table, key);
        let key = name.named();
        let operation = Operation::ReadToWrite { table, key, span, shown };
        let read = self.show(instance, Kind::Update, operation, &mut |bytes| {
            row.clear();
            row.extend_from_slice(bytes);
        });
        if read == Ok(Presence::Present) {
            with_aligned(&row[span.length()..], see);
            row.truncate(span.length());
            aligned(&mut row, change);
            if self.coordinator.fragment(instance).is_none() {
                let operation = Operation::WriteBack { table, key, offset: span.start(), bytes: &row };
                self.coordinator.pending[instance].ask(operation);
            }
        }
        self.coordinator.row = row;
        read
    }
}

/// Shows bytes of a row as procedures expect them: aligned to eight.
fn with_aligned(bytes: &[u8], see: impl FnOnce(&[u8])) {
    if bytes.is_empty() || bytes.as_ptr().addr().is_multiple_of(size_of::<u64>()) {
        return see(bytes);
    }
    let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
    let aligned = &mut zerocopy::IntoBytes::as_mut_bytes(&mut words[..])[..bytes.len()];
    aligned.copy_from_slice(bytes);
    see(aligned);
}

/// The same to be changed. The allocator aligns so, where it has allocated at all.
fn aligned(bytes: &mut [u8], change: &mut dyn FnMut(&mut [u8])) {
    if bytes.as_ptr().addr().is_multiple_of(size_of::<u64>()) {
        return change(bytes);
    }
    let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
    let aligned = &mut zerocopy::IntoBytes::as_mut_bytes(&mut words[..])[..bytes.len()];
    aligned.copy_from_slice(bytes);
    change(aligned);
    bytes.copy_from_slice(aligned);
}
