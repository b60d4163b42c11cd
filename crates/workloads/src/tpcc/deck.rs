//! Which transaction comes next (clause 5.2.4.2): cards are dealt from a shuffled deck until it is used up, and then from it
//! shuffled anew. So every hundred transactions of a client have the mix exactly.

use super::parameters::Mix;
use fastrand::Rng;

/// One of the five.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionKind {
    /// Clause 2.4: an order and its lines, read-write.
    NewOrder,
    /// Clause 2.5: few rows, one of them its warehouse's, read-write.
    Payment,
    /// Clause 2.6: a customer's last order, read-only.
    OrderStatus,
    /// Clause 2.7: an order of each district, read-write.
    Delivery,
    /// Clause 2.8: the lines of twenty orders and their stocks, read-only.
    StockLevel,
}

impl TransactionKind {
    /// Every one, in the standard's order.
    pub const ALL: [TransactionKind; 5] = [
        TransactionKind::NewOrder,
        TransactionKind::Payment,
        TransactionKind::OrderStatus,
        TransactionKind::Delivery,
        TransactionKind::StockLevel,
    ];

    /// Their names in results, by their [index](TransactionKind::index).
    pub const NAMES: [&str; 5] = ["new-order", "payment", "order-status", "delivery", "stock-level"];

    /// Position in [`TransactionKind::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Cards of a deck.
const CARDS: usize = 100;

/// A deck of cards.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    cards: [TransactionKind; CARDS],
    /// Cards that were dealt since it was shuffled.
    dealt: usize,
}

impl Deck {
    pub(super) fn new(mix: Mix) -> Self {
        use TransactionKind::{Delivery, NewOrder, OrderStatus, Payment, StockLevel};
        let counts: &[(TransactionKind, usize)] = match mix {
            Mix::Standard => {
                &[(NewOrder, 45), (Payment, 43), (OrderStatus, 4), (Delivery, 4), (StockLevel, 4)]
            }
            Mix::NewOrderPayment => &[(NewOrder, 50), (Payment, 50)],
            Mix::NewOrderStockLevel => &[(NewOrder, 50), (StockLevel, 50)],
            Mix::NewOrder => &[(NewOrder, CARDS)],
            Mix::Payment => &[(Payment, CARDS)],
            Mix::OrderStatus => &[(OrderStatus, CARDS)],
            Mix::Delivery => &[(Delivery, CARDS)],
            Mix::StockLevel => &[(StockLevel, CARDS)],
        };
        let mut all = counts.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
        let cards = std::array::from_fn(|_| all.next().expect("a deck has a hundred cards"));
        assert!(all.next().is_none(), "a deck has a hundred cards");
        Deck { cards, dealt: CARDS }
    }

    /// The next card.
    #[inline]
    pub(super) fn deal(&mut self, rng: &mut Rng) -> TransactionKind {
        if self.dealt == CARDS {
            rng.shuffle(&mut self.cards);
            self.dealt = 0;
        }
        self.dealt += 1;
        self.cards[self.dealt - 1]
    }
}
