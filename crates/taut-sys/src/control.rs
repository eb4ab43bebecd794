//! A control socket between a process and its child: whole messages, descriptors along with them,
//! and an end that is seen when the other side dies.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use crate::error::{SysError, SysResult};

/// The longest control message.
pub const CONTROL_BYTES_MAX: usize = 16 * 1024;
const FDS_MAX: usize = 8;

/// One end of a control socket.
#[derive(Debug)]
pub struct ControlSocket {
    fd: OwnedFd,
}

/// What arrived.
#[derive(Debug)]
pub enum Received {
    /// Nothing yet.
    Nothing,
    /// A message of this many bytes, with its descriptors.
    Message(usize, Vec<OwnedFd>),
    /// The other end is closed: its process ended or died.
    Closed,
}

impl ControlSocket {
    /// Two connected ends.
    ///
    /// # Errors
    /// What `socketpair(2)` says.
    pub fn pair() -> Result<(Self, Self), SysError> {
        let (near, far) =
            net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .during("control socket")?;
        Ok((Self { fd: near }, Self { fd: far }))
    }

    /// Sends a message and copies of at most eight descriptors.
    ///
    /// # Errors
    /// What `sendmsg(2)` says; `EPIPE` when the other side is gone.
    pub fn send(&self, message: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), SysError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(SysError::new("pass descriptors", rustix::io::Errno::TOOBIG));
        }
        let flags = SendFlags::NOSIGNAL;
        net::sendmsg(&self.fd, &[IoSlice::new(message)], &mut control, flags)
            .during("control send")?;
        Ok(())
    }

    /// Takes one message, if there is one.
    ///
    /// # Errors
    /// What `recvmsg(2)` says.
    pub fn recv(&self, buffer: &mut [u8]) -> Result<Received, SysError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(buffer)];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let got = match net::recvmsg(&self.fd, &mut parts, &mut control, flags) {
            Err(rustix::io::Errno::CONNRESET) => return Ok(Received::Closed),
            other => other.unless_blocked("control receive")?,
        };
        let Some(got) = got else { return Ok(Received::Nothing) };
        let mut fds = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(passed) = message {
                fds.extend(passed);
            }
        }
        Ok(if got.bytes == 0 { Received::Closed } else { Received::Message(got.bytes, fds) })
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<OwnedFd> for ControlSocket {
    fn from(fd: OwnedFd) -> Self {
        Self { fd }
    }
}

impl From<ControlSocket> for OwnedFd {
    fn from(socket: ControlSocket) -> Self {
        socket.fd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SharedMemory;

    #[test]
    fn messages_keep_their_bounds_descriptors_pass_and_the_end_is_seen() {
        let (near, far) = ControlSocket::pair().expect("pair");
        let memory = SharedMemory::create("taut-test", 4096).expect("memory");
        near.send(b"one", &[memory.as_fd()]).expect("send");
        near.send(b"second", &[]).expect("send");
        let mut buffer = [0; 64];
        match far.recv(&mut buffer).expect("receive") {
            Received::Message(3, mut fds) => {
                let passed = SharedMemory::adopt(fds.remove(0)).expect("adopt");
                assert_eq!(passed.bytes(), 4096);
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(far.recv(&mut buffer), Ok(Received::Message(6, _))));
        assert!(matches!(far.recv(&mut buffer), Ok(Received::Nothing)));
        drop(near);
        assert!(matches!(far.recv(&mut buffer), Ok(Received::Closed)));
    }
}
