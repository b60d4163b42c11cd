//! How much memory there is to take, and how a region is backed.

use super::region::Region;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

/// What is assumed where the system does not say: 4 GiB.
const UNKNOWN_AVAILABLE_BYTES: u64 = 4 << 30;

/// Memory is short when less than this can be taken: 256 MiB, which is for whatever else the process and the system do.
const LEAST_AVAILABLE_BYTES: u64 = 256 << 20;

/// Regions take up to so much, together with what lies between them: half of what user programs have.
const ADDRESS_SPACE_BYTES: u64 = 1 << 46;

/// What regions may take before it is looked up again how much there is; negative when there was too little.
static GRANTED: AtomicI64 = AtomicI64::new(0);

/// A region takes `bytes` bytes.
pub(super) fn take(bytes: usize) {
    // Relaxed, here and below: counters.
    if GRANTED.fetch_sub(bytes as i64, Ordering::Relaxed) < bytes as i64 {
        look();
    }
}

/// Grants a quarter of what can be taken: others take some, too. Several may look at once, and grant as much each.
#[cold]
fn look() -> bool {
    let granted = grant(available_bytes());
    GRANTED.store(granted, Ordering::Relaxed);
    granted < 0
}

fn grant(available_bytes: u64) -> i64 {
    match available_bytes.checked_sub(LEAST_AVAILABLE_BYTES) {
        Some(room) => (room / 4) as i64,
        None => -1,
    }
}

/// Whether there is so little memory left that nothing should be made that can be done without. Costs a load, unless there
/// was too little when last looked at.
#[inline]
pub fn is_short() -> bool {
    GRANTED.load(Ordering::Relaxed) < 0 && look()
}

/// Bytes that each of so many regions may reserve to grow: there is no use for more than the system has memory.
pub fn address_space_among(regions: usize) -> usize {
    let share = ADDRESS_SPACE_BYTES / regions.max(1) as u64;
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kib_field(&text, "MemTotal:"));
    share.min(total.unwrap_or(UNKNOWN_AVAILABLE_BYTES)) as usize
}

/// Bytes of memory that can be taken without swapping and without meeting a control group's limit.
pub fn available_bytes() -> u64 {
    available_bytes_under(Path::new("/")).unwrap_or(UNKNOWN_AVAILABLE_BYTES)
}

/// [`available_bytes`] with the files of the system under `root`; `None` if there are none.
///
/// The smallest of `MemAvailable` and, for every control group (version 1 or 2) from our own up to the root,
/// its limit less what is in use, not counting cached file pages that can be dropped.
pub fn available_bytes_under(root: &Path) -> Option<u64> {
    let system = kib_field(&fs::read_to_string(root.join("proc/meminfo")).ok()?, "MemAvailable:")?;
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let ours = groups.lines().filter_map(|line| control_group(root, line));
    Some(ours.filter_map(|group| group.room()).fold(system, u64::min))
}

/// Bytes of the region that huge pages back now; `None` where the system does not tell.
pub fn huge_pages_bytes_of(region: &Region) -> Option<u64> {
    huge_pages_bytes_at(&fs::read_to_string("/proc/self/smaps").ok()?, region.base().addr() as u64)
}

/// `AnonHugePages` of the mapping that starts at `start`, in the format of `/proc/self/smaps`.
fn huge_pages_bytes_at(smaps: &str, start: u64) -> Option<u64> {
    let mut lines = smaps.lines();
    lines.find(|line| {
        let address = line.split_once('-').and_then(|(from, _)| u64::from_str_radix(from, 16).ok());
        address == Some(start)
    })?;
    let field = lines.find(|line| line.starts_with("AnonHugePages:"))?;
    kib_field(field, "AnonHugePages:")
}

/// The field `name` of a text with lines like `MemTotal:  16384 kB`, in bytes.
pub(super) fn kib_field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim_end().parse().ok()?;
    Some(kib << 10)
}

/// A memory control group, and what its files are called.
struct ControlGroup {
    /// Where the hierarchy is mounted.
    mount: PathBuf,
    /// The group's path below it.
    path: PathBuf,
    limit: &'static str,
    usage: &'static str,
    cache: &'static str,
}

/// The group named by a line of `/proc/self/cgroup`, `id:controllers:path`, if it is one that limits memory.
fn control_group(root: &Path, line: &str) -> Option<ControlGroup> {
    let mut fields = line.splitn(3, ':');
    let (_id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let path = PathBuf::from(path.trim_start_matches('/'));
    if controllers.is_empty() {
        let mount = root.join("sys/fs/cgroup");
        return Some(ControlGroup {
            mount,
            path,
            limit: "memory.max",
            usage: "memory.current",
            cache: "inactive_file ",
        });
    }
    controllers.split(',').any(|name| name == "memory").then(|| ControlGroup {
        mount: root.join("sys/fs/cgroup/memory"),
        path,
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        cache: "total_inactive_file ",
    })
}

impl ControlGroup {
    /// The least that the group and the groups around it leave free; `None` if none of them sets a limit. A
    /// path that does not exist (it may be told from outside of our own mount) leaves the mount's root.
    fn room(&self) -> Option<u64> {
        self.path.ancestors().filter_map(|group| self.room_of(&self.mount.join(group))).min()
    }

    fn room_of(&self, group: &Path) -> Option<u64> {
        let number = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
        // "max" is no number, and no limit.
        let limit = number(self.limit)?;
        let usage = number(self.usage)?;
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let droppable = stat.lines().find_map(|line| line.strip_prefix(self.cache)?.trim().parse().ok());
        Some(limit.saturating_sub(usage.saturating_sub(droppable.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST_AVAILABLE_BYTES, grant};

    #[test]
    fn a_quarter_of_what_is_left_is_granted_until_little_is_left() {
        assert_eq!(grant(LEAST_AVAILABLE_BYTES + (4 << 30)), 1 << 30);
        assert_eq!(grant(LEAST_AVAILABLE_BYTES), 0);
        assert_eq!(grant(LEAST_AVAILABLE_BYTES - 1), -1);
    }
}
