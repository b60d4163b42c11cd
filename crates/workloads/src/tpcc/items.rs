//! Where New-Order finds an item. Nobody writes items, so it may be anywhere:
//!
//! - `replicated`: a copy of the table for each warehouse, in the warehouse's partition, as *hardware-islands* has a copy in
//!   every instance. No architecture has to go elsewhere; protocols protect the reads as any others.
//! - `shared`: one copy. The architectures that do not partition need no more, and it stays in the caches; the others take
//!   it to be in the first partition.
//! - `unprotected`: "none of our baselines perform any concurrency control on reads to Item table's rows" (*orthrus* 4.4).
//!   Here they are not the engine's rows at all, but an array that is made once: neither an index nor a lock is between. A
//!   simulated machine charges nothing for it, and the recorder of a checked run does not see it.

use super::parameters::ItemTable;
use super::parts::{self, ItemSale};
use super::text::is_original;
use super::{ITEM, ITEMS, Scale, UNUSED_ITEM, keys, population};
use contract::{Abort, Access, Key, Plan, Transaction};
use std::fmt;
use std::sync::OnceLock;

/// How items are read.
#[derive(Clone, Copy)]
pub(super) enum Items {
    Replicated,
    Shared,
    /// By `i_id`, less 1.
    Unprotected(&'static [ItemSale]),
}

/// What a customer is told of an item, and whether it is an original.
#[derive(Clone, Copy)]
pub(super) struct ItemTold {
    pub i_price: u32,
    pub i_name: [u8; 24],
    pub is_original: bool,
}

impl ItemTold {
    #[inline]
    fn of(item: &ItemSale) -> Self {
        ItemTold { i_price: item.i_price, i_name: item.i_name, is_original: is_original(&item.i_data) }
    }
}

/// Not item by item.
impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Items::Replicated => "Replicated",
            Items::Shared => "Shared",
            Items::Unprotected(_) => "Unprotected",
        })
    }
}

impl Items {
    pub(super) fn new(item: ItemTable, scale: Scale) -> Self {
        match item {
            ItemTable::Replicated => Items::Replicated,
            ItemTable::Shared => Items::Shared,
            ItemTable::Unprotected => Items::Unprotected(&unprotected()[..scale.items() as usize]),
        }
    }

    /// Copies of the table.
    pub(super) fn copies(self, warehouses: u32) -> u32 {
        if matches!(self, Items::Replicated) { warehouses } else { 1 }
    }

    /// What a warehouse's customer is told of an item, and whether it is an original; `None`: there is no such item.
    #[inline]
    pub(super) fn sell<T: Transaction + ?Sized>(
        self,
        txn: &mut T,
        w_id: u32,
        i_id: u32,
    ) -> Result<Option<ItemTold>, Abort> {
        match self {
            Items::Replicated => parts::read(txn, keys::item(w_id - 1, i_id), ItemTold::of),
            Items::Shared => parts::read(txn, keys::item(0, i_id), ItemTold::of),
            Items::Unprotected(items) => Ok(items.get(i_id as usize - 1).map(ItemTold::of)),
        }
    }

    /// Of the row that is read; `None`: it is none of the engine's.
    #[inline]
    pub(super) fn key(self, w_id: u32, i_id: u32) -> Option<Key> {
        match self {
            Items::Replicated => Some(keys::item(w_id - 1, i_id)),
            Items::Shared => Some(keys::item(0, i_id)),
            Items::Unprotected(_) => None,
        }
    }

    #[inline]
    pub(super) fn plan(self, w_id: u32, i_id: u32, plan: &mut Plan) {
        let Some(item) = self.key(w_id, i_id) else { return };
        if i_id == UNUSED_ITEM {
            // It is looked up as any other, and is not there.
            plan.declare(ITEM, item);
        } else {
            parts::touch::<ItemSale>(plan, item, Access::Read);
        }
    }
}

/// The items are the same in every database; a smaller one has the first of them.
fn unprotected() -> &'static [ItemSale] {
    static SALES: OnceLock<Box<[ItemSale]>> = OnceLock::new();
    SALES.get_or_init(|| {
        let sale = |i_id| {
            let item = population::item(keys::item(0, i_id));
            ItemSale { i_price: item.i_price, i_name: item.i_name, i_data: item.i_data }
        };
        (1..=ITEMS).map(sale).collect()
    })
}
