//! Payment (clause 2.5): a customer pays at a warehouse's district, mostly at home. The sums of the warehouse and the
//! district are the contended words, the warehouse's the most of all.

use super::inputs::PaymentInput;
use super::parts::{
    CustomerAccount, CustomerData, CustomerInfo, DistrictName, DistrictYtd, Part, WarehouseName,
    WarehouseYtd, add_among, change, change_seeing,
};
use super::rows::History;
use super::screens::PaymentScreen;
use super::stale::added;
use super::{CUSTOMER, HISTORY, WAREHOUSE, customers, keys, population, rows};
use contract::{Abort, Access, Key, Plan, Span, TableId, Transaction, TransactionExt};
use std::io::Write;

/// Makes a payment.
pub(super) fn run<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &PaymentInput,
) -> Result<PaymentScreen, Abort> {
    let amount = i64::from(input.amount);
    let warehouse = keys::warehouse(input.w_id);
    let add = |part: &mut WarehouseYtd| part.w_ytd = part.w_ytd.wrapping_add(amount);
    let ((), w): (_, WarehouseName) =
        change_seeing(txn, warehouse, add, WarehouseName::OFFSET)?.expect("loaded, and never deleted");
    let district = keys::district(input.w_id, input.d_id);
    let add = |part: &mut DistrictYtd| part.d_ytd = part.d_ytd.wrapping_add(amount);
    let ((), d): (_, DistrictName) =
        change_seeing(txn, district, add, DistrictName::OFFSET)?.expect("loaded, and never deleted");

    let c_id = customers::find(txn, input.c_w_id, input.c_d_id, &input.who)?;
    let c_id = c_id.expect("every district has a customer of every name");
    let customer = keys::customer(input.c_w_id, input.c_d_id, c_id);
    let pay = |account: &mut CustomerAccount| {
        account.c_balance = account.c_balance.wrapping_sub(amount);
        account.c_ytd_payment = account.c_ytd_payment.wrapping_add(amount);
        account.c_payment_cnt = account.c_payment_cnt.wrapping_add(1);
        *account
    };
    let (account, info): (_, CustomerInfo) =
        change_seeing(txn, customer, pay, CustomerInfo::OFFSET)?.expect("loaded, and never deleted");
    let c_data = if info.c_credit == *b"BC" { Some(note(txn, customer, input, c_id)?) } else { None };

    // In a fragment what is at the warehouse shows zeros.
    let is_elsewhere = w.w_name == [0; 10];
    let (w_name, d_name) =
        if is_elsewhere { population::names_of(input.w_id, input.d_id) } else { (w.w_name, d.d_name) };
    let history = History {
        h_date: input.date,
        h_amount: amount,
        h_c_id: c_id,
        h_c_d_id: input.c_d_id,
        h_c_w_id: input.c_w_id,
        h_d_id: input.d_id,
        h_w_id: input.w_id,
        h_data: two_names(&w_name, &d_name),
        unused: [0; 4],
    };
    let payment = keys::history(input.c_w_id, input.c_d_id, c_id, account.c_payment_cnt);
    added(txn.insert_row(HISTORY, payment, &history)?)?;

    Ok(PaymentScreen {
        w_address: w.w_address,
        d_address: d.d_address,
        c_id,
        c_first: info.c_first,
        c_middle: info.c_middle,
        c_last: info.c_last,
        c_address: info.c_address,
        c_phone: info.c_phone,
        c_since: info.c_since,
        c_credit: info.c_credit,
        c_credit_lim: info.c_credit_lim,
        c_discount: info.c_discount,
        c_balance: account.c_balance,
        c_data,
    })
}

/// The names of warehouse and district with four spaces between, without what fills the first up.
fn two_names(w_name: &[u8; 10], d_name: &[u8; 10]) -> [u8; 24] {
    let w_name = rows::text(w_name);
    let (mut text, d_first) = ([0; 24], w_name.len() + 4);
    text[..w_name.len()].copy_from_slice(w_name);
    text[w_name.len()..d_first].fill(b' ');
    text[d_first..d_first + d_name.len()].copy_from_slice(d_name);
    text
}

/// Notes a payment of bad credit to the left of what was noted before; what is shifted out is lost. The first 200 bytes.
fn note<T: Transaction + ?Sized>(
    txn: &mut T,
    customer: Key,
    input: &PaymentInput,
    c_id: u32,
) -> Result<[u8; 200], Abort> {
    let mut text = [0; 80];
    let room = text.len();
    let mut rest = &mut text[..];
    let PaymentInput { w_id, d_id, c_w_id, c_d_id, amount, .. } = *input;
    let (whole, cents) = (amount / 100, amount % 100);
    write!(rest, "{c_id} {c_d_id} {c_w_id} {d_id} {w_id} {whole}.{cents:02} ")
        .expect("six numbers of ten digits");
    let len = room - rest.len();
    let first = change(txn, customer, |part: &mut CustomerData| {
        part.c_data.copy_within(..500 - len, len);
        part.c_data[..len].copy_from_slice(&text[..len]);
        *part.c_data.first_chunk().expect("500 bytes")
    })?;
    Ok(first.expect("loaded, and never deleted"))
}

/// All, once the customer is known; and the partition, which the payment's row is in, too.
pub(super) fn plan<T: Transaction + ?Sized>(
    txn: &mut T,
    input: &PaymentInput,
    reconnaissance: bool,
    plan: &mut Plan,
) -> Result<(), Abort> {
    let whole = |upto: Span| Span::whole(upto.end());
    let warehouse = keys::warehouse(input.w_id);
    plan.touch(WarehouseYtd::TABLE, warehouse, whole(WarehouseName::span()), Access::Write);
    let district = keys::district(input.w_id, input.d_id);
    plan.touch(DistrictYtd::TABLE, district, whole(DistrictName::span()), Access::Write);
    let home = (input.c_w_id, input.c_d_id);
    if let Some(customer) = customers::plan(txn, plan, home, &input.who, reconnaissance)? {
        plan.touch(CUSTOMER, customer, whole(CustomerInfo::span()), Access::Write);
        let (w_id, d_id, c_id) = keys::of_customer(customer);
        plan.declare(HISTORY, keys::history(w_id, d_id, c_id, u32::MAX));
        add_among(plan, HISTORY, [0, u32::MAX].map(|payment| keys::history(w_id, d_id, c_id, payment)));
    }
    Ok(())
}

/// Where it runs in fragments: what it does to the customer depends on nothing at the warehouse but names, which never change. `at` is told.
pub(super) fn runs_in_fragments(input: &PaymentInput, at: &mut dyn FnMut(TableId, Key)) -> bool {
    at(WAREHOUSE, keys::warehouse(input.w_id));
    // Whoever it is: all of a district are in the warehouse's partition.
    at(CUSTOMER, keys::customer(input.c_w_id, input.c_d_id, 1));
    true
}

#[cfg(test)]
mod tests {
    use super::two_names;

    #[test]
    fn a_payments_text_is_two_names_and_four_spaces() {
        let text = two_names(b"WNAME6\0\0\0\0", b"DNAME77\0\0\0");
        assert_eq!(&text[..17], b"WNAME6    DNAME77");
        assert_eq!(text[17..], [0; 7]);
        assert_eq!(&two_names(b"0123456789", b"9876543210"), b"0123456789    9876543210");
    }
}
