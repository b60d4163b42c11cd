//! What the five transactions are given, drawn whole before they run. Nothing in it is on the heap.

use super::{MOST_LINES, TransactionKind};

/// The input of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Clause 2.4.
    NewOrder(NewOrderInput),
    /// Clause 2.5.
    Payment(PaymentInput),
    /// Clause 2.6.
    OrderStatus(OrderStatusInput),
    /// Clause 2.7.
    Delivery(DeliveryInput),
    /// Clause 2.8.
    StockLevel(StockLevelInput),
}

impl Input {
    /// Which of the five it is for.
    pub const fn kind(&self) -> TransactionKind {
        match self {
            Input::NewOrder(_) => TransactionKind::NewOrder,
            Input::Payment(_) => TransactionKind::Payment,
            Input::OrderStatus(_) => TransactionKind::OrderStatus,
            Input::Delivery(_) => TransactionKind::Delivery,
            Input::StockLevel(_) => TransactionKind::StockLevel,
        }
    }
}

/// A customer orders some items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrderInput {
    /// The warehouse, 1 and up.
    pub w_id: u32,
    /// The district, 1 to 10.
    pub d_id: u32,
    /// The customer, 1 to 3000.
    pub c_id: u32,
    /// When, in transactions of the client.
    pub entry_d: u64,
    /// How many of the lines count.
    pub count: u8,
    /// The lines; see [`NewOrderInput::lines`].
    pub all: [LineInput; MOST_LINES],
}

impl NewOrderInput {
    /// The lines, 5 to 15. The last may name [`super::UNUSED_ITEM`]: then the transaction is to be rolled back.
    #[inline]
    pub fn lines(&self) -> &[LineInput] {
        &self.all[..usize::from(self.count)]
    }

    /// Appends it to bytes.
    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        into.extend([self.w_id, self.d_id, self.c_id].into_iter().flat_map(u32::to_le_bytes));
        into.extend(self.entry_d.to_le_bytes());
        for line in self.lines() {
            into.extend([line.i_id, line.supply_w_id].into_iter().flat_map(u32::to_le_bytes));
            into.push(line.quantity);
        }
    }

    /// What was encoded; `None`: the bytes are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let ([w_id, d_id, c_id], bytes) = numbers(bytes)?;
        let (entry_d, bytes) = bytes.split_first_chunk()?;
        let (mut all, mut count, mut left) = ([LineInput::default(); MOST_LINES], 0, bytes);
        while !left.is_empty() {
            let ([i_id, supply_w_id], rest) = numbers(left)?;
            let (quantity, rest) = rest.split_first()?;
            *all.get_mut(usize::from(count))? = LineInput { i_id, supply_w_id, quantity: *quantity };
            (count, left) = (count + 1, rest);
        }
        Some(NewOrderInput { w_id, d_id, c_id, entry_d: u64::from_le_bytes(*entry_d), count, all })
    }

    /// Whether all lines are supplied by the order's own warehouse: the column `o_all_local`.
    #[inline]
    pub fn is_local(&self) -> bool {
        self.lines().iter().all(|line| line.supply_w_id == self.w_id)
    }
}

/// The first numbers of bytes, and what is behind them.
fn numbers<const N: usize>(mut bytes: &[u8]) -> Option<([u32; N], &[u8])> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        let (first, rest) = bytes.split_first_chunk()?;
        (*number, bytes) = (u32::from_le_bytes(*first), rest);
    }
    Some((numbers, bytes))
}

/// A line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineInput {
    /// The item, 1 to 100,000.
    pub i_id: u32,
    /// The warehouse that supplies it.
    pub supply_w_id: u32,
    /// How many, 1 to 10.
    pub quantity: u8,
}

/// Who a customer is, within a district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By `c_id`.
    Id(u32),
    /// By last name, filled up with zeros: of those who have it, the middle one in the order of first names.
    LastName([u8; 16]),
}

/// A customer pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaymentInput {
    /// The warehouse that is paid.
    pub w_id: u32,
    /// The district that is paid.
    pub d_id: u32,
    /// The customer's warehouse.
    pub c_w_id: u32,
    /// The customer's district.
    pub c_d_id: u32,
    /// The customer.
    pub who: Who,
    /// How much, in cents: 1.00 to 5,000.00.
    pub amount: u32,
    /// When, in transactions of the client.
    pub date: u64,
}

impl PaymentInput {
    /// Appends it to bytes.
    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        let PaymentInput { w_id, d_id, c_w_id, c_d_id, who, amount, date } = self;
        into.extend([w_id, d_id, c_w_id, c_d_id, amount].into_iter().flat_map(|number| number.to_le_bytes()));
        into.extend(date.to_le_bytes());
        match who {
            Who::Id(c_id) => into.extend(c_id.to_le_bytes()),
            Who::LastName(last) => into.extend(last),
        }
    }

    /// What was encoded; `None`: the bytes are none.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let ([w_id, d_id, c_w_id, c_d_id, amount], bytes) = numbers(bytes)?;
        let (date, bytes) = bytes.split_first_chunk()?;
        let who = match <[u8; 4]>::try_from(bytes) {
            Ok(c_id) => Who::Id(u32::from_le_bytes(c_id)),
            Err(_) => Who::LastName(bytes.try_into().ok()?),
        };
        Some(PaymentInput { w_id, d_id, c_w_id, c_d_id, who, amount, date: u64::from_le_bytes(*date) })
    }
}

/// A customer asks for the last order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStatusInput {
    /// The customer's warehouse.
    pub w_id: u32,
    /// The customer's district.
    pub d_id: u32,
    /// The customer.
    pub who: Who,
}

/// Each district's oldest undelivered order is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryInput {
    /// The warehouse.
    pub w_id: u32,
    /// The carrier, 1 to 10.
    pub carrier_id: u8,
    /// When, in transactions of the client.
    pub delivery_d: u64,
}

/// How many items of a district's last twenty orders are low in stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockLevelInput {
    /// The warehouse.
    pub w_id: u32,
    /// The district.
    pub d_id: u32,
    /// What is low, 10 to 20.
    pub threshold: i32,
}
