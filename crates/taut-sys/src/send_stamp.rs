//! When the kernel handed bytes to the device: send timestamps, read from the error queue.

use std::os::fd::{AsFd, AsRawFd};

use taut_types::Nanos;

use crate::datagram::{int, word};
use crate::error::SysError;
use crate::option;
use crate::socket::Socket;

/// A stamp of one send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendStamp {
    /// Which send: for datagrams their number, for a stream the offset of the send's last byte,
    /// both from 0 where the stamps were asked for, and wrapping.
    pub number: u32,
    /// When the kernel gave it to the device (on loopback: to the receiver), UTC.
    pub sent_utc: Nanos,
}

/// Room for the stamp (48 bytes and a header) and the extended error (32 and a header).
const CONTROL_BYTES: usize = 192;

#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// `SO_EE_ORIGIN_TIMESTAMPING`.
const ORIGIN_TIMESTAMPING: u8 = 4;

impl Socket {
    /// Asks for a stamp of every send from now on (`SO_TIMESTAMPING`, in software). A stream must
    /// be connected. A stamp that waits makes the socket report an error condition, so that on a
    /// loop each send costs one more look at what arrives.
    ///
    /// # Errors
    /// What the option says.
    pub fn stamp_sends(&self) -> Result<(), SysError> {
        let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE
            | libc::SOF_TIMESTAMPING_SOFTWARE
            | libc::SOF_TIMESTAMPING_OPT_ID
            | libc::SOF_TIMESTAMPING_OPT_TSONLY;
        option::set(self, (libc::SOL_SOCKET, libc::SO_TIMESTAMPING), &flags, "send timestamps")
    }

    /// Takes the oldest stamp that waits. Cost: one system call.
    ///
    /// # Errors
    /// What `recvmsg(2)` says.
    pub fn take_send_stamp(&self) -> Result<Option<SendStamp>, SysError> {
        let mut control = Control([0; CONTROL_BYTES]);
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_BYTES;
        let fd = self.as_fd().as_raw_fd();
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: the message has room for control messages only, of the length given, and lives
        // until the end of the call.
        let got = unsafe { libc::recvmsg(fd, &raw mut message, flags) };
        if got < 0 {
            return match SysError::last("send timestamp") {
                error if matches!(error.errno(), libc::EAGAIN | libc::EINTR) => Ok(None),
                error => Err(error),
            };
        }
        let length = message.msg_controllen.min(CONTROL_BYTES);
        Ok(stamp_in(control.0.get(..length).unwrap_or(&[])))
    }
}

/// The stamp and its number stand in two control messages; another error has neither.
fn stamp_in(mut bytes: &[u8]) -> Option<SendStamp> {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    let (mut sent_utc, mut number) = (None, None);
    while let (Some(length), Some(level), Some(kind)) =
        (word(bytes, 0), int(bytes, 8), int(bytes, 12))
    {
        let data = bytes.get(HEADER..length)?;
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                let (secs, nanos) = (word(data, 0)?, word(data, 8)?);
                sent_utc = Some(Nanos::from_secs(secs.cast_signed() as i64) + Nanos(nanos as i64));
            }
            // struct sock_extended_err: errno, origin, type, code, pad, info, data.
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
                if data.get(4) == Some(&ORIGIN_TIMESTAMPING) =>
            {
                number = int(data, 12).map(i32::cast_unsigned);
            }
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(size_of::<usize>())..).unwrap_or(&[]);
    }
    Some(SendStamp { number: number?, sent_utc: sent_utc? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, ConnectProgress, DatagramOptions, StreamOptions, utc, wait_readable};

    #[test]
    fn every_datagram_is_stamped_with_its_number_between_before_and_after() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let at = Address::Inet(at.parse().expect("an address"));
            let receiver = Socket::datagram(&at, &DatagramOptions::default()).expect("receiver");
            let peer = receiver.local_address().expect("address").inet();
            let options = DatagramOptions { peer, ..DatagramOptions::default() };
            let sender = Socket::datagram(&at, &options).expect("sender");
            assert_eq!(sender.take_send_stamp(), Ok(None));
            sender.stamp_sends().expect("stamps");
            for number in 0..3 {
                let before = utc();
                sender.send(b"tick").expect("send");
                let stamp = sender.take_send_stamp().expect("stamp").expect("a stamp");
                assert_eq!(stamp.number, number);
                assert!(before <= stamp.sent_utc && stamp.sent_utc <= utc(), "{stamp:?}");
            }
            assert_eq!(sender.take_send_stamp(), Ok(None));
            assert_eq!(sender.receive(&mut [0; 8]), Ok(None), "a stamp is no data");
        }
    }

    #[test]
    fn a_streams_stamps_are_numbered_by_the_last_byte() {
        let at = Address::Inet("127.0.0.1:0".parse().expect("an address"));
        let listener = Socket::listen(&at, &StreamOptions::default()).expect("listen");
        let to = listener.local_address().expect("address");
        let (near, progress) = Socket::connect(&to, &StreamOptions::default()).expect("connect");
        assert!(matches!(progress, ConnectProgress::Connected | ConnectProgress::Underway));
        wait_readable(&[listener.as_fd()], Some(Nanos::from_secs(5))).expect("wait");
        near.stamp_sends().expect("stamps");
        let mut end = 0u32;
        for bytes in [&b"8=FIX"[..], b".", b"4.4"] {
            near.send(bytes).expect("send");
            end += bytes.len() as u32;
            let stamp = near.take_send_stamp().expect("stamp").expect("a stamp");
            assert_eq!(stamp.number, end - 1);
        }
    }
}
