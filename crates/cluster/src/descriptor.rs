//! Giving another process of this host a file that is open here: a message over a Unix domain socket that carries its descriptor (`SCM_RIGHTS`).

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// A descriptor goes with a byte.
const BYTE: [u8; 1] = [b'D'];

/// Gives a file.
pub(crate) fn give(stream: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let files = [file];
    assert!(message.push(SendAncillaryMessage::ScmRights(&files)), "there is space for one");
    sendmsg(stream, &[IoSlice::new(&BYTE)], &mut message, SendFlags::empty())?;
    Ok(())
}

/// Takes the file that is given next.
pub(crate) fn take(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
    let file = message.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    match (received.bytes, file) {
        (0, _) => Err(io::ErrorKind::UnexpectedEof.into()),
        (_, Some(file)) if byte == BYTE => Ok(file),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "what it sent is no file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsFd;

    #[test]
    fn a_file_that_is_given_is_the_same_file() {
        let (here, there) = UnixStream::pair().expect("sockets");
        let mut file = tempfile::tempfile().expect("a file");
        give(&here, file.as_fd()).expect("room");
        let mut given = File::from(take(&there).expect("a file"));
        file.write_all(b"words").expect("room");
        given.rewind().expect("a file");
        let mut read = String::new();
        given.read_to_string(&mut read).expect("text");
        assert_eq!(read, "words");
    }

    #[test]
    fn bytes_without_a_file_are_refused() {
        let (mut here, there) = UnixStream::pair().expect("sockets");
        here.write_all(b"D").expect("room");
        assert_eq!(take(&there).expect_err("no file").kind(), io::ErrorKind::InvalidData);
        drop(here);
        assert_eq!(take(&there).expect_err("nothing").kind(), io::ErrorKind::UnexpectedEof);
    }
}
