//! Whether folders are on what a class of durability wants: who syncs to a memory file system measures no disk, and files on a disk are not
//! memory.

use crate::store::Class;
use std::path::Path;

/// What is to be known of the folders of these classes before numbers are read.
pub fn warnings(classes: &[Class], folder: &Path, memory_folder: &Path) -> Vec<String> {
    warnings_where(classes, folder, memory_folder, is_in_memory)
}

fn warnings_where(
    classes: &[Class],
    folder: &Path,
    memory_folder: &Path,
    is_in_memory: impl Fn(&Path) -> Option<bool>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if classes.iter().any(|&class| class != Class::Memory) && is_in_memory(folder) == Some(true) {
        warnings.push(format!(
            "--folder {} is on a memory file system: what is written or synced there meets no disk, and does not survive the machine",
            folder.display()
        ));
    }
    if classes.contains(&Class::Memory) && is_in_memory(memory_folder) == Some(false) {
        warnings.push(format!(
            "--memory-folder {} is not on a memory file system: stores that have their files there are written to a disk",
            memory_folder.display()
        ));
    }
    warnings
}

/// Whether a folder is on a memory file system, or will be once it is made; `None`: the system does not say.
#[cfg(target_os = "linux")]
fn is_in_memory(folder: &Path) -> Option<bool> {
    let folder = std::path::absolute(folder).ok()?;
    let there = folder.ancestors().find(|ancestor| ancestor.exists())?;
    let kind = rustix::fs::statfs(there).ok()?.f_type;
    #[allow(clippy::unnecessary_cast, reason = "its type is another one on other architectures")]
    Some(MEMORY.contains(&(kind as u32)))
}

/// tmpfs, ramfs and hugetlbfs, by their numbers in `linux/magic.h`.
#[cfg(target_os = "linux")]
const MEMORY: [u32; 3] = [0x0102_1994, 0x8584_58F6, 0x9584_58F6];

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_: &Path) -> Option<bool> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_syncs_to_memory_or_calls_a_disk_memory_is_told() {
        let (disk, memory) = (Path::new("/disk"), Path::new("/memory"));
        let of = |classes: &[Class], folder, memory_folder| {
            warnings_where(classes, folder, memory_folder, |folder| Some(folder == memory)).len()
        };
        assert_eq!(of(&Class::ALL, disk, memory), 0);
        assert_eq!(of(&Class::ALL, memory, disk), 2);
        assert_eq!(of(&[Class::Memory], memory, disk), 1, "nothing is synced");
        assert_eq!(of(&[Class::Buffered], memory, disk), 1, "nothing is in memory");
        assert_eq!(of(&[Class::Group], memory, disk), 1, "nothing is in memory");
        assert_eq!(warnings_where(&Class::ALL, memory, disk, |_| None).len(), 0, "nobody knows");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn file_systems_are_told_apart() {
        assert_eq!(is_in_memory(Path::new("/proc/self")), Some(false));
        // What is not there yet is where its parent is.
        assert_eq!(is_in_memory(Path::new("/dev/shm/nothing/yet")), is_in_memory(Path::new("/dev/shm")));
        let mounts = std::fs::read_to_string("/proc/mounts").expect("the system has mounts");
        if mounts.lines().any(|line| line.starts_with("tmpfs /dev/shm ")) {
            assert_eq!(is_in_memory(Path::new("/dev/shm")), Some(true));
        }
    }
}
