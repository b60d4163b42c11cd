//! A disk in memory, as [`crate::hardware::disk`] is one of the system's: each folder that is opened is an empty one of its own.
//!
//! It costs no simulated time yet.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Content = Arc<Mutex<Vec<u8>>>;

/// A folder of files; what was cloned from it is the same one.
#[derive(Clone, Debug)]
pub struct Folder {
    path: Arc<PathBuf>,
    files: Arc<Mutex<BTreeMap<String, Content>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What they hold is sound after any panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(name: &str) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("no file '{name}'"))
}

impl Folder {
    /// An empty folder, which calls itself so.
    pub fn open(path: &Path) -> io::Result<Folder> {
        Ok(Folder { path: Arc::new(path.to_owned()), files: Arc::default() })
    }

    /// The folder at a path, if there is one: none, for what was opened before belongs to those who have it.
    pub fn find(_path: &Path) -> io::Result<Option<Folder>> {
        Ok(None)
    }

    /// What it calls itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of its files, in their order.
    pub fn names(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.files).keys().cloned().collect())
    }

    /// A new file, to be appended to; an error if there is one of this name.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let mut files = lock(&self.files);
        if files.contains_key(name) {
            return Err(io::Error::new(ErrorKind::AlreadyExists, format!("file '{name}' is there")));
        }
        let content = Content::default();
        files.insert(name.to_owned(), Arc::clone(&content));
        Ok(File { content, len: 0 })
    }

    /// A file, to be read from its first byte on.
    pub fn open_file(&self, name: &str) -> io::Result<Reader> {
        let content = lock(&self.files).get(name).cloned().ok_or_else(|| missing(name))?;
        let len = lock(&content).len() as u64;
        Ok(Reader { content, len })
    }

    /// Gives a file another name, in the place of any that has it.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = lock(&self.files);
        let content = files.remove(from).ok_or_else(|| missing(from))?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    /// Removes a file; nothing, if there is none.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        lock(&self.files).remove(name);
        Ok(())
    }

    /// Makes the names of its files durable.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Nobody else is there to be kept out.
    pub fn lock(&self, _name: &str) -> io::Result<Option<FolderLock>> {
        Ok(Some(FolderLock {}))
    }
}

/// A folder that is locked.
#[derive(Debug)]
pub struct FolderLock {}

/// A file that is appended to.
#[derive(Debug)]
pub struct File {
    content: Content,
    len: u64,
}

impl File {
    /// Appends some of the bytes, and answers how many.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.content).extend_from_slice(bytes);
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    /// Bytes appended.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Asks for room: nothing to do.
    pub fn reserve(&self, _bytes: u64) {}

    /// Makes what was appended durable.
    pub fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is read.
#[derive(Debug)]
pub struct Reader {
    content: Content,
    len: u64,
}

impl Reader {
    /// Bytes that it had when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it had none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads from byte `offset` on, until `into` is full or the file has ended; answers how many bytes.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let content = lock(&self.content);
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let read = into.len().min(content.len() - from);
        into[..read].copy_from_slice(&content[from..from + read]);
        Ok(read)
    }
}
