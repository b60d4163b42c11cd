//! The bytes of a log, as `docs/log-format.md` has them.
//!
//! Numbers are little-endian, sizes are explicit, and nothing is aligned. Reading trusts nothing: lengths are held against what is
//! there before anything is done with them.

use contract::Span;
use crc32fast::Hasher;

/// The version that is written, and the only one that is read. Blocks of version 1 had checksums of nothing but themselves.
pub(crate) const VERSION: u32 = 2;

/// How a file begins.
const FILE_MAGIC: [u8; 8] = *b"TRIRLOG\n";
/// How a block begins.
const BLOCK_MAGIC: [u8; 4] = *b"TBLK";

/// Bytes of a file before its first block.
pub(crate) const FILE_HEADER_BYTES: usize = 64;
/// Bytes of a block before its payload.
pub(crate) const BLOCK_HEADER_BYTES: usize = 48;
/// Bytes of a transaction before its records.
pub(crate) const TRANSACTION_BYTES: usize = 24;
/// The largest payload, uncompressed. A transaction is in one block.
pub(crate) const MOST_PAYLOAD_BYTES: usize = 1 << 30;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    /// Which of the loggers wrote it.
    pub logger: u32,
    /// Of so many.
    pub loggers: u32,
    /// Times that the log had been opened.
    pub generation: u32,
    /// The file's number among the logger's of the generation.
    pub segment: u64,
    /// The log's own name.
    pub log: u128,
    /// No transaction of the generation is of an epoch before this.
    pub first_epoch: u64,
}

/// What a block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Transactions.
    Transactions,
    /// A mark: all of this logger's transactions up to an epoch are in its files before this.
    Mark,
    /// Rows of a checkpoint: transactions that insert them. In no file of a log.
    Rows,
}

/// Where a block stands: a part of its checksum. So bytes of a log that a row has in it are no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The checksum of its file's header, which is of one log and one file of that.
    file: u32,
    /// Bytes of the file before it.
    offset: u64,
}

impl Place {
    /// In a file with this header, as it stands there.
    pub fn of(file_header: &[u8; FILE_HEADER_BYTES], offset: u64) -> Place {
        Place { file: u32_at(file_header, FILE_HEADER_BYTES - 4), offset }
    }

    /// Elsewhere in the same file.
    pub fn at(self, offset: u64) -> Place {
        Place { offset, ..self }
    }
}

/// A block's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub kind: Kind,
    /// Whether the payload is compressed.
    pub compressed: bool,
    /// Bytes of the payload in the file.
    pub stored_bytes: u32,
    /// Bytes of the payload uncompressed.
    pub raw_bytes: u32,
    /// The first epoch of a transaction in it; of a mark, its epoch.
    pub first_epoch: u64,
    /// The last one.
    pub last_epoch: u64,
    /// Bytes of the file, from its first, that had been synced when this was written.
    pub synced: u64,
    /// The slot whose transactions they are.
    pub slot: u32,
}

impl FileHeader {
    /// As it stands in a file.
    pub fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[0..8].copy_from_slice(&FILE_MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.logger.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.loggers.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.generation.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.segment.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.log.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.first_epoch.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[..60]);
        bytes[60..64].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// What a file says; an error in words.
    pub fn decode(bytes: &[u8]) -> Result<FileHeader, String> {
        let Some(bytes) = bytes.first_chunk::<FILE_HEADER_BYTES>() else {
            return Err(format!("{} bytes, too few for a header", bytes.len()));
        };
        if bytes[0..8] != FILE_MAGIC {
            return Err("not a file of a log".to_owned());
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(format!("format version {version}; this program reads version {VERSION}"));
        }
        if crc32fast::hash(&bytes[..60]) != u32_at(bytes, 60) {
            return Err("the header's checksum does not fit".to_owned());
        }
        Ok(FileHeader {
            logger: u32_at(bytes, 12),
            loggers: u32_at(bytes, 16),
            generation: u32_at(bytes, 20),
            segment: u64_at(bytes, 24),
            log: u128::from_le_bytes(array(bytes, 32)),
            first_epoch: u64_at(bytes, 48),
        })
    }
}

impl BlockHeader {
    /// Writes the header into the first bytes of a block that is to stand there, and whose payload follows them.
    pub fn seal(&self, place: Place, block: &mut [u8]) {
        let (header, payload) = block.split_at_mut(BLOCK_HEADER_BYTES);
        assert!(payload.len() == self.stored_bytes as usize, "a block has its payload");
        header[0..4].copy_from_slice(&BLOCK_MAGIC);
        header[4] = match self.kind {
            Kind::Transactions => 1,
            Kind::Mark => 2,
            Kind::Rows => 3,
        };
        header[5] = u8::from(self.compressed);
        header[6..8].fill(0);
        header[8..12].copy_from_slice(&self.stored_bytes.to_le_bytes());
        header[12..16].copy_from_slice(&self.raw_bytes.to_le_bytes());
        header[16..24].copy_from_slice(&self.first_epoch.to_le_bytes());
        header[24..32].copy_from_slice(&self.last_epoch.to_le_bytes());
        header[32..40].copy_from_slice(&self.synced.to_le_bytes());
        header[40..44].copy_from_slice(&self.slot.to_le_bytes());
        let checksum = checksum(place, &header[..44], payload);
        header[44..48].copy_from_slice(&checksum.to_le_bytes());
    }

    /// As [`BlockHeader::decode`] if checksums are looked at, else as [`BlockHeader::decode_unchecked`].
    pub fn decode_if(place: Place, bytes: &[u8], is_checked: bool) -> Result<(BlockHeader, &[u8]), String> {
        match is_checked {
            true => Self::decode(place, bytes),
            false => Self::decode_unchecked(bytes),
        }
    }

    /// The block at the beginning of `bytes`, which stand there, and its payload; an error in words.
    pub fn decode(place: Place, bytes: &[u8]) -> Result<(BlockHeader, &[u8]), String> {
        let (block, payload) = Self::decode_unchecked(bytes)?;
        let header = &bytes[..BLOCK_HEADER_BYTES];
        if checksum(place, &header[..44], payload) != u32_at(header, 44) {
            return Err("a block's checksum does not fit".to_owned());
        }
        Ok((block, payload))
    }

    /// The same, whatever the checksum says.
    pub fn decode_unchecked(bytes: &[u8]) -> Result<(BlockHeader, &[u8]), String> {
        let Some((header, rest)) = bytes.split_first_chunk::<BLOCK_HEADER_BYTES>() else {
            return Err(format!("{} bytes, too few for a block", bytes.len()));
        };
        if header[0..4] != BLOCK_MAGIC {
            return Err("no block begins here".to_owned());
        }
        let stored_bytes = u32_at(header, 8);
        let Some(payload) = rest.get(..stored_bytes as usize) else {
            return Err(format!("a block of {stored_bytes} bytes, of which {} are there", rest.len()));
        };
        let kind = match header[4] {
            1 => Kind::Transactions,
            2 => Kind::Mark,
            3 => Kind::Rows,
            other => return Err(format!("a block of kind {other}")),
        };
        let block = BlockHeader {
            kind,
            compressed: header[5] & 1 != 0,
            stored_bytes,
            raw_bytes: u32_at(header, 12),
            first_epoch: u64_at(header, 16),
            last_epoch: u64_at(header, 24),
            synced: u64_at(header, 32),
            slot: u32_at(header, 40),
        };
        if header[5] > 1 {
            return Err(format!("a block with flags {:#x}", header[5]));
        }
        if !block.compressed && block.raw_bytes != stored_bytes {
            return Err(format!(
                "a block of {stored_bytes} bytes that says it is one of {}",
                block.raw_bytes
            ));
        }
        Ok((block, payload))
    }

    /// Bytes of the block whose header this is, as it says by itself: nothing was held against a checksum.
    pub fn file_bytes_of(header: &[u8]) -> Result<u64, String> {
        match header.len() == BLOCK_HEADER_BYTES && header[0..4] == BLOCK_MAGIC {
            true => Ok(BLOCK_HEADER_BYTES as u64 + u64::from(u32_at(header, 8))),
            false => Err("no block begins here".to_owned()),
        }
    }

    /// Bytes of the block in its file.
    pub fn file_bytes(&self) -> u64 {
        BLOCK_HEADER_BYTES as u64 + u64::from(self.stored_bytes)
    }
}

fn checksum(place: Place, header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(place.file);
    hasher.update(&place.offset.to_le_bytes());
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

/// What a record of the log has to say of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// It is this.
    Insert(&'a [u8]),
    /// From byte `offset` on, it is this.
    Update { offset: u32, bytes: &'a [u8] },
    /// There is none.
    Delete,
}

/// A record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RedoRecord<'a> {
    pub table: u16,
    /// The key as an ordered index has it; of a number, its bytes.
    pub key: &'a [u8],
    pub change: Change<'a>,
}

impl<'a> RedoRecord<'a> {
    /// The record at the beginning of `bytes`; `None`: it is cut off, or of no known kind.
    pub fn decode(bytes: &'a [u8]) -> Option<RedoRecord<'a>> {
        Records { bytes, left: 1 }.read()
    }
}

/// A transaction of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedTransaction<'a> {
    pub epoch: u64,
    pub id: u64,
    /// How many follow.
    pub records: u32,
    bytes: &'a [u8],
}

const INSERT: u8 = 1;
const UPDATE: u8 = 2;
const DELETE: u8 = 3;
const KINDS: u8 = 3;
/// The key is a byte string, whose length is told; otherwise a number of eight bytes.
const STRING: u8 = 4;
/// Offset and length have four bytes each; otherwise two.
const WIDE: u8 = 8;

/// A key, as an ordered index has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoggedKey<'a> {
    Number([u8; 8]),
    String(&'a [u8]),
}

/// Appends transactions to a payload.
pub(crate) struct Writer<'b> {
    payload: &'b mut Vec<u8>,
    /// Where the transaction begins.
    from: usize,
    records: u32,
}

impl<'b> Writer<'b> {
    /// A transaction, whose records are to follow.
    pub fn begin(payload: &'b mut Vec<u8>, epoch: u64, id: u64) -> Self {
        let from = payload.len();
        payload.extend_from_slice(&epoch.to_le_bytes());
        payload.extend_from_slice(&id.to_le_bytes());
        payload.extend_from_slice(&[0; 8]);
        Writer { payload, from, records: 0 }
    }

    /// Goes on with a transaction that began at byte `from` and has so many records.
    pub fn go_on(payload: &'b mut Vec<u8>, from: usize, records: u32) -> Self {
        Writer { payload, from, records }
    }

    /// Where the transaction began, and how many records it has.
    pub fn state(&self) -> (usize, u32) {
        (self.from, self.records)
    }

    /// Bytes of the transaction so far.
    pub fn bytes_so_far(&self) -> usize {
        self.payload.len() - self.from
    }

    fn record(&mut self, kind: u8, table: u16, key: LoggedKey<'_>) {
        let [low, high] = table.to_le_bytes();
        match key {
            LoggedKey::Number(key) => {
                self.payload.extend_from_slice(&[kind, low, high]);
                self.payload.extend_from_slice(&key);
            }
            LoggedKey::String(key) => {
                let bytes = u16::try_from(key.len()).expect("keys are shorter than 64 KiB").to_le_bytes();
                self.payload.extend_from_slice(&[kind | STRING, low, high, bytes[0], bytes[1]]);
                self.payload.extend_from_slice(key);
            }
        }
        self.records += 1;
    }

    /// An offset or a length.
    fn number(&mut self, number: u32, is_wide: bool) {
        match is_wide {
            true => self.payload.extend_from_slice(&number.to_le_bytes()),
            false => self.payload.extend_from_slice(&(number as u16).to_le_bytes()),
        }
    }

    /// Appends `bytes` bytes, which `fill` writes.
    fn bytes(&mut self, bytes: usize, fill: impl FnOnce(&mut [u8])) {
        let from = self.payload.len();
        self.payload.resize(from + bytes, 0);
        fill(&mut self.payload[from..]);
    }

    /// A row that was inserted, or replaced as a whole; `fill` writes its bytes.
    pub fn insert(&mut self, table: u16, key: LoggedKey<'_>, row_bytes: usize, fill: impl FnOnce(&mut [u8])) {
        let is_wide = row_bytes > u16::MAX.into();
        self.record(INSERT | if is_wide { WIDE } else { 0 }, table, key);
        self.number(u32::try_from(row_bytes).expect("a row is smaller than 4 GiB"), is_wide);
        self.bytes(row_bytes, fill);
    }

    /// Bytes of a row that were changed, which `fill` writes.
    pub fn update(&mut self, table: u16, key: LoggedKey<'_>, span: Span, fill: impl FnOnce(&mut [u8])) {
        let is_wide = span.end() > u16::MAX.into();
        self.record(UPDATE | if is_wide { WIDE } else { 0 }, table, key);
        self.number(span.offset, is_wide);
        self.number(span.len, is_wide);
        self.bytes(span.length(), fill);
    }

    /// A row that was deleted.
    pub fn delete(&mut self, table: u16, key: LoggedKey<'_>) {
        self.record(DELETE, table, key);
    }

    /// Ends the transaction.
    pub fn end(self) {
        let bytes = self.payload.len() - self.from - TRANSACTION_BYTES;
        let bytes = u32::try_from(bytes).expect("a transaction of less than 4 GiB of writes");
        let head = &mut self.payload[self.from + 16..self.from + TRANSACTION_BYTES];
        head[0..4].copy_from_slice(&self.records.to_le_bytes());
        head[4..8].copy_from_slice(&bytes.to_le_bytes());
    }
}

/// The transactions of a payload, in order; an error in words, after which there is nothing more.
pub(crate) struct Transactions<'a>(&'a [u8]);

impl<'a> Transactions<'a> {
    /// Of an uncompressed payload.
    pub fn of(payload: &'a [u8]) -> Self {
        Transactions(payload)
    }

    fn read(&mut self) -> Option<LoggedTransaction<'a>> {
        let (head, rest) = self.0.split_first_chunk::<TRANSACTION_BYTES>()?;
        let bytes = rest.get(..u32_at(head, 20) as usize)?;
        self.0 = &rest[bytes.len()..];
        Some(LoggedTransaction {
            epoch: u64_at(head, 0),
            id: u64_at(head, 8),
            records: u32_at(head, 16),
            bytes,
        })
    }
}

impl<'a> Iterator for Transactions<'a> {
    type Item = Result<LoggedTransaction<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = self.read();
        if read.is_none() {
            self.0 = &[];
        }
        Some(read.ok_or_else(|| "a transaction is cut off".to_owned()))
    }
}

impl<'a> LoggedTransaction<'a> {
    /// Its records, in the order in which it wrote them; an error in words, after which there is nothing more.
    pub fn records(&self) -> Records<'a> {
        Records { bytes: self.bytes, left: self.records }
    }
}

/// The records of a transaction.
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    left: u32,
}

impl<'a> Records<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(bytes)?;
        self.bytes = rest;
        Some(taken)
    }

    fn take_number(&mut self, is_wide: bool) -> Option<u32> {
        match is_wide {
            true => self.take(4).map(|bytes| u32_at(bytes, 0)),
            false => self.take(2).map(|bytes| u16_at(bytes, 0).into()),
        }
    }

    /// Bytes from the next record to the end of `payload`, of which the transaction is a part.
    pub fn rest_until_end_of(&self, payload: &[u8]) -> usize {
        payload.as_ptr_range().end as usize - self.bytes.as_ptr() as usize
    }

    fn read(&mut self) -> Option<RedoRecord<'a>> {
        let head = self.take(3)?;
        let (kind, table) = (head[0], u16_at(head, 1));
        let key_bytes = if kind & STRING != 0 { u16_at(self.take(2)?, 0) } else { 8 };
        let key = self.take(key_bytes.into())?;
        let is_wide = kind & WIDE != 0;
        if kind > KINDS | STRING | WIDE {
            return None;
        }
        let change = match kind & KINDS {
            INSERT => {
                let bytes = self.take_number(is_wide)?;
                Change::Insert(self.take(bytes as usize)?)
            }
            UPDATE => {
                let offset = self.take_number(is_wide)?;
                let bytes = self.take_number(is_wide)?;
                Change::Update { offset, bytes: self.take(bytes as usize)? }
            }
            DELETE => Change::Delete,
            _ => return None,
        };
        Some(RedoRecord { table, key, change })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<RedoRecord<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            let rest = std::mem::take(&mut self.bytes);
            return (!rest.is_empty())
                .then(|| Err(format!("{} bytes after a transaction's records", rest.len())));
        }
        self.left -= 1;
        let read = self.read();
        if read.is_none() {
            (self.left, self.bytes) = (0, &[]);
        }
        Some(read.ok_or_else(|| "a record is cut off, or of no known kind".to_owned()))
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("the caller has looked how many bytes there are")
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

#[cfg(test)]
mod tests;
