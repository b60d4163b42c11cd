//! A workload that somebody else owns: `Checked` wants one of its own.

use contract::{Key, Seat, TableDescription, TableId, Workload};

/// Passes everything on.
pub struct Borrowed<'a, W>(pub &'a W);

impl<W: Workload> Workload for Borrowed<'_, W> {
    type Client = W::Client;

    fn tables(&self) -> Vec<TableDescription> {
        self.0.tables()
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        self.0.loaded_key(table, row)
    }

    fn loaded_bytes(&self, table: TableId, key: Key, bytes: &mut Vec<u8>) {
        self.0.loaded_bytes(table, key, bytes);
    }

    fn fill(&self, table: TableId, key: Key, row: &mut [u8]) {
        self.0.fill(table, key, row);
    }

    fn fill_varying(&self, table: TableId, key: Key, row: &mut Vec<u8>) {
        self.0.fill_varying(table, key, row);
    }

    fn client(&self, seat: Seat) -> W::Client {
        self.0.client(seat)
    }
}
