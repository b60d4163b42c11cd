//! Cores that spin: noticed, and put aside until something changes.
//!
//! A core that waits runs round a loop: it looks at some lines, sees nothing new, and pauses. Following every turn would
//! take the host as long as the simulated core waits. So what a core loads between two pauses is noted: which lines, in
//! which versions, and when in the turn. If it did nothing but load, and a turn loads the same lines in the same versions as
//! the turn before, the next one will do so, too, until somebody takes one of the lines. Then the core is *parked*: out of
//! the queue, and watching its lines. When one is taken it goes on with the turn in which it looks at that line next, from
//! that turn's beginning, at the time at which it would have begun had the core gone on spinning. That time may have passed
//! already; what the core does until it comes to the line is to look at others of which it knows that they have not
//! changed. So parking changes no clock.
//!
//! - A look at the clock makes a turn one that cannot be skipped, unless the loop says by `cpu::pause_until` when it ends:
//!   then the core goes on, at the latest, with the turn in which it looks at the clock after that.
//! - A loop may count its turns, which nobody sees: so a core is parked for a number of turns at most, 64 at first and twice
//!   as many every time nothing had changed.
//! - Lines that stay watched when a core goes on are not watched anew when it parks in the same loop again; a loop over the
//!   inboxes of 1,024 others costs what has changed. One that was parked before is known, and parked after one turn.
//! - A line that was taken between the look at it and the pause has changed, too: then the core is not parked. Nor is it if
//!   it has seen a copy that was leaving: its next look will have to fetch the line.
//! - A core that loads more than [`MOST_WATCHED`] lines in a turn is not parked.
//!
//! Not followed while a core is parked: that its looks keep its lines in the last level.

use super::places::LineMap;
use crate::simulated::model::{Line, Model};

/// Lines that a core watches at most.
const MOST_WATCHED: usize = 4096;
/// Turns for which a core is parked at first.
const FIRST_PATIENCE: u64 = 64;
const MOST_PATIENCE: u64 = 1 << 20;

/// A turn of a loop, as far as it has come.
#[derive(Default)]
struct Turn {
    /// What was loaded, in order, and when after the turn's beginning.
    lines: Vec<(Line, u64)>,
    /// A hash of the lines.
    hash: u64,
    /// When the clock was looked at first, after the turn's beginning.
    looked_at_clock: Option<u64>,
    /// What it took.
    length: u64,
}

/// What one core has done since its last pause.
pub(super) struct Spin {
    turn: Turn,
    /// A hash of the turn's lines with their versions.
    versions: u64,
    /// The same, at the last pause.
    last_versions: u64,
    /// When the last pause ended, in picoseconds.
    since: u64,
    /// A turn in which nothing had changed, of the loop whose lines are watched, but for those in `to_watch`.
    known: Turn,
    to_watch: Vec<Line>,
    /// Turns for which to park the core next.
    patience: u64,
    /// While the core is parked: since when.
    parked: Option<u64>,
}

impl Spin {
    pub fn new() -> Spin {
        Spin {
            turn: Turn::default(),
            versions: 0,
            last_versions: 0,
            since: 0,
            known: Turn::default(),
            to_watch: Vec::new(),
            patience: FIRST_PATIENCE,
            parked: None,
        }
    }

    /// Notes a load, in a turn that has only loaded so far; whether there is room for more.
    #[inline]
    pub fn load(&mut self, now: u64, line: Line, version: u16) -> bool {
        if self.turn.lines.len() == MOST_WATCHED {
            return false;
        }
        self.turn.lines.push((line, now - self.since));
        self.turn.hash = hash(self.turn.hash, line.0);
        self.versions = hash(self.versions, line.0 << 16 | u64::from(version));
        true
    }

    /// Notes a look at the clock, which says `now`.
    #[inline]
    pub fn clock(&mut self, now: u64) {
        self.turn.looked_at_clock.get_or_insert(now - self.since);
    }

    /// A pause that ends at `now`, in a loop that ends by itself at `deadline`, if at all; `only_loads` says whether the turn
    /// did nothing else, `model` whether its lines are still as they were when it looked at them. If the core is to be parked,
    /// when it goes on at the latest.
    pub fn pause(
        &mut self,
        now: u64,
        deadline: Option<u64>,
        only_loads: bool,
        model: &mut Model,
    ) -> Option<u64> {
        self.turn.length = now - self.since;
        let skippable = only_loads
            && match deadline {
                None => self.turn.looked_at_clock.is_none() && !self.turn.lines.is_empty(),
                Some(deadline) => deadline > now,
            };
        let same = self.versions == self.last_versions;
        let known = self.turn.hash == self.known.hash && !self.turn.lines.is_empty();
        let may_park = skippable && (same || known) && self.turn.length != 0;
        if !may_park || !self.sees_the_present(model) {
            if !same {
                self.patience = FIRST_PATIENCE;
            }
            self.begin_turn(now, self.versions);
            return None;
        }
        if same {
            if !known {
                // All its lines are to be watched.
                self.to_watch.clear();
                self.to_watch.extend(self.turn.lines.iter().map(|&(line, _)| line));
            }
            std::mem::swap(&mut self.turn, &mut self.known);
        }
        self.parked = Some(now);
        Some(match deadline {
            // In such a loop nobody counts turns.
            Some(deadline) => self.turn_that_sees(deadline, self.known.looked_at_clock.unwrap_or(0)),
            None => {
                let latest = now.saturating_add(self.known.length.saturating_mul(self.patience));
                self.patience = (self.patience * 2).min(MOST_PATIENCE);
                latest
            }
        })
    }

    /// Whether nobody has taken a line since the turn looked at it: of that the core would never hear.
    fn sees_the_present(&self, model: &mut Model) -> bool {
        let versions = self.turn.lines.iter().fold(FIRST_HASH, |versions, &(line, _)| {
            hash(versions, line.0 << 16 | u64::from(model.version_of(line)))
        });
        versions == self.versions
    }

    /// When the first turn begins, since the core was parked, that at `offset` after its beginning is at `time` or later.
    fn turn_that_sees(&self, time: u64, offset: u64) -> u64 {
        let (since, length) = (self.parked.expect("asked of a parked core"), self.known.length);
        since + time.saturating_sub(since + offset).div_ceil(length) * length
    }

    /// Lines that the core, now parked, has to be noted for as a watcher.
    pub fn take_to_watch(&mut self) -> Vec<Line> {
        std::mem::take(&mut self.to_watch)
    }

    /// A line that the core watched was taken before `time`; if the core is parked, when it goes on.
    pub fn taken(&mut self, line: Line, time: u64) -> Option<u64> {
        self.to_watch.push(line);
        self.parked?;
        self.patience = FIRST_PATIENCE;
        let looks = self.known.lines.iter().filter(|&&(other, _)| other == line);
        // A line of an older loop changes nothing.
        looks.map(|&(_, offset)| self.turn_that_sees(time, offset)).min()
    }

    /// A turn begins.
    fn begin_turn(&mut self, now: u64, last_versions: u64) {
        self.last_versions = last_versions;
        self.turn.lines.clear();
        (self.turn.hash, self.versions) = (FIRST_HASH, FIRST_HASH);
        self.turn.looked_at_clock = None;
        self.since = now;
    }

    /// The core goes on at `now` after it was parked.
    pub fn unpark(&mut self, now: u64) {
        if self.parked.take().is_some() {
            self.begin_turn(now, self.versions);
        }
    }
}

const FIRST_HASH: u64 = 0x51_7CC1_B727_220A;

#[inline]
fn hash(hash: u64, number: u64) -> u64 {
    (hash.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Who watches a line: a few, or many.
pub(super) enum Watchers {
    Few(Vec<u16>),
    /// A bit for every core.
    Many(Box<[u64]>),
}

/// More watchers than these are kept as bits.
const FEW: usize = 16;

impl Watchers {
    fn add(&mut self, core: usize, cores: usize) {
        match self {
            Watchers::Few(few) if few.contains(&(core as u16)) => {}
            Watchers::Few(few) if few.len() < FEW => few.push(core as u16),
            Watchers::Few(few) => {
                let mut many = vec![0; cores.div_ceil(64)];
                few.iter().for_each(|&core| many[usize::from(core) / 64] |= 1 << (core % 64));
                many[core / 64] |= 1 << (core % 64);
                *self = Watchers::Many(many.into());
            }
            Watchers::Many(many) => many[core / 64] |= 1 << (core % 64),
        }
    }

    /// By the cores' numbers if they are many, else as they came.
    pub fn for_each(&self, mut f: impl FnMut(usize)) {
        match self {
            Watchers::Few(few) => few.iter().for_each(|&core| f(usize::from(core))),
            Watchers::Many(many) => {
                for (word, &bits) in many.iter().enumerate() {
                    let mut left = bits;
                    while left != 0 {
                        f(word * 64 + left.trailing_zeros() as usize);
                        left &= left - 1;
                    }
                }
            }
        }
    }
}

/// All watched lines.
#[derive(Default)]
pub(super) struct Watched {
    watchers: LineMap<u64, Watchers>,
}

impl Watched {
    /// Has a core that was parked watch its lines.
    pub fn watch(&mut self, core: usize, cores: usize, spin: &mut Spin, model: &mut Model) {
        for line in spin.take_to_watch() {
            model.watch(line);
            self.watchers.entry(line.0).or_insert_with(|| Watchers::Few(Vec::new())).add(core, cores);
        }
    }

    /// Forgets who watched a line that was taken, and answers who did.
    pub fn take(&mut self, line: Line) -> Option<Watchers> {
        self.watchers.remove(&line.0)
    }
}
