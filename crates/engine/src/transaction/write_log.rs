//! A transaction's private bytes: what it overwrote (undo, for protocols that write in place), or what it will write
//! (redo, for those that install at commit), in the order of the operations.

use contract::{Merge, Receipts, Span};
use zerocopy::IntoBytes;

/// One write.
#[derive(Clone, Copy)]
pub(crate) struct Write {
    /// Position in the access set.
    pub access: u32,
    /// The bytes of the row that it is about.
    pub span: Span,
    /// Their content before (undo) or after (redo), or the argument of `merge`.
    pub bytes: Bytes,
    /// Redo of a blind change: what to do to the row at commit, before install.
    pub merge: Option<Merge>,
}

/// A piece of the log's buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    at: u32,
    len: u32,
}

/// The log: a list of writes, and one buffer for all their bytes.
#[derive(Default)]
pub(crate) struct WriteLog {
    writes: Vec<Write>,
    buffer: Vec<u64>,
    used: usize,
    arguments: Vec<Bytes>,
    /// Whether a row that varies in length is among what is written.
    replaces_values: bool,
}

impl WriteLog {
    /// With room for four kilobytes, and grows: a deployment has a log for each branch that may run at a worker, most of which write little.
    pub fn new() -> Self {
        WriteLog {
            writes: Vec::with_capacity(256),
            buffer: vec![0; 512],
            used: 0,
            arguments: Vec::with_capacity(64),
            replaces_values: false,
        }
    }

    /// Room for `len` bytes that start as the byte at `offset` of a row does, relative to 64-bit words, so that typed
    /// rows are as aligned here as in place.
    #[inline(always)]
    pub fn reserve(&mut self, offset: usize, len: usize) -> Bytes {
        let at = self.used.next_multiple_of(8) + offset % 8;
        self.used = at + len;
        if self.used > self.buffer.len() * 8 {
            self.grow();
        }
        Bytes { at: at as u32, len: len as u32 }
    }

    #[cold]
    fn grow(&mut self) {
        assert!(u32::try_from(self.used).is_ok(), "a transaction of more than 4 GiB of writes");
        self.buffer.resize((self.used / 8 + 1).next_power_of_two(), 0);
    }

    /// Adds a write whose bytes are reserved.
    #[inline(always)]
    pub fn push(&mut self, write: Write) {
        self.writes.push(write);
    }

    /// The writes, in order.
    #[inline(always)]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Whether there are merges, applied or not.
    #[inline(always)]
    pub fn has_merges(&self) -> bool {
        !self.arguments.is_empty()
    }

    /// A write follows that replaces a row that varies in length.
    pub fn will_replace_values(&mut self) {
        self.replaces_values = true;
    }

    /// Whether there are such writes.
    #[inline(always)]
    pub fn replaces_values(&self) -> bool {
        self.replaces_values
    }

    /// A merge has made these bytes of its row.
    pub fn merged(&mut self, number: usize, bytes: Bytes) {
        let write = &mut self.writes[number];
        (write.merge, write.bytes) = (None, bytes);
    }

    /// Bytes of the log.
    #[inline(always)]
    pub fn get(&self, bytes: Bytes) -> &[u8] {
        &self.buffer.as_bytes()[bytes.at as usize..][..bytes.len as usize]
    }

    /// Bytes of the log, to be written.
    #[inline(always)]
    pub fn get_mut(&mut self, bytes: Bytes) -> &mut [u8] {
        &mut self.buffer.as_mut_bytes()[bytes.at as usize..][..bytes.len as usize]
    }

    /// Copies a merge's argument into the log, where its receipt will be found.
    pub fn keep_argument(&mut self, argument: &[u8]) -> Bytes {
        let bytes = self.reserve(0, argument.len());
        self.get_mut(bytes).copy_from_slice(argument);
        self.arguments.push(bytes);
        bytes
    }

    /// Forgets everything, keeps the memory.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.writes.clear();
        self.arguments.clear();
        self.used = 0;
        self.replaces_values = false;
    }
}

impl Receipts for WriteLog {
    fn argument(&self, nth: usize) -> &[u8] {
        let bytes = self.arguments.get(nth);
        self.get(
            *bytes.unwrap_or_else(|| panic!("merge {nth} of {} that found their key", self.arguments.len())),
        )
    }
}
