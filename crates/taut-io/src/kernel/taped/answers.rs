//! How a kernel's answers stand on a tape.

use core::net::{IpAddr, SocketAddr};

use taut_sys::tape::{Get, Put};
use taut_sys::{Address, DatagramInfo, Granted, UNIX_NAME_BYTES_MAX};
use taut_types::Nanos;

use super::super::Received;

pub fn put_option(on: &mut Put<'_>, value: Option<u64>) {
    on.number(u64::from(value.is_some()));
    if let Some(value) = value {
        on.number(value);
    }
}

pub fn get_option(from: &mut Get<'_>) -> Option<Option<u64>> {
    match from.number()? {
        0 => Some(None),
        _ => from.number().map(Some),
    }
}

fn put_small<N: Into<u64>>(on: &mut Put<'_>, value: Option<N>) {
    put_option(on, value.map(Into::into));
}

fn get_small<N: TryFrom<u64>>(from: &mut Get<'_>) -> Option<Option<N>> {
    match get_option(from)? {
        None => Some(None),
        Some(value) => N::try_from(value).ok().map(Some),
    }
}

/// The most bytes that one call receives.
const RECEIVED_BYTES_MAX: usize = 1 << 24;

/// How many sealed bytes there were.
pub fn get_length(from: &mut Get<'_>) -> Option<usize> {
    usize::try_from(from.number()?).ok().filter(|length| *length <= RECEIVED_BYTES_MAX)
}

fn put_ip(on: &mut Put<'_>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => on.bytes(&ip.octets()),
        IpAddr::V6(ip) => on.bytes(&ip.octets()),
    }
}

fn get_ip(from: &mut Get<'_>) -> Option<IpAddr> {
    let bytes = from.bytes()?;
    let short = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    short.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

fn put_inet(on: &mut Put<'_>, at: SocketAddr) {
    put_ip(on, at.ip());
    on.number(at.port().into());
}

fn get_inet(from: &mut Get<'_>) -> Option<SocketAddr> {
    let ip = get_ip(from)?;
    Some(SocketAddr::new(ip, u16::try_from(from.number()?).ok()?))
}

pub fn put_address(at: &Address, on: &mut Put<'_>) {
    on.number(u64::from(matches!(at, Address::Unix(_))));
    match at {
        Address::Inet(at) => put_inet(on, *at),
        Address::Unix(name) => on.bytes(name.as_bytes()),
    }
}

pub fn get_address(from: &mut Get<'_>) -> Option<Address> {
    match from.number()? {
        0 => get_inet(from).map(Address::Inet),
        _ => {
            let name = from.text().filter(|name| name.len() <= UNIX_NAME_BYTES_MAX)?;
            Address::unix(name).ok()
        }
    }
}

pub fn put_info(on: &mut Put<'_>, info: &DatagramInfo) {
    let flags = u64::from(info.truncated)
        | u64::from(info.first_of_call) << 1
        | u64::from(info.from.is_some()) << 2
        | u64::from(info.destination.is_some()) << 3;
    on.number(flags);
    if let Some(from) = info.from {
        put_inet(on, from);
    }
    if let Some(to) = info.destination {
        put_ip(on, to);
    }
    put_small(on, info.received_utc.map(|at| at.0.cast_unsigned()));
    put_small(on, info.dropped);
    put_small(on, info.interface);
    put_small(on, info.segment_bytes);
}

pub fn get_info(from: &mut Get<'_>) -> Option<DatagramInfo> {
    let flags = from.number()?;
    let has = |bit: u64| flags & 1 << bit != 0;
    let sender = if has(2) { Some(get_inet(from)?) } else { None };
    let destination = if has(3) { Some(get_ip(from)?) } else { None };
    Some(DatagramInfo {
        from: sender,
        destination,
        received_utc: get_small(from)?.map(|at: u64| Nanos(at.cast_signed())),
        dropped: get_small(from)?,
        interface: get_small(from)?,
        segment_bytes: get_small(from)?,
        truncated: has(0),
        first_of_call: has(1),
    })
}

/// What a receive answers, as a number.
mod found {
    pub const NOTHING: u64 = 0;
    pub const END: u64 = 1;
    pub const SOME: u64 = 2;
    pub const MORE: u64 = 3;
}

pub fn put_received<L>(
    received: &Received<L>,
    on: &mut Put<'_>,
    put: impl FnOnce(&L, &mut Put<'_>),
) {
    match received {
        Received::Nothing => on.number(found::NOTHING),
        Received::End => on.number(found::END),
        Received::Some { lease, more } => {
            on.number(if *more { found::MORE } else { found::SOME });
            put(lease, on);
        }
    }
}

pub fn get_received<L>(
    from: &mut Get<'_>,
    get: impl FnOnce(&mut Get<'_>) -> Option<L>,
) -> Option<Received<L>> {
    match from.number()? {
        found::NOTHING => Some(Received::Nothing),
        found::END => Some(Received::End),
        kind @ (found::SOME | found::MORE) => {
            Some(Received::Some { lease: get(from)?, more: kind == found::MORE })
        }
        _ => None,
    }
}

pub fn put_granted(granted: &Granted, on: &mut Put<'_>) {
    let flags = u64::from(granted.reuse_port)
        | u64::from(granted.reuse_address) << 1
        | u64::from(granted.no_delay) << 2
        | u64::from(granted.keep_alive) << 3;
    on.number(granted.send_buffer_bytes as u64);
    on.number(granted.receive_buffer_bytes as u64);
    on.number(flags);
    on.number(granted.busy_poll_micros.into());
    on.number(granted.user_timeout.0.cast_unsigned());
}

pub fn get_granted(from: &mut Get<'_>) -> Option<Granted> {
    let send_buffer_bytes = usize::try_from(from.number()?).ok()?;
    let receive_buffer_bytes = usize::try_from(from.number()?).ok()?;
    let flags = from.number()?;
    Some(Granted {
        send_buffer_bytes,
        receive_buffer_bytes,
        reuse_port: flags & 1 != 0,
        reuse_address: flags & 2 != 0,
        no_delay: flags & 4 != 0,
        keep_alive: flags & 8 != 0,
        busy_poll_micros: u32::try_from(from.number()?).ok()?,
        user_timeout: Nanos(from.number()?.cast_signed()),
    })
}
