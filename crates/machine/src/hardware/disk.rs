//! Files as a log needs them: appended to, synced, and read again from the start.
//!
//! Nothing is durable before it is synced: bytes by [`File::sync`], names of files by [`Folder::sync`].

use std::fs;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of files.
#[derive(Clone, Debug)]
pub struct Folder {
    path: Arc<PathBuf>,
}

impl Folder {
    /// The folder at a path; it is made, with those above it, and durable, if it is not there.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let made: Vec<&Path> = path.ancestors().take_while(|folder| !is_there(folder)).collect();
        fs::create_dir_all(path)?;
        for folder in made {
            let above = folder.parent().filter(|above| !above.as_os_str().is_empty());
            fs::File::open(above.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(Folder { path: Arc::new(path.to_owned()) })
    }

    /// The folder at a path, if there is one.
    pub fn find(path: &Path) -> io::Result<Option<Folder>> {
        match fs::metadata(path) {
            Ok(_) => Ok(Some(Folder { path: Arc::new(path.to_owned()) })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of its files, in their order.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&*self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string().ok());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// A new file, to be appended to; an error if there is one of this name.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let file = fs::File::options().write(true).create_new(true).open(self.path.join(name))?;
        Ok(File { file, len: 0, zeroed: 0 })
    }

    /// A file, to be read from its first byte on.
    pub fn open_file(&self, name: &str) -> io::Result<Reader> {
        let file = fs::File::open(self.path.join(name))?;
        let len = file.metadata()?.len();
        Ok(Reader { file, len })
    }

    /// Gives a file another name, in the place of any that has it.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    /// Removes a file; nothing, if there is none.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.path.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Makes the names of its files durable.
    pub fn sync(&self) -> io::Result<()> {
        fs::File::open(&*self.path)?.sync_all()
    }

    /// Keeps other processes out until the result is dropped; `None`: one of them keeps this one out.
    pub fn lock(&self, name: &str) -> io::Result<Option<FolderLock>> {
        let file = fs::File::options().write(true).create(true).truncate(false).open(self.path.join(name))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(FolderLock { _file: Some(file) })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps those out who would [`Folder::lock`] it, until the result is dropped, and writes nothing: who finds no lock file has nobody
    /// to keep out. `None`: one of them keeps this one out.
    pub fn lock_to_read(&self, name: &str) -> io::Result<Option<FolderLock>> {
        let file = match fs::File::open(self.path.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(FolderLock { _file: None })),
            Err(error) => return Err(error),
        };
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(Some(FolderLock { _file: Some(file) })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether there is such a folder; the empty path is the one that the process is in.
fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}

/// A folder that is locked, until this is dropped or the process has ended.
#[derive(Debug)]
pub struct FolderLock {
    _file: Option<fs::File>,
}

/// A file that is appended to.
#[derive(Debug)]
pub struct File {
    file: fs::File,
    len: u64,
    /// Where zeroes end that were written ahead, if that is beyond `len`.
    zeroed: u64,
}

/// Zeroes that are written at a time.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

impl File {
    /// Appends some of the bytes, and answers how many.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.len += written as u64;
        Ok(written)
    }

    /// Bytes appended.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Zeroes that stand behind what was appended.
    pub fn zeroes_ahead(&self) -> u64 {
        self.zeroed.saturating_sub(self.len)
    }

    /// Writes so many zeroes behind what was appended, for appends to replace: a sync of those need not write down how long the file has
    /// become and where it lies, too. A hint: if there is no room, appends will say so.
    pub fn zero_ahead(&mut self, bytes: u64) {
        let end = self.len + bytes;
        self.zeroed = self.zeroed.max(self.len);
        while self.zeroed < end {
            let now = (end - self.zeroed).min(ZEROES.len() as u64) as usize;
            if self.file.write_all_at(&ZEROES[..now], self.zeroed).is_err() {
                // Some of them may have been written.
                self.zeroed += now as u64;
                return;
            }
            self.zeroed += now as u64;
        }
    }

    /// Takes the zeroes back that stand behind what was appended.
    pub fn trim(&mut self) -> io::Result<()> {
        if self.zeroes_ahead() > 0 {
            self.file.set_len(self.len)?;
            self.zeroed = self.len;
        }
        Ok(())
    }

    /// Makes what was appended durable. After an error nobody knows what is.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// A file that is read.
#[derive(Debug)]
pub struct Reader {
    file: fs::File,
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

    /// Makes all of it durable, whoever wrote it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Reads from byte `offset` on, until `into` is full or the file has ended; answers how many bytes.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.seek(SeekFrom::Start(offset))?;
        let mut read = 0;
        while read < into.len() {
            match self.file.read(&mut into[read..]) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
}
