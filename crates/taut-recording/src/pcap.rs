//! UDP datagrams out of a classic pcap file.

use std::net::{IpAddr, SocketAddr};

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// A UDP datagram as it was captured.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'b> {
    /// Its number among the packets of the file, from 1.
    pub packet: usize,
    /// Bytes of the packet that were sent but not captured.
    pub missing: usize,
    /// When, in nanoseconds since 1970.
    pub time_ns: u64,
    /// Whose it is.
    pub source: SocketAddr,
    /// Where it went.
    pub destination: SocketAddr,
    /// What it carries.
    pub payload: &'b [u8],
}

/// What a file holds.
#[derive(Debug)]
pub struct Capture<'b> {
    /// In their order.
    pub datagrams: Vec<Datagram<'b>>,
    /// Packets that are not whole UDP datagrams.
    pub skipped: usize,
    /// The packet, from 1, in which the file ends.
    pub cut_in: Option<usize>,
}

/// Bytes of a file's header, and of a packet's.
pub(crate) const HEAD: usize = 24;
pub(crate) const RECORD: usize = 16;

/// What a file's header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    is_big: bool,
    has_nanos: bool,
    /// What packets begin with (LINKTYPE).
    pub link: u32,
}

/// What stands before a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// Bytes that were captured, and that were sent.
    pub captured: u32,
    pub sent: u32,
}

impl Head {
    pub(crate) fn parse(head: &[u8; HEAD]) -> Result<Self, &'static str> {
        let [m0, m1, m2, m3, .., l0, l1, l2, l3] = *head;
        let (is_big, has_nanos) = match u32::from_be_bytes([m0, m1, m2, m3]) {
            0xa1b2_c3d4 => (true, false),
            0xa1b2_3c4d => (true, true),
            0xd4c3_b2a1 => (false, false),
            0x4d3c_b2a1 => (false, true),
            0x0a0d_0d0a => return Err("it is pcapng: convert it with `editcap -F pcap`"),
            _ => return Err("it is no pcap file"),
        };
        let head = Self { is_big, has_nanos, link: 0 };
        // The upper bits are about frame check sequences.
        Ok(Self { link: head.number([l0, l1, l2, l3]) & 0x0fff_ffff, ..head })
    }

    pub(crate) fn record(self, record: &[u8; RECORD]) -> Record {
        let [s0, s1, s2, s3, f0, f1, f2, f3, c0, c1, c2, c3, o0, o1, o2, o3] = *record;
        let scale = if self.has_nanos { 1 } else { 1_000 };
        let fraction = u64::from(self.number([f0, f1, f2, f3])) * scale;
        Record {
            time_ns: u64::from(self.number([s0, s1, s2, s3])) * 1_000_000_000 + fraction,
            captured: self.number([c0, c1, c2, c3]),
            sent: self.number([o0, o1, o2, o3]),
        }
    }

    const fn number(self, bytes: [u8; 4]) -> u32 {
        if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

/// Reads the datagrams of a file.
///
/// # Errors
/// What is wrong with the file as a whole.
pub fn read(file: &[u8]) -> Result<Capture<'_>, String> {
    let (head, mut rest) = file.split_first_chunk::<HEAD>().ok_or("it is shorter than a header")?;
    let head = Head::parse(head)?;
    let mut capture = Capture { datagrams: Vec::new(), skipped: 0, cut_in: None };
    let mut packet = 0;
    while !rest.is_empty() {
        packet += 1;
        let whole = rest.split_first_chunk::<RECORD>().and_then(|(record, behind)| {
            let record = head.record(record);
            Some((record, behind.split_at_checked(usize::try_from(record.captured).ok()?)?))
        });
        // A capture that was stopped ends anywhere.
        let Some((record, (frame, behind))) = whole else {
            capture.cut_in = Some(packet);
            break;
        };
        rest = behind;
        let sent = usize::try_from(record.sent).unwrap_or(usize::MAX);
        let missing = sent.saturating_sub(frame.len());
        match udp(record.time_ns, head.link, frame) {
            Some(datagram) => capture.datagrams.push(Datagram { packet, missing, ..datagram }),
            None => capture.skipped += 1,
        }
    }
    Ok(capture)
}

/// The UDP datagram of a frame; nothing for fragments and other protocols.
fn udp(time_ns: u64, link: u32, frame: &[u8]) -> Option<Datagram<'_>> {
    let packet = match link {
        0 | 108 => LaxSlicedPacket::from_ip(frame.get(4..)?).ok()?,
        1 => LaxSlicedPacket::from_ethernet(frame).ok()?,
        12 | 14 | 101 | 228 | 229 => LaxSlicedPacket::from_ip(frame).ok()?,
        113 => LaxSlicedPacket::from_ip(frame.get(16..)?).ok()?,
        276 => LaxSlicedPacket::from_ip(frame.get(20..)?).ok()?,
        _ => return None,
    };
    let (from, to): (IpAddr, IpAddr) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        _ => return None,
    };
    let Some(TransportSlice::Udp(udp)) = packet.transport else { return None };
    Some(Datagram {
        packet: 0,
        missing: 0,
        time_ns,
        source: SocketAddr::new(from, udp.source_port()),
        destination: SocketAddr::new(to, udp.destination_port()),
        payload: udp.payload(),
    })
}
