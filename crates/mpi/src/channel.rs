//! A channel over MPI: bytes from a worker to its counterpart, and back.
//!
//! Bytes go in pieces of at most [`PIECE_BYTES`], each a message of MPI, which keeps those of one sender and one tag in order. An end has a ring of buffers to send from and one to receive into.
//! A buffer belongs to MPI from when its request begins until it is done; then it is used for the next piece. Where no buffer is free, there is no room. Every receive is asked for
//! ahead, so that what comes goes to its buffer at once. A piece is short enough to be sent without being asked for (Open MPI's eager limit within a host).
//!
//! A message of no bytes is the end. MPI does not tell that the other process has died: who learns that otherwise shuts the channel down ([`cluster::fabric`]).
//!
//! Invariant: buffers before `head` of a ring, as they go around, were used and are the oldest; a buffer is read or written here only while its request is null.

use crate::world::{Mpi, checked};
use cluster::fabric::Wire;
use engine::{Channel, Link};
use rsmpi::ffi;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::raw::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Of a message of MPI, at most: with MPI's own head a little less than 4 KiB.
pub const PIECE_BYTES: usize = 3840;
/// Pieces on their way at a time.
const SENDS: usize = 16;
/// Receives that are asked for ahead.
const RECEIVES: usize = 4;

/// Where a message goes, or comes from: a process, and a tag of the two workers' own.
#[derive(Clone, Copy)]
pub struct Address {
    comm: ffi::MPI_Comm,
    node: c_int,
    tag: c_int,
}

// SAFETY: a communicator is a name that MPI has given, and is not freed before the process ends; under MPI_THREAD_MULTIPLE, which `Mpi::enter` demands, any thread may use it.
unsafe impl Send for Address {}
// SAFETY: as above; nothing of it changes.
unsafe impl Sync for Address {}

impl Address {
    /// Of a worker's counterpart.
    pub(crate) fn new(comm: ffi::MPI_Comm, node: usize, rank: usize) -> Address {
        let small = |number: usize| c_int::try_from(number).expect("few nodes, and few workers");
        Address { comm, node: small(node), tag: small(rank) }
    }
}

/// A buffer, and what MPI does with it.
struct Buffer {
    request: ffi::MPI_Request,
    bytes: Box<[u8; PIECE_BYTES]>,
}

impl Buffer {
    fn new() -> Buffer {
        // SAFETY: a constant of the library, which is never written.
        Buffer { request: unsafe { ffi::RSMPI_REQUEST_NULL }, bytes: Box::new([0; PIECE_BYTES]) }
    }

    /// Whether MPI has done what it was asked for; how many bytes that were, if they were received.
    #[inline]
    fn is_done(&mut self) -> io::Result<Option<ffi::MPI_Status>> {
        let (mut done, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::zeroed());
        // SAFETY: the request is null or was begun by `send` or `receive`, is this buffer's alone, and MPI sets it to null when it is done; the other two are written before the call returns.
        checked(unsafe { ffi::MPI_Test(&mut self.request, &mut done, status.as_mut_ptr()) })?;
        // SAFETY: a status is numbers, for which all zeroes would do, too.
        Ok((done != 0).then(|| unsafe { status.assume_init() }))
    }

    /// Sends the first bytes; the buffer is free.
    #[inline]
    fn send(&mut self, bytes: &[u8], to: Address) -> io::Result<()> {
        self.bytes[..bytes.len()].copy_from_slice(bytes);
        let (from, count) = (self.bytes.as_ptr().cast(), bytes.len() as c_int);
        // SAFETY: the box's bytes stay where they are, and are neither written nor freed until the request is done: whoever writes has asked `is_done`, and `drop` leaks what is not.
        checked(unsafe {
            ffi::MPI_Isend(from, count, ffi::RSMPI_UINT8_T, to.node, to.tag, to.comm, &mut self.request)
        })
    }

    /// Asks for the next message; the buffer is free.
    #[inline]
    fn receive(&mut self, from: Address) -> io::Result<()> {
        let (into, count) = (self.bytes.as_mut_ptr().cast(), PIECE_BYTES as c_int);
        // SAFETY: the box's bytes stay where they are, and are not looked at until the request is done; `drop` takes it back first.
        checked(unsafe {
            ffi::MPI_Irecv(into, count, ffi::RSMPI_UINT8_T, from.node, from.tag, from.comm, &mut self.request)
        })
    }

    fn is_free(&self) -> bool {
        // SAFETY: a constant of the library, which is never written.
        self.request == unsafe { ffi::RSMPI_REQUEST_NULL }
    }
}

/// The two rings of an end.
struct Rings {
    other: Address,
    sends: Vec<Buffer>,
    next_send: usize,
    receives: Vec<Buffer>,
    next_receive: usize,
    /// The other end has said that nothing more comes.
    has_ended: bool,
}

// SAFETY: requests are names that MPI has given, which any thread may use under MPI_THREAD_MULTIPLE (`Mpi::enter`); one thread has the rings at a time, as they are not shared.
unsafe impl Send for Rings {}

impl Rings {
    fn new(other: Address) -> io::Result<Rings> {
        let buffers = |count| std::iter::repeat_with(Buffer::new).take(count).collect();
        let (sends, receives) = (buffers(SENDS), buffers(RECEIVES));
        let mut rings = Rings { other, sends, next_send: 0, receives, next_receive: 0, has_ended: false };
        rings.receives.iter_mut().try_for_each(|buffer| buffer.receive(other))?;
        Ok(rings)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        for piece in bytes.chunks(PIECE_BYTES) {
            let buffer = &mut self.sends[self.next_send];
            if !buffer.is_free() && buffer.is_done()?.is_none() {
                break;
            }
            buffer.send(piece, self.other)?;
            self.next_send = (self.next_send + 1) % SENDS;
            taken += piece.len();
        }
        Ok(taken)
    }

    #[inline]
    fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let before = into.len();
        while !self.has_ended {
            let buffer = &mut self.receives[self.next_receive];
            let Some(status) = buffer.is_done()? else { break };
            let mut count: c_int = 0;
            // SAFETY: both live until the call returns, which writes the one and reads the other.
            checked(unsafe { ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut count) })?;
            let bytes = buffer.bytes.get(..count as usize).ok_or(io::ErrorKind::InvalidData)?;
            into.extend_from_slice(bytes);
            self.has_ended = count == 0;
            buffer.receive(self.other)?;
            self.next_receive = (self.next_receive + 1) % RECEIVES;
            // To look costs about as much as to read: behind a piece that is not full there is hardly another.
            if (count as usize) < PIECE_BYTES {
                break;
            }
        }
        Ok(into.len() - before)
    }
}

impl Drop for Rings {
    fn drop(&mut self) {
        for buffer in self.receives.iter_mut().filter(|buffer| !buffer.is_free()) {
            // SAFETY: the request was begun by `receive` and is not done. Cancelled, or matched before that, it is done without anybody else (MPI-4.1, 3.8.4: the wait of a cancelled request is local), a piece being short enough to come with its head; then MPI has the buffer no more.
            unsafe {
                ffi::MPI_Cancel(&mut buffer.request);
                ffi::MPI_Wait(&mut buffer.request, ffi::RSMPI_STATUS_IGNORE);
            }
        }
        for buffer in &mut self.sends {
            if !buffer.is_free() && !matches!(buffer.is_done(), Ok(Some(_))) {
                // Nobody is waited for, and MPI may read it yet.
                mem::forget(mem::replace(&mut buffer.bytes, Box::new([0; PIECE_BYTES])));
            }
        }
    }
}

/// An end, between runs.
struct Common {
    mpi: &'static Mpi,
    other: Address,
    /// None while a run has them, and once MPI is left.
    rings: Mutex<Option<Rings>>,
    is_shut: AtomicBool,
}

/// An end that is kept from run to run.
#[derive(Clone)]
pub struct Kept(Arc<Common>);

/// An end, for a run. When it is dropped, the rings are the next one's.
pub struct MpiChannel {
    common: Arc<Common>,
    /// Always some, until it is dropped.
    rings: Option<Rings>,
}

impl Kept {
    /// Between two workers.
    pub(crate) fn new(mpi: &'static Mpi, other: Address) -> io::Result<Kept> {
        let rings = Mutex::new(Some(Rings::new(other)?));
        Ok(Kept(Arc::new(Common { mpi, other, rings, is_shut: AtomicBool::new(false) })))
    }

    /// For a run.
    pub fn channel(&self) -> MpiChannel {
        let rings = self.0.take().expect("the channel of an earlier run was dropped");
        MpiChannel { common: self.0.clone(), rings: Some(rings) }
    }

    /// Gives back what MPI knows of it.
    pub fn close(&self) {
        drop(self.0.take());
    }
}

impl Common {
    fn take(&self) -> Option<Rings> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn shut_down(&self) {
        // Relaxed, here and below: it orders nothing.
        if self.is_shut.swap(true, Ordering::Relaxed) {
            return;
        }
        // The other end may be gone, and then nobody reads it. Not once MPI is left.
        self.mpi.unless_left(|| {
            let Address { comm, node, tag } = self.other;
            // SAFETY: there are no bytes that MPI could read later, so that the request can be freed before it is done.
            unsafe {
                let mut request = ffi::RSMPI_REQUEST_NULL;
                if ffi::MPI_Isend(ptr::null(), 0, ffi::RSMPI_UINT8_T, node, tag, comm, &mut request) == 0 {
                    ffi::MPI_Request_free(&mut request);
                }
            }
        });
    }

    fn is_shut(&self) -> bool {
        self.is_shut.load(Ordering::Relaxed)
    }
}

impl Wire for Kept {
    fn link(&self) -> Link {
        Link::Other(Box::new(self.channel()))
    }

    fn shut_down(&self) {
        self.0.shut_down();
    }
}

impl Channel for MpiChannel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.common.is_shut() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.rings.as_mut().expect("it is not dropped").write(bytes)
    }

    fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let rings = self.rings.as_mut().expect("it is not dropped");
        match rings.read(into)? {
            0 if rings.has_ended || self.common.is_shut() => Err(io::ErrorKind::ConnectionAborted.into()),
            come => Ok(come),
        }
    }

    /// Each is a message of MPI, which both ends pay for.
    fn is_slow_to_write(&self) -> bool {
        true
    }

    fn shut_down(&self) {
        self.common.shut_down();
    }
}

impl Drop for MpiChannel {
    fn drop(&mut self) {
        let rings = self.rings.take();
        let is_left = self.common.mpi.unless_left(|| ()).is_none();
        // Once MPI is left nobody may ask it for anything, and what it has of these is gone with it.
        match is_left {
            true => mem::forget(rings),
            false => *self.common.rings.lock().unwrap_or_else(PoisonError::into_inner) = rings,
        }
    }
}
