//! A record's header, as types: what it has before its row, told apart from the row, so that a protocol can have more metadata than
//! others, and the row need not be behind it.
//!
//! A layout ([`contract::Header`]) decides the header of all records of a store. A protocol states in which it has its metadata
//! ([`crate::protocol::Protocol::Header`]), so the offsets of its transactions are constants; what serves all of them, loading and
//! allocating, is told by the store's [`super::Shape`].

use contract::Header;
use std::ptr::NonNull;

/// Bytes of the key, which comes first under every layout.
pub(crate) const KEY_BYTES: usize = 8;

/// Bytes of a record before its row.
pub(crate) const fn header_bytes(header: Header) -> usize {
    KEY_BYTES + header.metadata_bytes()
}

/// A header.
pub(crate) trait RecordHeader: 'static {
    /// The layout that has it.
    const HEADER: Header;

    /// The piece of memory that has the row of the record at `base`, and the byte of it at which the row begins: the record
    /// itself, behind the header. A machine that stores but a part of each piece needs to know where the piece begins.
    ///
    /// # Safety
    /// A record of this header begins at `base`.
    #[inline(always)]
    unsafe fn row(base: NonNull<u8>) -> (NonNull<u8>, usize) {
        (base, header_bytes(Self::HEADER))
    }
}

/// Eight bytes of metadata.
pub(crate) struct Narrow;

impl RecordHeader for Narrow {
    const HEADER: Header = Header::Narrow;
}

/// Twenty-four.
pub(crate) struct Wide;

impl RecordHeader for Wide {
    const HEADER: Header = Header::Wide;
}

/// Thirty-two.
pub(crate) struct Versioned;

impl RecordHeader for Versioned {
    const HEADER: Header = Header::Versioned;
}
