//! Ignite's binary protocol for thin clients, version 1.7, as far as transactions on rows need it.
//!
//! Everything is little-endian. A message begins with the number of bytes that follow.
//!
//! ```text
//! hello      1: u8, major: i16, minor: i16, patch: i16, 2: u8, features: bytes, user: null, password: null
//!            -> 1: u8, whatever else; or 0: u8, and why it is refused
//! request    operation: i16, number: i64, then what the operation wants
//! response   number: i64, flags: i16 (1 failed, 2 topology changed),
//!            [topology: i64, i32], [status: i32, why: string], or what the operation answers
//! on a cache cache: i32 (the hash of its name), flags: u8 (2 within a transaction), [transaction: i32]
//!
//! value      type: u8, then: 4 a number of 64 bits, 9 a string, 12 bytes, 101 nothing; strings and bytes begin with their length: i32
//! ```
//!
//! | operation | wants | answers |
//! |---|---|---|
//! | 1003 get all | on a cache, count: i32, keys | count: i32, keys and values of those that are there |
//! | 1004 put all | on a cache, count: i32, keys and values | |
//! | 1018 remove all | on a cache, count: i32, keys | |
//! | 1020 size | on a cache, count of copies: i32, kinds of copies: u8 (1 primary) | i64 |
//! | 1052 make a cache | name: string | |
//! | 1056 destroy a cache | cache: i32 | |
//! | 2000 scan | on a cache, filter: null, page: i32, partition: i32 (-1 all), local: u8 | cursor: i64, then a page |
//! | 2001 next page | cursor: i64 | count: i32, keys and values, whether there are more: u8 |
//! | 4000 begin | concurrency: u8, isolation: u8, timeout in ms: i64, label: null | transaction: i32 |
//! | 4001 end | transaction: i32, whether to commit: u8 | |
//!
//! A transaction lives at the node of the connection that began it, which coordinates it. We have one transaction at a time on a connection, and
//! one request: what a server does with several at once is not told by its documentation.

use crate::isolation::Isolation;
use contract::AbortReason;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const HELLO: u8 = 1;
const VERSION: [i16; 3] = [1, 7, 0];
const THIN_CLIENT: u8 = 2;

const GET_ALL: i16 = 1003;
const PUT_ALL: i16 = 1004;
const REMOVE_ALL: i16 = 1018;
const SIZE: i16 = 1020;
const MAKE_CACHE: i16 = 1052;
const DESTROY_CACHE: i16 = 1056;
const SCAN: i16 = 2000;
const NEXT_PAGE: i16 = 2001;
const BEGIN: i16 = 4000;
const END: i16 = 4001;

const NUMBER: u8 = 4;
const STRING: u8 = 9;
const BYTES: u8 = 12;
const NULL: u8 = 101;

const FAILED: i16 = 1;
const TOPOLOGY_CHANGED: i16 = 2;
const WITHIN_TRANSACTION: u8 = 2;
const PRIMARY_COPIES: u8 = 1;

/// Entries of a page of a scan.
const PAGE: i32 = 4096;

/// How long a connection, the next part of a request or an answer may take: a node that is there answers sooner, whatever it does and however little it is let run.
const PATIENCE: Duration = Duration::from_secs(180);

/// A response is not longer: neither a group of rows nor a page of a scan comes near.
const MOST_BYTES: usize = 1 << 30;

/// What a node says if a transaction cannot go on because of another, in a text that goes on for pages: there is no status of its own.
const ABORTS: [(&str, AbortReason); 4] = [
    // What it read has changed.
    ("read/write conflict", AbortReason::ReadValidation),
    // At commit another one has the lock, of what it read or writes: nobody waits.
    ("lock conflict", AbortReason::Conflict),
    ("within provided timeout", AbortReason::Timeout),
    ("timed out", AbortReason::Timeout),
];

/// Letters of what a node says that are passed on.
const MOST_LETTERS: usize = 300;

/// A cache, by the hash of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheId(i32);

impl CacheId {
    /// The hash that Java has for strings.
    pub fn of(name: &str) -> CacheId {
        CacheId(
            name.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(unit.into())),
        )
    }
}

/// A transaction, by its connection's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionId(i32);

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// Another transaction is in the way: this one cannot commit.
    Aborted(AbortReason),
    /// The node said something else, or nothing any more.
    Otherwise(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Aborted(reason) => write!(f, "another transaction is in the way: {}", reason.name()),
            Failed::Otherwise(why) => f.write_str(why),
        }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        match error.kind() {
            // The system's words for a time that has passed say nothing of it.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Failed::Otherwise(format!("a node has not answered for {} s", PATIENCE.as_secs()))
            }
            _ => Failed::Otherwise(format!("the connection to a node: {error}")),
        }
    }
}

/// A connection to a node, with one request at a time.
pub struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    response: Vec<u8>,
    sent: i64,
    waited: Duration,
}

impl Connection {
    /// Connects to the node whose clients come to `address`.
    pub fn open(address: SocketAddr) -> Result<Connection, Failed> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let waited = Duration::ZERO;
        let mut connection =
            Connection { stream, request: Vec::new(), response: Vec::new(), sent: 0, waited };
        connection.request.extend([0; 4]);
        connection.request.push(HELLO);
        VERSION.iter().for_each(|part| connection.request.extend(part.to_le_bytes()));
        connection.request.push(THIN_CLIENT);
        put_bytes(&mut connection.request, BYTES, &[]);
        connection.request.extend([NULL; 2]);
        connection.exchange()?;
        match connection.response.first() {
            Some(1) => Ok(connection),
            _ => Err(Failed::Otherwise("the node does not speak version 1.7 of the protocol".to_owned())),
        }
    }

    /// Requests sent so far, and how long their answers took together.
    pub fn round_trips(&self) -> (u64, Duration) {
        (self.sent as u64, self.waited)
    }

    /// Makes a cache, with the settings of the template whose name its own fits.
    pub fn make_cache(&mut self, name: &str) -> Result<CacheId, Failed> {
        self.ask(MAKE_CACHE, |request| put_bytes(request, STRING, name.as_bytes()))?;
        Ok(CacheId::of(name))
    }

    /// Destroys a cache, with all that is in it.
    pub fn destroy_cache(&mut self, cache: CacheId) -> Result<(), Failed> {
        self.ask(DESTROY_CACHE, |request| request.extend(cache.0.to_le_bytes()))?;
        Ok(())
    }

    /// Begins a transaction.
    pub fn begin(&mut self, isolation: Isolation, timeout: Duration) -> Result<TransactionId, Failed> {
        let mut answer = self.ask(BEGIN, |request| {
            request.extend(isolation.on_the_wire());
            request.extend((timeout.as_millis() as i64).to_le_bytes());
            request.push(NULL);
        })?;
        Ok(TransactionId(answer.i32()?))
    }

    /// Commits, or rolls back.
    pub fn end(&mut self, transaction: TransactionId, commit: bool) -> Result<(), Failed> {
        self.ask(END, |request| {
            request.extend(transaction.0.to_le_bytes());
            request.push(commit.into());
        })?;
        Ok(())
    }

    /// Shows those entries that are there.
    pub fn get_all(
        &mut self,
        cache: CacheId,
        within: Option<TransactionId>,
        keys: &[u64],
        mut see: impl FnMut(u64, &[u8]),
    ) -> Result<(), Failed> {
        let mut answer = self.ask(GET_ALL, |request| {
            put_place(request, cache, within);
            put_count(request, keys.len());
            keys.iter().for_each(|key| put_key(request, *key));
        })?;
        answer.entries(&mut see)
    }

    /// Puts entries, there before or not.
    pub fn put_all(
        &mut self,
        cache: CacheId,
        within: Option<TransactionId>,
        entries: &[(u64, &[u8])],
    ) -> Result<(), Failed> {
        self.ask(PUT_ALL, |request| {
            put_place(request, cache, within);
            put_count(request, entries.len());
            for (key, value) in entries {
                put_key(request, *key);
                put_bytes(request, BYTES, value);
            }
        })?;
        Ok(())
    }

    /// Removes entries, there or not.
    pub fn remove_all(
        &mut self,
        cache: CacheId,
        within: Option<TransactionId>,
        keys: &[u64],
    ) -> Result<(), Failed> {
        self.ask(REMOVE_ALL, |request| {
            put_place(request, cache, within);
            put_count(request, keys.len());
            keys.iter().for_each(|key| put_key(request, *key));
        })?;
        Ok(())
    }

    /// Entries, each counted once whatever copies it has.
    pub fn size(&mut self, cache: CacheId) -> Result<u64, Failed> {
        let mut answer = self.ask(SIZE, |request| {
            put_place(request, cache, None);
            put_count(request, 1);
            request.push(PRIMARY_COPIES);
        })?;
        Ok(answer.i64()? as u64)
    }

    /// Shows all entries, in no order, outside of any transaction: what changes meanwhile is shown as it was, as it is, or not.
    pub fn scan(&mut self, cache: CacheId, mut see: impl FnMut(u64, &[u8])) -> Result<(), Failed> {
        let mut answer = self.ask(SCAN, |request| {
            put_place(request, cache, None);
            request.push(NULL);
            request.extend(PAGE.to_le_bytes());
            request.extend((-1i32).to_le_bytes());
            request.push(0);
        })?;
        let cursor = answer.i64()?;
        loop {
            answer.entries(&mut see)?;
            if answer.u8()? == 0 {
                // After the last page the node has closed it.
                return Ok(());
            }
            answer = self.ask(NEXT_PAGE, |request| request.extend(cursor.to_le_bytes()))?;
        }
    }

    /// Sends a request, and reads what it answers.
    fn ask(&mut self, operation: i16, put: impl FnOnce(&mut Vec<u8>)) -> Result<Answer<'_>, Failed> {
        self.sent += 1;
        self.request.clear();
        self.request.extend([0; 4]);
        self.request.extend(operation.to_le_bytes());
        self.request.extend(self.sent.to_le_bytes());
        put(&mut self.request);
        self.exchange()?;
        let mut answer = Answer(&self.response);
        if answer.i64()? != self.sent {
            return Err(Failed::Otherwise("a node answered what it was not asked".to_owned()));
        }
        let flags = answer.i16()?;
        if flags & TOPOLOGY_CHANGED != 0 {
            let _ = (answer.i64()?, answer.i32()?);
        }
        if flags & FAILED == 0 { Ok(answer) } else { Err(answer.refusal()?) }
    }

    /// Sends what `request` holds, behind four bytes for its length, and fills `response`.
    fn exchange(&mut self) -> Result<(), Failed> {
        let length = (self.request.len() - 4) as i32;
        self.request[..4].copy_from_slice(&length.to_le_bytes());
        let sent = Instant::now();
        self.stream.write_all(&self.request)?;
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = usize::try_from(i32::from_le_bytes(length)).ok().filter(|length| *length <= MOST_BYTES);
        let length = length.ok_or_else(|| Failed::Otherwise("a node's answer has no length".to_owned()))?;
        self.response.resize(length, 0);
        self.stream.read_exact(&mut self.response)?;
        self.waited += sent.elapsed();
        Ok(())
    }
}

fn put_place(request: &mut Vec<u8>, cache: CacheId, within: Option<TransactionId>) {
    request.extend(cache.0.to_le_bytes());
    match within {
        None => request.push(0),
        Some(transaction) => {
            request.push(WITHIN_TRANSACTION);
            request.extend(transaction.0.to_le_bytes());
        }
    }
}

fn put_count(request: &mut Vec<u8>, count: usize) {
    request.extend(i32::try_from(count).expect("fewer than two billion").to_le_bytes());
}

fn put_key(request: &mut Vec<u8>, key: u64) {
    request.push(NUMBER);
    request.extend(key.to_le_bytes());
}

fn put_bytes(request: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    request.push(kind);
    put_count(request, bytes.len());
    request.extend(bytes);
}

/// What is left of a response.
struct Answer<'a>(&'a [u8]);

impl<'a> Answer<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Failed> {
        let (taken, left) = self.0.split_at_checked(bytes).ok_or_else(cut_short)?;
        self.0 = left;
        Ok(taken)
    }

    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Failed> {
        Ok(self.take(BYTES)?.try_into().expect("as many as were asked for"))
    }

    fn u8(&mut self) -> Result<u8, Failed> {
        self.array().map(u8::from_le_bytes)
    }

    fn i16(&mut self) -> Result<i16, Failed> {
        self.array().map(i16::from_le_bytes)
    }

    fn i32(&mut self) -> Result<i32, Failed> {
        self.array().map(i32::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64, Failed> {
        self.array().map(i64::from_le_bytes)
    }

    fn length(&mut self) -> Result<usize, Failed> {
        usize::try_from(self.i32()?).map_err(|_| cut_short())
    }

    fn bytes(&mut self, kind: u8) -> Result<&'a [u8], Failed> {
        match self.u8()? {
            found if found == kind => {
                let length = self.length()?;
                self.take(length)
            }
            found => {
                Err(Failed::Otherwise(format!("a node sent a value of type {found} in place of type {kind}")))
            }
        }
    }

    fn key(&mut self) -> Result<u64, Failed> {
        match self.u8()? {
            NUMBER => Ok(self.i64()? as u64),
            found => {
                Err(Failed::Otherwise(format!("a node sent a key of type {found}, and keys are numbers")))
            }
        }
    }

    fn entries(&mut self, see: &mut impl FnMut(u64, &[u8])) -> Result<(), Failed> {
        for _ in 0..self.length()? {
            let key = self.key()?;
            see(key, self.bytes(BYTES)?);
        }
        Ok(())
    }

    fn refusal(&mut self) -> Result<Failed, Failed> {
        let status = self.i32()?;
        let why = String::from_utf8_lossy(self.bytes(STRING)?);
        let abort = ABORTS.iter().find(|(words, _)| why.contains(words));
        Ok(abort.map_or_else(
            || {
                let why: String = why.chars().take(MOST_LETTERS).collect();
                Failed::Otherwise(format!("a node refused a request with status {status}: {why}"))
            },
            |(_, reason)| Failed::Aborted(*reason),
        ))
    }
}

fn cut_short() -> Failed {
    Failed::Otherwise("a node's answer ends before it should".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caches_number_is_the_hash_of_its_name() {
        assert_eq!(CacheId::of(""), CacheId(0));
        assert_eq!(CacheId::of("ab"), CacheId(97 * 31 + 98));
        // It wraps around.
        assert_eq!(
            CacheId::of("table-customer-by-name"),
            CacheId(
                "table-customer-by-name"
                    .bytes()
                    .fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
                    as i32
            )
        );
    }

    #[test]
    fn answers_that_are_cut_short_are_no_answers() {
        let mut message = Vec::new();
        put_count(&mut message, 1);
        put_key(&mut message, 7);
        put_bytes(&mut message, BYTES, b"row");
        let seen = |bytes: &[u8]| {
            let mut seen = Vec::new();
            Answer(bytes).entries(&mut |key, row| seen.push((key, row.to_vec()))).map(|()| seen)
        };
        assert_eq!(seen(&message), Ok(vec![(7, b"row".to_vec())]));
        for end in 0..message.len() {
            assert!(seen(&message[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_a_node_refuses_is_told_by_its_words() {
        let refusal = |why: &str| {
            let mut message = 1i32.to_le_bytes().to_vec();
            put_bytes(&mut message, STRING, why.as_bytes());
            Answer(&message).refusal().expect("whole")
        };
        let aborted = [
            (
                "Failed to prepare transaction, read/write conflict [key=1, cache=table-0]",
                AbortReason::ReadValidation,
            ),
            ("Failed to prepare transaction (lock conflict): GridNearTxLocal [...]", AbortReason::Conflict),
            ("Failed to acquire lock within provided timeout for transaction", AbortReason::Timeout),
        ];
        for (why, reason) in aborted {
            assert_eq!(refusal(why), Failed::Aborted(reason));
        }
        let long = format!("Cache does not exist {}", "and more ".repeat(100));
        let Failed::Otherwise(told) = refusal(&long) else { panic!("nobody else is in the way") };
        assert!(told.contains("status 1: Cache does not exist") && told.len() < 400, "{told}");
    }
}
