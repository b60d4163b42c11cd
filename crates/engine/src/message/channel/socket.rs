//! Sockets: Unix domain sockets and TCP. A write, and a read, is a call of the system, and so is the question from which counterparts something has come.

use super::Channel;
use crate::facade::socket::{Family, Socket};
use crate::message::endpoint::Position;
use std::io;

impl Channel for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Socket::write(self, bytes)
    }

    fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        Socket::read(self, into)
    }

    fn socket(&self) -> Option<&Socket> {
        Some(self)
    }

    fn shut_down(&self) {
        Socket::shut_down(self);
    }
}

/// Between all counterparts of a deployment within this process, by the stream that an end writes to; none from an instance to itself. Panics if the system has no more.
pub(super) fn between_all(family: Family, position: Position) -> Vec<Option<Socket>> {
    let ends = position.instances * position.workers * position.instances;
    let mut sockets: Vec<Option<Socket>> = std::iter::repeat_with(|| None).take(ends).collect();
    for rank in 0..position.workers {
        for one in 0..position.instances {
            for other in 0..one {
                let worker = |instance| instance * position.workers + rank;
                let pair = Socket::pair_between(family, worker(one), worker(other));
                let (here, there) = pair.unwrap_or_else(|error| panic!("no {family:?} socket: {error}"));
                sockets[Position { instance: one, rank, ..position }.stream_to(other)] = Some(here);
                sockets[Position { instance: other, rank, ..position }.stream_to(one)] = Some(there);
            }
        }
    }
    sockets
}
