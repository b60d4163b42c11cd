//! Who a customer is: by number, or by last name through the index (clauses 2.5.2.2, 2.6.2.2).
//!
//! Of n customers of a name in a district, in the order of their first names, the one at n / 2, rounded up, is meant. One scan
//! of their entries says how many there are and which it is.
//!
//! An architecture that must know ahead which keys are touched cannot know this one. *orthrus* 3.2 runs such a part of the
//! transaction ahead in reconnaissance (as Calvin does), and takes what it finds for an estimate: [`plan`] does so in the
//! plan's look. The transaction looks the name up again and relies on nothing else, so a stale estimate costs another plan
//! where keys must be declared, and a prefetch elsewhere. Without reconnaissance the plan names the partition, which the
//! customer's warehouse decides: enough where partitions are declared, and less work than the prefetch saves.

use super::CUSTOMER_BY_NAME;
use super::inputs::Who;
use super::keys::{self, NAME_KEY_BYTES};
use super::rows::Entry;
use contract::{Abort, Access, Direction, Key, Plan, Scan, Span, Transaction};
use std::ops::Bound;
use zerocopy::FromBytes;

/// More customers than share a last name in a district. The most frequent name is drawn 51 times for a district's customers;
/// a count beyond this is ten standard deviations away.
const MOST_NAMESAKES: usize = 128;

/// The customer's number. `None`: nobody has the name.
#[inline]
pub(super) fn find<T: Transaction + ?Sized>(
    txn: &mut T,
    w_id: u32,
    d_id: u32,
    who: &Who,
) -> Result<Option<u32>, Abort> {
    match who {
        Who::Id(c_id) => Ok(Some(*c_id)),
        Who::LastName(last) => find_by_name(txn, w_id, d_id, last),
    }
}

fn find_by_name<T: Transaction + ?Sized>(
    txn: &mut T,
    w_id: u32,
    d_id: u32,
    last: &[u8; 16],
) -> Result<Option<u32>, Abort> {
    let ends = keys::customers_named(w_id, d_id, last);
    let scan = of_name(&ends);
    let (mut c_ids, mut seen) = ([0u16; MOST_NAMESAKES], 0);
    let count = txn.scan(&scan, &mut |_, row| {
        let entry = Entry::ref_from_bytes(row).expect("an entry, aligned");
        if let Some(c_id) = c_ids.get_mut(seen) {
            *c_id = keys::of_customer(Key(entry.key)).2 as u16;
        }
        seen += 1;
    })?;
    assert!(count <= MOST_NAMESAKES, "{count} customers of one name in a district");
    Ok(count.div_ceil(2).checked_sub(1).map(|middle| u32::from(c_ids[middle])))
}

/// The entries of a name in a district, between these.
fn of_name([least, greatest]: &[[u8; NAME_KEY_BYTES]; 2]) -> Scan<'_> {
    Scan {
        table: CUSTOMER_BY_NAME,
        from: Bound::Included(least),
        to: Bound::Included(greatest),
        direction: Direction::Forward,
        limit: usize::MAX,
        span: Span::whole(size_of::<Entry>()),
        within: Some(Key::prefix_of(least)),
    }
}

/// What is known ahead of the customer: the key, or the partition in which it is found.
pub(super) fn plan<T: Transaction + ?Sized>(
    txn: &mut T,
    plan: &mut Plan,
    (w_id, d_id): (u32, u32),
    who: &Who,
    reconnaissance: bool,
) -> Result<Option<Key>, Abort> {
    if let Who::LastName(last) = who {
        let entry: [u8; NAME_KEY_BYTES] = keys::customer_by_name(w_id, d_id, last, &[0; 16], 0);
        plan.declare(CUSTOMER_BY_NAME, Key::prefix_of(&entry));
        plan.scan(&of_name(&keys::customers_named(w_id, d_id, last)), Access::Read);
        if !reconnaissance {
            plan.leave_open();
            return Ok(None);
        }
    }
    Ok(find(txn, w_id, d_id, who)?.map(|c_id| keys::customer(w_id, d_id, c_id)))
}
