//! Sockets, interfaces and keys of a lease channel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use taut_lease::Key;
use taut_sys::{interface_index, interfaces};

use crate::error::ChannelError;
use crate::uri::{Endpoint, LeaseUri};

/// UDP payload that an Ethernet frame carries, behind an IPv6 header.
pub(super) const MTU_BYTES: usize = 1452;
/// How often a publisher looks for questions: a system call that no message waits for.
pub(super) const LOOK_EVERY: taut_types::Nanos = taut_types::Nanos::from_micros(500);

pub(super) fn resolve(endpoint: &Endpoint) -> Result<SocketAddr, ChannelError> {
    let named = |error| ChannelError::Io { what: endpoint.to_string(), error };
    endpoint.resolve().map_err(named)
}

/// Any address of the family of another one, any port.
pub(super) const fn any_like(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(_) => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        SocketAddr::V6(_) => SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
    }
}

/// The interface of the group: by name or address, or that of the publisher's address.
pub(super) fn interface(uri: &LeaseUri, publisher: IpAddr) -> Result<u32, ChannelError> {
    let wanted = match uri.interface.as_deref().map(|text| (text, text.parse::<IpAddr>())) {
        None => publisher,
        Some((_, Ok(address))) => address,
        Some((name, Err(_))) => return Ok(interface_index(name)?),
    };
    let all = interfaces()?;
    let found = all.iter().find(|interface| interface.addresses.contains(&wanted));
    // 0 leaves the choice to the kernel's routes.
    Ok(found.map_or(0, |interface| interface.index))
}

/// The key of a file: 32 hexadecimal digits, readable by its owner alone.
pub(super) fn key(file: Option<&Path>) -> Result<Option<Key>, ChannelError> {
    let Some(file) = file else { return Ok(None) };
    let name = file.display().to_string();
    let failed = |error| ChannelError::Io { what: name.clone(), error };
    let mode = std::fs::metadata(file).map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(ChannelError::Exposed { file: name });
    }
    let text = std::fs::read_to_string(file).map_err(failed)?;
    let digits = text.trim();
    let value = u128::from_str_radix(digits, 16)
        .ok()
        .filter(|_| digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let wanted = "a key of 32 hexadecimal digits, such as `openssl rand -hex 16` prints";
    let value = value.ok_or(ChannelError::File { file: name, wanted })?;
    Ok(Some(Key::new(value.to_be_bytes())))
}

/// A number for an address, for events.
pub(super) fn session_of(address: SocketAddr) -> u64 {
    let host = match address.ip() {
        IpAddr::V4(host) => u64::from(host.to_bits()),
        IpAddr::V6(host) => host.to_bits() as u64 & 0xFFFF_FFFF_FFFF,
    };
    host << 16 | u64::from(address.port())
}
