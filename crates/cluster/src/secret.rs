//! What is known to nodes and nobody else.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// Bytes that are not shown.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(Vec<u8>);

impl From<&[u8]> for Secret {
    fn from(bytes: &[u8]) -> Secret {
        Secret(bytes.to_vec())
    }
}

impl Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_its_length_is_shown() {
        assert_eq!(format!("{:?}", Secret::from(&b"sixteen bytes, or more"[..])), "Secret(22 bytes)");
    }
}
