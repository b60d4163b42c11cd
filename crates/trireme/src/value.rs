//! Values: rows of a fixed size, byte strings of any length, and types that serde knows.

use crate::error::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of the longest value that varies in length.
pub const MAX_VALUE_BYTES: usize = 16 << 20;

/// How a type's values lie in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// In the row itself, so many bytes.
    Fixed(usize),
    /// Out of the row, each as long as it is.
    Varying,
}

impl Row {
    /// Bytes of the row that have the value; 0: it lies out of it.
    pub(crate) fn span_bytes(self) -> usize {
        match self {
            Row::Fixed(bytes) => bytes,
            Row::Varying => 0,
        }
    }
}

/// A type whose values are values of tables:
///
/// | type | given | read | in the table |
/// |---|---|---|---|
/// | any `T` of [`zerocopy`]'s [`FromBytes`], [`IntoBytes`], [`Immutable`] and [`KnownLayout`] | `&T` | `T` | `size_of::<T>()` bytes in the row |
/// | [`Bytes`] | `&[u8]` | `Vec<u8>` | out of the row, up to 16 MiB |
/// | [`Serde<T>`] | `&T` | `T` | the same, in [`postcard`]'s format |
pub trait Value: 'static {
    /// What operations are given, by reference.
    type Given: ?Sized;
    /// What they answer.
    type Owned: std::borrow::Borrow<Self::Given>;

    /// Where it lies.
    const ROW: Row;

    /// Its bytes, shown to `show`.
    fn with_bytes<R>(given: &Self::Given, show: impl FnOnce(&[u8]) -> R) -> Result<R, Error>;

    /// What has these bytes; `None`: nothing has.
    fn read(bytes: &[u8]) -> Option<Self::Owned>;

    /// The type in words, as schemas have it: of tables with others it is told apart by them.
    fn description() -> String;
}

impl<T: FromBytes + IntoBytes + Immutable + KnownLayout + 'static> Value for T {
    type Given = T;
    type Owned = T;

    const ROW: Row = Row::Fixed(size_of::<T>());

    fn with_bytes<R>(given: &T, show: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        Ok(show(given.as_bytes()))
    }

    fn read(bytes: &[u8]) -> Option<T> {
        T::read_from_bytes(bytes).ok()
    }

    fn description() -> String {
        format!("rows of {} bytes", size_of::<T>())
    }
}

/// Values that are byte strings, of up to [`MAX_VALUE_BYTES`].
#[derive(Debug)]
pub enum Bytes {}

impl Value for Bytes {
    type Given = [u8];
    type Owned = Vec<u8>;

    const ROW: Row = Row::Varying;

    fn with_bytes<R>(given: &[u8], show: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        within_limit(given).map(show)
    }

    fn read(bytes: &[u8]) -> Option<Vec<u8>> {
        Some(bytes.to_vec())
    }

    fn description() -> String {
        "bytes".to_owned()
    }
}

/// Values that are serialized, of up to [`MAX_VALUE_BYTES`] in [`postcard`]'s format.
///
/// That format does not name fields: a type whose fields change is another type, and wants another table; nobody
/// notices if it gets the old one, but where that cannot be read ([`Error::Unreadable`](crate::Error::Unreadable)).
#[derive(Debug)]
pub struct Serde<T>(PhantomData<fn() -> T>);

impl<T: Serialize + DeserializeOwned + 'static> Value for Serde<T> {
    type Given = T;
    type Owned = T;

    const ROW: Row = Row::Varying;

    fn with_bytes<R>(given: &T, show: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        let bytes = postcard::to_allocvec(given).map_err(|why| Error::Serialize { why: why.to_string() })?;
        within_limit(&bytes).map(show)
    }

    fn read(bytes: &[u8]) -> Option<T> {
        postcard::from_bytes(bytes).ok()
    }

    fn description() -> String {
        "serialized".to_owned()
    }
}

fn within_limit(bytes: &[u8]) -> Result<&[u8], Error> {
    match bytes.len() {
        0..=MAX_VALUE_BYTES => Ok(bytes),
        bytes => Err(Error::ValueTooLong { bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_back() {
        assert_eq!(<[u16; 3]>::with_bytes(&[1, 2, 3], <[u16; 3]>::read).expect("short"), Some([1, 2, 3]));
        assert_eq!(<[u16; 3]>::read(&[0; 5]), None);
        assert_eq!(Bytes::with_bytes(b"abc", Bytes::read).expect("short"), Some(b"abc".to_vec()));
        let job = ("run".to_owned(), Some(7u32));
        let back = Serde::<(String, Option<u32>)>::with_bytes(&job, Serde::<(String, Option<u32>)>::read);
        assert_eq!(back.expect("short"), Some(job));
        assert_eq!(Serde::<(String, u32)>::read(&[200]), None);
    }

    #[test]
    fn values_have_a_limit() {
        let long = vec![0; MAX_VALUE_BYTES + 1];
        let refused = Bytes::with_bytes(&long, |_| ()).expect_err("too long").to_string();
        assert_eq!(refused, "a value of 16777217 bytes; up to 16777216 are allowed");
    }
}
