//! How a checked table's rows are laid out: the workload's bytes, padding to 8, the stamp.

use crate::version::Stamp;
use contract::{Indexing, Span, TableDescription, TableId};

/// One table's rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowLayout {
    /// The table's name, for messages.
    name: &'static str,
    /// Bytes of the workload's row.
    pub bytes: usize,
    /// Bytes of the checked row.
    pub stamped_bytes: usize,
    /// Whether its keys are byte strings.
    pub has_strings: bool,
}

impl RowLayout {
    pub fn of(table: &TableDescription) -> Self {
        let stamped_bytes = table.row_bytes.next_multiple_of(8) + Stamp::BYTES;
        let has_strings = matches!(table.indexing, Indexing::OrderedBytes { .. });
        RowLayout { name: table.name, bytes: table.row_bytes, stamped_bytes, has_strings }
    }

    /// From the first byte of `span` to the end of the stamp.
    ///
    /// Panics if the span does not lie within the workload's row: the checked row is longer, so the engine
    /// would not notice.
    pub fn widened(&self, span: Span) -> Span {
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
        assert_eq!(row.len(), self.bytes, "a row of table {} is inserted whole", self.name);
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
