//! The kernel's form of a socket address, made and read without pointer casts.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// Bytes of `struct sockaddr_storage`.
const BYTES: usize = 128;

/// `struct sockaddr_storage`.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub(crate) struct RawAddress([u8; BYTES]);

impl RawAddress {
    pub const EMPTY: Self = Self([0; BYTES]);

    pub fn new(address: &SocketAddr) -> Self {
        let mut raw = Self::EMPTY;
        let family = match address {
            SocketAddr::V4(_) => libc::AF_INET as u16,
            SocketAddr::V6(_) => libc::AF_INET6 as u16,
        };
        raw.0[..2].copy_from_slice(&family.to_ne_bytes());
        raw.0[2..4].copy_from_slice(&address.port().to_be_bytes());
        match address {
            SocketAddr::V4(v4) => raw.0[4..8].copy_from_slice(&v4.ip().octets()),
            SocketAddr::V6(v6) => {
                raw.0[8..24].copy_from_slice(&v6.ip().octets());
                raw.0[24..28].copy_from_slice(&v6.scope_id().to_ne_bytes());
            }
        }
        raw
    }

    /// Bytes that count.
    pub const fn length(address: &SocketAddr) -> u32 {
        match address {
            SocketAddr::V4(_) => size_of::<libc::sockaddr_in>() as u32,
            SocketAddr::V6(_) => size_of::<libc::sockaddr_in6>() as u32,
        }
    }

    pub fn read(&self) -> Option<SocketAddr> {
        let family = i32::from(u16::from_ne_bytes(*self.0.first_chunk()?));
        let port = u16::from_be_bytes(*self.0[2..].first_chunk()?);
        match family {
            libc::AF_INET => {
                let ip = Ipv4Addr::from(*self.0[4..].first_chunk::<4>()?);
                Some(SocketAddr::from((ip, port)))
            }
            libc::AF_INET6 => {
                let ip = Ipv6Addr::from(*self.0[8..].first_chunk::<16>()?);
                let scope = u32::from_ne_bytes(*self.0[24..].first_chunk()?);
                Some(SocketAddr::V6(SocketAddrV6::new(ip, port, 0, scope)))
            }
            _ => None,
        }
    }

    pub const fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_the_way_there_and_back() {
        for text in ["127.0.0.1:80", "[fe80::1%3]:65535", "[::]:0"] {
            let address: SocketAddr = text.parse().expect("an address");
            assert_eq!(RawAddress::new(&address).read(), Some(address));
        }
        assert_eq!(RawAddress::EMPTY.read(), None);
    }
}
