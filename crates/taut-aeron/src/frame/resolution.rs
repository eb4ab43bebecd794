//! Name resolution (RES): names and the addresses that drivers tell each other.

use core::net::{IpAddr, SocketAddr};

use super::bytes::{i32_at, put, put_header, u8_at, u16_at};

const RESOLUTION: u16 = 7;
const HEADER_BYTES: usize = 8;
const IPV4: u8 = 1;
const IPV6: u8 = 2;
const SELF: u8 = 0x80;
/// Entries start at multiples of this.
const ALIGNMENT: usize = 8;
/// What stands before the address: type, flags, port, age.
const PREFIX_BYTES: usize = 8;

/// A name and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution<'a> {
    /// The driver's address.
    pub address: SocketAddr,
    /// How long ago it was heard of, in milliseconds.
    pub age_ms: i32,
    /// The driver that sends it speaks of itself: the address that the datagram came from counts.
    pub is_own: bool,
    /// The name: UTF-8, at most 32,767 bytes.
    pub name: &'a [u8],
}

/// The entries of a resolution frame.
#[derive(Clone, Copy, Debug)]
pub struct Resolutions<'a> {
    rest: &'a [u8],
    is_broken: bool,
}

impl<'a> Resolutions<'a> {
    /// Reads a frame whose common header was checked.
    #[must_use]
    pub fn read(datagram: &'a [u8]) -> Self {
        let length = i32_at(datagram, 0).and_then(|length| usize::try_from(length).ok());
        let rest = length.and_then(|length| datagram.get(HEADER_BYTES..length));
        Self { rest: rest.unwrap_or(&[]), is_broken: rest.is_none() }
    }

    /// Whether what was read so far ended in bytes that are no entry.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.is_broken
    }

    fn entry(&self) -> Option<(Resolution<'a>, usize)> {
        let bytes = self.rest;
        let place = bytes.get(PREFIX_BYTES..)?;
        let (ip, ip_bytes) = match u8_at(bytes, 0)? {
            IPV4 => (IpAddr::from(*place.first_chunk::<4>()?), 4),
            IPV6 => (IpAddr::from(*place.first_chunk::<16>()?), 16),
            _ => return None,
        };
        let at = PREFIX_BYTES + ip_bytes;
        let name_bytes = usize::try_from(u16_at(bytes, at)?.cast_signed()).ok()?;
        let resolution = Resolution {
            address: SocketAddr::new(ip, u16_at(bytes, 2)?),
            age_ms: i32_at(bytes, 4)?,
            is_own: u8_at(bytes, 1)? & SELF != 0,
            name: bytes.get(at + 2..)?.get(..name_bytes)?,
        };
        Some((resolution, (at + 2 + name_bytes).next_multiple_of(ALIGNMENT)))
    }
}

impl<'a> Iterator for Resolutions<'a> {
    type Item = Resolution<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((resolution, bytes)) = self.entry() else {
            (self.rest, self.is_broken) = (&[], true);
            return None;
        };
        self.rest = self.rest.get(bytes..).unwrap_or(&[]);
        Some(resolution)
    }
}

/// Writes a resolution frame and returns its length; 0 when it does not fit.
pub fn write_resolutions(entries: &[Resolution<'_>], out: &mut [u8]) -> usize {
    let mut length = HEADER_BYTES;
    for entry in entries {
        let Some(bytes) = out.get_mut(length..).and_then(|out| write_entry(entry, out)) else {
            return 0;
        };
        length += bytes;
    }
    if out.len() < length {
        return 0;
    }
    put_header(out, length, 0, RESOLUTION);
    length
}

fn write_entry(entry: &Resolution<'_>, out: &mut [u8]) -> Option<usize> {
    let name_bytes = i16::try_from(entry.name.len()).ok()?;
    let (kind, ip_bytes) = if entry.address.is_ipv4() { (IPV4, 4) } else { (IPV6, 16) };
    let at = PREFIX_BYTES + ip_bytes;
    let length = (at + 2 + entry.name.len()).next_multiple_of(ALIGNMENT);
    let out = out.get_mut(..length)?;
    out.fill(0);
    put(out, 0, [kind, if entry.is_own { SELF } else { 0 }]);
    put(out, 2, entry.address.port().to_le_bytes());
    put(out, 4, entry.age_ms.to_le_bytes());
    match entry.address.ip() {
        IpAddr::V4(ip) => put(out, PREFIX_BYTES, ip.octets()),
        IpAddr::V6(ip) => put(out, PREFIX_BYTES, ip.octets()),
    }
    put(out, at, name_bytes.to_le_bytes());
    out.get_mut(at + 2..)?.get_mut(..entry.name.len())?.copy_from_slice(entry.name);
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::super::{FrameKind, frame_kind};
    use super::*;
    use alloc::vec::Vec;

    fn entries() -> [Resolution<'static>; 2] {
        let entry = |address: &str, is_own, name: &'static str| Resolution {
            address: address.parse().unwrap(),
            age_ms: 1500,
            is_own,
            name: name.as_bytes(),
        };
        [entry("10.0.0.7:8050", true, "venue-1"), entry("[fd00::7]:8050", false, "venue-2.core")]
    }

    #[test]
    fn entries_read_back_as_they_were_written_and_start_at_multiples_of_8_bytes() {
        let mut bytes = [0xee; 256];
        let length = write_resolutions(&entries(), &mut bytes);
        assert_eq!(length, 8 + 24 + 40);
        assert_eq!(frame_kind(&bytes[..length]), Ok(FrameKind::Resolution));
        assert_eq!(bytes[8..16], [1, 0x80, 0x72, 0x1f, 0xdc, 5, 0, 0]);
        let mut read = Resolutions::read(&bytes[..length]);
        assert_eq!(read.by_ref().collect::<Vec<_>>(), entries());
        assert!(!read.is_broken());
    }

    #[test]
    fn a_frame_that_is_cut_or_lies_about_a_name_gives_no_entry_beyond_it() {
        let mut bytes = [0; 256];
        let length = write_resolutions(&entries(), &mut bytes);
        for end in 0..length {
            let mut cut = bytes;
            cut[..4].copy_from_slice(&(end as i32).to_le_bytes());
            let mut read = Resolutions::read(&cut[..end]);
            let count = read.by_ref().count();
            // The last entry's padding alone may be missing.
            assert!(count <= 2 && (count < 2 || end >= 8 + 24 + 38), "{end}");
        }
        bytes[8 + 12..8 + 14].copy_from_slice(&(-1i16).to_le_bytes());
        let mut read = Resolutions::read(&bytes[..length]);
        assert!(read.next().is_none() && read.is_broken());
        assert_eq!(write_resolutions(&entries(), &mut [0; 71]), 0, "no room");
    }
}
