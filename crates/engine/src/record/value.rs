//! Values: rows that vary in length, out of their records.
//!
//! The row of such a record is a word, the address of its *value*: a piece of the heap that has the row's length in its first eight
//! bytes and the row behind them. To every protocol the word is the row: it is locked, copied, validated, installed and undone as any
//! other eight bytes, and it is one word, so that even a reader without a lock never sees half of it.
//!
//! A value is made, and filled, before anybody can find it, and never written again: a row is replaced by linking another value
//! in its place. So values are read without copying them, and a reader whose word is old reads the whole row of that time.
//!
//! A value that was unlinked, or that an abort has taken back, is retired to the slot's garbage, as records are, and freed when its
//! epoch has passed ([`crate::epoch`]). **Why a word that a transaction has read can be followed until the transaction ends:** the word
//! was linked when it was read, or is the transaction's own. Whoever unlinks it does so in a local epoch d that is no earlier than the
//! reader's less one, and frees it when every active slot has reached d + 2; the reader's slot has not before it ends. It does not
//! matter whether the reader holds a lock or will be found invalid. It does matter that only one transaction at a time replaces a row:
//! two would free the same value. So no canary runs over such tables.
//!
//! What a reader finds in a value was written before it: filling -> the unlocking of the record, or the publishing of its version
//! (Release) -> the reader's lock, or its look at the version (Acquire), before or after which it copied the word.

use crate::facade::heap::{ALIGNMENT, Heap};
use crate::facade::payload;
use crate::facade::shared::Arc;
use contract::Span;
use std::collections::VecDeque;
use std::ptr::NonNull;

/// Bytes of a record's row that is the address of its value.
pub(crate) const WORD_BYTES: usize = 8;
/// Such a row, whole.
pub(crate) const WORD: Span = Span { offset: 0, len: WORD_BYTES as u32 };
/// The address of a value, as a row has it.
pub(crate) type Word = [u8; WORD_BYTES];

/// Bytes of a value before the row.
const LENGTH_BYTES: usize = size_of::<u64>();
/// A slot tells what memory it has taken when it has taken, or given back, so many bytes more.
const TOLD_BYTES: i64 = 1 << 20;

const _: () = assert!(ALIGNMENT >= LENGTH_BYTES, "rows are aligned to eight bytes");

/// A value's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value(NonNull<u8>);

// SAFETY: a place in the heap means the same to every thread; when it may be looked at is told in the module.
unsafe impl Send for Value {}

impl Value {
    /// What a record's row says of it.
    #[inline]
    pub fn word(self) -> Word {
        (self.0.as_ptr().expose_provenance() as u64).to_le_bytes()
    }

    /// The value of which a row says this.
    ///
    /// # Safety
    /// `word` came from [`Value::word`].
    #[inline]
    pub unsafe fn of(word: &[u8]) -> Self {
        let word: Word = word.try_into().expect("a word of eight bytes");
        let at = std::ptr::with_exposed_provenance_mut(u64::from_le_bytes(word) as usize);
        // SAFETY: the caller's word is that of a `NonNull`.
        Value(unsafe { NonNull::new_unchecked(at) })
    }

    /// Bytes of the row.
    ///
    /// # Safety
    /// The value was not freed.
    #[inline]
    pub unsafe fn row_bytes(self) -> usize {
        // SAFETY: put there when the value was made, and not written since.
        unsafe { payload::take(self.0.as_ptr().cast::<u64>().cast_const()) as usize }
    }

    /// Shows the row.
    ///
    /// # Safety
    /// The value is not freed before `see` returns.
    #[inline]
    pub unsafe fn view<R>(self, see: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: so many bytes follow the length, filled when the value was made, and nobody writes them.
        unsafe { payload::view(self.0.as_ptr().byte_add(LENGTH_BYTES), self.row_bytes(), see) }
    }

    /// Makes a value.
    fn make(heap: &Heap, row: &[u8]) -> Self {
        let piece = heap.take(LENGTH_BYTES + row.len());
        // SAFETY: the piece has so many bytes, is aligned, and nobody else's.
        unsafe {
            payload::put(piece.as_ptr().cast::<u64>(), row.len() as u64);
            payload::copy_in(piece.as_ptr().byte_add(LENGTH_BYTES), row);
        }
        Value(piece)
    }

    /// Frees it; answers how many bytes it had.
    ///
    /// # Safety
    /// It was made of this heap, was not freed, and nobody looks at it any more.
    pub unsafe fn free(self, heap: &Heap) -> usize {
        // SAFETY: by the caller's contract.
        unsafe {
            let bytes = LENGTH_BYTES + self.row_bytes();
            heap.give_back(self.0, bytes);
            bytes
        }
    }
}

/// What one worker makes of values, and those that it has retired.
#[derive(Default)]
pub(crate) struct ValueCache {
    heap: Arc<Heap>,
    garbage: VecDeque<(u64, Value)>,
    garbage_bytes: usize,
    /// Values that it has made, less those that it has retired: others may have retired them.
    made: i64,
    /// Bytes that it has taken from the heap, less those that it has given back.
    bytes: i64,
    /// What `bytes` was when the heap was told last.
    told: i64,
}

impl ValueCache {
    /// Nothing, of this heap.
    pub fn new(heap: &Arc<Heap>) -> Self {
        let (heap, garbage) = (Arc::clone(heap), VecDeque::new());
        ValueCache { heap, garbage, garbage_bytes: 0, made: 0, bytes: 0, told: 0 }
    }

    /// A value, nobody's but the caller's.
    pub fn make(&mut self, row: &[u8]) -> Value {
        self.made += 1;
        self.bytes += (LENGTH_BYTES + row.len()) as i64;
        self.tell();
        Value::make(&self.heap, row)
    }

    /// Tells the heap what was taken or given back, if that is much.
    #[inline]
    fn tell(&mut self) {
        if (self.bytes - self.told).abs() >= TOLD_BYTES {
            self.heap.tell(self.bytes - self.told);
            self.told = self.bytes;
        }
    }

    /// Frees a value that nobody has ever found.
    ///
    /// # Safety
    /// It was made of this heap, and no record that was linked has had it.
    pub unsafe fn unmake(&mut self, value: Value) {
        self.made -= 1;
        // SAFETY: by the caller's contract nobody looks at it.
        self.bytes -= unsafe { value.free(&self.heap) } as i64;
    }

    /// Takes a value that a transaction of local epoch `epoch` has unlinked, or taken back.
    ///
    /// # Safety
    /// It was made of this heap, and retired by nobody else.
    pub unsafe fn retire(&mut self, value: Value, epoch: u64) {
        assert!(self.garbage.back().is_none_or(|&(last, _)| last <= epoch));
        self.made -= 1;
        // SAFETY: it is freed by what is retired here.
        self.garbage_bytes += LENGTH_BYTES + unsafe { value.row_bytes() };
        self.garbage.push_back((epoch, value));
    }

    /// Counts as retired a value that a version has from now on ([`crate::versions`]).
    pub fn hand_over(&mut self) {
        self.made -= 1;
    }

    /// Frees a value that a version had.
    ///
    /// # Safety
    /// It was made of this heap and handed over, and nobody looks at it any more.
    pub unsafe fn free(&mut self, value: Value) {
        // SAFETY: by the caller's contract.
        self.bytes -= unsafe { value.free(&self.heap) } as i64;
        self.tell();
    }

    /// Frees what was retired at epoch `reclaimable` or before.
    pub fn reclaim(&mut self, reclaimable: u64) {
        while let Some(&(epoch, value)) = self.garbage.front() {
            if epoch > reclaimable {
                break;
            }
            self.garbage.pop_front();
            // SAFETY: of this heap and retired once, by the contract of `retire`; its epoch has passed: see the module.
            let bytes = unsafe { value.free(&self.heap) };
            self.garbage_bytes -= bytes;
            self.bytes -= bytes as i64;
        }
        self.tell();
    }

    /// Bytes of what waits for its epoch.
    pub fn garbage_bytes(&self) -> usize {
        self.garbage_bytes
    }

    /// Values that it has made, less those that it has retired; of all workers together, those that are linked.
    pub fn made(&self) -> i64 {
        self.made
    }

    /// Bytes that it has taken, less those that it has given back.
    pub fn bytes(&self) -> i64 {
        self.bytes
    }

    /// Frees a value whose record goes with its table.
    ///
    /// # Safety
    /// It was made of this heap, was not retired, and nobody runs who could find it.
    pub unsafe fn drop_linked(&mut self, value: Value) {
        self.made -= 1;
        // SAFETY: by the caller's contract.
        self.bytes -= unsafe { value.free(&self.heap) } as i64;
        self.tell();
    }

    /// Counts as its own what another has made.
    pub fn take_over(&mut self, other: &ValueCache) {
        assert!(other.garbage.is_empty(), "garbage of another worker's epochs");
        self.made += other.made;
        self.bytes += other.bytes;
        self.told += other.told;
    }
}

/// Nobody runs any more.
impl Drop for ValueCache {
    fn drop(&mut self) {
        self.reclaim(u64::MAX);
        self.heap.tell(self.bytes - self.told);
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, ValueCache};
    use crate::facade::heap::Heap;
    use crate::facade::shared::Arc;

    #[test]
    fn a_value_is_freed_when_its_epoch_has_passed_and_not_before() {
        let mut cache = ValueCache::new(&Arc::new(Heap::new()));
        let lengths = [0, 1, 15, 16, 17, 4095, 1 << 20];
        let rows: Vec<Vec<u8>> = lengths.iter().map(|&bytes| vec![bytes as u8 ^ 0x5A; bytes]).collect();
        let values: Vec<Value> = rows.iter().map(|row| cache.make(row)).collect();
        for (value, row) in values.iter().zip(&rows) {
            // SAFETY: a word of a value that is not freed yet.
            let same = unsafe { Value::of(&value.word()).view(|seen| seen == &row[..]) };
            assert!(same, "{} bytes", row.len());
        }
        let bytes: usize = lengths.iter().map(|bytes| bytes + 8).sum();
        assert_eq!((cache.made(), cache.bytes()), (7, bytes as i64));
        for (epoch, &value) in (10..).zip(&values) {
            // SAFETY: made above, retired once.
            unsafe { cache.retire(value, epoch) };
        }
        assert_eq!((cache.made(), cache.garbage_bytes()), (0, bytes));
        cache.reclaim(9);
        assert_eq!(cache.garbage_bytes(), bytes, "nobody may be late");
        cache.reclaim(15);
        assert_eq!(cache.garbage_bytes(), 8 + (1 << 20));
        // SAFETY: the last one is not freed yet.
        assert!(unsafe { values[6].view(|seen| seen == &rows[6][..]) });
        cache.reclaim(16);
        assert_eq!((cache.garbage_bytes(), cache.bytes()), (0, 0));
    }
}
