//! Drawing one of a few weighted items in constant time: Walker's alias method (1977), built as by Vose
//! (1991).
//!
//! Every slot has the same chance and holds two items: its own up to a cut, and an alias beyond it. A draw is
//! one load and one comparison, whatever the weights. Invariant: the cuts that an item owns and the rests
//! that alias to it add up to its share of the weight.

/// Bits of a slot that name its alias; the rest is the cut.
const ALIAS_BITS: u32 = 16;
/// A cut's denominator is 2 to this.
const CUT_BITS: u32 = u64::BITS - ALIAS_BITS;
/// The most items that a table distinguishes.
pub(crate) const MOST_ITEMS: usize = 1 << ALIAS_BITS;

/// Items `0..weights.len()`, drawn in proportion to their weights, to within 2^-48 of a slot.
#[derive(Clone, Debug)]
pub(crate) struct AliasTable {
    /// The cut in the upper bits, the alias in the lower; a power of two of them, at least two.
    slots: Box<[u64]>,
    /// log2 of the number of slots.
    bits: u32,
}

impl AliasTable {
    /// Builds the table. Panics unless the weights are finite, not negative, and have a positive sum.
    pub(crate) fn new(weights: &[f64]) -> Self {
        assert!(weights.len() <= MOST_ITEMS, "{} items", weights.len());
        assert!(weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0));
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0, "nothing to draw");

        let slots = weights.len().next_power_of_two().max(2);
        // What each slot still has to give, in slots; items that only fill the table up weigh nothing.
        let mut share: Vec<f64> = weights.iter().map(|weight| weight / total * slots as f64).collect();
        share.resize(slots, 0.0);
        let (mut poor, mut rich): (Vec<usize>, Vec<usize>) = (0..slots).partition(|&slot| share[slot] < 1.0);
        // A slot that nobody has to top up is all its own item's, on either side of the cut.
        let mut packed: Vec<u64> = (0..slots as u64).collect();
        while let (Some(&giver), Some(taker)) = (rich.last(), poor.pop()) {
            packed[taker] = pack(share[taker], giver);
            share[giver] -= 1.0 - share[taker];
            if share[giver] < 1.0 {
                rich.pop();
                poor.push(giver);
            }
        }
        assert!(poor.iter().all(|&slot| share[slot] > 0.999), "what is left is whole but for rounding");
        AliasTable { slots: packed.into_boxed_slice(), bits: slots.trailing_zeros() }
    }

    /// The item that 64 random bits choose.
    #[inline]
    pub(crate) fn draw(&self, random: u64) -> usize {
        let slot = (random >> (u64::BITS - self.bits)) as usize;
        let packed = self.slots[slot];
        let fraction = (random << self.bits) >> ALIAS_BITS;
        if fraction < packed >> ALIAS_BITS { slot } else { packed as usize & (MOST_ITEMS - 1) }
    }
}

fn pack(share: f64, alias: usize) -> u64 {
    let cut = (share * (1u64 << CUT_BITS) as f64) as u64;
    assert!(cut < 1 << CUT_BITS && alias < MOST_ITEMS);
    cut << ALIAS_BITS | alias as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The probability of every slot's items, summed: what the table draws, without drawing.
    fn probabilities(table: &AliasTable) -> Vec<f64> {
        let slots = table.slots.len();
        let mut sums = vec![0.0; slots];
        for (slot, packed) in table.slots.iter().enumerate() {
            let own = (packed >> ALIAS_BITS) as f64 / (1u64 << CUT_BITS) as f64;
            sums[slot] += own / slots as f64;
            sums[*packed as usize & (MOST_ITEMS - 1)] += (1.0 - own) / slots as f64;
        }
        sums
    }

    proptest! {
        #[test]
        fn every_item_has_its_share(weights in prop::collection::vec(0.0f64..10.0, 1..300)) {
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 0.0);
            let drawn = probabilities(&AliasTable::new(&weights));
            for (item, &weight) in weights.iter().enumerate() {
                prop_assert!((drawn[item] - weight / total).abs() < 1e-12, "item {item}");
            }
            prop_assert!(drawn[weights.len()..].iter().all(|&p| p < 1e-12), "what fills up is never drawn");
        }
    }

    #[test]
    fn one_item_is_always_drawn() {
        let table = AliasTable::new(&[3.0]);
        for random in [0, 1, u64::MAX >> 1, u64::MAX] {
            assert_eq!(table.draw(random), 0);
        }
    }

    #[test]
    fn draws_split_at_the_cut() {
        // A quarter and three quarters in two slots: the first gives half of its slot to the second.
        let table = AliasTable::new(&[1.0, 3.0]);
        let drawn: Vec<usize> = (0..8u64).map(|eighth| table.draw(eighth << 61)).collect();
        assert_eq!(drawn, [0, 0, 1, 1, 1, 1, 1, 1]);
    }
}
