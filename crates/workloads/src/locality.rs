//! Rows by where they lie: in the client's home partition, in the others, or anywhere.
//!
//! A key's partition is its remainder by the number of partitions, so a range of keys is a grid: each column is a
//! partition, and going one row down adds the number of partitions. A home row is drawn by its place in the home
//! column, a remote one by column and row; the last row of the grid may be short, and what falls beyond it is drawn
//! again. Every row of a kind is as likely as any other, and nothing is divided once the grid is made.

use contract::Seat;
use fastrand::Rng;

/// A range of keys, seen from a client's seat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    first: u64,
    end: u64,
    partitions: u64,
    /// The home partition's column.
    home: u64,
    /// Rows of the home partition.
    local: u64,
    /// Other partitions that have rows; none is beyond column `other_columns`.
    other_columns: u64,
    /// Rows of the grid, the short one included.
    depth: u64,
}

impl Rows {
    /// The rows with keys `first..end`.
    pub(crate) fn new(first: u64, end: u64, seat: Seat) -> Self {
        let partitions = u64::from(seat.homes);
        let home = (u64::from(seat.home().0) + partitions - first % partitions) % partitions;
        let rows = end - first;
        let columns = rows.min(partitions);
        Rows {
            first,
            end,
            partitions,
            home,
            local: rows.saturating_sub(home).div_ceil(partitions),
            other_columns: columns - u64::from(home < columns),
            depth: rows.div_ceil(partitions),
        }
    }

    /// Rows of the home partition.
    pub(crate) fn local(&self) -> u64 {
        self.local
    }

    /// Rows in other partitions than the client's home.
    pub(crate) fn remote(&self) -> u64 {
        self.end - self.first - self.local
    }

    /// Any row. There must be one.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        rng.u64(self.first..self.end)
    }

    /// The `nth` row of the home partition, `0..local`.
    #[inline]
    pub(crate) fn local_row(&self, nth: u64) -> u64 {
        self.first + self.home + self.partitions * nth
    }

    /// A row of the home partition. There must be one.
    #[inline]
    pub(crate) fn draw_local(&self, rng: &mut Rng) -> u64 {
        self.local_row(rng.u64(0..self.local))
    }

    /// A row of another partition. There must be one.
    #[inline]
    pub(crate) fn draw_remote(&self, rng: &mut Rng) -> u64 {
        loop {
            let column = rng.u64(0..self.other_columns);
            let column = column + u64::from(column >= self.home);
            let key = self.first + column + self.partitions * rng.u64(0..self.depth);
            if key < self.end {
                return key;
            }
        }
    }
}

/// How many rows a transaction draws from where, all of them distinct.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    rows: Rows,
    /// Draws from other partitions than the client's. They come first.
    pub(crate) remote: u64,
    /// Draws from home, or from anywhere: both are evenly spaced keys.
    pub(crate) near: u64,
    near_first: u64,
    near_step: u64,
    near_rows: u64,
}

impl Draws {
    /// `count` of `rows`, wherever they lie.
    pub(crate) fn anywhere(rows: Rows, count: u64) -> Self {
        let near_rows = rows.end - rows.first;
        Draws { rows, remote: 0, near: count, near_first: rows.first, near_step: 1, near_rows }
    }

    /// `count` of `rows`, `remote` of them in other partitions than the client's. Where one side has too few distinct
    /// rows, the other side makes up for it.
    pub(crate) fn split(rows: Rows, count: u64, remote: u64) -> Self {
        assert!(remote <= count && count <= rows.local + rows.remote(), "checked with the parameters");
        let local = (count - remote).min(rows.local);
        let remote = (count - local).min(rows.remote());
        Draws {
            rows,
            remote,
            near: count - remote,
            near_first: rows.first + rows.home,
            near_step: rows.partitions,
            near_rows: rows.local,
        }
    }

    /// A row for one of the [`Draws::remote`] draws.
    #[inline]
    pub(crate) fn remote_row(&self, rng: &mut Rng) -> u64 {
        self.rows.draw_remote(rng)
    }

    /// A row for one of the [`Draws::near`] draws.
    #[inline]
    pub(crate) fn near_row(&self, rng: &mut Rng) -> u64 {
        self.near_first + self.near_step * rng.u64(0..self.near_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::{Draws, Rows};
    use contract::Seat;
    use fastrand::Rng;
    use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
    use std::collections::BTreeSet;

    fn home_of(seat: Seat, key: u64) -> bool {
        key % u64::from(seat.partitions) == u64::from(seat.home().0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn both_sides_of_the_grid_are_drawn_whole(
            first in 0..40u64, rows in 0..60u64, partitions in 1..80u32, worker in 0..80usize,
        ) {
            let seat = Seat::new(worker, 80, 1).over(partitions);
            let grid = Rows::new(first, first + rows, seat);
            let (local, remote): (BTreeSet<u64>, BTreeSet<u64>) =
                (first..first + rows).partition(|key| home_of(seat, *key));
            prop_assert_eq!((grid.local, grid.remote()), (local.len() as u64, remote.len() as u64));
            let mut rng = Rng::with_seed(u64::from(partitions) * 1000 + rows);
            // 60 rows are missed by so many draws once in 10^12.
            let mut drawn = |count: usize, draw: &dyn Fn(&mut Rng) -> u64| -> BTreeSet<u64> {
                let draws = if count == 0 { 0 } else { 2000 };
                (0..draws).map(|_| draw(&mut rng)).collect()
            };
            let (home, anywhere) = (Draws::split(grid, 0, 0), Draws::anywhere(grid, 0));
            prop_assert_eq!(drawn(local.len(), &|rng| home.near_row(rng)), local.clone());
            prop_assert_eq!(drawn(remote.len(), &|rng| home.remote_row(rng)), remote);
            prop_assert_eq!(drawn(local.len(), &|rng| grid.draw_local(rng)), local.clone());
            prop_assert_eq!(drawn(rows as usize, &|rng| grid.draw(rng)), (first..first + rows).collect());
            prop_assert_eq!(drawn(rows as usize, &|rng| anywhere.near_row(rng)), (first..first + rows).collect());
        }

        #[test]
        fn a_side_that_is_too_small_is_made_up_for(
            rows in 1..40u64, partitions in 1..50u32, worker in 0..50usize, count in 0..40u64, remote in 0..40u64,
        ) {
            let (count, seat) = (count.min(rows), Seat::new(worker, 50, 1).over(partitions));
            let remote = remote.min(count);
            let grid = Rows::new(7, 7 + rows, seat);
            let draws = Draws::split(grid, count, remote);
            prop_assert_eq!(draws.near + draws.remote, count);
            prop_assert!(draws.near <= grid.local && draws.remote <= grid.remote());
            let fits = count - remote <= grid.local && remote <= grid.remote();
            prop_assert!(!fits || draws.remote == remote);
        }
    }
}
