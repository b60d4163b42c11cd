//! What has happened to lines.

use std::ops::Sub;

/// Counts of what lines went through, of all cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineStatistics {
    /// Accesses that found a good copy in the first private level.
    pub l1_hits: u64,
    /// In the second.
    pub l2_hits: u64,
    /// In the last level of the own socket, or on a mesh in the line's slice.
    pub last_level_hits: u64,
    /// Lines that came from another core of the socket, or on a mesh of the block of tiles.
    pub transfers_within: u64,
    /// Lines that came from another socket, or on a mesh from another block of tiles.
    pub transfers_across: u64,
    /// Of those, lines that came from another machine of a cluster. Machines share no memory: these are of what one process has once.
    pub between_machines: u64,
    /// Lines that came from memory.
    pub memory_reads: u64,
    /// Modified lines that went to memory.
    pub write_backs: u64,
    /// Copies that became the core's own.
    pub upgrades: u64,
    /// Lines that a core took for itself, wherever they came from.
    pub taken: u64,
    /// Of those, lines of which others had shared copies.
    pub invalidations: u64,
    /// Lines that were asked for ahead.
    pub prefetches: u64,
    /// Picoseconds that cores waited until lines had arrived at others.
    pub line_queue_ps: u64,
    /// Picoseconds that lines waited for memory controllers.
    pub memory_queue_ps: u64,
}

impl Sub for LineStatistics {
    type Output = LineStatistics;

    /// What happened from `earlier` to here.
    fn sub(self, earlier: LineStatistics) -> LineStatistics {
        LineStatistics {
            l1_hits: self.l1_hits - earlier.l1_hits,
            l2_hits: self.l2_hits - earlier.l2_hits,
            last_level_hits: self.last_level_hits - earlier.last_level_hits,
            transfers_within: self.transfers_within - earlier.transfers_within,
            transfers_across: self.transfers_across - earlier.transfers_across,
            between_machines: self.between_machines - earlier.between_machines,
            memory_reads: self.memory_reads - earlier.memory_reads,
            write_backs: self.write_backs - earlier.write_backs,
            upgrades: self.upgrades - earlier.upgrades,
            taken: self.taken - earlier.taken,
            invalidations: self.invalidations - earlier.invalidations,
            prefetches: self.prefetches - earlier.prefetches,
            line_queue_ps: self.line_queue_ps - earlier.line_queue_ps,
            memory_queue_ps: self.memory_queue_ps - earlier.memory_queue_ps,
        }
    }
}
