//! One of the five transactions with its input, and the client that issues them.

use super::generator::InputGenerator;
use super::inputs::{Input, NewOrderInput, PaymentInput};
use super::items::Items;
use super::screens::{DeliveryScreen, NewOrderScreen, OrderStatusScreen, PaymentScreen, StockLevelScreen};
use super::{TransactionKind, WAREHOUSE, delivery, keys, new_order, order_status, payment, stock_level};
use contract::telling::{tell, told};
use contract::{Abort, Client, Completion, Key, Outcome, Plan, Procedure, TableId, Transaction};
use std::cell::Cell;
use std::hint::black_box;

/// What a transaction's terminal would show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// Of New-Order; `None` if an item does not exist, and the transaction is to be rolled back.
    NewOrder(Option<NewOrderScreen>),
    /// Of Payment.
    Payment(PaymentScreen),
    /// Of Order-Status.
    OrderStatus(OrderStatusScreen),
    /// Of Delivery.
    Delivery(DeliveryScreen),
    /// Of Stock-Level.
    StockLevel(StockLevelScreen),
}

/// One of the five, drawn whole.
#[derive(Clone, Debug)]
pub struct TpccTransaction {
    input: Input,
    items: Items,
    reconnaissance: bool,
    /// Districts that had nothing to deliver, in its last run.
    skipped: Cell<u8>,
}

impl TpccTransaction {
    /// What it was drawn with.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Runs it, and gives what its terminal would show.
    pub fn show<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Screen, Abort> {
        Ok(match &self.input {
            Input::NewOrder(input) => Screen::NewOrder(new_order::run(txn, input, self.items)?),
            Input::Payment(input) => Screen::Payment(payment::run(txn, input)?),
            Input::OrderStatus(input) => Screen::OrderStatus(order_status::run(txn, input)?),
            Input::Delivery(input) => Screen::Delivery(delivery::run(txn, input)?),
            Input::StockLevel(input) => Screen::StockLevel(stock_level::run(txn, input)?),
        })
    }
}

impl Procedure for TpccTransaction {
    #[inline]
    fn kind(&self) -> usize {
        self.input.kind().index()
    }

    /// What would be shown is worked out, and nobody looks at it.
    fn run<T: Transaction + ?Sized>(&self, txn: &mut T) -> Result<Outcome, Abort> {
        match &self.input {
            Input::NewOrder(input) => {
                let screen = new_order::run(txn, input, self.items)?;
                if black_box(&screen).is_none() {
                    return Ok(Outcome::Rollback);
                }
            }
            Input::Payment(input) => {
                black_box(&payment::run(txn, input)?);
            }
            Input::OrderStatus(input) => {
                black_box(&order_status::run(txn, input)?);
            }
            Input::Delivery(input) => {
                let screen = delivery::run(txn, input)?;
                self.skipped.set(screen.o_ids.iter().filter(|o_id| **o_id == 0).count() as u8);
            }
            Input::StockLevel(input) => {
                black_box(&stock_level::run(txn, input)?);
            }
        }
        Ok(Outcome::Commit)
    }

    fn plan<T: Transaction + ?Sized>(&self, txn: &mut T, plan: &mut Plan) -> Result<(), Abort> {
        match &self.input {
            Input::NewOrder(input) => new_order::plan(input, self.items, plan),
            Input::Payment(input) => payment::plan(txn, input, self.reconnaissance, plan)?,
            Input::OrderStatus(input) => order_status::plan(txn, input, self.reconnaissance, plan)?,
            Input::Delivery(input) => delivery::plan(input, plan),
            Input::StockLevel(input) => stock_level::plan(input, plan),
        }
        Ok(())
    }

    /// The two that only read: the standard does not ask for more of them (clause 3.4.1).
    fn reads_snapshot(&self) -> bool {
        matches!(self.input, Input::OrderStatus(_) | Input::StockLevel(_))
    }

    /// A New-Order does, and a Payment.
    fn runs_in_fragments(&self, at: &mut dyn FnMut(TableId, Key)) -> bool {
        match &self.input {
            Input::NewOrder(input) => new_order::runs_in_fragments(input, self.items, at),
            Input::Payment(input) => payment::runs_in_fragments(input, at),
            _ => false,
        }
    }

    /// The warehouse of either: an order's lines take texts from stocks, and whoever pays is found where he is.
    fn home_of_fragments(&self) -> Option<(TableId, Key)> {
        match &self.input {
            Input::NewOrder(NewOrderInput { w_id, .. }) | Input::Payment(PaymentInput { w_id, .. }) => {
                Some((WAREHOUSE, keys::warehouse(*w_id)))
            }
            _ => None,
        }
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.push(self.input.kind().index() as u8);
        match &self.input {
            Input::NewOrder(input) => input.encode(into),
            Input::Payment(input) => input.encode(into),
            other => unreachable!("a {:?} does not run in fragments", other.kind()),
        }
    }
}

/// One worker's source of transactions: the terminals of its warehouses.
#[derive(Clone, Debug)]
pub struct TpccClient {
    inputs: InputGenerator,
    items: Items,
    reconnaissance: bool,
    committed: [u64; 5],
    rolled_back: u64,
    skipped: u64,
}

impl TpccClient {
    pub(super) fn new(inputs: InputGenerator, items: Items, reconnaissance: bool) -> Self {
        TpccClient { inputs, items, reconnaissance, committed: [0; 5], rolled_back: 0, skipped: 0 }
    }

    /// Transactions of a kind that have committed.
    pub fn committed(&self, kind: TransactionKind) -> u64 {
        self.committed[kind.index()]
    }

    /// New-Orders of an item that does not exist.
    pub fn rolled_back(&self) -> u64 {
        self.rolled_back
    }

    /// Districts for which a Delivery found nothing to deliver.
    pub fn skipped_deliveries(&self) -> u64 {
        self.skipped
    }
}

impl Client for TpccClient {
    type Procedure = TpccTransaction;

    fn kinds(&self) -> &'static [&'static str] {
        &TransactionKind::NAMES
    }

    #[inline]
    fn next(&mut self) -> TpccTransaction {
        let (items, reconnaissance) = (self.items, self.reconnaissance);
        TpccTransaction { input: self.inputs.next_input(), items, reconnaissance, skipped: Cell::new(0) }
    }

    #[inline]
    fn finished(&mut self, transaction: TpccTransaction, completion: &Completion<'_>) {
        match completion.outcome {
            Outcome::Commit => {
                self.committed[transaction.input.kind().index()] += 1;
                self.skipped += u64::from(transaction.skipped.get());
            }
            Outcome::Rollback => self.rolled_back += 1,
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<TpccTransaction> {
        let (items, reconnaissance) = (self.items, self.reconnaissance);
        let (kind, bytes) = bytes.split_first()?;
        let input = match TransactionKind::ALL.get(usize::from(*kind))? {
            TransactionKind::NewOrder => Input::NewOrder(NewOrderInput::decode(bytes)?),
            TransactionKind::Payment => Input::Payment(PaymentInput::decode(bytes)?),
            _ => return None,
        };
        Some(TpccTransaction { input, items, reconnaissance, skipped: Cell::new(0) })
    }

    fn tell(&self, into: &mut Vec<u8>) {
        tell(&(self.committed, self.rolled_back, self.skipped), into);
    }

    fn hear(&mut self, heard: &[u8]) -> Option<()> {
        (self.committed, self.rolled_back, self.skipped) = told(heard)?;
        Some(())
    }
}
