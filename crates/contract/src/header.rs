//! What a record has before its row.

/// What a record has before its row: the key, and metadata of a size that all protocols of the layout can do with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Header {
    /// Eight bytes of metadata: a lock, a count, a version.
    #[default]
    Narrow,
    /// Twenty-four: room for three timestamps, or for a set of readers.
    Wide,
    /// Thirty-two: room for three timestamps and a pointer to an older version.
    Versioned,
}

impl Header {
    /// Bytes of metadata.
    pub const fn metadata_bytes(self) -> usize {
        match self {
            Header::Narrow => 8,
            Header::Wide => 24,
            Header::Versioned => 32,
        }
    }
}
