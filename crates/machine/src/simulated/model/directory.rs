//! The directory: an entry for every line that is cached anywhere, found by hashing.
//!
//! An entry is 32 bytes, and two neighbouring lines' entries share a cache line of the host, so that an access costs the
//! host one miss here. Entries lie in an open table with linear probing; one that is dead is taken out by moving those
//! behind it up, so a look-up ends at the first empty slot.
//!
//! An entry is dead once no last level has its line: they are inclusive, so nobody else has it either. A last level has a
//! line for as long as fewer lines came after it than fit. Each keeps a clock that advances once in a 64th of what it
//! holds; a *fill stamp* of eight bits says at which time a line came, and an age of 64 or more means that it has gone. A
//! sweeper walks over the table, a few slots for every line that comes, takes dead entries out and wipes stamps that have
//! become old before eight bits would make them look young.
//!
//! Nothing here depends on what the host does: the hash is of the line's number, and the table grows at fixed loads.

use super::Line;
use super::network::Network;
use super::private::VERSION_BITS;
use crate::hardware::cpu;
use crate::hardware::region::{HUGE_PAGE_BYTES, Region};
use crate::simulated::description::{Description, Layout, MOST_CORES, MOST_SOCKETS};

/// Whom a line belongs to, who has copies, and where it is on its way. All zero is no entry.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Entry {
    /// The line's number plus 1; 0 for an empty slot.
    line: u64,
    busy_until: u64,
    /// The core that has the line for itself, plus 1; 0 if none has.
    owner: u16,
    /// The core that it is being taken from, plus 1.
    former: u16,
    /// The version, and two flags above it.
    version: u16,
    /// Clusters with shared copies.
    sharers: u16,
    /// By bank: when the line came; 0 if it has not, or has gone.
    filled: [u8; MOST_SOCKETS],
}

const _: () = assert!(size_of::<Entry>() == 32);
const _: () = assert!(MOST_CORES < u16::MAX as usize);

const DIRTY: u16 = 1 << 15;
const WATCHED: u16 = 1 << 14;
const VERSION: u16 = (1 << VERSION_BITS) - 1;
const _: () = assert!(VERSION & (DIRTY | WATCHED) == 0);

impl Entry {
    const EMPTY: Entry = Entry {
        line: 0,
        busy_until: 0,
        owner: 0,
        former: 0,
        version: 0,
        sharers: 0,
        filled: [0; MOST_SOCKETS],
    };

    #[inline]
    pub fn version(&self) -> u16 {
        self.version & VERSION
    }

    #[inline]
    pub fn set_version(&mut self, drawn: u64) {
        self.version = self.version & !VERSION | drawn as u16 & VERSION;
    }

    #[inline]
    pub fn is_dirty(&self) -> bool {
        self.version & DIRTY != 0
    }

    #[inline]
    pub fn set_dirty(&mut self, dirty: bool) {
        self.version = if dirty { self.version | DIRTY } else { self.version & !DIRTY };
    }

    #[inline]
    pub fn is_watched(&self) -> bool {
        self.version & WATCHED != 0
    }

    #[inline]
    pub fn set_watched(&mut self, watched: bool) {
        self.version = if watched { self.version | WATCHED } else { self.version & !WATCHED };
    }

    #[inline]
    pub fn owner(&self) -> Option<usize> {
        usize::from(self.owner).checked_sub(1)
    }

    #[inline]
    pub fn set_owner(&mut self, core: Option<usize>) {
        self.owner = core.map_or(0, |core| core as u16 + 1);
    }

    #[inline]
    pub fn set_former(&mut self, core: Option<usize>) {
        self.former = core.map_or(0, |core| core as u16 + 1);
    }

    /// Whether the line is being taken from the core, and has not left it.
    #[inline]
    pub fn is_leaving(&self, core: usize, now: u64) -> bool {
        usize::from(self.former) == core + 1 && now < self.busy_until
    }

    #[inline]
    pub fn busy_until(&self) -> u64 {
        self.busy_until
    }

    #[inline]
    pub fn set_busy_until(&mut self, time: u64) {
        self.busy_until = time;
    }

    #[inline]
    pub fn sharers(&self) -> u16 {
        self.sharers
    }

    #[inline]
    pub fn set_sharers(&mut self, clusters: u16) {
        self.sharers = clusters;
    }
}

/// A slot of the table, until the next [`Directory::enter`] or [`Directory::tend`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(usize);

/// Ages below this are of lines that are there.
const LIFE: u64 = 64;
/// Stamps are 1 to 255.
const STAMPS: u64 = 255;
/// Lines that come between two walks of the sweeper.
const SWEEP_EVERY: u64 = 64;
const FIRST_SLOTS: usize = 1 << 12;

/// The clock of a last level.
#[derive(Clone, Copy, Default)]
struct Bank {
    /// Lines that have come.
    filled: u64,
    /// Lines that come between two ticks.
    interval: u64,
    /// Lines that come until the next.
    until_tick: u64,
    /// The time, as a stamp: 1 to 255.
    now: u8,
}

impl Bank {
    #[inline]
    fn age(&self, stamp: u8) -> u64 {
        let (now, stamp) = (u64::from(self.now), u64::from(stamp));
        if now >= stamp { now - stamp } else { now + STAMPS - stamp }
    }

    #[inline]
    fn has(&self, stamp: u8) -> bool {
        stamp != 0 && self.age(stamp) < LIFE
    }

    /// Whether everything that came is there.
    fn has_lost_nothing(&self) -> bool {
        self.filled < LIFE * self.interval
    }

    fn fill(&mut self) -> u8 {
        self.filled += 1;
        self.until_tick -= 1;
        if self.until_tick == 0 {
            self.until_tick = self.interval;
            self.now = if u64::from(self.now) == STAMPS { 1 } else { self.now + 1 };
        }
        self.now
    }
}

/// See the module.
pub(super) struct Directory {
    table: Table,
    entries: usize,
    banks: [Bank; MOST_SOCKETS],
    bank_count: usize,
    /// Lines of the smallest last level.
    least_lines: u64,
    /// Lines that came since the sweeper last walked.
    unswept: u64,
    /// Where it goes on.
    hand: usize,
    write_backs: u64,
}

impl Directory {
    pub fn new(description: &Description) -> Self {
        let slices = match &description.layout {
            Layout::Sockets(_) => 1,
            Layout::Mesh(_) => description.cores as u64,
        };
        let lines = description.last.bytes / Description::LINE_BYTES * slices;
        let bank = Bank { filled: 0, interval: lines / LIFE, until_tick: lines / LIFE, now: 1 };
        assert!(bank.interval >= 1, "checked: a last level has 64 lines or more");
        Directory {
            table: Table::new(FIRST_SLOTS),
            entries: 0,
            banks: [bank; MOST_SOCKETS],
            bank_count: description.sockets(),
            least_lines: lines,
            unswept: 0,
            hand: 0,
            write_backs: 0,
        }
    }

    /// Modified lines that fell out of the last levels.
    pub fn write_backs(&self) -> u64 {
        self.write_backs
    }

    /// The line's entry; if it has none, a new one, with a version drawn after `drawn`.
    #[inline]
    pub fn enter(&mut self, line: Line, drawn: &mut u64) -> Slot {
        assert!(line < Line(Line::END));
        let mut slot = self.table.home(line.0);
        loop {
            let found = self.table.get(slot).line;
            if found == line.0 + 1 {
                return Slot(slot);
            }
            if found == 0 {
                return self.add(line, drawn);
            }
            slot = self.table.next(slot);
        }
    }

    #[cold]
    fn add(&mut self, line: Line, drawn: &mut u64) -> Slot {
        if (self.entries + 1) * 8 > self.table.slots() * 7 {
            self.grow();
        }
        *drawn += 1;
        let mut entry = Entry { line: line.0 + 1, ..Entry::EMPTY };
        entry.set_version(*drawn);
        self.entries += 1;
        Slot(self.table.insert(entry))
    }

    #[inline]
    pub fn entry(&mut self, slot: Slot) -> &mut Entry {
        self.table.get_mut(slot.0)
    }

    /// Whether a last level has the line.
    #[inline]
    pub fn is_filled(&self, slot: Slot, bank: usize) -> bool {
        self.banks[bank].has(self.table.get(slot.0).filled[bank])
    }

    /// The line is used: a last level keeps it, if it is there.
    #[inline]
    pub fn renew(&mut self, slot: Slot, bank: usize) {
        let stamp = &mut self.table.get_mut(slot.0).filled[bank];
        let clock = &mut self.banks[bank];
        if *stamp != 0 && clock.age(*stamp) >= LIFE / 2 {
            *stamp = clock.fill();
            self.unswept += 1;
        }
    }

    /// The line comes into a last level, unless it is there.
    #[inline]
    pub fn fill(&mut self, slot: Slot, bank: usize) {
        let stamp = &mut self.table.get_mut(slot.0).filled[bank];
        let clock = &mut self.banks[bank];
        if *stamp == 0 || clock.age(*stamp) >= LIFE / 2 {
            *stamp = clock.fill();
            self.unswept += 1;
        }
    }

    /// The line was taken by a core of `bank`: other last levels have it no more.
    #[inline]
    pub fn forget_other_fills(&mut self, slot: Slot, bank: usize) {
        let entry = self.table.get_mut(slot.0);
        let kept = entry.filled[bank];
        entry.filled = [0; MOST_SOCKETS];
        entry.filled[bank] = kept;
    }

    /// Whether the sweeper should walk.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.unswept >= SWEEP_EVERY
    }

    /// Lets the sweeper walk. Modified lines that fall out go to memory, at time `now`.
    #[cold]
    pub fn tend(&mut self, now: u64, network: &mut Network) {
        // Once round while the last levels fill twice: a stamp is wiped before it is four lives old.
        let slots_a_line = (self.table.slots() as u64).div_ceil(2 * self.least_lines).max(4);
        let walked = (self.unswept * slots_a_line).min(self.table.slots() as u64);
        self.unswept = 0;
        self.sweep(walked, now, network);
        // Where last levels are full, half a walk's lines are dead: with as many slots as twice the lines that they hold,
        // which a mesh with a power of two of them has, the table stays below the first of these bounds.
        if self.entries * 16 > self.table.slots() * 11 {
            self.sweep(self.table.slots() as u64, now, network);
            if self.entries * 16 > self.table.slots() * 9 {
                self.grow();
            }
        }
    }

    fn sweep(&mut self, slots: u64, now: u64, network: &mut Network) {
        if self.banks[..self.bank_count].iter().all(Bank::has_lost_nothing) {
            self.hand = self.table.after(self.hand, slots);
            return;
        }
        for _ in 0..slots {
            let entry = self.table.get_mut(self.hand);
            if entry.line != 0 {
                let mut filled = false;
                for (stamp, bank) in entry.filled.iter_mut().zip(&self.banks).take(self.bank_count) {
                    if *stamp != 0 && !bank.has(*stamp) {
                        *stamp = 0;
                    }
                    filled |= *stamp != 0;
                }
                if !filled && !entry.is_watched() && entry.busy_until <= now {
                    if entry.is_dirty() {
                        self.write_backs += 1;
                        // Where it was written, or read since.
                        let cluster = match entry.owner() {
                            Some(core) => network.cluster_of(core),
                            None => entry.sharers().checked_ilog2().unwrap_or(0) as usize,
                        };
                        network.occupy_controller(cluster, Line(entry.line - 1), now);
                    }
                    self.table.remove(self.hand);
                    self.entries -= 1;
                    // Another entry may have moved here.
                    continue;
                }
            }
            self.hand = self.table.next(self.hand);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Table::new(self.table.slots() * 2);
        let mut smaller = std::mem::replace(&mut self.table, larger);
        // Entries go from lower slots to lower slots, so that the smaller table's memory goes as the larger one's comes.
        for slot in 0..smaller.slots() {
            let entry = *smaller.get(slot);
            if entry.line != 0 {
                self.table.insert(entry);
            }
            smaller.is_done_with(slot);
        }
        self.hand = 0;
    }

    #[inline]
    pub fn prefetch_on_host(&self, line: Line) {
        cpu::prefetch_read((&raw const *self.table.get(self.table.home(line.0))).cast());
    }
}

/// The open table. It lies in huge pages where the host has some.
struct Table {
    region: Region,
    mask: usize,
    shift: u32,
}

impl Table {
    /// `slots` is a power of two.
    fn new(slots: usize) -> Self {
        assert!(slots.is_power_of_two());
        let region =
            Region::reserve(slots * size_of::<Entry>()).expect("the host has memory for a directory");
        // Pairs of lines are hashed.
        Table { region, mask: slots - 1, shift: 64 - slots.trailing_zeros() + 1 }
    }

    #[inline]
    fn slots(&self) -> usize {
        self.mask + 1
    }

    #[inline]
    fn home(&self, line: u64) -> usize {
        let hash = (line >> 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift;
        (hash << 1 | line & 1) as usize
    }

    #[inline]
    fn next(&self, slot: usize) -> usize {
        (slot + 1) & self.mask
    }

    /// So many slots behind a slot.
    fn after(&self, slot: usize, slots: u64) -> usize {
        slot.wrapping_add(slots as usize) & self.mask
    }

    /// Gives memory back to the host, of a table of which no slot up to this one is needed any more.
    fn is_done_with(&mut self, slot: usize) {
        const CHUNK: usize = HUGE_PAGE_BYTES / size_of::<Entry>();
        if (slot + 1).is_multiple_of(CHUNK) {
            let end = (slot + 1) * size_of::<Entry>();
            self.region.release(end - HUGE_PAGE_BYTES..end);
        }
    }

    #[inline]
    fn get(&self, slot: usize) -> &Entry {
        assert!(slot <= self.mask);
        // SAFETY: the region has `mask + 1` entries' bytes, aligned to 2 MiB, zeroed at first; zeroes are an empty entry, and
        // any bytes are valid ones; `slot` is within. The table owns the region and lends entries out by its own borrow.
        unsafe { &*self.region.base().cast::<Entry>().add(slot) }
    }

    #[inline]
    fn get_mut(&mut self, slot: usize) -> &mut Entry {
        assert!(slot <= self.mask);
        // SAFETY: as in `get`; `&mut self` makes the borrow the only one.
        unsafe { &mut *self.region.base().cast::<Entry>().add(slot) }
    }

    /// Puts an entry that is not there into the first empty slot from its home on.
    fn insert(&mut self, entry: Entry) -> usize {
        let mut slot = self.home(entry.line - 1);
        while self.get(slot).line != 0 {
            slot = self.next(slot);
        }
        *self.get_mut(slot) = entry;
        slot
    }

    /// Takes an entry out, and moves those behind it up that may stand nearer to their homes.
    fn remove(&mut self, slot: usize) {
        let (mut hole, mut slot) = (slot, slot);
        loop {
            slot = self.next(slot);
            let entry = *self.get(slot);
            if entry.line == 0 {
                break;
            }
            let from_home = slot.wrapping_sub(self.home(entry.line - 1)) & self.mask;
            if from_home >= slot.wrapping_sub(hole) & self.mask {
                *self.get_mut(hole) = entry;
                hole = slot;
            }
        }
        *self.get_mut(hole) = Entry::EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Line, Table};
    use std::collections::HashSet;

    /// Random insertions and removals against a set.
    #[test]
    fn the_table_is_a_map() {
        let mut draw = fastrand::Rng::with_seed(1);
        let (mut table, mut lines) = (Table::new(256), HashSet::new());
        for _ in 0..20_000 {
            let line = draw.u64(..400);
            let found = (0..table.slots()).find(|&slot| table.get(slot).line == line + 1);
            assert_eq!(found.is_some(), lines.contains(&line));
            if let Some(slot) = found {
                table.remove(slot);
                lines.remove(&line);
            } else if lines.len() < 200 {
                table.insert(Entry { line: line + 1, ..Entry::EMPTY });
                lines.insert(line);
            }
            for &line in &lines {
                let mut slot = table.home(line);
                while table.get(slot).line != line + 1 {
                    assert_ne!(table.get(slot).line, 0, "{:?} is not found", Line(line));
                    slot = table.next(slot);
                }
            }
        }
    }
}
