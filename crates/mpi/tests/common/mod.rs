//! Processes under `mpirun`.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// So many processes of a program. More of them than cores, run by whoever, and bound to none: Open MPI asks for each to be allowed.
pub fn mpirun(processes: usize, program: &Path) -> Command {
    let mut command = Command::new("mpirun");
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ] {
        command.env(name, value);
    }
    command.args(["-n", &processes.to_string()]).arg(program);
    command
}

/// How it ends, and what it says; a panic, and nobody left over, if it does not end in time.
pub fn ended(mut command: Command, within: Duration) -> (ExitStatus, String, String) {
    let run = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    await_end(run.expect("mpirun, of the packages openmpi-bin and libopenmpi-dev"), within)
}

/// The same of one that runs.
pub fn await_end(mut run: Child, within: Duration) -> (ExitStatus, String, String) {
    let read = |mut from: Box<dyn Read + Send>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // A process that was ended may have ended the pipe, too.
            let _ = from.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = run.stdout.take().map(|out| read(Box::new(out)));
    let said = run.stderr.take().map(|said| read(Box::new(said)));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = run.try_wait().expect("a child") {
            break status;
        }
        if began.elapsed() > within {
            // It ends those whom it has started.
            let _ = Command::new("kill").arg(run.id().to_string()).status();
            let _ = run.wait();
            panic!("it has not ended within {within:?}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |reading: Option<thread::JoinHandle<String>>| {
        reading.map(|reading| reading.join().expect("text")).unwrap_or_default()
    };
    (status, text(out), text(said))
}
