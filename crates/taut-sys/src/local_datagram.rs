//! Datagrams to a socket of this host that has a name: systemd's service manager and its journal.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A socket that sends to one other and waits for nobody.
#[derive(Debug)]
pub struct LocalDatagram {
    socket: UnixDatagram,
    to: SocketAddr,
}

impl LocalDatagram {
    /// To the socket with this name: a path, or `@` and a name that is in no file system.
    ///
    /// # Errors
    /// When the name is too long, or no socket is left.
    pub fn to(name: &OsStr) -> io::Result<Self> {
        let to = match name.as_bytes() {
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
            path => SocketAddr::from_pathname(OsStr::from_bytes(path))?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, to })
    }

    /// Sends a datagram, whole or not at all.
    ///
    /// # Errors
    /// What the system says: nobody is there, its queue is full, the datagram is too long.
    pub fn send(&self, datagram: &[u8]) -> io::Result<()> {
        self.socket.send_to_addr(datagram, &self.to).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_arrives_by_a_path_and_by_an_abstract_name() {
        let folder = std::env::temp_dir().join(format!("taut-datagram-{}", std::process::id()));
        let receiver = UnixDatagram::bind(&folder).expect("a socket");
        let sender = LocalDatagram::to(folder.as_os_str()).expect("a socket");
        sender.send(b"READY=1").expect("room");
        let mut buffer = [0; 16];
        let length = receiver.recv(&mut buffer).expect("a datagram");
        assert_eq!(&buffer[..length], b"READY=1");
        drop(receiver);
        std::fs::remove_file(&folder).expect("its name");
        assert!(sender.send(b"READY=1").is_err(), "nobody is there");

        let name = format!("taut-datagram-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let receiver = UnixDatagram::bind_addr(&address).expect("a socket");
        let sender = LocalDatagram::to(OsStr::new(&format!("@{name}"))).expect("a socket");
        sender.send(b"WATCHDOG=1").expect("room");
        let length = receiver.recv(&mut buffer).expect("a datagram");
        assert_eq!(&buffer[..length], b"WATCHDOG=1");
    }
}
