//! Segments: memory that two processes of one host have together.
//!
//! A segment is a file without a name (`memfd`), which lives as long as one of the processes has it: none is left behind when both have died. It is mapped by who makes it, and
//! by who is given its descriptor. Its length is sealed, so that neither process can change it, and the system gives all of its pages when it is made.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// Zeroed memory, as its makers left it; given back when both processes have dropped it.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    len: usize,
    file: OwnedFd,
}

// SAFETY: a segment is an owned mapping, bound to no thread; it hands out raw pointers only, and by those who use them for exclusion.
unsafe impl Send for Segment {}
// SAFETY: as for `Send`; no method changes the segment.
unsafe impl Sync for Segment {}

impl Segment {
    /// A new one of so many bytes, all of them 0. An error if the system has no such memory, or not so much.
    pub fn new(bytes: usize) -> io::Result<Segment> {
        assert!(bytes > 0, "a segment has a byte");
        Segment::map(memfd::make(bytes)?, bytes)
    }

    /// One of so many bytes that another process has made. An error if the file is not such a one.
    pub fn of(file: OwnedFd, bytes: usize) -> io::Result<Segment> {
        memfd::admit(&file, bytes)?;
        Segment::map(file, bytes)
    }

    fn map(file: OwnedFd, len: usize) -> io::Result<Segment> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let (readable, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, at an address that the system chooses, aliases nothing of this process.
        let base = unsafe { mmap(std::ptr::null_mut(), len, readable, shared, &file, 0) }?;
        let base = NonNull::new(base.cast::<u8>()).expect("a mapping is not at address 0");
        Ok(Segment { base, len, file })
    }

    /// The first byte; as aligned as a page.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Its bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a segment has a byte.
    #[inline]
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// What another process is given.
impl AsFd for Segment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping that `map` made; its users borrowed the segment or answer for their own raw pointers.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.len) };
        assert!(unmapped.is_ok(), "unmapping our own mapping: {unmapped:?}");
    }
}

/// Files without a name whose length can be sealed.
#[cfg(target_os = "linux")]
mod memfd {
    use rustix::fs::{
        FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat,
        memfd_create,
    };
    use std::io;
    use std::os::fd::OwnedFd;

    const LENGTH: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

    pub(super) fn make(bytes: usize) -> io::Result<OwnedFd> {
        let file = memfd_create("trireme", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        fallocate(&file, FallocateFlags::empty(), 0, bytes as u64)?;
        fcntl_add_seals(&file, LENGTH | SealFlags::SEAL)?;
        Ok(file)
    }

    pub(super) fn admit(file: &OwnedFd, bytes: usize) -> io::Result<()> {
        // What is no memory file has no seals, which is an error.
        let is_sealed = fcntl_get_seals(file)?.contains(LENGTH);
        match fstat(file)?.st_size as usize == bytes && is_sealed {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "what it gave is no segment")),
        }
    }
}

/// Other systems have none.
#[cfg(not(target_os = "linux"))]
mod memfd {
    use std::io;
    use std::os::fd::OwnedFd;

    pub(super) fn make(_bytes: usize) -> io::Result<OwnedFd> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this system's processes share no memory without a name",
        ))
    }

    pub(super) fn admit(_file: &OwnedFd, _bytes: usize) -> io::Result<()> {
        make(1).map(drop)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::File;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn word(segment: &Segment) -> &AtomicU64 {
        // SAFETY: the segment's first eight bytes, aligned to a page, which this test accesses as atomics only.
        unsafe { &*segment.base().cast() }
    }

    #[test]
    fn what_one_writes_the_other_reads() {
        let one = Segment::new(10_000).expect("memory");
        let other =
            Segment::of(one.as_fd().try_clone_to_owned().expect("a descriptor"), 10_000).expect("the same");
        assert_ne!(one.base(), other.base());
        assert_eq!(word(&other).load(Ordering::Relaxed), 0);
        word(&one).store(7, Ordering::Relaxed);
        drop(one);
        assert_eq!(word(&other).load(Ordering::Relaxed), 7, "it lives as long as one has it");
    }

    #[test]
    fn what_is_no_segment_is_refused_and_none_changes_its_length() {
        let segment = Segment::new(10_000).expect("memory");
        let file = || segment.as_fd().try_clone_to_owned().expect("a descriptor");
        assert!(Segment::of(file(), 10_001).is_err(), "another length");
        File::from(file()).set_len(0).expect_err("it is sealed");
        let on_disk = tempfile();
        on_disk.set_len(10_000).expect("room");
        assert!(Segment::of(on_disk.into(), 10_000).is_err(), "a file that anybody may cut short");
    }

    fn tempfile() -> File {
        let path = std::env::temp_dir().join(format!("trireme-segment-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
        std::fs::remove_file(path).expect("a file");
        file
    }
}
