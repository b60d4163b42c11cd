//! What a transaction draws before it begins: rows, numbers, and keys that nobody has.

use super::specification::{Draw, DrawKind, MOST_VARIABLES, Where};
use crate::random::choose;
use crate::zipf::Zipf;
use contract::Seat;
use fastrand::Rng;

/// Bits of a new key that a client counts through.
const COUNT_BITS: u32 = 38;
/// And of the seed, which is another one in each repetition: keys of earlier ones are not drawn again.
const SEED_BITS: u32 = 14;

/// Of so many draws one at least is another row, where there is one in its place; otherwise any other row is taken.
const MOST_DRAWS: usize = 100;

/// Draws for the client at a seat.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    rng: Rng,
    homes: u64,
    home: u64,
    seat: Seat,
    /// New keys so far, of all tables together.
    made: u64,
}

impl Drawing {
    pub fn new(rng: Rng, seat: Seat) -> Self {
        Drawing { rng, homes: u64::from(seat.homes), home: u64::from(seat.home().0), seat, made: 0 }
    }

    /// A random number.
    #[inline]
    pub fn random(&mut self) -> u64 {
        self.rng.u64(..)
    }

    /// Draws in their order into the first of `variables`.
    #[inline]
    pub fn draw(&mut self, draws: &[Draw], variables: &mut [i64; MOST_VARIABLES]) {
        for (number, draw) in draws.iter().enumerate() {
            variables[number] = match &draw.kind {
                DrawKind::Number { from, to } => self.rng.i64(*from..=*to),
                DrawKind::New { first } => self.new_key(*first),
                DrawKind::Row { rows, zipf, other_than, place } => {
                    let other_than = other_than.map(|other| variables[other]);
                    self.row(*rows, zipf.as_ref(), *place, other_than)
                }
            };
        }
    }

    fn row(&mut self, rows: u64, zipf: Option<&Zipf>, place: Where, other_than: Option<i64>) -> i64 {
        for _ in 0..MOST_DRAWS {
            let rank = match zipf {
                Some(zipf) => zipf.draw(&mut self.rng),
                None => self.rng.u64(0..rows),
            };
            let row = self.placed(rank, rows, place) as i64;
            if other_than != Some(row) {
                return row;
            }
        }
        // Its partition has no other row: the next one of the table, of which there are two at least.
        other_than.map_or(0, |other| (other + 1) % rows as i64)
    }

    /// The row in the place of `rank`: as hot, and in the partition that it is to be in. Where a table has too few rows for that it is the row itself.
    fn placed(&mut self, rank: u64, rows: u64, place: Where) -> u64 {
        let Where::Home { remote } = place else { return rank };
        if self.homes == 1 {
            return rank;
        }
        let is_remote = remote.happens(self.random());
        let to = match is_remote {
            false => self.home,
            // Any other one.
            true => {
                let other = u64::from(choose(self.random(), self.homes as u32 - 1));
                other + u64::from(other >= self.home)
            }
        };
        let moved = rank - rank % self.homes + to;
        match moved {
            moved if moved < rows => moved,
            moved if moved >= self.homes => moved - self.homes,
            _ => rank,
        }
    }

    /// A key at home, beyond those of loaded rows, that no other client and no other repetition has.
    fn new_key(&mut self, first: u64) -> i64 {
        let count = self.made * self.seat.workers as u64 + self.seat.worker as u64;
        self.made += 1;
        let seed = self.seat.seed & ((1 << SEED_BITS) - 1);
        let number = (seed << COUNT_BITS) | (count & ((1 << COUNT_BITS) - 1));
        // Partitions are remainders.
        (first.next_multiple_of(self.homes) + number * self.homes + self.home) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Chance, generator};
    use std::collections::HashSet;

    fn row(rows: u64, remote: f64) -> Draw {
        let zipf = Some(Zipf::new(rows, 0.9).expect("ranks"));
        let place = Where::Home { remote: Chance::percent(remote) };
        Draw { name: "row".to_owned(), kind: DrawKind::Row { rows, zipf, other_than: None, place } }
    }

    #[test]
    fn rows_are_at_home_as_often_as_they_are_to_be() {
        let seat = Seat::new(2, 4, 1).over(4);
        for (remote, least, most) in [(0.0, 0, 0), (20.0, 1700, 2300), (100.0, 10_000, 10_000)] {
            let mut drawing = Drawing::new(generator(seat), seat);
            let draws = [row(1000, remote)];
            let mut elsewhere = 0;
            for _ in 0..10_000 {
                let mut variables = [0; MOST_VARIABLES];
                drawing.draw(&draws, &mut variables);
                assert!((0..1000).contains(&variables[0]));
                elsewhere += u64::from(variables[0] % 4 != 2);
            }
            assert!((least..=most).contains(&elsewhere), "{elsewhere} of 10,000 at {remote} %");
        }
    }

    #[test]
    fn new_keys_are_nobody_elses_and_at_home() {
        let mut seen = HashSet::new();
        for seed in [1, 2] {
            for worker in 0..3 {
                let seat = Seat::new(worker, 3, seed).over(3);
                let mut drawing = Drawing::new(generator(seat), seat);
                for _ in 0..1000 {
                    let key = drawing.new_key(100);
                    assert!(key >= 100 && key as u64 % 3 == worker as u64, "{key}");
                    assert!(seen.insert(key), "{key} twice");
                }
            }
        }
    }

    #[test]
    fn where_a_partition_has_one_row_the_second_is_of_another_partition() {
        for (rows, homes) in [(2, 2), (3, 2), (36, 36), (100, 72)] {
            for worker in 0..homes as usize {
                let seat = Seat::new(worker, homes as usize, 1).over(homes);
                let mut drawing = Drawing::new(generator(seat), seat);
                let draw = |other_than| Draw {
                    name: String::new(),
                    kind: DrawKind::Row {
                        rows,
                        zipf: None,
                        other_than,
                        place: Where::Home { remote: Chance::percent(0.0) },
                    },
                };
                for _ in 0..100 {
                    let mut variables = [0; MOST_VARIABLES];
                    drawing.draw(&[draw(None), draw(Some(0))], &mut variables);
                    assert_ne!(variables[0], variables[1], "{rows} rows, {homes} partitions");
                    assert!((0..rows as i64).contains(&variables[1]));
                }
            }
        }
    }

    #[test]
    fn the_second_is_another_than_the_first() {
        let seat = Seat::new(0, 1, 1);
        let mut drawing = Drawing::new(generator(seat), seat);
        let draw = |other_than| Draw {
            name: String::new(),
            kind: DrawKind::Row { rows: 2, zipf: None, other_than, place: Where::Anywhere },
        };
        for _ in 0..100 {
            let mut variables = [0; MOST_VARIABLES];
            drawing.draw(&[draw(None), draw(Some(0))], &mut variables);
            assert_ne!(variables[0], variables[1]);
        }
    }
}
