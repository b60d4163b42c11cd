//! Verifying: does every index have exactly the entries of its table's rows, and can the log be read?

use crate::error::Error;
use crate::registry::KeptIndex;
use crate::store::Store;
use crate::walk::in_steps;
use contract::{Presence, TableId};
use engine::embedded::Slot;
use std::path::PathBuf;

/// What was found in order: what [`Database::verify`](crate::Database::verify) answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Tables whose rows were gone through.
    pub tables: usize,
    /// Their rows.
    pub rows: u64,
    /// Entries of their indexes.
    pub entries: u64,
    /// What could not be verified: indexes that nobody has opened, and those of hashed tables.
    pub unverified: Vec<String>,
    /// Bytes of the log's files that were read, with their checksums.
    pub log_bytes: u64,
    /// Files of the log that end in something that is no block, and at which byte: the process or the machine crashed while it was written, and
    /// nobody was told that it was durable.
    pub torn: Vec<(PathBuf, u64)>,
}

impl Store {
    /// Holds all indexes against their tables.
    pub(crate) fn verify(&mut self) -> Result<Verified, Error> {
        let mut verified = Verified::default();
        let registry = self.registry.clone();
        for (id, table) in registry.iter().filter(|(_, table)| table.index_of.is_none()) {
            let (open, others): (Vec<&KeptIndex>, Vec<&KeptIndex>) =
                table.indexes.iter().partition(|index| index.is_open() && table.is_ordered);
            verified.unverified.extend(others.into_iter().map(|index| index.name.clone()));
            if !table.is_ordered {
                continue;
            }
            verified.tables += 1;
            let (rows, entries) = self.with_slot(|slot| {
                let (rows, expected) = go_through(slot, id, &table.name, &open)?;
                for (index, expected) in open.iter().zip(&expected) {
                    let there = count(slot, index.id)?;
                    if there != *expected {
                        let why = format!("{there} entries for {expected} rows");
                        return Err(Error::Inconsistent { index: index.name.clone(), why });
                    }
                }
                Ok((rows, expected.iter().sum::<u64>()))
            })?;
            verified.rows += rows;
            verified.entries += entries;
        }
        Ok(verified)
    }
}

/// Goes through a table's rows; how many they are, and how many entries each of the indexes should have, all of which it has.
fn go_through(
    slot: &mut Slot,
    table: TableId,
    name: &str,
    indexes: &[&KeptIndex],
) -> Result<(u64, Vec<u64>), Error> {
    let (mut rows, mut expected) = (0, vec![0; indexes.len()]);
    in_steps(slot, table, &mut |slot, seen| {
        rows += seen.len() as u64;
        for (key, row) in seen {
            for (index, expected) in indexes.iter().zip(&mut expected) {
                let Some(entry) = index.entry(name, key, row)? else { continue };
                let in_index = slot.transaction().key(index.id, &entry.bytes);
                if slot.transaction().read_whole(index.id, in_index, &mut |_| ())? == Presence::Missing {
                    let why = format!("a row of table '{name}' has no entry");
                    return Err(Error::Inconsistent { index: index.name.clone(), why });
                }
                *expected += 1;
            }
        }
        Ok(())
    })?;
    Ok((rows, expected))
}

fn count(slot: &mut Slot, table: TableId) -> Result<u64, Error> {
    let mut count = 0;
    in_steps(slot, table, &mut |_, seen| {
        count += seen.len() as u64;
        Ok(())
    })?;
    Ok(count)
}
