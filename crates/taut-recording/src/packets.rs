//! Packets made of what sockets said and heard, for Wireshark: IP, TCP and UDP headers in front of
//! the bytes, with sums that are right.
//!
//! Sources: RFC 791 and 8200 (IP), 9293 (TCP), 768 (UDP), 1071 (the sum).

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::pcapng::PacketFile;

/// Packets that begin with an IP header, of either version: LINKTYPE_RAW.
const RAW: u16 = 101;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of a stream in one packet.
const SEGMENT: usize = 32 << 10;
const WINDOW: u16 = u16::MAX;

/// Which end of a stream speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that is recorded.
    Own,
    /// The other one.
    Peer,
}

mod flags {
    pub const FIN: u8 = 1;
    pub const SYN: u8 = 2;
    pub const PUSH: u8 = 8;
    pub const ACK: u8 = 16;
}

/// A stream: its ends, and the number of the byte that each says next.
#[derive(Clone, Debug)]
pub struct Stream {
    own: SocketAddr,
    peer: SocketAddr,
    next: [u32; 2],
}

/// Writes packets.
#[derive(Debug)]
pub struct Packets<W> {
    file: PacketFile<W>,
    /// How many there are.
    count: u64,
    packet: Vec<u8>,
}

impl<W: Write> Packets<W> {
    /// Begins a file with one interface of this name.
    ///
    /// # Errors
    /// What writing says.
    pub fn begin(out: W, name: &str) -> io::Result<Self> {
        let mut file = PacketFile::begin(out)?;
        file.interface(RAW, name)?;
        Ok(Self { file, count: 0, packet: Vec::new() })
    }

    /// How many packets were written.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// A stream begins with the three packets of its opening, at a time in ns since 1970. Addresses
    /// of two families, of which one was made up, become one.
    ///
    /// # Errors
    /// What writing says.
    pub fn open(
        &mut self,
        time_ns: u64,
        own: SocketAddr,
        peer: SocketAddr,
        opener: End,
    ) -> io::Result<Stream> {
        let mut stream = Stream { own: like(own, peer), peer, next: [0; 2] };
        let other = if opener == End::Own { End::Peer } else { End::Own };
        self.segment(time_ns, &mut stream, opener, flags::SYN, &[])?;
        self.segment(time_ns, &mut stream, other, flags::SYN | flags::ACK, &[])?;
        self.segment(time_ns, &mut stream, opener, flags::ACK, &[])?;
        Ok(stream)
    }

    /// An end of a stream says something.
    ///
    /// # Errors
    /// What writing says.
    pub fn say(
        &mut self,
        time_ns: u64,
        stream: &mut Stream,
        by: End,
        bytes: &[u8],
    ) -> io::Result<()> {
        bytes
            .chunks(SEGMENT)
            .try_for_each(|part| self.segment(time_ns, stream, by, flags::PUSH | flags::ACK, part))
    }

    /// A stream ends, by one end and then by the other.
    ///
    /// # Errors
    /// What writing says.
    pub fn close(&mut self, time_ns: u64, mut stream: Stream, by: End) -> io::Result<()> {
        let other = if by == End::Own { End::Peer } else { End::Own };
        self.segment(time_ns, &mut stream, by, flags::FIN | flags::ACK, &[])?;
        self.segment(time_ns, &mut stream, other, flags::FIN | flags::ACK, &[])?;
        self.segment(time_ns, &mut stream, by, flags::ACK, &[])
    }

    /// A datagram; one that no packet can hold is left out.
    ///
    /// # Errors
    /// What writing says.
    pub fn datagram(
        &mut self,
        time_ns: u64,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
    ) -> io::Result<()> {
        let Ok(length) = u16::try_from(bytes.len() + 8) else { return Ok(()) };
        let from = like(from, to);
        let mut head = [0; 8];
        head[..2].copy_from_slice(&from.port().to_be_bytes());
        head[2..4].copy_from_slice(&to.port().to_be_bytes());
        head[4..6].copy_from_slice(&length.to_be_bytes());
        let sum = match sum_of(UDP, from.ip(), to.ip(), &head, bytes) {
            // 0 says that there is none.
            0 => u16::MAX,
            sum => sum,
        };
        head[6..8].copy_from_slice(&sum.to_be_bytes());
        self.put(time_ns, UDP, from.ip(), to.ip(), &head, bytes)
    }

    /// Has all of it written.
    ///
    /// # Errors
    /// What writing says.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn segment(
        &mut self,
        time_ns: u64,
        stream: &mut Stream,
        by: End,
        flags: u8,
        bytes: &[u8],
    ) -> io::Result<()> {
        let (from, to, own, other) = match by {
            End::Own => (stream.own, stream.peer, 0, 1),
            End::Peer => (stream.peer, stream.own, 1, 0),
        };
        let mut head = [0; 20];
        head[..2].copy_from_slice(&from.port().to_be_bytes());
        head[2..4].copy_from_slice(&to.port().to_be_bytes());
        head[4..8].copy_from_slice(&stream.next[own].to_be_bytes());
        if flags & flags::ACK != 0 {
            head[8..12].copy_from_slice(&stream.next[other].to_be_bytes());
        }
        // Five words of a header.
        head[12] = 5 << 4;
        head[13] = flags;
        head[14..16].copy_from_slice(&WINDOW.to_be_bytes());
        let sum = sum_of(TCP, from.ip(), to.ip(), &head, bytes);
        head[16..18].copy_from_slice(&sum.to_be_bytes());
        // The opening and the end count as a byte each.
        let counts = u32::from(flags & (flags::SYN | flags::FIN) != 0);
        stream.next[own] = stream.next[own].wrapping_add(bytes.len() as u32 + counts);
        self.put(time_ns, TCP, from.ip(), to.ip(), &head, bytes)
    }

    /// Puts an IP header before it.
    fn put(
        &mut self,
        time_ns: u64,
        protocol: u8,
        from: IpAddr,
        to: IpAddr,
        head: &[u8],
        bytes: &[u8],
    ) -> io::Result<()> {
        let Self { file, count, packet } = self;
        let length = head.len() + bytes.len();
        packet.clear();
        match (from, to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let Ok(total) = u16::try_from(length + 20) else { return Ok(()) };
                let mut ip = [0; 20];
                ip[0] = 0x45;
                ip[2..4].copy_from_slice(&total.to_be_bytes());
                // Nobody may cut it; 64 hops.
                ip[6] = 0x40;
                ip[8..10].copy_from_slice(&[64, protocol]);
                ip[12..16].copy_from_slice(&from.octets());
                ip[16..20].copy_from_slice(&to.octets());
                let sum = !folded(added(0, &ip));
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
                packet.extend_from_slice(&ip);
            }
            (from, to) => {
                let Ok(length) = u16::try_from(length) else { return Ok(()) };
                let v6 = |it: IpAddr| match it {
                    IpAddr::V4(it) => it.to_ipv6_mapped(),
                    IpAddr::V6(it) => it,
                };
                packet.extend_from_slice(&[0x60, 0, 0, 0]);
                packet.extend_from_slice(&length.to_be_bytes());
                packet.extend_from_slice(&[protocol, 64]);
                packet.extend_from_slice(&v6(from).octets());
                packet.extend_from_slice(&v6(to).octets());
            }
        }
        packet.extend_from_slice(head);
        packet.extend_from_slice(bytes);
        *count += 1;
        let sent = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        file.packet(0, time_ns, sent, packet, *count)
    }
}

/// The address, in the other one's family.
fn like(address: SocketAddr, other: SocketAddr) -> SocketAddr {
    let ip = match (address.ip(), other.ip()) {
        (IpAddr::V4(ip), IpAddr::V6(_)) => IpAddr::V6(ip.to_ipv6_mapped()),
        (IpAddr::V6(ip), IpAddr::V4(_)) => {
            IpAddr::V4(ip.to_ipv4_mapped().unwrap_or(Ipv4Addr::LOCALHOST))
        }
        (ip, _) => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// The sum of a transport's header and bytes, over the addresses, too (RFC 9293, 3.1).
fn sum_of(protocol: u8, from: IpAddr, to: IpAddr, head: &[u8], bytes: &[u8]) -> u16 {
    let octets = |sum, ip| match ip {
        IpAddr::V4(ip) => added(sum, &ip.octets()),
        IpAddr::V6(ip) => added(sum, &ip.octets()),
    };
    let length = (head.len() + bytes.len()) as u64;
    let sum = octets(octets(length + u64::from(protocol), from), to);
    // A header has an even number of bytes.
    !folded(added(added(sum, head), bytes))
}

/// Adds the words of these bytes.
fn added(sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words = words.iter().map(|word| u64::from(u16::from_be_bytes(*word)));
    sum + words.sum::<u64>() + rest.first().map_or(0, |byte| u64::from(*byte) << 8)
}

/// One's complement of a sum of words.
const fn folded(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    /// The packets of a file, without their blocks.
    fn packets(file: &[u8]) -> Vec<Vec<u8>> {
        let mut rest = file;
        let mut packets = Vec::new();
        let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        while !rest.is_empty() {
            let (kind, length) = (number(&rest[..4]), number(&rest[4..8]) as usize);
            if kind == 6 {
                let captured = number(&rest[20..24]) as usize;
                packets.push(rest[28..28 + captured].to_vec());
            }
            rest = &rest[length..];
        }
        packets
    }

    #[test]
    fn the_sum_over_a_packet_with_its_sum_is_all_ones() {
        let mut file = Vec::new();
        let mut all = Packets::begin(&mut file, "run").expect("written");
        for (from, to) in
            [("10.0.0.1:7", "224.0.0.9:9"), ("[::1]:7", "[::1]:9"), ("10.0.0.1:1", "[::2]:2")]
        {
            all.datagram(1, at(from), at(to), b"odd").expect("written");
            let mut stream = all.open(2, at(from), at(to), End::Own).expect("written");
            all.say(3, &mut stream, End::Peer, b"8=FIX").expect("written");
            all.close(4, stream, End::Own).expect("written");
        }
        assert_eq!(all.count(), 3 * (1 + 3 + 1 + 3));
        for packet in packets(&file) {
            let (protocol, addresses, body) = match packet[0] >> 4 {
                4 => {
                    assert_eq!(folded(added(0, &packet[..20])), u16::MAX);
                    (packet[9], &packet[12..20], &packet[20..])
                }
                _ => (packet[6], &packet[8..40], &packet[40..]),
            };
            let sum = added(u64::from(protocol) + body.len() as u64, addresses);
            assert_eq!(folded(added(sum, body)), u16::MAX, "{packet:?}");
        }
    }

    #[test]
    fn numbers_of_a_stream_go_on_where_they_were_and_each_end_acknowledges_the_other() {
        let mut file = Vec::new();
        let mut all = Packets::begin(&mut file, "run").expect("written");
        let mut stream =
            all.open(1, at("10.0.0.1:7"), at("10.0.0.2:9"), End::Peer).expect("written");
        all.say(1, &mut stream, End::Own, &[7; SEGMENT + 5]).expect("written");
        all.say(1, &mut stream, End::Peer, b"abc").expect("written");
        all.close(1, stream, End::Peer).expect("written");
        let word = |packet: &[u8], at: usize| {
            u32::from_be_bytes(packet[20 + at..24 + at].try_into().expect("four bytes"))
        };
        let told: Vec<_> = packets(&file)
            .iter()
            .map(|packet| (packet[12 + 3], word(packet, 4), word(packet, 8), packet[33]))
            .collect();
        let long = SEGMENT as u32;
        let expected = [
            // The peer opens.
            (2, 0, 0, 2),
            (1, 0, 1, 18),
            (2, 1, 1, 16),
            // 32 KiB and 5 bytes one way, 3 the other.
            (1, 1, 1, 24),
            (1, 1 + long, 1, 24),
            (2, 1, 6 + long, 24),
            // The end.
            (2, 4, 6 + long, 17),
            (1, 6 + long, 5, 17),
            (2, 5, 7 + long, 16),
        ];
        assert_eq!(told, expected);
    }
}
