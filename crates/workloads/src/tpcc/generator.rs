//! Draws the inputs of a client's transactions (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1).

use super::deck::{Deck, TransactionKind};
use super::inputs::{
    DeliveryInput, Input, LineInput, NewOrderInput, OrderStatusInput, PaymentInput, StockLevelInput, Who,
};
use super::nurand::Uneven;
use super::parameters::{Home, TpccParameters};
use super::population::LOADED;
use super::{DISTRICTS, MOST_LINES, Scale, UNUSED_ITEM, names};
use crate::random::{Chance, generator};
use contract::Seat;
use fastrand::Rng;

/// The least lines of an order.
const LEAST_LINES: usize = 5;

/// One worker's source of inputs.
///
/// Its transactions begin in its own warehouses: of `warehouses` those that have its place among the workers, or, if there are
/// fewer warehouses than workers, one that it shares. With as many partitions as workers, they lie in its home partition.
#[derive(Clone, Debug)]
pub struct InputGenerator {
    rng: Rng,
    deck: Deck,
    uneven: Uneven,
    warehouses: u32,
    /// The warehouses of the client: `first`, and every `step`th after it, so many.
    first: u32,
    step: u32,
    own: u32,
    remote_item: Chance,
    remote_payment: Chance,
    by_name: Chance,
    rollback: Chance,
    /// Inputs drawn.
    drawn: u64,
}

impl InputGenerator {
    pub(super) fn new(parameters: &TpccParameters, seat: Seat) -> Self {
        let warehouses = parameters.warehouses.get() as u32;
        let (worker, workers) = (seat.worker as u32, seat.workers as u32);
        let (first, step, own) = match parameters.home {
            Home::Any => (1, 1, warehouses),
            Home::Own if workers >= warehouses => (worker % warehouses + 1, 1, 1),
            Home::Own => (worker + 1, workers, (warehouses - worker).div_ceil(workers)),
        };
        InputGenerator {
            rng: generator(seat),
            deck: Deck::new(parameters.mix),
            uneven: Uneven::of_run(Scale::of(parameters), seat.seed),
            warehouses,
            first,
            step,
            own,
            remote_item: Chance::percent(parameters.remote_items.0),
            remote_payment: Chance::percent(parameters.remote_payments.0),
            by_name: Chance::percent(parameters.by_name.0),
            rollback: Chance::percent(parameters.rollbacks.0),
            drawn: 0,
        }
    }

    /// The input of the next transaction.
    #[inline]
    pub fn next_input(&mut self) -> Input {
        self.drawn += 1;
        let w_id = self.first + self.step * self.rng.u32(0..self.own);
        match self.deck.deal(&mut self.rng) {
            TransactionKind::NewOrder => Input::NewOrder(self.new_order(w_id)),
            TransactionKind::Payment => Input::Payment(self.payment(w_id)),
            TransactionKind::OrderStatus => Input::OrderStatus(self.order_status(w_id)),
            TransactionKind::Delivery => Input::Delivery(self.delivery(w_id)),
            TransactionKind::StockLevel => Input::StockLevel(self.stock_level(w_id)),
        }
    }

    fn new_order(&mut self, w_id: u32) -> NewOrderInput {
        let (d_id, c_id) = (self.district(), self.uneven.customer(&mut self.rng));
        let count = self.rng.usize(LEAST_LINES..=MOST_LINES);
        let mut all = [LineInput::default(); MOST_LINES];
        for line in &mut all[..count] {
            *line = LineInput {
                i_id: self.uneven.item(&mut self.rng),
                supply_w_id: self.warehouse(w_id, self.remote_item),
                quantity: self.rng.u8(1..=10),
            };
        }
        if self.rollback.happens(self.rng.u64(..)) {
            all[count - 1].i_id = UNUSED_ITEM;
        }
        NewOrderInput { w_id, d_id, c_id, entry_d: self.date(), count: count as u8, all }
    }

    fn payment(&mut self, w_id: u32) -> PaymentInput {
        let d_id = self.district();
        let c_w_id = self.warehouse(w_id, self.remote_payment);
        PaymentInput {
            w_id,
            d_id,
            c_w_id,
            // A customer from elsewhere is of any district there.
            c_d_id: if c_w_id == w_id { d_id } else { self.district() },
            who: self.who(),
            amount: self.rng.u32(100..=500_000),
            date: self.date(),
        }
    }

    fn order_status(&mut self, w_id: u32) -> OrderStatusInput {
        OrderStatusInput { w_id, d_id: self.district(), who: self.who() }
    }

    fn delivery(&mut self, w_id: u32) -> DeliveryInput {
        DeliveryInput { w_id, carrier_id: self.rng.u8(1..=10), delivery_d: self.date() }
    }

    fn stock_level(&mut self, w_id: u32) -> StockLevelInput {
        StockLevelInput { w_id, d_id: self.district(), threshold: self.rng.i32(10..=20) }
    }

    fn district(&mut self) -> u32 {
        self.rng.u32(1..=DISTRICTS)
    }

    /// `home`, or by chance another, each as likely; if there is another.
    #[inline]
    fn warehouse(&mut self, home: u32, remote: Chance) -> u32 {
        if !remote.happens(self.rng.u64(..)) || self.warehouses == 1 {
            return home;
        }
        let other = self.rng.u32(1..self.warehouses);
        other + u32::from(other >= home)
    }

    fn who(&mut self) -> Who {
        if self.by_name.happens(self.rng.u64(..)) {
            Who::LastName(names::last_name(self.uneven.last_name(&mut self.rng)))
        } else {
            Who::Id(self.uneven.customer(&mut self.rng))
        }
    }

    fn date(&self) -> u64 {
        LOADED + self.drawn
    }
}
