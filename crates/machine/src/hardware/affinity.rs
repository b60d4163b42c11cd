//! Which processors the process may run on, and binding a thread to one of them, or to several.

/// The processors that the process may run on; `None` where the system does not tell.
///
/// It is the mask of the process's first thread, for workers narrow their own.
#[cfg(target_os = "linux")]
pub(super) fn allowed_cpus() -> Option<Vec<usize>> {
    use rustix::thread::{CpuSet, Pid, sched_getaffinity};
    let process = Pid::from_raw(i32::try_from(std::process::id()).ok()?);
    // Refused where the kernel knows of more processors than the set holds.
    let set = sched_getaffinity(process).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Binds the calling thread to a processor; false if the system will not.
pub(super) fn pin_to(cpu: usize) -> bool {
    bind_to([cpu])
}

/// Binds the calling thread to these processors; false if the system will not.
#[cfg(target_os = "linux")]
pub(super) fn bind_to(cpus: impl IntoIterator<Item = usize>) -> bool {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut these = CpuSet::new();
    for cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return false;
        }
        these.set(cpu);
    }
    sched_setaffinity(None, &these).is_ok()
}

/// The processors that the process may run on; `None` where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(super) fn allowed_cpus() -> Option<Vec<usize>> {
    None
}

/// Binds the calling thread to these processors; false if the system will not.
#[cfg(not(target_os = "linux"))]
pub(super) fn bind_to(_cpus: impl IntoIterator<Item = usize>) -> bool {
    false
}
