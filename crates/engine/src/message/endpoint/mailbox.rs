//! What has come for a slot of a worker and was not taken yet: messages behind one another, each after its length.

use super::counterpart::{LENGTH_BYTES, number, put_number};

/// See the module.
#[derive(Default)]
pub(super) struct Mailbox {
    bytes: Vec<u8>,
    taken: usize,
}

impl Mailbox {
    /// Puts a message behind those that have come.
    pub fn put(&mut self, message: &[u8]) {
        put_number(&mut self.bytes, message.len());
        self.bytes.extend_from_slice(message);
    }

    /// Whether there is one.
    pub fn has_some(&self) -> bool {
        self.taken < self.bytes.len()
    }

    /// Takes the first one out; whether there is one.
    pub fn take(&mut self, into: &mut Vec<u8>) -> bool {
        let left = &self.bytes[self.taken..];
        if left.is_empty() {
            return false;
        }
        let length = number(left);
        into.clear();
        into.extend_from_slice(&left[LENGTH_BYTES..][..length]);
        self.taken += LENGTH_BYTES + length;
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        true
    }
}
