//! Sockets, of which a simulated machine has none yet.

pub use crate::hardware::socket::Family;
use std::io;

/// As [`crate::hardware::socket::HAS_SOCKETS`].
pub const HAS_SOCKETS: bool = false;

/// As [`crate::hardware::socket::Socket`]: there is none.
#[derive(Debug)]
pub struct Socket(());

impl Socket {
    /// As [`crate::hardware::socket::Socket::pair`].
    pub fn pair(_: Family) -> io::Result<(Socket, Socket)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// As [`crate::hardware::socket::Socket::write`].
    pub fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        unreachable!("{self:?} is made nowhere")
    }

    /// As [`crate::hardware::socket::Socket::read`].
    pub fn read(&mut self, _: &mut Vec<u8>) -> io::Result<usize> {
        unreachable!("{self:?} is made nowhere")
    }
}
