//! Many datagrams with one system call, each with what the kernel knows about it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use taut_types::Nanos;

use crate::error::SysError;
use crate::raw_address::RawAddress;
use crate::socket::Socket;

/// The most datagrams that one send takes.
pub const SEND_BATCH_MAX: usize = 32;

/// Datagrams that a receive asks for after one that found few.
const ASKED_MIN: usize = 4;

/// Room for the control messages of one datagram: all that we ask for need 120 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL_BYTES]);
const CONTROL_BYTES: usize = 192;

/// What the kernel says about a datagram; the optional parts only where the socket asked for them
/// ([`crate::DatagramOptions`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramInfo {
    /// Who sent it.
    pub from: Option<SocketAddr>,
    /// When the kernel took it in, UTC.
    pub received_utc: Option<Nanos>,
    /// Datagrams that this socket lost so far for want of room.
    pub dropped: Option<u32>,
    /// The interface that it came in by.
    pub interface: Option<u32>,
    /// The address that it was sent to.
    pub destination: Option<IpAddr>,
    /// It is several datagrams of this size, the last one possibly shorter (receive offload).
    pub segment_bytes: Option<u16>,
    /// The buffer was too small; the rest is lost.
    pub truncated: bool,
    /// It is the first that its receive call brought: those behind it arrived no later.
    pub first_of_call: bool,
}

/// Buffers for one batch of datagrams. Everything is allocated when it is built.
pub struct DatagramBatch {
    bytes: Box<[u8]>,
    datagram_bytes: usize,
    names: Box<[RawAddress]>,
    controls: Box<[Control]>,
    vectors: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    /// How many the last receive asked for: more after a burst, so that an idle look is cheap.
    asked: usize,
    asked_min: usize,
    received: usize,
}

// SAFETY: the raw pointers in the headers are set and used within one call; between calls they are
// never followed.
unsafe impl Send for DatagramBatch {}

impl DatagramBatch {
    /// Room for `count` datagrams of at most `datagram_bytes`.
    #[must_use]
    pub fn new(count: usize, datagram_bytes: usize) -> Self {
        let (count, datagram_bytes) = (count.max(1), datagram_bytes.max(1));
        let vector = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        // SAFETY: all-zero is a valid mmsghdr (null pointers, zero lengths).
        let header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        Self {
            bytes: vec![0; count * datagram_bytes].into_boxed_slice(),
            datagram_bytes,
            names: vec![RawAddress::EMPTY; count].into_boxed_slice(),
            controls: vec![Control([0; CONTROL_BYTES]); count].into_boxed_slice(),
            vectors: vec![vector; count].into_boxed_slice(),
            headers: vec![header; count].into_boxed_slice(),
            asked: 0,
            asked_min: ASKED_MIN,
            received: 0,
        }
    }

    /// Asks for one datagram after a receive that found none, and for twice as many as it found
    /// after another: a lone datagram is there without a look behind it.
    #[must_use]
    pub const fn asking_for_one(mut self) -> Self {
        self.asked_min = 1;
        self
    }

    /// How many datagrams it can take.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.headers.len()
    }

    /// How many the last receive took.
    #[must_use]
    pub const fn received(&self) -> usize {
        self.received
    }

    /// Whether the last receive took as many as it asked for: there may be more.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.received > 0 && self.received == self.asked
    }

    /// The bytes of one.
    #[must_use]
    pub fn bytes(&self, index: usize) -> &[u8] {
        let length = self.headers.get(index).map_or(0, |header| header.msg_len as usize);
        let start = index * self.datagram_bytes;
        self.bytes.get(start..start + length.min(self.datagram_bytes)).unwrap_or(&[])
    }

    /// What is known about one.
    #[must_use]
    #[inline]
    pub fn info(&self, index: usize) -> DatagramInfo {
        let (Some(name), Some(control), Some(header)) =
            (self.names.get(index), self.controls.get(index), self.headers.get(index))
        else {
            return DatagramInfo::default();
        };
        let mut info = DatagramInfo {
            from: name.read(),
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            first_of_call: index == 0,
            ..DatagramInfo::default()
        };
        let length = header.msg_hdr.msg_controllen.min(CONTROL_BYTES);
        read_control(control.0.get(..length).unwrap_or(&[]), &mut info);
        info
    }

    /// Empties it, to be filled by [`DatagramBatch::push`] instead of by a socket: for a simulated
    /// network. It asks for as many datagrams as a receive call would.
    pub fn clear(&mut self) {
        self.prepare();
        self.received = 0;
    }

    /// Adds a datagram that came from an address; false when it has as many as it asked for.
    pub fn push(&mut self, from: &SocketAddr, bytes: &[u8]) -> bool {
        let index = self.received;
        if index >= self.asked {
            return false;
        }
        let start = index * self.datagram_bytes;
        let length = bytes.len().min(self.datagram_bytes);
        self.bytes[start..start + length].copy_from_slice(&bytes[..length]);
        self.names[index] = RawAddress::new(from);
        let header = &mut self.headers[index];
        header.msg_len = length as u32;
        header.msg_hdr.msg_controllen = 0;
        header.msg_hdr.msg_flags = if length < bytes.len() { libc::MSG_TRUNC } else { 0 };
        self.received += 1;
        true
    }

    fn prepare(&mut self) {
        let least = self.asked_min;
        self.asked = (2 * self.received).clamp(least, least.max(self.headers.len()));
        self.asked = self.asked.min(self.headers.len());
        let base = self.bytes.as_mut_ptr();
        for (index, header) in self.headers.iter_mut().take(self.asked).enumerate() {
            let vector = &mut self.vectors[index];
            // The offset stays inside the allocation: index is below the count of datagrams.
            vector.iov_base = base.wrapping_add(index * self.datagram_bytes).cast();
            vector.iov_len = self.datagram_bytes;
            header.msg_len = 0;
            header.msg_hdr.msg_name = self.names[index].as_mut_ptr();
            header.msg_hdr.msg_namelen = size_of::<RawAddress>() as u32;
            header.msg_hdr.msg_iov = std::ptr::from_mut(vector);
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = self.controls[index].0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = CONTROL_BYTES;
            header.msg_hdr.msg_flags = 0;
        }
    }
}

impl Socket {
    /// Takes datagrams that have arrived: returns their count, 0 when none has. There may be more
    /// when [`DatagramBatch::is_full`]; it asks for few after it found few, and for more after a
    /// burst. Cost: one system call.
    ///
    /// # Errors
    /// What `recvmmsg(2)` says.
    pub fn receive_batch(&self, batch: &mut DatagramBatch) -> Result<usize, SysError> {
        batch.clear();
        let fd = self.as_fd().as_raw_fd();
        let count = u32::try_from(batch.asked).unwrap_or(u32::MAX);
        let headers = batch.headers.as_mut_ptr();
        // SAFETY: `prepare` has just pointed the first `count` headers each at its own part of the
        // batch's boxes, which are borrowed mutably until the call ends; the lengths are those of
        // the parts.
        let got = unsafe {
            libc::recvmmsg(fd, headers, count, libc::MSG_DONTWAIT as _, std::ptr::null_mut())
        };
        match usize::try_from(got) {
            Ok(got) => batch.received = got,
            Err(_) => match SysError::last("receive") {
                error if matches!(error.errno(), libc::EAGAIN | libc::EINTR) => {}
                error => return Err(error),
            },
        }
        Ok(batch.received)
    }

    /// Sends several datagrams, to `to` or to the connected peer. Returns how many the kernel took
    /// (at most [`SEND_BATCH_MAX`]); fewer when its buffer is full. Cost: one system call.
    ///
    /// # Errors
    /// What `sendmmsg(2)` says about the first one.
    pub fn send_batch(
        &self,
        datagrams: &[&[u8]],
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        let mut name = to.map_or(RawAddress::EMPTY, RawAddress::new);
        let (name, name_bytes) = match to {
            Some(to) => (name.as_mut_ptr(), RawAddress::length(to)),
            None => (std::ptr::null_mut(), 0),
        };
        let mut vectors =
            [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; SEND_BATCH_MAX];
        // SAFETY: all-zero is a valid mmsghdr.
        let mut headers: [libc::mmsghdr; SEND_BATCH_MAX] = unsafe { std::mem::zeroed() };
        let count = datagrams.len().min(SEND_BATCH_MAX);
        for ((vector, header), datagram) in vectors.iter_mut().zip(&mut headers).zip(datagrams) {
            vector.iov_base = datagram.as_ptr().cast_mut().cast();
            vector.iov_len = datagram.len();
            header.msg_hdr.msg_iov = std::ptr::from_mut(vector);
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = name;
            header.msg_hdr.msg_namelen = name_bytes;
        }
        let fd = self.as_fd().as_raw_fd();
        // SAFETY: the first `count` headers point to live vectors, datagrams and name; the kernel
        // only reads what they point to.
        let sent = unsafe {
            libc::sendmmsg(fd, headers.as_mut_ptr(), count as u32, libc::MSG_DONTWAIT as _)
        };
        sent_or_blocked(sent as isize)
    }

    /// Sends one run of bytes as datagrams of `segment_bytes` each (segmentation offload), to the
    /// connected peer; at most 64 datagrams. Returns the bytes taken. Cost: one system call.
    ///
    /// # Errors
    /// What `sendmsg(2)` says; `EINVAL`/`EMSGSIZE` for more than the kernel splits at once.
    pub fn send_segmented(&self, bytes: &[u8], segment_bytes: u16) -> Result<usize, SysError> {
        self.send_segmented_to(bytes, segment_bytes, None)
    }

    /// As [`Socket::send_segmented`], to an address.
    ///
    /// # Errors
    /// As [`Socket::send_segmented`].
    pub fn send_segmented_to(
        &self,
        bytes: &[u8],
        segment_bytes: u16,
        to: Option<&SocketAddr>,
    ) -> Result<usize, SysError> {
        let mut name = to.map_or(RawAddress::EMPTY, RawAddress::new);
        let mut control = Control([0; CONTROL_BYTES]);
        let header = size_of::<libc::cmsghdr>();
        let length = header + size_of::<u16>();
        control.0[..8].copy_from_slice(&length.to_ne_bytes());
        control.0[8..12].copy_from_slice(&libc::SOL_UDP.to_ne_bytes());
        control.0[12..16].copy_from_slice(&libc::UDP_SEGMENT.to_ne_bytes());
        control.0[16..18].copy_from_slice(&segment_bytes.to_ne_bytes());
        let mut vector =
            libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        if let Some(to) = to {
            message.msg_name = name.as_mut_ptr();
            message.msg_namelen = RawAddress::length(to);
        }
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = header + 8;
        let fd = self.as_fd().as_raw_fd();
        // SAFETY: the message points to live memory of the lengths given; the kernel reads it.
        let sent = unsafe { libc::sendmsg(fd, &raw const message, libc::MSG_DONTWAIT) };
        sent_or_blocked(sent)
    }
}

fn sent_or_blocked(sent: isize) -> Result<usize, SysError> {
    match usize::try_from(sent) {
        Ok(sent) => Ok(sent),
        Err(_) => match SysError::last("send") {
            error if matches!(error.errno(), libc::EAGAIN | libc::EINTR) => Ok(0),
            error => Err(error),
        },
    }
}

/// Walks the control messages: a length, a level, a type, the data, each aligned to a word.
fn read_control(mut bytes: &[u8], info: &mut DatagramInfo) {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    while let (Some(length), Some(level), Some(kind)) =
        (word(bytes, 0), int(bytes, 8), int(bytes, 12))
    {
        let Some(data) = bytes.get(HEADER..length) else { return };
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                if let (Some(secs), Some(nanos)) = (word(data, 0), word(data, 8)) {
                    let secs = Nanos::from_secs(secs.cast_signed() as i64);
                    info.received_utc = Some(secs + Nanos(nanos as i64));
                }
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                info.dropped = int(data, 0).map(i32::cast_unsigned);
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // struct in_pktinfo: index, local address, destination address.
                info.interface = int(data, 0).map(i32::cast_unsigned);
                let to = data.get(8..).and_then(<[u8]>::first_chunk::<4>);
                info.destination = to.map(|to| IpAddr::V4(Ipv4Addr::from(*to)));
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                let to = data.first_chunk::<16>();
                info.destination = to.map(|to| IpAddr::V6(Ipv6Addr::from(*to)));
                info.interface = int(data, 16).map(i32::cast_unsigned);
            }
            (libc::SOL_UDP, libc::UDP_GRO) => {
                info.segment_bytes = int(data, 0).and_then(|bytes| u16::try_from(bytes).ok());
            }
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(size_of::<usize>())..).unwrap_or(&[]);
    }
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|bytes| usize::from_ne_bytes(*bytes))
}

pub(crate) fn int(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))
}

impl fmt::Debug for DatagramBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatagramBatch").field("received", &self.received).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, DatagramOptions, interface_index, utc};

    fn pair(options: DatagramOptions, at: &str) -> (Socket, Socket) {
        let at = Address::Inet(at.parse().unwrap());
        let receiver = Socket::datagram(&at, &options).expect("receiver");
        let peer = receiver.local_address().unwrap().inet();
        let options = DatagramOptions { peer, ..DatagramOptions::default() };
        (receiver, Socket::datagram(&at, &options).expect("sender"))
    }

    #[test]
    fn a_batch_carries_every_datagram_with_its_sender_time_interface_and_destination() {
        let options = DatagramOptions {
            receive_timestamps: true,
            packet_info: true,
            drop_counter: true,
            ..DatagramOptions::default()
        };
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let (receiver, sender) = pair(options, at);
            let from = sender.local_address().unwrap().inet();
            let before = utc();
            assert_eq!(sender.send_batch(&[b"one", b"second", b""], None), Ok(3));
            let mut batch = DatagramBatch::new(8, 1500);
            assert_eq!(receiver.receive_batch(&mut batch), Ok(3));
            assert_eq!((batch.bytes(0), batch.bytes(1)), (&b"one"[..], &b"second"[..]));
            assert_eq!((batch.bytes(2), batch.bytes(3)), (&[][..], &[][..]));
            let info = batch.info(1);
            assert_eq!(info.from, from);
            assert_eq!(info.interface, interface_index("lo").ok());
            assert_eq!(info.destination, from.map(|from| from.ip()));
            assert!(info.received_utc.is_some_and(|at| at >= before && at <= utc()));
            assert_eq!(receiver.receive_batch(&mut batch), Ok(0));
        }
    }

    #[test]
    fn counts_what_the_kernel_dropped() {
        let options = DatagramOptions {
            drop_counter: true,
            receive_buffer_bytes: Some(2048),
            ..DatagramOptions::default()
        };
        let (receiver, sender) = pair(options, "127.0.0.1:0");
        for _ in 0..200 {
            sender.send(&[7; 512]).expect("send");
        }
        let mut batch = DatagramBatch::new(64, 512);
        let got = receiver.receive_batch(&mut batch).expect("receive");
        sender.send(&[7; 512]).expect("send");
        assert_eq!(receiver.receive_batch(&mut batch), Ok(1));
        assert_eq!(batch.info(0).dropped, Some(200 - got as u32));
    }

    #[test]
    fn one_send_becomes_many_datagrams_and_one_receive_takes_them_together() {
        let options = DatagramOptions { coalesce: true, ..DatagramOptions::default() };
        let (receiver, sender) = pair(options, "127.0.0.1:0");
        let bytes: Vec<u8> = (0..1000u16).map(|n| n as u8).collect();
        assert_eq!(sender.send_segmented(&bytes, 400), Ok(1000));
        let mut batch = DatagramBatch::new(8, 65_536);
        let got = receiver.receive_batch(&mut batch).expect("receive");
        let together: Vec<u8> = (0..got).flat_map(|n| batch.bytes(n).to_vec()).collect();
        assert_eq!(together, bytes);
        if got == 1 {
            assert_eq!(batch.info(0).segment_bytes, Some(400));
        }
        let mut small = DatagramBatch::new(1, 4);
        sender.send(b"longer").expect("send");
        assert_eq!(receiver.receive_batch(&mut small), Ok(1));
        assert!(small.info(0).truncated);
    }
}
