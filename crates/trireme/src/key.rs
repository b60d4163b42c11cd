//! Keys: integers, strings, byte strings, arrays of bytes, and tuples of them, as byte strings in the same order.
//!
//! | type | bytes |
//! |---|---|
//! | unsigned integer | most significant first |
//! | signed integer | the same, with the sign bit turned over |
//! | `bool`, `char` | as `u8`, `u32` |
//! | `[u8; N]` | as they are |
//! | `String`, `Vec<u8>` | as they are, but for 0, which is `0, 255`; then `0, 0` |
//! | tuple | its parts, one after the other |
//!
//! No encoding is the beginning of another one of the same type, so that tuples are in the order of their first part, then of their
//! second, and so on. Keys that are one integer of at most 64 bits are numbers for the engine, too.

use crate::error::Error;
use contract::{TableId, Transaction};

/// Bytes of the longest key.
pub const MAX_KEY_BYTES: usize = 1024;

/// A type whose values are keys of tables. Sealed: the order of keys is part of the format of what is stored.
pub trait Key: sealed::Sealed + 'static {
    /// What operations are given: the integer itself, `&str` for `String`, `&[u8]` for `Vec<u8>`, a tuple of those for a tuple.
    type Given<'a>: Copy;

    /// Whether a key is one integer of at most 64 bits.
    #[doc(hidden)]
    const IS_NUMBER: bool;

    /// What operations are given to mean this key.
    fn given(&self) -> Self::Given<'_>;

    /// The number that a key is, in the order of keys, if [`Key::IS_NUMBER`].
    #[doc(hidden)]
    fn number(_: Self::Given<'_>) -> Option<u64> {
        None
    }

    /// Appends the bytes of a key.
    #[doc(hidden)]
    fn encode(given: Self::Given<'_>, to: &mut Vec<u8>);

    /// The key at the beginning of some bytes, which go on after it; `None`: there is none.
    #[doc(hidden)]
    fn decode(from: &mut &[u8]) -> Option<Self>
    where
        Self: Sized;

    /// Appends its type's name, as schemas have it.
    #[doc(hidden)]
    fn describe(to: &mut String);

    /// Bytes of the longest one.
    #[doc(hidden)]
    const MOST_BYTES: usize;
}

mod sealed {
    pub trait Sealed {}
}

/// The bytes of a key, which replace what is in `buffer`; an error if there are too many.
pub(crate) fn encode<'b, K: Key>(given: K::Given<'_>, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Error> {
    buffer.clear();
    K::encode(given, buffer);
    match buffer.len() {
        len if len > MAX_KEY_BYTES => Err(Error::KeyTooLong { bytes: len }),
        _ => Ok(buffer),
    }
}

/// A key, as the engine names it in the transaction that runs. `buffer` is for the bytes of one that is no number.
#[inline(always)]
pub(crate) fn named<K: Key>(
    transaction: &mut dyn Transaction,
    table: TableId,
    given: K::Given<'_>,
    buffer: &mut Vec<u8>,
) -> Result<contract::Key, Error> {
    match K::number(given) {
        Some(number) => Ok(contract::Key(number)),
        None => Ok(transaction.key(table, encode::<K>(given, buffer)?)),
    }
}

/// The bytes of a key as its own type has them.
pub(crate) fn own_bytes<K: Key>(given: K::Given<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    K::encode(given, &mut bytes);
    bytes
}

/// The bytes of a key as the engine has them in its index: of a number, all eight.
pub(crate) fn bytes<K: Key>(given: K::Given<'_>) -> Result<Vec<u8>, Error> {
    if let Some(number) = K::number(given) {
        return Ok(number.to_be_bytes().to_vec());
    }
    let mut bytes = Vec::new();
    encode::<K>(given, &mut bytes)?;
    Ok(bytes)
}

/// The key that the engine has as these bytes.
pub(crate) fn decoded<K: Key>(mut bytes: &[u8]) -> Option<K> {
    if K::IS_NUMBER {
        bytes = bytes.get(bytes.len().checked_sub(K::MOST_BYTES)?..)?;
    }
    K::decode(&mut bytes)
}

/// The smallest byte string after all that begin with these bytes, if there is one.
pub(crate) fn after_all(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = bytes.pop() {
        if last < u8::MAX {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}

/// The name of a type of keys.
pub(crate) fn description<K: Key>() -> String {
    let mut name = String::new();
    K::describe(&mut name);
    name
}

macro_rules! integers {
    ($($unsigned:ident $signed:ident $is_number:literal),*) => {$(
        impl sealed::Sealed for $unsigned {}
        impl Key for $unsigned {
            type Given<'a> = $unsigned;
            const IS_NUMBER: bool = $is_number;
            const MOST_BYTES: usize = size_of::<$unsigned>();

            fn given(&self) -> $unsigned {
                *self
            }

            #[inline(always)]
            fn number(given: $unsigned) -> Option<u64> {
                if $is_number { Some(given as u64) } else { None }
            }

            fn encode(given: $unsigned, to: &mut Vec<u8>) {
                to.extend_from_slice(&given.to_be_bytes());
            }

            fn decode(from: &mut &[u8]) -> Option<$unsigned> {
                from.split_off(..size_of::<$unsigned>())
                    .map(|bytes| $unsigned::from_be_bytes(bytes.try_into().expect("as many bytes")))
            }

            fn describe(to: &mut String) {
                to.push_str(stringify!($unsigned));
            }
        }

        impl sealed::Sealed for $signed {}
        impl Key for $signed {
            type Given<'a> = $signed;
            const IS_NUMBER: bool = $is_number;
            const MOST_BYTES: usize = size_of::<$signed>();

            fn given(&self) -> $signed {
                *self
            }

            #[inline(always)]
            fn number(given: $signed) -> Option<u64> {
                $unsigned::number(given.cast_unsigned() ^ (1 << ($unsigned::BITS - 1)))
            }

            fn encode(given: $signed, to: &mut Vec<u8>) {
                $unsigned::encode(given.cast_unsigned() ^ (1 << ($unsigned::BITS - 1)), to);
            }

            fn decode(from: &mut &[u8]) -> Option<$signed> {
                $unsigned::decode(from).map(|turned| (turned ^ (1 << ($unsigned::BITS - 1))).cast_signed())
            }

            fn describe(to: &mut String) {
                to.push_str(stringify!($signed));
            }
        }
    )*};
}

integers!(u8 i8 true, u16 i16 true, u32 i32 true, u64 i64 true, u128 i128 false);

macro_rules! as_integers {
    ($($type:ident $integer:ident $from:expr),*) => {$(
        impl sealed::Sealed for $type {}
        impl Key for $type {
            type Given<'a> = $type;
            const IS_NUMBER: bool = true;
            const MOST_BYTES: usize = size_of::<$integer>();

            fn given(&self) -> $type {
                *self
            }

            #[inline(always)]
            fn number(given: $type) -> Option<u64> {
                $integer::number($integer::from(given))
            }

            fn encode(given: $type, to: &mut Vec<u8>) {
                $integer::encode($integer::from(given), to);
            }

            fn decode(from: &mut &[u8]) -> Option<$type> {
                $integer::decode(from).and_then($from)
            }

            fn describe(to: &mut String) {
                to.push_str(stringify!($type));
            }
        }
    )*};
}

as_integers!(bool u8 |byte| if byte < 2 { Some(byte == 1) } else { None }, char u32 char::from_u32);

impl<const N: usize> sealed::Sealed for [u8; N] {}
impl<const N: usize> Key for [u8; N] {
    type Given<'a> = [u8; N];
    const IS_NUMBER: bool = false;
    const MOST_BYTES: usize = N;

    fn given(&self) -> [u8; N] {
        *self
    }

    fn encode(given: [u8; N], to: &mut Vec<u8>) {
        to.extend_from_slice(&given);
    }

    fn decode(from: &mut &[u8]) -> Option<[u8; N]> {
        from.split_off(..N).map(|bytes| bytes.try_into().expect("as many bytes"))
    }

    fn describe(to: &mut String) {
        *to += &format!("[u8; {N}]");
    }
}

/// Of a byte 0 that is not the end.
const ESCAPED: u8 = 255;

impl sealed::Sealed for Vec<u8> {}
impl Key for Vec<u8> {
    type Given<'a> = &'a [u8];
    const IS_NUMBER: bool = false;
    const MOST_BYTES: usize = MAX_KEY_BYTES;

    fn given(&self) -> &[u8] {
        self
    }

    fn encode(given: &[u8], to: &mut Vec<u8>) {
        for part in given.split_inclusive(|&byte| byte == 0) {
            to.extend_from_slice(part);
            if part.ends_with(&[0]) {
                to.push(ESCAPED);
            }
        }
        to.extend_from_slice(&[0, 0]);
    }

    fn decode(from: &mut &[u8]) -> Option<Vec<u8>> {
        let mut decoded = Vec::new();
        loop {
            let zero = from.iter().position(|&byte| byte == 0)?;
            decoded.extend_from_slice(from.split_off(..zero)?);
            match from.split_off(..2)? {
                [0, 0] => return Some(decoded),
                [0, ESCAPED] => decoded.push(0),
                _ => return None,
            }
        }
    }

    fn describe(to: &mut String) {
        to.push_str("bytes");
    }
}

impl sealed::Sealed for String {}
impl Key for String {
    type Given<'a> = &'a str;
    const IS_NUMBER: bool = false;
    const MOST_BYTES: usize = MAX_KEY_BYTES;

    fn given(&self) -> &str {
        self
    }

    fn encode(given: &str, to: &mut Vec<u8>) {
        <Vec<u8>>::encode(given.as_bytes(), to);
    }

    fn decode(from: &mut &[u8]) -> Option<String> {
        <Vec<u8>>::decode(from).and_then(|bytes| String::from_utf8(bytes).ok())
    }

    fn describe(to: &mut String) {
        to.push_str("string");
    }
}

impl sealed::Sealed for () {}
impl Key for () {
    type Given<'a> = ();
    const IS_NUMBER: bool = false;
    const MOST_BYTES: usize = 0;

    fn given(&self) {}

    fn encode((): (), _: &mut Vec<u8>) {}

    fn decode(_: &mut &[u8]) -> Option<()> {
        Some(())
    }

    fn describe(to: &mut String) {
        to.push_str("()");
    }
}

const fn at_most(bytes: usize) -> usize {
    if bytes > MAX_KEY_BYTES { MAX_KEY_BYTES } else { bytes }
}

macro_rules! tuples {
    ($($name:ident $number:tt),*) => {
        impl<$($name: Key),*> sealed::Sealed for ($($name,)*) {}
        impl<$($name: Key),*> Key for ($($name,)*) {
            type Given<'a> = ($($name::Given<'a>,)*);
            const IS_NUMBER: bool = false;
            const MOST_BYTES: usize = at_most(0 $(+ $name::MOST_BYTES)*);

            fn given(&self) -> Self::Given<'_> {
                ($(self.$number.given(),)*)
            }

            fn encode(given: Self::Given<'_>, to: &mut Vec<u8>) {
                $($name::encode(given.$number, to);)*
            }

            fn decode(from: &mut &[u8]) -> Option<Self> {
                Some(($($name::decode(from)?,)*))
            }

            fn describe(to: &mut String) {
                to.push('(');
                $($name::describe(to); to.push_str(", ");)*
                to.truncate(to.len() - 2);
                to.push(')');
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Debug;

    fn encoded<K: Key>(given: K::Given<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        K::encode(given, &mut bytes);
        bytes
    }

    /// Two keys: they are read back, and are in the order of their bytes.
    fn hold<K: Key + Ord + Debug>(given: [K::Given<'_>; 2], owned: [&K; 2]) {
        let bytes = given.map(encoded::<K>);
        for (bytes, owned) in bytes.iter().zip(owned) {
            let mut rest = &bytes[..];
            assert_eq!(K::decode(&mut rest).as_ref(), Some(owned));
            assert!(rest.is_empty());
            assert!(bytes.len() <= K::MOST_BYTES || K::MOST_BYTES == MAX_KEY_BYTES);
        }
        for (bytes, given) in bytes.iter().zip(given) {
            let number = K::number(given).map(u64::to_be_bytes);
            assert_eq!(number.is_some(), K::IS_NUMBER);
            assert!(number.is_none_or(|number| number.ends_with(bytes)
                && decoded::<K>(&number).as_ref() == decoded::<K>(bytes).as_ref()));
        }
        assert_eq!(bytes[0].cmp(&bytes[1]), owned[0].cmp(owned[1]), "{owned:?}");
    }

    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        // Few different ones, so that one is often the beginning of the other.
        prop::collection::vec(prop::sample::select(vec![0, 1, 254, 255]), 0..6)
    }

    proptest! {
        #[test]
        fn integers_keep_their_order(a: [i64; 2], b: [i128; 2], c: [u16; 2], d: [i8; 2], e: [u128; 2], f: [bool; 2], g: [char; 2]) {
            hold::<i64>(a, [&a[0], &a[1]]);
            hold::<i128>(b, [&b[0], &b[1]]);
            hold::<u16>(c, [&c[0], &c[1]]);
            hold::<i8>(d, [&d[0], &d[1]]);
            hold::<u128>(e, [&e[0], &e[1]]);
            hold::<bool>(f, [&f[0], &f[1]]);
            hold::<char>(g, [&g[0], &g[1]]);
        }

        #[test]
        fn strings_keep_their_order(a in any_bytes(), b in any_bytes(), c: String, d: String, e: [[u8; 3]; 2]) {
            hold::<Vec<u8>>([&a, &b], [&a, &b]);
            hold::<String>([&c, &d], [&c, &d]);
            hold::<[u8; 3]>(e, [&e[0], &e[1]]);
        }

        #[test]
        fn tuples_are_in_the_order_of_their_parts(a in any_bytes(), b in any_bytes(), n in [0u8..3, 0u8..3], m in [-2i32..2, -2i32..2]) {
            let owned = [(a.clone(), n[0], b.clone()), (b.clone(), n[1], a.clone())];
            hold::<(Vec<u8>, u8, Vec<u8>)>([(&a, n[0], &b), (&b, n[1], &a)], [&owned[0], &owned[1]]);
            let owned = [(n[0], (m[0], a.clone())), (n[1], (m[1], b.clone()))];
            hold::<(u8, (i32, Vec<u8>))>([(n[0], (m[0], &a)), (n[1], (m[1], &b))], [&owned[0], &owned[1]]);
        }

        #[test]
        fn what_is_no_key_is_refused_or_read_but_never_a_panic(bytes: Vec<u8>) {
            let _ = <(String, Vec<u8>, u64)>::decode(&mut &bytes[..]);
            let _ = <(char, bool, [u8; 5], i128)>::decode(&mut &bytes[..]);
        }
    }

    #[test]
    fn types_have_names() {
        assert_eq!(description::<(u64, String, (Vec<u8>, [u8; 4]))>(), "(u64, string, (bytes, [u8; 4]))");
        assert_eq!(description::<((), (i8,))>(), "((), (i8))");
    }

    #[test]
    fn keys_have_a_limit() {
        let long = "x".repeat(MAX_KEY_BYTES);
        let refused = encode::<String>(&long, &mut Vec::new()).expect_err("too long");
        assert_eq!(refused.to_string(), "a key of 1026 bytes as it is stored; up to 1024 are allowed");
        assert!(encode::<String>(&long[2..], &mut Vec::new()).is_ok());
    }
}
