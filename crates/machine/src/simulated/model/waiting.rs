//! What a core has on its way: stores in its buffer, and lines that it asked for ahead; and the line that came last, which
//! nobody can have taken away yet.

use super::{Line, Want};

/// One core's.
pub(super) struct Waiting {
    /// When the stores in the buffer leave it, oldest at `oldest`; a ring.
    stores: Box<[u64]>,
    oldest: usize,
    /// When the last store leaves: stores leave in order.
    drained_at: u64,
    /// Lines asked for ahead, with the time at which they come.
    asked_for: Vec<(Line, u64)>,
    most_asked_for: usize,
    /// When the last of those comes: later, none has to be looked for.
    all_come_at: u64,
    newest: Newest,
}

/// The line that came last.
#[derive(Clone, Copy)]
struct Newest {
    line: Line,
    want: Want,
    /// Until then it is here, whichever core wants it.
    until: u64,
}

impl Waiting {
    pub fn new(buffered_stores: usize, prefetches: usize) -> Self {
        Waiting {
            stores: vec![0; buffered_stores].into(),
            oldest: 0,
            drained_at: 0,
            asked_for: Vec::with_capacity(prefetches),
            most_asked_for: prefetches,
            all_come_at: 0,
            newest: Newest { line: Line(0), want: Want::Copy, until: 0 },
        }
    }

    /// A line came that nobody can take away before `until`.
    #[inline]
    pub fn came(&mut self, line: Line, want: Want, until: u64) {
        self.newest = Newest { line, want, until };
    }

    /// Whether the line came so lately that it is still here, whichever core has asked for it.
    #[inline]
    pub fn has_just_come(&self, line: Line, want: Want, now: u64) -> bool {
        let newest = &self.newest;
        newest.line == line && now < newest.until && (want == Want::Copy || newest.want == Want::Own)
    }

    /// When the store buffer is empty.
    #[inline]
    pub fn drained_at(&self) -> u64 {
        self.drained_at
    }

    /// Buffers a store whose line comes at `comes_at`; what the core waits for room.
    pub fn buffer(&mut self, now: u64, comes_at: u64) -> u64 {
        self.drained_at = self.drained_at.max(comes_at);
        let Some(slot) = self.stores.get_mut(self.oldest) else { return comes_at - now };
        // The oldest one's place; it has left long ago unless the buffer is full.
        let room_at = std::mem::replace(slot, self.drained_at);
        self.oldest = if self.oldest + 1 == self.stores.len() { 0 } else { self.oldest + 1 };
        room_at.saturating_sub(now)
    }

    /// Whether another line may be asked for ahead.
    pub fn has_room(&mut self, now: u64) -> bool {
        if self.asked_for.len() >= self.most_asked_for {
            self.asked_for.retain(|&(_, comes_at)| comes_at > now);
        }
        self.asked_for.len() < self.most_asked_for
    }

    /// A line was asked for ahead.
    pub fn asked_for(&mut self, line: Line, comes_at: u64) {
        self.asked_for.push((line, comes_at));
        self.all_come_at = self.all_come_at.max(comes_at);
    }

    /// How long a line that is here, or on its way here, still takes.
    #[inline]
    pub fn comes_in(&self, line: Line, now: u64) -> u64 {
        if now >= self.all_come_at {
            return 0;
        }
        let asked_for = self.asked_for.iter().rev().find(|asked_for| asked_for.0 == line);
        asked_for.map_or(0, |&(_, comes_at)| comes_at.saturating_sub(now))
    }
}
