//! The processes that `mpirun` has started, and what they say to each other.

use crate::channel::{Address, Kept};
use cluster::fabric::{Fabric, Wire};
use rsmpi::environment::{Threading, Universe, initialize_with_threading};
use rsmpi::ffi;
use rsmpi::raw::AsRaw;
use rsmpi::topology::{Communicator, SimpleCommunicator};

use std::io;
use std::mem;
use std::os::raw::c_int;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// MPI, once it is entered.
pub struct Mpi {
    number: usize,
    nodes: usize,
    /// What the processes agree by, collectively.
    agreeing: SimpleCommunicator,
    /// What workers talk over, each pair with a tag of its own.
    talking: SimpleCommunicator,
    /// `None` once it is left.
    entered: Mutex<Option<Entered>>,
}

// SAFETY: communicators are names that MPI has given, which any thread may use under MPI_THREAD_MULTIPLE, which `enter` demands; nothing of them changes.
unsafe impl Send for Mpi {}
// SAFETY: as above; what changes is behind a mutex.
unsafe impl Sync for Mpi {}

struct Entered {
    universe: Universe,
    /// Who has entered it, and only may leave it.
    thread: ThreadId,
    kept: Vec<Kept>,
}

/// An error of MPI.
#[inline]
pub fn checked(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(error(code)) }
}

/// MPI's name for a byte.
fn byte_of_mpi() -> ffi::MPI_Datatype {
    // SAFETY: a constant of the library, which is never written.
    unsafe { ffi::RSMPI_UINT8_T }
}

#[cold]
fn error(code: c_int) -> io::Error {
    let mut text = [0u8; 4096];
    let mut length: c_int = 0;
    // SAFETY: a text has at most MPI_MAX_ERROR_STRING bytes, which is 256 in Open MPI and 512 or 1024 in MPICH; both live until the call returns.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let text = text.get(..length as usize).unwrap_or_default();
    io::Error::other(format!("MPI: {}", String::from_utf8_lossy(text)))
}

impl Mpi {
    /// Enters MPI, once in a process; in words why that cannot be.
    pub fn enter() -> Result<&'static Mpi, String> {
        let (universe, threading) =
            initialize_with_threading(Threading::Multiple).ok_or("MPI has been entered before")?;
        if threading < Threading::Multiple {
            // What has been entered is left here.
            return Err(format!(
                "this MPI lets {threading:?} threads call it, and each worker does; allowed: one with MPI_THREAD_MULTIPLE"
            ));
        }
        let world = universe.world();
        let (agreeing, talking) = (world.duplicate(), world.duplicate());
        for communicator in [&agreeing, &talking] {
            // SAFETY: the communicator was made above, and the handler is a constant of the library. What is wrong comes back as a code from now on.
            checked(unsafe { ffi::MPI_Comm_set_errhandler(communicator.as_raw(), ffi::RSMPI_ERRORS_RETURN) })
                .map_err(|error| error.to_string())?;
        }
        let (number, nodes) = (world.rank() as usize, world.size() as usize);
        let entered =
            Mutex::new(Some(Entered { universe, thread: thread::current().id(), kept: Vec::new() }));
        Ok(Box::leak(Box::new(Mpi { number, nodes, agreeing, talking, entered })))
    }

    /// An end of what leads from the worker of this rank to its counterpart.
    pub fn keep(&'static self, rank: usize, node: usize) -> io::Result<Kept> {
        let mut entered = self.entered();
        let Entered { kept, .. } = entered.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let end = Kept::new(self, Address::new(self.talking.as_raw(), node, rank))?;
        kept.push(end.clone());
        Ok(end)
    }

    /// What workers talk over.
    pub fn talking(&self) -> &SimpleCommunicator {
        &self.talking
    }

    /// Does this, which calls MPI, unless MPI is left.
    pub fn unless_left<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        self.entered().as_ref().map(|_| f())
    }

    /// Leaves MPI, together with all other processes: no run goes on. By the thread that has entered it: of another one MPI goes on until the process ends.
    pub fn leave(&self) {
        let mut entered = self.entered();
        if let Some(Entered { universe, thread, kept }) = entered.take() {
            kept.iter().for_each(Kept::close);
            match thread == thread::current().id() {
                true => drop(universe),
                false => mem::forget(universe),
            }
        }
    }

    fn entered(&self) -> std::sync::MutexGuard<'_, Option<Entered>> {
        self.entered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fabric for Mpi {
    fn number(&self) -> usize {
        self.number
    }

    fn nodes(&self) -> usize {
        self.nodes
    }

    fn exchange(&self, own: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.unless_left(|| ()).ok_or(io::ErrorKind::NotConnected)?;
        let comm = self.agreeing.as_raw();
        let length = c_int::try_from(own.len()).map_err(io::Error::other)?;
        let mut lengths: Vec<c_int> = vec![0; self.nodes];
        let (from, into) = (ptr::from_ref(&length).cast(), lengths.as_mut_ptr().cast());
        // SAFETY: a number goes out, and one of each process comes into a list of as many; both live until the call returns. The datatype is a constant of the library.
        checked(unsafe {
            ffi::MPI_Allgather(from, 1, ffi::RSMPI_INT32_T, into, 1, ffi::RSMPI_INT32_T, comm)
        })?;
        let mut starts: Vec<c_int> = Vec::with_capacity(self.nodes);
        let mut end: c_int = 0;
        for length in &lengths {
            starts.push(end);
            end = end
                .checked_add(*length)
                .ok_or_else(|| io::Error::other("the messages are 2 GiB and more"))?;
        }
        let mut all = vec![0u8; end as usize];
        let (from, into, byte) = (own.as_ptr().cast(), all.as_mut_ptr().cast(), byte_of_mpi());
        // SAFETY: `length` bytes go out; of each process as many as it has said come to where the ones before it end, and all together have room. Everything lives until the call returns.
        checked(unsafe {
            ffi::MPI_Allgatherv(from, length, byte, into, lengths.as_ptr(), starts.as_ptr(), byte, comm)
        })?;
        let said = starts.iter().zip(&lengths);
        Ok(said.map(|(start, length)| all[*start as usize..][..*length as usize].to_vec()).collect())
    }

    fn connect(&'static self, rank: usize, node: usize) -> io::Result<Box<dyn Wire>> {
        Ok(Box::new(self.keep(rank, node)?))
    }
}
