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

/// Reads the datagrams of a file.
///
/// # Errors
/// What is wrong with the file as a whole.
pub fn read(file: &[u8]) -> Result<Capture<'_>, String> {
    let (head, mut rest) = file.split_first_chunk::<24>().ok_or("it is shorter than a header")?;
    let [m0, m1, m2, m3, .., l0, l1, l2, l3] = *head;
    let (big, nanos) = match u32::from_be_bytes([m0, m1, m2, m3]) {
        0xa1b2_c3d4 => (true, false),
        0xa1b2_3c4d => (true, true),
        0xd4c3_b2a1 => (false, false),
        0x4d3c_b2a1 => (false, true),
        0x0a0d_0d0a => return Err("it is pcapng: convert it with `editcap -F pcap`".to_owned()),
        _ => return Err("it is no pcap file".to_owned()),
    };
    let number = |bytes: [u8; 4]| match big {
        true => u32::from_be_bytes(bytes),
        false => u32::from_le_bytes(bytes),
    };
    // The upper bits are about frame check sequences.
    let link = number([l0, l1, l2, l3]) & 0x0fff_ffff;
    let mut capture = Capture { datagrams: Vec::new(), skipped: 0, cut_in: None };
    let mut packet = 0;
    while !rest.is_empty() {
        packet += 1;
        let whole = rest.split_first_chunk::<16>().and_then(|(record, behind)| {
            let [.., c0, c1, c2, c3, _, _, _, _] = *record;
            let length = usize::try_from(number([c0, c1, c2, c3])).ok()?;
            Some((record, behind.split_at_checked(length)?))
        });
        // A capture that was stopped ends anywhere.
        let Some((record, (frame, behind))) = whole else {
            capture.cut_in = Some(packet);
            break;
        };
        rest = behind;
        let [s0, s1, s2, s3, f0, f1, f2, f3, _, _, _, _, o0, o1, o2, o3] = *record;
        let fraction = u64::from(number([f0, f1, f2, f3])) * if nanos { 1 } else { 1_000 };
        let time_ns = u64::from(number([s0, s1, s2, s3])) * 1_000_000_000 + fraction;
        let sent = usize::try_from(number([o0, o1, o2, o3])).unwrap_or(usize::MAX);
        let missing = sent.saturating_sub(frame.len());
        match udp(time_ns, link, frame) {
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
