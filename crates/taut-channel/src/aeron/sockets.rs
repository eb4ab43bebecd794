//! The sockets of each kind of channel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use taut_sys::{Address, DatagramOptions, Socket};

use super::interface::{self, Place};
use super::parameters::{SOCKET_BYTES, refuse};
use crate::error::ChannelError;
use crate::uri::{AeronUri, ControlMode, Endpoint};

/// A publication's sockets.
#[derive(Debug)]
pub struct Sending {
    pub data: Socket,
    /// A group's control address, where its receivers answer.
    pub feedback: Option<Socket>,
    /// Where data goes, unless the socket is connected or there is a table of destinations.
    pub to: Option<SocketAddr>,
}

/// One of a subscription's sockets.
#[derive(Debug)]
pub struct Receiving {
    pub socket: Socket,
    /// Where to answer, unless each source is answered.
    pub feedback: Option<SocketAddr>,
}

/// A name's address.
pub fn resolve(endpoint: &Endpoint) -> Result<SocketAddr, ChannelError> {
    endpoint.resolve().map_err(|error| ChannelError::Io { what: endpoint.to_string(), error })
}

/// Opens a publication's sockets.
pub fn sending(uri: &AeronUri) -> Result<Sending, ChannelError> {
    let endpoint = uri.endpoint.as_ref().map(resolve).transpose()?;
    let is_manual = uri.control_mode == Some(ControlMode::Manual);
    let has_many = !uri.more_endpoints.is_empty() && !is_manual;
    refuse(has_many, "several endpoints of a publication", "add control-mode=manual")?;
    if uri.control.is_some() || uri.control_mode.is_some() {
        return sending_to_many(uri);
    }
    let endpoint = endpoint.ok_or(ChannelError::Unsupported {
        what: "a publication without an endpoint",
        remedy: "give endpoint= or control=",
    })?;
    let place = place(uri, endpoint)?;
    if endpoint.ip().is_multicast() {
        return sending_to_group(uri, endpoint, place);
    }
    let options = DatagramOptions { peer: Some(endpoint), ..options(uri) };
    let local = place.and_then(|place| place.address).unwrap_or(any(endpoint));
    let data = Socket::datagram(&Address::Inet(SocketAddr::new(local, 0)), &options)?;
    Ok(Sending { data, feedback: None, to: None })
}

/// Destinations come and go: one socket, bound to the control address.
fn sending_to_many(uri: &AeronUri) -> Result<Sending, ChannelError> {
    let local = match &uri.control {
        Some(control) => resolve(control)?,
        None => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
    };
    let data = Socket::datagram(&Address::Inet(local), &options(uri))?;
    Ok(Sending { data, feedback: None, to: None })
}

fn sending_to_group(
    uri: &AeronUri,
    group: SocketAddr,
    place: Option<Place>,
) -> Result<Sending, ChannelError> {
    let local = place.and_then(|place| place.address).unwrap_or(any(group));
    let data = Socket::datagram(&Address::Inet(SocketAddr::new(local, 0)), &options(uri))?;
    direct(&data, uri, group, place)?;
    let feedback = match control_group(group) {
        Some(control) => {
            let options = DatagramOptions { reuse_address: true, ..options(uri) };
            let socket = Socket::datagram(&Address::Inet(control), &options)?;
            socket.join(control.ip(), place.map_or(0, |place| place.index))?;
            Some(socket)
        }
        // Only source-specific receivers answer then, straight to the data's source.
        None => None,
    };
    Ok(Sending { data, feedback, to: Some(group) })
}

/// Opens a subscription's sockets, one for each endpoint.
pub fn receiving(uri: &AeronUri) -> Result<Vec<Receiving>, ChannelError> {
    let endpoints: Vec<_> = uri.endpoint.iter().chain(&uri.more_endpoints).collect();
    let remedy = "give endpoint=HOST:PORT, where it listens; port 0 picks one";
    refuse(endpoints.is_empty(), "a subscription without an endpoint", remedy)?;
    endpoints.into_iter().map(|endpoint| receiving_at(uri, resolve(endpoint)?)).collect()
}

fn receiving_at(uri: &AeronUri, endpoint: SocketAddr) -> Result<Receiving, ChannelError> {
    let options = DatagramOptions { coalesce: true, ..options(uri) };
    if !endpoint.ip().is_multicast() {
        let socket = Socket::datagram(&Address::Inet(endpoint), &options)?;
        return Ok(Receiving { socket, feedback: None });
    }
    let place = place(uri, endpoint)?;
    let index = place.map_or(0, |place| place.index);
    let options = DatagramOptions { reuse_address: true, ..options };
    let socket = Socket::datagram(&Address::Inet(endpoint), &options)?;
    direct(&socket, uri, endpoint, place)?;
    if let Some(source) = uri.source {
        socket.join_source(endpoint.ip(), source, index)?;
        return Ok(Receiving { socket, feedback: None });
    }
    socket.join(endpoint.ip(), index)?;
    let feedback = control_group(endpoint);
    let remedy = "use a group whose last byte is odd, or name the source with source=";
    refuse(feedback.is_none(), "an even group", remedy)?;
    Ok(Receiving { socket, feedback })
}

/// A group's control address is the next address; the data's last byte is odd.
fn control_group(group: SocketAddr) -> Option<SocketAddr> {
    let next = match group.ip() {
        IpAddr::V4(at) if at.octets()[3] % 2 == 1 => {
            IpAddr::V4(Ipv4Addr::from(u32::from(at).wrapping_add(1)))
        }
        IpAddr::V6(at) if at.octets()[15] % 2 == 1 => {
            IpAddr::V6(Ipv6Addr::from(u128::from(at).wrapping_add(1)))
        }
        _ => return None,
    };
    Some(SocketAddr::new(next, group.port()))
}

/// Multicast leaves by the interface, as far as the URI says.
fn direct(
    socket: &Socket,
    uri: &AeronUri,
    group: SocketAddr,
    place: Option<Place>,
) -> Result<(), ChannelError> {
    if let Some(place) = place {
        match place.address {
            Some(IpAddr::V4(address)) if group.is_ipv4() => socket.set_outbound_ipv4(address)?,
            _ => socket.set_outbound(place.index)?,
        }
    }
    if let Some(hops) = uri.ttl {
        socket.set_multicast_hops(hops)?;
    }
    socket.set_multicast_loop(true)?;
    Ok(())
}

fn place(uri: &AeronUri, endpoint: SocketAddr) -> Result<Option<Place>, ChannelError> {
    let find = |text: &String| interface::find(text, endpoint.is_ipv6());
    uri.interface.as_ref().map(find).transpose()
}

fn options(uri: &AeronUri) -> DatagramOptions {
    DatagramOptions {
        send_buffer_bytes: Some(uri.send_buffer_bytes.unwrap_or(SOCKET_BYTES)),
        receive_buffer_bytes: Some(uri.receive_buffer_bytes.unwrap_or(SOCKET_BYTES)),
        ..DatagramOptions::default()
    }
}

const fn any(like: SocketAddr) -> IpAddr {
    match like {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> AeronUri {
        match text.parse() {
            Ok(crate::ChannelUri::Aeron(uri)) => uri,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn sockets_have_the_buffers_and_hops_that_the_uri_says() {
        let more = "stream-id=7|so-rcvbuf=64k|so-sndbuf=100k";
        let uri = parse(&format!("aeron:udp?endpoint=127.0.0.1:0|{more}"));
        let listening = receiving(&uri).expect("a socket");
        let group = parse(&format!("aeron:udp?endpoint=224.0.1.99:4000|ttl=9|{more}"));
        let sending = sending(&group).expect("sockets");
        for socket in [&listening[0].socket, &sending.data] {
            let granted = socket.granted().expect("options");
            assert_eq!(granted.receive_buffer_bytes, 64 * 1024);
            assert_eq!(granted.send_buffer_bytes, 100 * 1024);
        }
        assert_eq!(sending.data.multicast_hops(), Ok(9));
    }

    #[test]
    fn a_groups_control_address_is_the_next_one_and_the_group_is_odd() {
        let next = |text: &str| control_group(text.parse().expect("an address"));
        assert_eq!(next("224.20.30.39:40456"), "224.20.30.40:40456".parse().ok());
        assert_eq!(next("224.20.30.40:40456"), None);
        assert_eq!(next("[ff02::1]:5"), "[ff02::2]:5".parse().ok());
    }
}
