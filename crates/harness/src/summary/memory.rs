//! What a store takes of the machine's memory, and how it grew.

use contract::LeakCheck;
use serde::{Deserialize, Serialize};

/// A store's memory: as it was loaded, and after the last repetition over it, whichever system's that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Bytes of the loaded tables, indexes included.
    pub loaded_bytes: u64,
    /// Rows that were loaded.
    pub loaded_rows: u64,
    /// Bytes after the last repetition.
    pub bytes: u64,
    /// Rows after the last repetition.
    pub rows: u64,
    /// Records that are neither linked nor free to be used again after the last repetition: none, unless something leaks.
    pub stray_records: u64,
    /// Bytes with which records tell of their versions; 0 without snapshots (*silo* 5.6).
    #[serde(default)]
    pub lineage_bytes: u64,
    /// The most bytes that previous versions of records have taken.
    #[serde(default)]
    pub most_version_bytes: u64,
}

impl Memory {
    /// As loaded.
    pub fn loaded(bytes: u64, rows: u64) -> Memory {
        Memory { loaded_bytes: bytes, loaded_rows: rows, bytes, rows, ..Memory::default() }
    }

    /// Whether nothing has been inserted or deleted since, nor has a version been made, as far as the numbers tell. What versions have left is
    /// used again elsewhere, and so is as far from a core as chance will have it.
    pub fn is_as_loaded(&self) -> bool {
        (self.bytes, self.rows, self.most_version_bytes) == (self.loaded_bytes, self.loaded_rows, 0)
    }

    /// With what is there now.
    pub fn now(self, leaks: &LeakCheck) -> Memory {
        let LeakCheck { linked_records, allocated_records, memory_bytes, .. } = *leaks;
        let LeakCheck { lineage_bytes, most_version_bytes, .. } = *leaks;
        let stray_records = allocated_records.saturating_sub(linked_records);
        Memory {
            bytes: memory_bytes,
            rows: linked_records,
            stray_records,
            lineage_bytes,
            most_version_bytes,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_linked_nor_free_is_stray() {
        let leaks = LeakCheck {
            linked_records: 90,
            allocated_records: 100,
            memory_bytes: 4000,
            lineage_bytes: 90 * 16,
            most_version_bytes: 500,
            ..LeakCheck::default()
        };
        let memory = Memory::loaded(1000, 20).now(&leaks);
        assert_eq!((memory.loaded_bytes, memory.bytes), (1000, 4000));
        assert_eq!((memory.loaded_rows, memory.rows, memory.stray_records), (20, 90, 10));
        assert_eq!((memory.lineage_bytes, memory.most_version_bytes), (1440, 500));
    }
}
