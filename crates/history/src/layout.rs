//! How a checked table's rows are laid out: the workload's bytes, padding to 8, the stamp; if rows vary in length, without padding.

use crate::version::Stamp;
use contract::{Indexing, Span, TableDescription, TableId};

/// One table's rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLayout {
    /// The table's name, for messages.
    name: &'static str,
    /// Bytes of the workload's row, or of the longest.
    pub bytes: usize,
    /// Bytes of the checked row, or of the longest.
    pub stamped_bytes: usize,
    /// Whether its rows vary in length.
    pub varies: bool,
    /// Whether its keys are byte strings.
    pub has_strings: bool,
}

impl RowLayout {
    pub fn of(table: &TableDescription) -> Self {
        let varies = table.varies();
        let padded = if varies { table.row_bytes } else { table.row_bytes.next_multiple_of(8) };
        let stamped_bytes = padded + Stamp::BYTES;
        let has_strings = matches!(table.indexing, Indexing::OrderedBytes { .. });
        RowLayout { name: table.name, bytes: table.row_bytes, stamped_bytes, varies, has_strings }
    }

    /// From the first byte of `span` to the end of the stamp; of rows that vary in length, which only a scan may name, the same.
    ///
    /// Panics if the span does not lie within the workload's row: the checked row is longer, so the engine
    /// would not notice.
    pub fn widened(&self, span: Span) -> Span {
        if self.varies {
            return span;
        }
        assert!(
            span.end() <= self.bytes,
            "bytes {}..{} are not within a row of table {}, which has {} bytes",
            span.start(),
            span.end(),
            self.name,
            self.bytes
        );
        Span::new(span.start(), self.stamped_bytes - span.start())
    }

    /// The stamp alone.
    pub fn stamp(&self) -> Span {
        Span::new(self.stamped_bytes - Stamp::BYTES, Stamp::BYTES)
    }

    pub fn whole(&self) -> Span {
        Span::whole(self.stamped_bytes)
    }

    /// Panics if `row` is not a whole row of the workload.
    pub fn assert_whole(&self, row: &[u8]) {
        let fits = if self.varies { row.len() <= self.bytes } else { row.len() == self.bytes };
        let (bytes, most, name) = (row.len(), self.bytes, self.name);
        assert!(fits, "a row of {bytes} bytes for table {name}, which has {most}");
    }

    /// The workload's row of a whole checked one.
    pub fn shown<'r>(&self, row: &'r [u8]) -> &'r [u8] {
        &row[..if self.varies { row.len() - Stamp::BYTES } else { self.bytes }]
    }

    /// The checked row of a workload's one.
    pub fn stamped(&self, row: &[u8], stamp: Stamp, into: &mut Vec<u8>) {
        into.clear();
        into.extend_from_slice(row);
        into.resize(if self.varies { row.len() + Stamp::BYTES } else { self.stamped_bytes }, 0);
        stamp.put(into);
    }
}

/// Every table's rows, by [`TableId`].
#[derive(Clone, Debug)]
pub(crate) struct Layouts(Vec<RowLayout>);

impl Layouts {
    pub fn of(tables: &[TableDescription]) -> Self {
        Layouts(tables.iter().map(RowLayout::of).collect())
    }

    pub fn table(&self, table: TableId) -> RowLayout {
        *self.0.get(table.index()).unwrap_or_else(|| panic!("no table has the number {}", table.0))
    }
}
