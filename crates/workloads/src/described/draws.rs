//! What a transaction draws before it begins: rows, numbers, and keys that nobody has.

use super::partition_key::Groups;
use super::specification::{Draw, DrawKind, MOST_VARIABLES, Table, Where};
use crate::random::{Chance, choose};
use crate::zipf::Zipf;
use contract::{Seat, TableId};
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
    /// Loaded rows by table and partition.
    tables: Box<[Groups]>,
    /// New keys so far, of all tables together.
    made: u64,
}

impl Drawing {
    pub fn new(rng: Rng, seat: Seat, tables: &[Table]) -> Self {
        let tables = tables.iter().map(|table| Groups::new(table.rows, table.partition_key, seat.homes));
        let (homes, home) = (u64::from(seat.homes), u64::from(seat.home().0));
        Drawing { rng, homes, home, seat, tables: tables.collect(), made: 0 }
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
                DrawKind::New { table } => self.new_key(*table),
                DrawKind::Row { table, zipf, other_than, place } => {
                    let other_than = other_than.map(|other| variables[other]);
                    self.row(self.tables[table.index()], zipf.as_ref(), *place, other_than)
                }
            };
        }
    }

    fn row(&mut self, of: Groups, zipf: Option<&Zipf>, place: Where, other_than: Option<i64>) -> i64 {
        for _ in 0..MOST_DRAWS {
            let row = match place {
                Where::Home { remote } if self.homes > 1 => {
                    let partition = self.partition(of, remote);
                    of.key(partition, self.rank(of.rows_in(partition), of.rows(), zipf))
                }
                _ => self.rank(of.rows(), of.rows(), zipf),
            };
            if other_than != Some(row as i64) {
                return row as i64;
            }
        }
        // Its partition has no other row: the next one of the table, of which there are two at least.
        other_than.map_or(0, |other| (other + 1) % of.rows() as i64)
    }

    /// One of `rows`, 0 the hottest, as skewed as `all` rows of the table are, whose skew `zipf` is.
    #[inline]
    fn rank(&mut self, rows: u64, all: u64, zipf: Option<&Zipf>) -> u64 {
        match zipf {
            None => self.rng.u64(0..rows),
            Some(zipf) if rows == all => zipf.draw(&mut self.rng),
            // So many ranks of all stand for one: the hottest for the hottest.
            Some(zipf) => (u128::from(zipf.draw(&mut self.rng)) * u128::from(rows) / u128::from(all)) as u64,
        }
    }

    /// The client's partition, or with this chance another one, of those that have rows: if no other has, the client's; if the client's has none, another.
    fn partition(&mut self, of: Groups, remote: Chance) -> u64 {
        let inhabited = of.inhabited();
        let has_rows = self.home < inhabited;
        let others = inhabited - u64::from(has_rows);
        let is_remote = remote.happens(self.random());
        if has_rows && (!is_remote || others == 0) {
            return self.home;
        }
        let other = u64::from(choose(self.random(), others as u32));
        other + u64::from(other >= self.home)
    }

    /// A key at home, beyond those of loaded rows, that no other client and no other repetition has.
    fn new_key(&mut self, table: TableId) -> i64 {
        let count = self.made * self.seat.workers as u64 + self.seat.worker as u64;
        self.made += 1;
        let seed = self.seat.seed & ((1 << SEED_BITS) - 1);
        let number = (seed << COUNT_BITS) | (count & ((1 << COUNT_BITS) - 1));
        self.tables[table.index()].new_key(self.home, number) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::partition_key::PartitionKey;
    use crate::random::generator;
    use std::collections::HashSet;

    const IT: TableId = TableId(0);

    /// A table of which only the rows matter, and where they live.
    fn table(rows: u64, partition_key: &str) -> [Table; 1] {
        [Table {
            name: "it",
            rows,
            capacity: rows,
            columns: vec![],
            row_bytes: 8,
            is_ordered: false,
            partition_key: PartitionKey::parse(partition_key, rows, rows).expect("a partition key"),
            fill: vec![],
        }]
    }

    fn row(theta: Option<f64>, rows: u64, other_than: Option<usize>, place: Where) -> Draw {
        let zipf = theta.map(|theta| Zipf::new(rows, theta).expect("ranks"));
        Draw { name: "row".to_owned(), kind: DrawKind::Row { table: IT, zipf, other_than, place } }
    }

    fn at_home(remote: f64) -> Where {
        Where::Home { remote: Chance::percent(remote) }
    }

    /// What a client draws in `count` transactions.
    fn drawn(seat: Seat, tables: &[Table], draws: &[Draw], count: usize) -> Vec<[i64; MOST_VARIABLES]> {
        let mut drawing = Drawing::new(generator(seat), seat, tables);
        let draw = |_| {
            let mut variables = [0; MOST_VARIABLES];
            drawing.draw(draws, &mut variables);
            variables
        };
        (0..count).map(draw).collect()
    }

    /// The partition of a key in the draws, by the table's function.
    fn lives_in(table: &Table, key: i64, partitions: u32) -> u32 {
        table.partition_key.function().of((key as u64).into(), partitions).0
    }

    #[test]
    fn rows_are_at_home_as_often_as_they_are_to_be() {
        let seat = Seat::new(2, 4, 1).over(4);
        for key in ["key", "key / 3", "key / 100", "key / 300"] {
            let tables = table(1000, key);
            for theta in [None, Some(0.9)] {
                for (remote, least, most) in [(0.0, 0, 0), (20.0, 1700, 2300), (100.0, 10_000, 10_000)] {
                    let rows = drawn(seat, &tables, &[row(theta, 1000, None, at_home(remote))], 10_000);
                    assert!(rows.iter().all(|row| (0..1000).contains(&row[0])));
                    let elsewhere = rows.iter().filter(|row| lives_in(&tables[0], row[0], 4) != 2).count();
                    assert!(
                        (least..=most).contains(&elsewhere),
                        "{elsewhere} of 10,000 at {remote} %, {key}"
                    );
                }
            }
        }
    }

    /// However many of a partition's rows there are beside those of others.
    #[test]
    fn each_row_of_a_partition_is_drawn_and_its_first_is_the_hottest() {
        // Partition 0 has 400 rows, partition 1 has 300, the others 200.
        let (rows, partitions) = (1100, 4);
        let tables = table(rows, "key / 200");
        for home in 0..partitions {
            let seat = Seat::new(home as usize, 4, 1).over(partitions);
            let own: Vec<i64> =
                (0..rows as i64).filter(|key| lives_in(&tables[0], *key, partitions) == home).collect();
            let often = |theta| {
                let mut often = vec![0u32; rows as usize];
                let draws = [row(theta, rows, None, at_home(0.0))];
                drawn(seat, &tables, &draws, 40_000).iter().for_each(|row| often[row[0] as usize] += 1);
                own.iter().map(|key| often[*key as usize]).collect::<Vec<_>>()
            };
            let (uniform, skewed) = (often(None), often(Some(0.9)));
            let mean = 40_000.0 / own.len() as f64;
            let is_near = |count: &u32| (f64::from(*count) - mean).abs() < 6.0 * mean.sqrt();
            assert!(uniform.iter().all(is_near), "{home}: about {mean} of each: {uniform:?}");
            assert!(skewed.iter().all(|count| *count <= skewed[0]), "{home}: {skewed:?}");
            assert!(f64::from(skewed[0]) > 10.0 * mean, "{home}: {} of {mean}", skewed[0]);
        }
    }

    #[test]
    fn clients_whose_partition_has_no_row_draw_others() {
        // Two groups of eight partitions.
        let tables = table(20, "key / 10");
        for (home, remote, expected) in [
            (0, 0.0, vec![0]),
            (0, 100.0, vec![1]),
            (1, 0.0, vec![1]),
            (5, 0.0, vec![0, 1]),
            (5, 100.0, vec![0, 1]),
        ] {
            let seat = Seat::new(home, 8, 1).over(8);
            let draws = [row(Some(0.5), 20, None, at_home(remote)), row(None, 20, Some(0), at_home(remote))];
            let rows = drawn(seat, &tables, &draws, 200);
            let partitions: HashSet<u32> = rows
                .iter()
                .flat_map(|row| [row[0], row[1]])
                .map(|key| lives_in(&tables[0], key, 8))
                .collect();
            assert_eq!(partitions, expected.into_iter().collect(), "home {home}, {remote} %");
            assert!(rows.iter().all(|row| row[0] != row[1]));
        }
        // One group only: whoever wants another has it all the same.
        let tables = table(20, "key / 100");
        let seat = Seat::new(0, 8, 1).over(8);
        let rows = drawn(seat, &tables, &[row(None, 20, None, at_home(100.0))], 100);
        assert!(rows.iter().all(|row| (0..20).contains(&row[0])));
    }

    #[test]
    fn new_keys_are_nobody_elses_and_at_home() {
        for key in ["key", "key / 7", "key / 1000"] {
            let mut seen = HashSet::new();
            let tables = table(100, key);
            let draws = [Draw { name: "new".to_owned(), kind: DrawKind::New { table: IT } }];
            for seed in [1, 2] {
                // Two clients are at home in the first partition.
                for worker in 0..4 {
                    let seat = Seat::new(worker, 4, seed).over(3);
                    for key in drawn(seat, &tables, &draws, 1000).iter().map(|drawn| drawn[0]) {
                        assert!(key >= 100 && lives_in(&tables[0], key, 3) == worker as u32 % 3, "{key}");
                        assert!(seen.insert(key), "{key} twice");
                    }
                }
            }
        }
    }

    #[test]
    fn where_a_partition_has_one_row_the_second_is_of_another_partition() {
        for (rows, homes, key) in
            [(2, 2, "key"), (3, 2, "key"), (36, 36, "key"), (100, 72, "key"), (11, 2, "key / 10")]
        {
            let tables = table(rows, key);
            for worker in 0..homes as usize {
                let seat = Seat::new(worker, homes as usize, 1).over(homes);
                let draws = [row(None, rows, None, at_home(0.0)), row(None, rows, Some(0), at_home(0.0))];
                for variables in drawn(seat, &tables, &draws, 100) {
                    assert_ne!(variables[0], variables[1], "{rows} rows, {homes} partitions, {key}");
                    assert!((0..rows as i64).contains(&variables[1]));
                }
            }
        }
    }

    #[test]
    fn the_second_is_another_than_the_first() {
        let draws = [row(None, 2, None, Where::Anywhere), row(None, 2, Some(0), Where::Anywhere)];
        for variables in drawn(Seat::new(0, 1, 1), &table(2, "key"), &draws, 100) {
            assert_ne!(variables[0], variables[1]);
        }
    }
}
