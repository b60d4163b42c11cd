//! Backup of a store that goes on: a copy of its last checkpoint, and of the log from that on.
//!
//! ```text
//!   the log:      ... s ======== checkpoint ======= e ------------- m --------->   m: all loggers have synced marks of it
//!   the backup:       [its rows][the log from s on, as long as it is][ends at m]
//! ```
//!
//! Files of the log are copied while loggers append to them: one by one, each as long as it is then, so that one may say of another
//! what the copy of that does not have. But all of them have marks of epoch m, which was there before the first was copied. So the
//! copy is closed there: its manifest says that this generation has ended with m, and the next has begun, with files of its own.
//!
//! Tables come and go meanwhile. The manifest that is copied is one that was there before m was asked for, and is there afterwards: what a table
//! that is made later has committed is of an epoch after m.

use super::checkpoint::files;
use super::log::{Log, io_error};
use super::logger::{append_all, begin_durable};
use super::manifest::{Earlier, Manifest};
use super::scan::LogFileName;
use crate::facade::disk::Folder;
use contract::{Backup, LogError, LogOptions};
use std::path::Path;

/// Bytes that are copied at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Copies the last checkpoint of a log, and the log from that on, to a folder that is empty or is made.
///
/// Nothing of the log is removed meanwhile ([`super::checkpoint::Checkpoints::while_it_is_last`]).
pub(super) fn copy(log: &Log, sources: &[Folder], path: &Path) -> Result<Backup, LogError> {
    let target = Folder::open(path).map_err(|why| io_error("open", path, &why))?;
    let names = target.names().map_err(|why| io_error("list", path, &why))?;
    if !names.is_empty() {
        let why = format!(
            "folder {} is not empty: a backup goes to a new folder, or to an empty one",
            path.display()
        );
        return Err(LogError::Refused { why });
    }
    let lock = target.lock("LOCK").map_err(|why| io_error("lock", path, &why))?;
    let lock = lock.ok_or_else(|| LogError::Locked { folder: path.to_owned() })?;
    // Before anything of the log is copied.
    let (manifest, epoch) = together(|| log.manifest(), || log.marked());
    let no_checkpoint =
        || LogError::Refused { why: "no checkpoint was taken that could be copied".to_owned() };
    let checkpoint = manifest.checkpoint.as_ref().ok_or_else(no_checkpoint)?;
    let mut backup = Backup { epoch, ..Backup::default() };
    for source in sources {
        for name in source.names().map_err(|why| io_error("list", source.path(), &why))? {
            let is_needed = LogFileName::read(&name).is_some_and(|file| checkpoint.needs(file))
                || files::is_of(checkpoint, &name);
            if is_needed {
                backup.bytes += copy_file(source, &name, &target)?;
                backup.files += 1;
            }
        }
    }
    let mut closed = Manifest { generation: manifest.generation + 1, loggers: 1, ..manifest.clone() };
    closed.earlier.push(Earlier { loggers: manifest.loggers, epoch });
    let options = LogOptions::new(log.level(), path);
    // The manifest comes last.
    drop(Log::open(&options, &[target], vec![lock], &closed, epoch + 1)?);
    Ok(backup)
}

/// Something that changes now and then, and something else, as they are at one time.
fn together<A: PartialEq, B>(mut first: impl FnMut() -> A, mut second: impl FnMut() -> B) -> (A, B) {
    let mut before = first();
    loop {
        let (other, after) = (second(), first());
        if before == after {
            return (before, other);
        }
        before = after;
    }
}

/// Copies a file as long as it is now; durable when this returns. How many bytes.
fn copy_file(source: &Folder, name: &str, target: &Folder) -> Result<u64, LogError> {
    let (from, to) = (source.path().join(name), target.path().join(name));
    let mut reader = source.open_file(name).map_err(|why| io_error("open", &from, &why))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut file = begin_durable(target, name, &[])?;
    let mut at = 0;
    loop {
        let bytes = reader.read_at(at, &mut chunk).map_err(|why| io_error("read", &from, &why))?;
        if bytes == 0 {
            break;
        }
        append_all(&mut file, &chunk[..bytes]).map_err(|why| io_error("write", &to, &why))?;
        at += bytes as u64;
    }
    file.sync().map_err(|why| io_error("sync", &to, &why))?;
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::together;

    #[test]
    fn what_is_copied_is_of_one_time() {
        let (mut manifests, mut epochs) = ([1, 2, 3, 3].into_iter(), 10..);
        let read =
            together(|| manifests.next().expect("no more is read"), || epochs.next().expect("endless"));
        assert_eq!(read, (3, 12));
    }
}
