//! `mpirun --bind-to none -n N trireme-mpi run WORKLOAD ...`: what `trireme run WORKLOAD ... --cluster N` does, over MPI. `mpirun -n 2 trireme-mpi ping-pong` measures MPI itself.
#![forbid(unsafe_code)]

use cluster::fabric::Fabric;
use std::process::ExitCode;
use trireme_mpi::ping_pong;
use trireme_mpi::world::Mpi;

fn main() -> ExitCode {
    let mpi = match Mpi::enter() {
        Ok(mpi) => mpi,
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    let (code, is_together) = match std::env::args().nth(1).as_deref() {
        Some("ping-pong") => ping_pong::measure(mpi),
        _ => cli::main_over(mpi, &format!("mpirun -n {} trireme-mpi", mpi.nodes())),
    };
    // Else to leave MPI would be to wait for a process that may be gone. `mpirun` sees that this one has not left it, and ends all others.
    if is_together {
        mpi.leave();
    }
    code
}
