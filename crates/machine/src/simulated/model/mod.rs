//! The coherence and memory model: what an access to a cache line costs a core, and what it does to the others' copies.
//!
//! It is a data structure: it knows no cores that run, no coroutines and no host addresses. Somebody else decides in
//! which order accesses happen ([`super::timed`]); the model answers how long each takes. All times are picoseconds in
//! integers, so that a run is the same everywhere.
//!
//! **State.** A line that is cached anywhere has an entry in the `directory`: who has it for itself (exclusive or
//! modified), or else which sockets have copies (shared); the time until which it is on its way to somebody; the last
//! levels that have it; and a *version*, a number drawn anew whenever somebody takes the line for itself. A core's
//! private caches (`private`) are arrays of tags with versions: a copy is good if its version is still the line's, so
//! that taking a line away from a thousand readers is one store, here.
//!
//! **A load** of a good copy costs the level that has it. Otherwise it waits until the line has arrived where it is going
//! (transfers of a line follow each other, first come, first served) and then for the line, from wherever it is: another
//! core, a last level, memory, by distance (`network`). While a line is being taken away from a core, that core may
//! still read it: the message that takes it has yet to come.
//!
//! **A store** into a line that the core owns costs a cycle. Into any other it costs a cycle as well, while the line is
//! fetched: it waits in the store buffer, from which stores leave in order. A **read-modify-write** waits for the store
//! buffer to be empty, and for its line. So does a fence, for no line.
//!
//! **Memory** is behind controllers, each with a queue: a line occupies one for as long as its bandwidth says. Modified
//! lines that fall out of the last level occupy one, too.
//!
//! **The last level** has a line for as long as fewer lines were brought into it afterwards than it has room for: first
//! in, first out, but a line that is used in the second half of that time counts as brought in anew. It is inclusive: a
//! line that it loses is lost to the private caches. So no arrays of tags are needed for it: a *fill stamp* in the
//! line's entry, by socket, says when it came.
//!
//! **Homes.** Which memory controller, and on a mesh which tile's slice, a line belongs to is a hash of its number and of
//! the seed: of the number of its page of 4 KiB for controllers of sockets, as an operating system that interleaves
//! places pages; of the line's own for controllers of one socket, and on a mesh.
//!
//! We differ from the machines: lines of instructions, translation of addresses, hardware prefetchers and queues inside
//! of the network are not modelled; replacement is nearly least-recently-used.

mod directory;
mod network;
mod private;
mod statistics;
mod waiting;

use super::description::Description;
use directory::{Directory, Entry, Slot};
use network::{Network, Source};
use private::{Found, Private};
pub use statistics::LineStatistics;
use waiting::Waiting;

/// The number of a line of simulated memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line(pub u64);

impl Line {
    /// Numbers are below this.
    pub const END: u64 = 1 << 40;
}

/// What an access does to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes atomically.
    ReadModifyWrite,
    /// Waits for the line, to read and write it afterwards.
    TakeOver,
}

/// Picoseconds of `cycles` at a machine's frequency.
pub fn picoseconds(description: &Description, cycles: u64) -> u64 {
    (cycles * 1_000_000 + description.frequency_mhz / 2) / description.frequency_mhz
}

/// What of the description is asked for at every access, in picoseconds.
struct Costs {
    l1: u64,
    l2: u64,
    store: u64,
    atomic: u64,
    fence: u64,
    read_interval: u64,
    transfer_percent: u64,
    lines_in_flight: usize,
    stall_percent: u64,
}

/// See the module.
pub struct Model {
    costs: Costs,
    network: Network,
    directory: Directory,
    private: Private,
    waiting: Vec<Waiting>,
    /// When the access was made that is being answered: `now` of the calls inside may be later.
    asked_at: u64,
    /// Whether the access is a load, whose wait a core overlaps with what comes next.
    is_load: bool,
    /// The version that was drawn last.
    version: u64,
    /// Of the line that was fetched last: what [`Model::loaded_version`] would answer.
    seen: Option<u16>,
    /// Lines that were taken while somebody watched them, until they are asked for.
    taken: Vec<Line>,
    statistics: LineStatistics,
}

/// Why a line is fetched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    /// To read it.
    Copy,
    /// To have it for oneself.
    Own,
}

impl Model {
    /// A machine with cold caches. `seed` decides where lines live.
    pub fn new(description: &Description, seed: u64) -> Model {
        let ps = |cycles| picoseconds(description, cycles);
        let costs = Costs {
            l1: ps(description.l1.latency_cycles),
            l2: ps(description.private().latency_cycles),
            store: ps(description.core.store_cycles),
            atomic: ps(description.core.atomic_cycles),
            fence: ps(description.core.fence_cycles),
            read_interval: ps(description.contention.read_interval_cycles),
            transfer_percent: description.contention.transfer_percent,
            lines_in_flight: description.core.lines_in_flight as usize,
            stall_percent: description.core.stall_percent,
        };
        let core = &description.core;
        let waiting = || Waiting::new(core.buffered_stores as usize, core.prefetches_in_flight as usize);
        Model {
            costs,
            network: Network::new(description, seed),
            directory: Directory::new(description),
            private: Private::new(description),
            waiting: std::iter::repeat_with(waiting).take(description.cores).collect(),
            asked_at: 0,
            is_load: false,
            version: 0,
            seen: None,
            taken: Vec::new(),
            statistics: LineStatistics::default(),
        }
    }

    /// What core `core` waits for an access at time `now`, picoseconds both.
    #[inline]
    pub fn access(&mut self, core: usize, now: u64, kind: Kind, line: Line) -> u64 {
        self.asked_at = now;
        self.is_load = kind == Kind::Load;
        self.access_one(core, now, kind, line)
    }

    #[inline]
    fn access_one(&mut self, core: usize, now: u64, kind: Kind, line: Line) -> u64 {
        match kind {
            Kind::Load => self.fetch(core, now, line, Want::Copy),
            Kind::Store => self.store(core, now, line),
            Kind::TakeOver => self.fetch(core, now, line, Want::Own),
            Kind::ReadModifyWrite => {
                let start = now.max(self.waiting[core].drained_at());
                start - now + self.fetch(core, start, line, Want::Own) + self.costs.atomic
            }
        }
    }

    /// What core `core` waits for accesses to `lines` lines from `first` on, as many at a time as the core can have
    /// on their way.
    pub fn access_several(&mut self, core: usize, now: u64, kind: Kind, first: Line, lines: u64) -> u64 {
        const MOST: usize = 64;
        self.asked_at = now;
        self.is_load = kind == Kind::Load;
        let slots = self.costs.lines_in_flight.min(MOST);
        // When each of the slots is free again, from `now` on.
        let mut free_at = [0; MOST];
        let mut end = 0;
        for line in 0..lines {
            let slot = &mut free_at[line as usize % slots];
            *slot += self.access_one(core, now + *slot, kind, Line(first.0 + line));
            end = end.max(*slot);
        }
        end
    }

    /// Asks for a line ahead: it will have come, or be on its way, when it is accessed. Ignored where as many as the
    /// core can ask for are on their way.
    pub fn prefetch(&mut self, core: usize, now: u64, line: Line, to_own: bool) {
        if !self.waiting[core].has_room(now) {
            return;
        }
        self.asked_at = now;
        self.is_load = false;
        self.statistics.prefetches += 1;
        let cost = self.fetch(core, now, line, if to_own { Want::Own } else { Want::Copy });
        if cost > self.costs.l2 {
            self.waiting[core].asked_for(line, now + cost);
        }
    }

    /// What a core waits for a number of the hardware counter.
    pub fn next_number(&mut self, core: usize, now: u64) -> u64 {
        self.network.count(core, now)
    }

    /// What core `core` waits for a full fence.
    pub fn fence(&mut self, core: usize, now: u64) -> u64 {
        self.waiting[core].drained_at().saturating_sub(now) + self.costs.fence
    }

    /// Notes that somebody watches a line that is in the directory: when it is taken, [`Model::next_taken`] names it,
    /// once.
    pub fn watch(&mut self, line: Line) {
        let slot = self.directory.enter(line, &mut self.version);
        self.directory.entry(slot).set_watched(true);
    }

    /// A line that was taken while it was watched.
    #[inline]
    pub fn next_taken(&mut self) -> Option<Line> {
        self.taken.pop()
    }

    /// The version of a line that was accessed: another one once somebody has taken it.
    #[inline]
    pub fn version_of(&mut self, line: Line) -> u16 {
        let slot = self.directory.enter(line, &mut self.version);
        self.directory.entry(slot).version()
    }

    /// As [`Model::version_of`], of a line that core `core` has just loaded; `None` if what it has seen is a copy that leaves,
    /// so that the next load will not find it.
    #[inline]
    pub fn loaded_version(&mut self, core: usize, line: Line) -> Option<u16> {
        let version = self.version_of(line);
        self.private.holds(core, line, version).then_some(version)
    }

    /// As [`Model::loaded_version`], of the line that the last call of [`Model::access`] has loaded.
    #[inline]
    pub fn version_seen(&self) -> Option<u16> {
        self.seen
    }

    /// Brings what the host will need for an access into its caches.
    #[inline]
    pub fn prefetch_on_host(&self, core: usize, line: Line) {
        self.directory.prefetch_on_host(line);
        self.private.prefetch_on_host(core, line);
    }

    /// What has happened so far.
    pub fn statistics(&self) -> LineStatistics {
        LineStatistics { write_backs: self.directory.write_backs(), ..self.statistics }
    }

    #[inline]
    fn store(&mut self, core: usize, now: u64, line: Line) -> u64 {
        let fetched = self.fetch(core, now, line, Want::Own);
        if fetched <= self.costs.l2 {
            return self.costs.store;
        }
        self.costs.store + self.waiting[core].buffer(now, now + fetched)
    }

    /// Brings the line to the core; what that takes from `now` on.
    #[inline]
    fn fetch(&mut self, core: usize, now: u64, line: Line, want: Want) -> u64 {
        let slot = self.directory.enter(line, &mut self.version);
        let found = self.private.find(core, line);
        let entry = self.directory.entry(slot);
        let good = found.is_of(entry.version());
        self.seen = good.then_some(entry.version());
        if good && (want == Want::Copy || entry.owner() == Some(core)) {
            if want == Want::Own {
                entry.set_dirty(true);
            }
            let cost = if self.private.touch(&found) {
                self.statistics.l1_hits += 1;
                self.costs.l1
            } else {
                self.statistics.l2_hits += 1;
                self.costs.l2
            };
            self.directory.renew(slot, self.network.bank_of(core));
            return cost.max(self.waiting[core].comes_in(line, now));
        }
        let still_here = want == Want::Copy && entry.is_leaving(core, now)
            || self.waiting[core].has_just_come(line, want, now);
        if still_here && found.is_there() {
            if want == Want::Own {
                self.tell_watchers(line, slot);
            }
            self.statistics.l1_hits += 1;
            return self.costs.l1;
        }
        self.miss(core, now, line, want, slot, found, good)
    }

    /// A line is written that others have asked for since it came: a core that has seen it meanwhile is to look again.
    fn tell_watchers(&mut self, line: Line, slot: Slot) {
        self.version += 1;
        let entry = self.directory.entry(slot);
        entry.set_version(self.version);
        if entry.is_watched() {
            entry.set_watched(false);
            self.taken.push(line);
        }
    }

    /// The line is not here, or not for oneself.
    #[allow(clippy::too_many_arguments, reason = "what `fetch` has found out")]
    fn miss(
        &mut self,
        core: usize,
        now: u64,
        line: Line,
        want: Want,
        slot: Slot,
        found: Found,
        good: bool,
    ) -> u64 {
        let entry = *self.directory.entry(slot);
        let waited = entry.busy_until().saturating_sub(now);
        let start = now + waited;
        self.statistics.line_queue_ps += waited;
        let (source, at_source) = self.source(core, line, slot, &entry, good);
        let mut cost = match want {
            Want::Copy => self.network.load(core, line, source),
            Want::Own => self.network.own(core, line, source, entry.sharers()),
        };
        if source == Source::Memory {
            let cluster = self.network.cluster_of(core);
            let queue = self.network.occupy_controller(cluster, line, self.asked_at);
            self.statistics.memory_queue_ps += queue;
            cost += queue;
        } else if waited > 0 && at_source.is_some() {
            cost = cost * self.costs.transfer_percent / 100;
        }
        self.count(core, source, want);
        let version = match want {
            Want::Copy => self.share(core, slot, source, &entry, start, cost),
            Want::Own => self.take(core, line, slot, &entry, start, cost, at_source),
        };
        self.waiting[core].came(line, want, start + cost + cost / 2);
        self.private.install(found, version);
        self.seen = Some(version);
        self.directory.fill(slot, self.network.bank_of(core));
        if self.directory.is_due() {
            self.directory.tend(self.asked_at, &mut self.network);
        }
        // Nobody computes on while another core has the line: what depends on it is what was waited for.
        let overlaps = self.is_load && matches!(source, Source::LastLevel { .. } | Source::Memory);
        waited + if overlaps { self.stalled(cost) } else { cost }
    }

    /// Of what a line takes that no core has, the part that the core waits.
    #[inline]
    fn stalled(&self, cost: u64) -> u64 {
        (cost * self.costs.stall_percent / 100).max(self.costs.l2)
    }

    /// Where the line comes from, and which core has to give it.
    fn source(
        &self,
        core: usize,
        line: Line,
        slot: Slot,
        entry: &Entry,
        good: bool,
    ) -> (Source, Option<usize>) {
        if good {
            // Only to be had for oneself.
            return (Source::Here, None);
        }
        if let Some(owner) = entry.owner()
            && owner != core
            // A clean line leaves without a word, and is looked for where it was.
            && (!entry.is_dirty() || self.private.holds(owner, line, entry.version()))
        {
            return (Source::Core { core: owner, dirty: entry.is_dirty() }, Some(owner));
        }
        let near = self.network.banks_by_distance(core);
        let last = near.iter().find(|&&bank| self.directory.is_filled(slot, usize::from(bank)));
        (last.map_or(Source::Memory, |&bank| Source::LastLevel { bank: usize::from(bank) }), None)
    }

    /// The line was read: it is shared, or exclusive if nobody else has it.
    fn share(
        &mut self,
        core: usize,
        slot: Slot,
        source: Source,
        before: &Entry,
        start: u64,
        cost: u64,
    ) -> u16 {
        let cluster = self.network.cluster_of(core);
        let entry = self.directory.entry(slot);
        let busy = match source {
            // Readers of one last level follow each other closely.
            Source::LastLevel { .. } | Source::Here => start + self.costs.read_interval,
            Source::Core { .. } | Source::Memory => start + cost,
        };
        entry.set_busy_until(busy);
        let alone = source == Source::Memory || (before.owner() == Some(core) && before.sharers() == 0);
        if alone {
            entry.set_owner(Some(core));
            if source == Source::Memory {
                entry.set_dirty(false);
            }
            entry.set_sharers(0);
        } else {
            let others = before.owner().map_or(0, |owner| 1 << self.network.cluster_of(owner));
            entry.set_owner(None);
            entry.set_sharers(before.sharers() | others | 1 << cluster);
        }
        entry.version()
    }

    /// The line was taken: every other copy is bad from here on.
    #[allow(clippy::too_many_arguments, reason = "what `miss` has found out")]
    fn take(
        &mut self,
        core: usize,
        line: Line,
        slot: Slot,
        before: &Entry,
        start: u64,
        cost: u64,
        from: Option<usize>,
    ) -> u16 {
        self.version += 1;
        let version = self.version;
        let entry = self.directory.entry(slot);
        entry.set_version(version);
        entry.set_busy_until(start + cost);
        entry.set_owner(Some(core));
        entry.set_former(from);
        entry.set_dirty(true);
        entry.set_sharers(0);
        if before.is_watched() {
            entry.set_watched(false);
            self.taken.push(line);
        }
        if before.sharers() != 0 {
            self.statistics.invalidations += 1;
        }
        let version = entry.version();
        self.directory.forget_other_fills(slot, self.network.bank_of(core));
        version
    }

    fn count(&mut self, core: usize, source: Source, want: Want) {
        let statistics = &mut self.statistics;
        match source {
            Source::Here => statistics.upgrades += 1,
            Source::LastLevel { bank } if bank == self.network.bank_of(core) => {
                statistics.last_level_hits += 1;
            }
            Source::LastLevel { bank } => {
                statistics.transfers_across += 1;
                let own = self.network.cluster_of(core);
                statistics.between_machines += u64::from(self.network.are_apart(own, bank));
            }
            Source::Core { core: other, .. } => {
                if self.network.cluster_of(other) == self.network.cluster_of(core) {
                    statistics.transfers_within += 1;
                } else {
                    let (own, other) = (self.network.cluster_of(core), self.network.cluster_of(other));
                    statistics.transfers_across += 1;
                    statistics.between_machines += u64::from(self.network.are_apart(own, other));
                }
            }
            Source::Memory => statistics.memory_reads += 1,
        }
        if want == Want::Own {
            statistics.taken += 1;
        }
    }
}
