//! Filling a new index with the rows that its table has, while nobody else runs.

use crate::error::Error;
use crate::key;
use crate::registry::{Entry, KeptIndex};
use crate::store::Store;
use crate::walk::in_steps;
use contract::{Direction, Insertion, Scan, Span, TableId};
use engine::embedded::{Embedded, Slot};
use std::ops::Bound;

impl Store {
    /// Enters all rows of its table in a new index.
    pub(crate) fn fill(&mut self, id: TableId) -> Result<(), Error> {
        let registry = self.registry.clone();
        let (table, registered, index) = registry.index(id).expect("just made");
        if !registered.is_ordered {
            return match self.embedded().is_empty(table) {
                true => Ok(()),
                false => Err(Error::NotOrdered { table: registered.name.clone() }),
            };
        }
        self.with_slot(|slot| {
            in_steps(slot, table, &mut |slot, seen| {
                seen.iter().try_for_each(|(key, row)| match index.entry(&registered.name, key, row)? {
                    Some(entry) => enter(slot, index, &entry),
                    None => Ok(()),
                })
            })
        })
    }

    /// Borrows a slot, which goes back also if `run` panics. Nobody else has one.
    pub(crate) fn with_slot<R>(&mut self, run: impl FnOnce(&mut Slot) -> R) -> R {
        /// Gives it back.
        struct Borrowed<'e> {
            slot: Option<Slot>,
            embedded: &'e mut Embedded,
        }
        impl Drop for Borrowed<'_> {
            fn drop(&mut self) {
                self.embedded.take_back(self.slot.take().expect("until it is dropped"));
            }
        }
        let mut borrowed = Borrowed { slot: Some(self.embedded().lend(0)), embedded: self.embedded() };
        run(borrowed.slot.as_mut().expect("until it is dropped"))
    }
}

fn enter(slot: &mut Slot, index: &KeptIndex, Entry { bytes, own }: &Entry) -> Result<(), Error> {
    if index.is_unique {
        let to = key::after_all(bytes[..*own].to_vec());
        let scan = Scan {
            table: index.id,
            from: Bound::Included(&bytes[..*own]),
            to: to.as_ref().map_or(Bound::Unbounded, |to| Bound::Excluded(&to[..])),
            direction: Direction::Forward,
            limit: 1,
            span: Span::whole(0),
            within: None,
        };
        if slot.transaction().scan(&scan, &mut |_, _| ())? > 0 {
            return Err(Error::NotUnique { index: index.name.clone() });
        }
    }
    let key = slot.transaction().key(index.id, bytes);
    let _: Insertion = slot.transaction().insert(index.id, key, &[])?;
    Ok(())
}
