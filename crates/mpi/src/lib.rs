//! Trireme over MPI: `mpirun -n N trireme-mpi` runs the `trireme` command in each process that `mpirun` starts, as the nodes of a cluster ([`cluster`]), whose workers talk over MPI.
//!
//! | file | what |
//! |---|---|
//! | [`world`] | the processes that `mpirun` has started |
//! | [`channel`] | bytes between two workers |
//! | [`ping_pong`] | how long a message there and back takes, of MPI alone and over a channel |
//!
//! A crate of its own, outside the default build, because it needs an MPI (and libclang, by which the crate `mpi` reads its header). The command's own code is the library that `trireme` is made of, too.

pub mod channel;
pub mod ping_pong;
pub mod world;
