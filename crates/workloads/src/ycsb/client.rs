//! Draws YCSB's transactions.

use super::hot_set::HotSet;
use super::parameters::{
    Distinct, Distribution, Extent, Order, ReadOnly, ScanLengths, Split, Update, YcsbParameters,
};
use super::partitions::Locality;
use super::sequences::Sequences;
use super::transaction::{Shape, Updates, YcsbTransaction};
use crate::random::{Chance, choose, generator};
use crate::touches::{FreeList, Touch, Touches};
use crate::zipf::Zipf;
use contract::{Client, Completion, Outcome, Seat};
use fastrand::Rng;

/// One worker's source of transactions. The keys drawn depend on neither the share of reads nor what is
/// touched.
#[derive(Clone, Debug)]
pub struct YcsbClient {
    rng: Rng,
    keys: Zipf,
    /// The ranks before those that `keys` draws.
    hot: HotSet,
    accesses: u64,
    write: Chance,
    /// Whether a transaction's accesses all do the same.
    uniform: bool,
    shape: Shape,
    /// What an access chooses from: the fields, or one whole row.
    parts: u32,
    order: Order,
    distinct: bool,
    /// If reads are scans: how long they are.
    lengths: Option<Lengths>,
    /// Whether rank 0 is the newest row, and not key 0.
    latest: bool,
    /// If transactions insert.
    sequences: Option<Sequences>,
    /// If transactions touch so many partitions; keys are then drawn of one of them.
    locality: Option<Locality>,
    free: FreeList,
}

impl YcsbClient {
    pub(super) fn new(parameters: &YcsbParameters, keys: Zipf, seat: Seat) -> Self {
        let (parts, part_bytes) = match parameters.touch {
            Extent::Field => (parameters.fields.get() as u32, parameters.field_bytes.get() as usize),
            Extent::Row => (1, parameters.row_bytes()),
        };
        let writes = match parameters.split {
            Split::Access | Split::Transaction => 100.0 - parameters.reads.0,
            Split::Worker => percent_of_writers(seat, 100.0 - parameters.reads.0),
        };
        let latest = parameters.distribution == Distribution::Latest;
        let records = parameters.records.get();
        let locality = Locality::new(parameters, seat);
        let of_partition = |locality: &Locality| Zipf::new(locality.cold_ranks(), parameters.theta.get());
        YcsbClient {
            rng: generator(seat),
            keys: locality.as_ref().map_or(keys, |locality| of_partition(locality).expect("some ranks")),
            hot: locality.as_ref().map_or_else(|| HotSet::of_table(parameters), Locality::hot),
            accesses: parameters.accesses.get(),
            write: Chance::percent(writes),
            uniform: parameters.split == Split::Transaction,
            shape: Shape {
                part_bytes,
                row_bytes: parameters.row_bytes(),
                parts,
                scans: parameters.scans(),
                partitions: seat.partitions,
                updates: match parameters.update {
                    Update::ReadModifyWrite => Updates::ReadModifyWrite,
                    Update::Blind => Updates::Blind,
                    Update::Insert => Updates::Insert,
                },
                reads_snapshots: parameters.read_only == ReadOnly::Snapshot,
            },
            parts,
            order: parameters.order,
            distinct: parameters.distinct == Distinct::Yes,
            lengths: Lengths::new(parameters),
            latest,
            sequences: parameters.inserts().then(|| Sequences::new(records, seat, latest)),
            locality,
            free: FreeList::new(),
        }
    }

    /// A key that the transaction may have; `rank` draws a rank, and `key` makes one of it.
    #[inline(always)]
    fn draw_key_of(
        &mut self,
        touches: &Touches,
        rank: impl Fn(&mut Self) -> u64,
        key: impl Fn(&Self, u64) -> u64,
    ) -> u64 {
        loop {
            let rank = rank(self);
            let key = key(self, rank);
            if !self.distinct || !touches.hold(key) {
                return key;
            }
        }
    }

    /// The same of all ranks.
    #[inline(always)]
    fn draw_key(&mut self, touches: &Touches, key: impl Fn(&Self, u64) -> u64) -> u64 {
        self.draw_key_of(touches, |client| client.keys.draw(&mut client.rng), key)
    }

    /// As many touches as a transaction has; `touch` makes one, given how often it writes.
    #[inline(always)]
    fn draw(&mut self, touches: &mut Touches, touch: impl Fn(&mut Self, &Touches, Chance) -> Touch) {
        let write = if self.uniform { self.write.settled(self.rng.u64(..)) } else { self.write };
        for _ in 0..self.accesses {
            let touch = touch(self, touches, write);
            touches.push(touch);
        }
    }

    /// A read or an update of a row of the loaded ones, the first of which are popular.
    #[inline(always)]
    fn draw_loaded(&mut self, touches: &Touches, write: Chance) -> Touch {
        let key = self.draw_key(touches, |_, rank| rank);
        let random = self.rng.u64(..);
        Touch::new(key, choose(random, self.parts), write.happens(random))
    }

    /// The same of a row of the transaction's partitions, by turns; of a hot one first.
    fn draw_local(&mut self, touches: &Touches, write: Chance) -> Touch {
        let nth = touches.as_slice().len();
        let rank = |client: &mut Self| client.hot.draw(nth, &client.keys, &mut client.rng);
        let key = self.draw_key_of(touches, rank, |client, rank| match &client.locality {
            Some(locality) => locality.key(rank, nth),
            None => rank,
        });
        let random = self.rng.u64(..);
        Touch::new(key, choose(random, self.parts), write.happens(random))
    }

    /// Kept apart, so that clients without locality and hot rows pay nothing for them.
    #[inline(never)]
    fn next_local(&mut self, transaction: &mut YcsbTransaction) {
        if let Some(locality) = &mut self.locality {
            locality.draw(&mut self.rng);
        }
        self.draw(&mut transaction.touches, Self::draw_local);
    }

    /// A read of a row or a scan, or an insert of the client's next one; if there are no inserts, an update. A client that does
    /// not know yet where its sequence goes on reads instead.
    fn draw_growing(&mut self, touches: &Touches, write: Chance) -> Touch {
        let key = self.draw_key(touches, Self::key_of_rank);
        let random = self.rng.u64(..);
        let (part, writes) = (choose(random, self.parts), write.happens(random));
        match &mut self.sequences {
            None if writes => return Touch::new(key, part, true),
            Some(sequences) if writes => {
                if let Some(own) = sequences.next_own() {
                    return Touch::new(own, 0, true);
                }
            }
            _ => (),
        }
        match &self.lengths {
            Some(lengths) => Touch::new(key, lengths.draw(&mut self.rng), false),
            None => Touch::new(key, part, false),
        }
    }

    #[inline]
    fn key_of_rank(&self, rank: u64) -> u64 {
        match &self.sequences {
            _ if !self.latest => rank,
            Some(sequences) => sequences.latest(rank),
            None => self.keys.ranks() - 1 - rank,
        }
    }

    /// Kept apart, so that clients that do not scan a table that does not grow pay nothing for it.
    #[inline(never)]
    fn next_growing(&mut self, transaction: &mut YcsbTransaction) {
        match self.sequences.as_mut().and_then(Sequences::next_search) {
            Some(search) => transaction.search = Some(search),
            None => self.draw(&mut transaction.touches, Self::draw_growing),
        }
    }
}

impl Client for YcsbClient {
    type Procedure = YcsbTransaction;

    #[inline]
    fn next(&mut self) -> YcsbTransaction {
        let mut transaction = YcsbTransaction::new(self.shape, self.free.take());
        if self.latest || self.sequences.is_some() || self.lengths.is_some() {
            self.next_growing(&mut transaction);
        } else if self.locality.is_some() || self.hot.is_drawn() {
            self.next_local(&mut transaction);
        } else {
            self.draw(&mut transaction.touches, Self::draw_loaded);
        }
        if self.order == Order::Key {
            transaction.touches.sort_by_key();
        }
        transaction.salt = self.rng.u64(..);
        transaction
    }

    #[inline]
    fn finished(&mut self, transaction: YcsbTransaction, completion: &Completion<'_>) {
        if let Some(sequences) = &mut self.sequences
            && completion.outcome == Outcome::Commit
        {
            transaction.tell(sequences);
        }
        self.free.put(transaction.touches);
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<YcsbTransaction> {
        YcsbTransaction::decode(self.shape, self.free.take(), bytes)
    }

    fn take_back(&mut self, fragment: YcsbTransaction) {
        self.free.put(fragment.touches);
    }
}

/// How many rows scans are of.
#[derive(Clone, Debug)]
enum Lengths {
    /// From 1 to so many.
    Uniform(u32),
    /// One more than a rank.
    Zipfian(Zipf),
}

impl Lengths {
    /// YCSB's.
    const THETA: f64 = 0.99;

    /// If reads are scans.
    fn new(parameters: &YcsbParameters) -> Option<Self> {
        let most = parameters.scan_rows.get();
        parameters.scans().then(|| match parameters.scan_lengths {
            ScanLengths::Uniform => Lengths::Uniform(most as u32),
            ScanLengths::Zipfian => Lengths::Zipfian(Zipf::new(most, Self::THETA).expect("some ranks")),
        })
    }

    fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            Lengths::Uniform(most) => rng.u32(1..=*most),
            Lengths::Zipfian(ranks) => ranks.draw(rng) as u32 + 1,
        }
    }
}

/// All or nothing: the first workers update, as many as `percent` of them comes nearest to.
fn percent_of_writers(seat: Seat, percent: f64) -> f64 {
    let writers = (seat.workers as f64 * percent / 100.0).round() as usize;
    if seat.worker < writers { 100.0 } else { 0.0 }
}
