//! A process that ends with the one that has started it.
//!
//! Who measures in another process waits for it. If the first one is gone before, however it ended, nobody wants what the other measures, and it would take the cores from whatever
//! runs next. So on Linux the kernel is asked to kill it then (`PR_SET_PDEATHSIG`): no handler has to run, and what is started need not know of it. Elsewhere it goes on to its end.
//!
//! What the kernel looks at is the *thread* that has started the process, so it is that one which waits for it.

use std::process::Command;

/// Has what `command` starts killed as soon as the thread that starts it has ended, by itself or with its process; on Linux. Not so a program that has more rights than this one
/// (set-user-ID, capabilities of its file): the kernel takes that back. Nor what the program starts in turn: a script has to `exec` what is to end.
///
/// Starting it fails if that cannot be had. It is started from this process, not from a fork of it.
pub fn ends_with_this_thread(command: &mut Command) -> &mut Command {
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;
        use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
        use std::io;
        use std::os::unix::process::CommandExt;

        let parent = Some(getpid());
        let ask = move || -> io::Result<()> {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before: then somebody else is it.
            if getppid() == parent { Ok(()) } else { Err(Errno::SRCH.into()) }
        };
        // SAFETY: between fork and exec only what is safe in a handler of signals may be done, for other threads of the parent may have held locks, the allocator's too. The closure
        // makes two system calls, and compares numbers, of which it has its own copy; it takes no lock, and allocates nothing: an error is the system's number (`From<Errno>`).
        unsafe { command.pre_exec(ask) };
    }
    command
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::thread;

    /// Far longer than the test takes.
    fn sleeps() -> Command {
        let mut command = Command::new("sleep");
        command.arg("60");
        command
    }

    #[test]
    fn it_is_killed_when_who_has_started_it_ends() {
        let started = thread::spawn(|| ends_with_this_thread(&mut sleeps()).spawn().expect("it starts"));
        let mut child = started.join().expect("no panic");
        assert_eq!(child.wait().expect("a child").signal(), Some(9));
    }

    #[test]
    fn who_is_waited_for_comes_to_its_end() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 0.05; exit 7"]);
        let status = ends_with_this_thread(&mut command).status().expect("it starts");
        assert_eq!(status.code(), Some(7));
    }
}
