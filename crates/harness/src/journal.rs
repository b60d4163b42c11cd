//! Results line by line, each durable before the next one is measured, so that who is interrupted goes on where they were.
//!
//! The first line says what the others are of ([`Head`]). A line is written with its line feed in one call and synced; who is
//! interrupted leaves at most one torn last line. [`Journal::open`] cuts such a line off, and what it said is measured again. A
//! torn line anywhere else is damage that nobody repairs silently: it is refused. So is a journal that another call has open, and
//! one whose head says something else.

use crate::failure::{Failure, words};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Where lines go. Once `append` returns `Ok`, the bytes survive a crash.
trait Sink {
    /// Appends `bytes`, all or with an error.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
}

impl Sink for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)?;
        self.sync_data()
    }
}

/// The first line of a journal.
pub trait Head: Serialize {
    /// Whether a journal whose first line is `line` may go on under this one; what to say if not.
    fn continues(&self, line: &[u8]) -> Result<(), String>;
}

/// An open journal.
pub struct Journal {
    path: PathBuf,
    sink: Box<dyn Sink>,
}

impl Journal {
    /// Opens the journal called `name` in `folder`, or begins one, and hands over the lines that are there.
    pub fn open<L: DeserializeOwned>(
        folder: &Path,
        name: &str,
        head: &impl Head,
    ) -> Result<(Journal, Vec<L>), Failure> {
        let path = folder.join(name);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Failure::write(&path))?;
        lock(&file, &path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)
            .map_err(|error| Failure::Input { place: path.display().to_string(), what: words(&error) })?;
        let lines = whole_lines(&text);
        let finished = read_lines(&path, lines, head)?;
        let whole_bytes = lines.len() as u64;
        file.set_len(whole_bytes).map_err(Failure::write(&path))?;
        file.seek(SeekFrom::Start(whole_bytes)).map_err(Failure::write(&path))?;
        let mut journal = Journal { path, sink: Box::new(file) };
        if lines.is_empty() {
            journal.append(head)?;
            // The file's name, too, must survive a crash.
            sync_folder(folder).map_err(Failure::write(folder))?;
        }
        Ok((journal, finished))
    }

    /// Keeps `line`; once this returns, it survives a crash.
    pub fn append(&mut self, line: &impl Serialize) -> Result<(), Failure> {
        let mut bytes = serde_json::to_vec(line).expect("lines have text keys and finite numbers");
        assert!(!bytes.contains(&b'\n'), "JSON on one line");
        bytes.push(b'\n');
        self.sink.append(&bytes).map_err(Failure::write(&self.path))
    }
}

/// Two calls at once would write over each other's lines. The lock goes with the file when it is closed, however that
/// comes.
fn lock(file: &File, path: &Path) -> Result<(), Failure> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let what = "another call writes it now; wait for it, or use another --out".to_owned();
            Err(Failure::Input { place: path.display().to_string(), what })
        }
        // A file system without locks is no reason not to measure.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(Failure::write(path)(error)),
    }
}

/// Elsewhere than on Unix a folder is no file that could be synced.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The lines of the journal called `name` in `folder`, which may be written meanwhile, if it goes on under `head`.
pub fn read<L: DeserializeOwned>(folder: &Path, name: &str, head: &impl Head) -> Result<Vec<L>, Failure> {
    let path = folder.join(name);
    let text = fs::read(&path)
        .map_err(|error| Failure::Input { place: path.display().to_string(), what: words(&error) })?;
    read_lines(&path, whole_lines(&text), head)
}

/// Up to the last line feed: what follows it was torn.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    &text[..end]
}

fn read_lines<L: DeserializeOwned>(path: &Path, lines: &[u8], head: &impl Head) -> Result<Vec<L>, Failure> {
    let mut read = Vec::new();
    for (number, line) in lines.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let outcome = match number {
            0 => head.continues(line),
            _ => read_line(line).map(|line| read.push(line)),
        };
        outcome.map_err(|what| Failure::Input {
            place: format!("{}:{}", path.display(), number + 1),
            what: format!("{what}; use another --out"),
        })?;
    }
    Ok(read)
}

/// One line.
pub fn read_line<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| format!("not a line of this file ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::journal::tests::{header, point, scratch};
    use crate::sweep::journal::{FILE_NAME, open};
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn what_was_appended_is_there_again() {
        let scratch = scratch();
        let folder = scratch.path();
        let (mut journal, finished) = open(folder, &header()).expect("a new journal");
        assert!(finished.is_empty());
        journal.append(&point(1)).expect("appended");
        drop(journal);
        let (mut journal, finished) = open(folder, &header()).expect("the journal");
        assert_eq!(finished, [point(1)]);
        journal.append(&point(2)).expect("appended");
        drop(journal);
        let (_, finished) = open(folder, &header()).expect("the journal");
        assert_eq!(finished, [point(1), point(2)]);
    }

    #[test]
    fn a_torn_last_line_is_cut_off_wherever_it_tore() {
        let scratch = scratch();
        let folder = scratch.path();
        let (mut journal, _) = open(folder, &header()).expect("a new journal");
        let path = folder.join(FILE_NAME);
        journal.append(&point(1)).expect("appended");
        let one = fs::read(&path).expect("the journal");
        journal.append(&point(2)).expect("appended");
        let two = fs::read(&path).expect("the journal");
        drop(journal);
        for torn_at in one.len()..two.len() {
            fs::write(&path, &two[..torn_at]).expect("a torn journal");
            let (mut journal, finished) = open(folder, &header()).expect("tolerated");
            assert_eq!(finished, [point(1)], "torn at {torn_at}");
            journal.append(&point(2)).expect("appended");
            assert_eq!(fs::read(&path).expect("the journal"), two, "torn at {torn_at}");
        }
        for torn_at in 0..one.iter().position(|&byte| byte == b'\n').expect("a header") {
            fs::write(&path, &one[..torn_at]).expect("a torn header");
            let (_, finished) = open(folder, &header()).expect("begun anew");
            assert!(finished.is_empty());
        }
    }

    #[test]
    fn damage_elsewhere_is_refused() {
        let scratch = scratch();
        let folder = scratch.path();
        let (mut journal, _) = open(folder, &header()).expect("a new journal");
        journal.append(&point(1)).expect("appended");
        drop(journal);
        let path = folder.join(FILE_NAME);
        let mut text = fs::read_to_string(&path).expect("text");
        text = text.replacen("\"settings\"", "\"sett", 1);
        fs::write(&path, &text).expect("damaged");
        let refused = open(folder, &header()).err().expect("refused").to_string();
        assert!(refused.contains("points.jsonl:2: not a line of this file"), "{refused}");
        assert_eq!(fs::read_to_string(&path).expect("text"), text, "and left as it was");
    }

    #[test]
    fn one_call_at_a_time_has_the_journal() {
        let scratch = scratch();
        let first = open(scratch.path(), &header()).expect("a new journal");
        let refused = open(scratch.path(), &header()).err().expect("refused");
        assert!(
            refused
                .to_string()
                .ends_with("points.jsonl: another call writes it now; wait for it, or use another --out")
        );
        assert_eq!(refused.exit_code(), 2);
        drop(first);
        open(scratch.path(), &header()).expect("free again");
    }

    /// A disk with room for so many bytes.
    struct SmallDisk {
        room: usize,
        bytes: Rc<RefCell<Vec<u8>>>,
    }

    impl Sink for SmallDisk {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            let fits = bytes.len().min(self.room);
            self.bytes.borrow_mut().extend_from_slice(&bytes[..fits]);
            self.room -= fits;
            if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    fn journal_on(disk: SmallDisk, path: &str) -> Journal {
        Journal { path: PathBuf::from(path), sink: Box::new(disk) }
    }

    #[test]
    fn a_disk_that_fills_at_any_byte_loses_no_finished_point() {
        let lines = [point(1), point(2), point(3)];
        let all: usize =
            lines.iter().map(|line| serde_json::to_vec(line).expect("JSON").len() + 1).sum::<usize>();
        let scratch = scratch();
        let folder = scratch.path();
        let mut begun = serde_json::to_vec(&header()).expect("JSON");
        begun.push(b'\n');
        for room in 0..=all {
            let bytes = Rc::new(RefCell::new(begun.clone()));
            let disk = SmallDisk { room, bytes: bytes.clone() };
            let mut journal = journal_on(disk, "points.jsonl");
            let kept = lines.iter().take_while(|line| journal.append(*line).is_ok()).count();
            fs::write(folder.join(FILE_NAME), &*bytes.borrow()).expect("what was on the disk");
            let (_, finished) = open(folder, &header()).expect("read again");
            assert_eq!(finished, lines[..kept], "with room for {room} bytes");
        }
    }

    #[test]
    fn a_full_disk_is_one_clear_line() {
        let disk = SmallDisk { room: 0, bytes: Rc::default() };
        let mut journal = journal_on(disk, "out/points.jsonl");
        let failure = journal.append(&point(1)).expect_err("no room");
        assert_eq!(failure.to_string(), "cannot write out/points.jsonl: no storage space");
        assert_eq!(failure.exit_code(), crate::failure::UNWRITTEN);
    }
}
