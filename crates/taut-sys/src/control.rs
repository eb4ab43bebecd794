//! A control socket between two processes: whole messages, descriptors along with them, and an end
//! that is seen when the other side dies. A process and its child have a pair; strangers of one
//! user meet at a path ([`ControlListener`]).

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::error::{SysError, SysResult};

/// The longest control message.
pub const CONTROL_BYTES_MAX: usize = 16 * 1024;
/// A process is passed eight at the most, and a message that is in memory.
const FDS_MAX: usize = 9;

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

    /// Connects to who listens at this path.
    ///
    /// # Errors
    /// What `connect(2)` says: `ENOENT` and `ECONNREFUSED` when nobody listens; `EACCES` when it is
    /// another user who does, in a folder of everybody.
    pub fn connect(path: &Path) -> Result<Self, SysError> {
        Self::connect_at(&address(path)?)
    }

    /// Connects to who listens under this name, of which there is no file
    /// ([`ControlListener::bind_name`]).
    ///
    /// # Errors
    /// As [`ControlSocket::connect`].
    pub fn connect_name(name: &str) -> Result<Self, SysError> {
        Self::connect_at(&nameless_file(name)?)
    }

    fn connect_at(at: &SocketAddrUnix) -> Result<Self, SysError> {
        let fd = endpoint()?;
        net::connect(&fd, at).during("control connect")?;
        if !is_ours(&fd)? {
            return Err(SysError::new("control connect", rustix::io::Errno::ACCESS));
        }
        Ok(Self { fd })
    }

    /// Sends a message and copies of at most nine descriptors.
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

    /// Nothing more is sent: the other side sees the end once it has taken what was sent, and its
    /// own end of the connection is seen when it lets go.
    pub fn shut_down_sending(&self) {
        // It may have ended by itself.
        let _ = net::shutdown(&self.fd, net::Shutdown::Write);
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

/// Where others connect to a process, for its own user alone: the file is `0600`, and removed when
/// the listener is dropped.
#[derive(Debug)]
pub struct ControlListener {
    fd: OwnedFd,
    /// The file; nothing where there is none.
    path: Option<PathBuf>,
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 64;

impl ControlListener {
    /// Listens at this path. What a process that died has left there is removed.
    ///
    /// # Errors
    /// `EADDRINUSE` when somebody listens there; what the system says.
    pub fn bind(path: &Path) -> Result<Self, SysError> {
        let at = address(path)?;
        // Nobody but us may connect in between: the mode is set before anybody is listened to.
        let bind = || {
            let fd = endpoint()?;
            net::bind(&fd, &at).during("control bind").map(|()| fd)
        };
        let fd = match bind() {
            Err(error) if error.is_address_in_use() && is_abandoned(path) => {
                rustix::fs::unlink(path).during("control bind")?;
                bind()?
            }
            other => other?,
        };
        let listener = Self { fd, path: Some(path.to_owned()) };
        rustix::fs::chmod(path, Mode::RUSR | Mode::WUSR).during("control bind")?;
        net::listen(&listener.fd, BACKLOG).during("control listen")?;
        Ok(listener)
    }

    /// Listens under a name of which there is no file (Linux's abstract names): however the process
    /// ends, nothing is left. Everybody in its network namespace may try to connect; others than
    /// its user and root are closed.
    ///
    /// # Errors
    /// `EADDRINUSE` when somebody listens under it; what the system says.
    pub fn bind_name(name: &str) -> Result<Self, SysError> {
        let fd = endpoint()?;
        net::bind(&fd, &nameless_file(name)?).during("control bind")?;
        net::listen(&fd, BACKLOG).during("control listen")?;
        Ok(Self { fd, path: None })
    }

    /// The names with this beginning under which somebody listens without a file, in order; of
    /// every user of the network namespace.
    #[must_use]
    pub fn names(beginning: &str) -> Vec<String> {
        // The last column of the kernel's table, with `@` in the place of the first byte.
        let table = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
        let names = table.lines().filter_map(|line| line.split_whitespace().nth(7));
        let names = names.filter_map(|name| name.strip_prefix('@'));
        let mut names: Vec<String> =
            names.filter(|name| name.starts_with(beginning)).map(str::to_owned).collect();
        // A line for each connection, too.
        names.sort();
        names.dedup();
        names
    }

    /// A connection that waits, if there is one, of a process of our user or of root: others are
    /// closed.
    ///
    /// # Errors
    /// What `accept(2)` says.
    pub fn accept(&self) -> Result<Option<ControlSocket>, SysError> {
        let accepted = net::accept_with(&self.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
        let Some(fd) = accepted.unless_blocked("control accept")? else { return Ok(None) };
        Ok(is_ours(&fd)?.then_some(ControlSocket { fd }))
    }
}

impl Drop for ControlListener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // It may be gone already.
            let _ = rustix::fs::unlink(path);
        }
    }
}

impl AsFd for ControlListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether a socket is there that nobody listens at. A file of another kind is somebody's, and one
/// that does not let us connect for another reason may be alive.
fn is_abandoned(path: &Path) -> bool {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    let refused = rustix::io::Errno::CONNREFUSED.raw_os_error();
    is_socket && ControlSocket::connect(path).is_err_and(|error| error.errno() == refused)
}

fn endpoint() -> Result<OwnedFd, SysError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .during("control socket")
}

/// Whether the other end is a process of our user, or of root.
fn is_ours(fd: &OwnedFd) -> Result<bool, SysError> {
    let peer = net::sockopt::socket_peercred(fd).during("control peer")?;
    Ok(peer.uid.is_root() || peer.uid == rustix::process::geteuid())
}

fn nameless_file(name: &str) -> Result<SocketAddrUnix, SysError> {
    SocketAddrUnix::new_abstract_name(name.as_bytes()).during("control name")
}

fn address(path: &Path) -> Result<SocketAddrUnix, SysError> {
    SocketAddrUnix::new(path).during("control path")
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
    fn strangers_of_one_user_meet_at_a_path_that_is_theirs_alone() {
        let folder = std::env::temp_dir().join(format!("taut-control-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("control");
        assert!(ControlSocket::connect(&path).is_err());
        let listener = ControlListener::bind(&path).expect("a listener");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(&path).expect("a file").permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
        assert!(listener.accept().expect("accept").is_none());
        let far = ControlSocket::connect(&path).expect("connect");
        let near = listener.accept().expect("accept").expect("a connection");
        far.send(b"hello", &[]).expect("send");
        let mut buffer = [0; 64];
        assert!(matches!(near.recv(&mut buffer), Ok(Received::Message(5, _))));
        let taken = ControlListener::bind(&path).expect_err("somebody listens");
        assert!(taken.is_address_in_use(), "{taken}");
        drop(listener);
        assert!(!path.exists());
        // What a process leaves that dies.
        std::os::unix::net::UnixListener::bind(&path).map(drop).expect("a stale file");
        assert!(path.exists());
        drop(ControlListener::bind(&path).expect("the stale file is no obstacle"));
        // Another kind of file is somebody's.
        std::fs::write(&path, "dear").expect("a file");
        assert!(ControlListener::bind(&path).expect_err("a file").is_address_in_use());
        std::fs::remove_file(&path).expect("it is there still");
        std::fs::remove_dir(&folder).expect("nothing is left");
    }

    #[test]
    fn under_a_name_without_a_file_nothing_is_left() {
        let name = format!("taut-control-test-{}", std::process::id());
        assert!(ControlSocket::connect_name(&name).is_err());
        let listener = ControlListener::bind_name(&name).expect("a listener");
        let taken = ControlListener::bind_name(&name).expect_err("somebody listens");
        assert!(taken.is_address_in_use(), "{taken}");
        let far = ControlSocket::connect_name(&name).expect("connect");
        let near = listener.accept().expect("accept").expect("a connection");
        assert_eq!(ControlListener::names(&name), [name.as_str()]);
        far.send(b"hello", &[]).expect("send");
        let mut buffer = [0; 64];
        assert!(matches!(near.recv(&mut buffer), Ok(Received::Message(5, _))));
        drop((listener, near, far));
        assert_eq!(ControlListener::names(&name), [""; 0]);
    }

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
