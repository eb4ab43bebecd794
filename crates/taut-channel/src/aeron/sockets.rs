//! The sockets of each kind of channel.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use taut_io::{Handle, Io, Kernel};
use taut_sys::{Address, DatagramOptions, Socket};

use super::interface::{self, Place};
use super::parameters::{SOCKET_BYTES, refuse};
use crate::driver::close_source;
use crate::error::ChannelError;
use crate::uri::{AeronUri, ControlMode, Endpoint};

/// A publication's sockets.
#[derive(Debug)]
pub struct Sending {
    pub data: Handle,
    /// A group's control address, where its receivers answer.
    pub feedback: Option<Handle>,
    /// Where data goes, unless the socket is connected or there is a table of destinations.
    pub to: Option<SocketAddr>,
}

/// One of a subscription's sockets.
#[derive(Debug)]
pub struct Receiving {
    pub socket: Handle,
    /// Where to answer, unless each source is answered.
    pub feedback: Option<SocketAddr>,
}

impl Sending {
    /// Whether a source is one of its sockets.
    pub fn has(&self, source: Handle) -> bool {
        source == self.data || Some(source) == self.feedback
    }

    /// Takes them off the loop.
    pub fn release<K: Kernel>(&self, io: &mut Io<K>) {
        close_source(io, self.data);
        self.feedback.into_iter().for_each(|feedback| close_source(io, feedback));
    }
}

/// A name's address.
pub fn resolve(endpoint: &Endpoint) -> Result<SocketAddr, ChannelError> {
    endpoint.resolve().map_err(|error| ChannelError::Io { what: endpoint.to_string(), error })
}

/// Opens a publication's sockets.
pub fn sending<K: Kernel>(uri: &AeronUri, io: &mut Io<K>) -> Result<Sending, ChannelError> {
    let endpoint = uri.endpoint.as_ref().map(resolve).transpose()?;
    let is_manual = uri.control_mode == Some(ControlMode::Manual);
    let has_many = !uri.more_endpoints.is_empty() && !is_manual;
    refuse(has_many, "several endpoints of a publication", "add control-mode=manual")?;
    if uri.control.is_some() || uri.control_mode.is_some() {
        return sending_to_many(uri, io);
    }
    let endpoint = endpoint.ok_or(ChannelError::Unsupported {
        what: "a publication without an endpoint",
        remedy: "give endpoint= or control=",
    })?;
    let place = place(uri, endpoint)?;
    if endpoint.ip().is_multicast() {
        return sending_to_group(uri, endpoint, place, io);
    }
    let options = DatagramOptions { peer: Some(endpoint), ..options(uri) };
    let local = place.and_then(|place| place.address).unwrap_or(any(endpoint));
    let data = open(io, SocketAddr::new(local, 0), &options)?;
    Ok(Sending { data, feedback: None, to: None })
}

/// Destinations come and go: one socket, bound to the control address.
fn sending_to_many<K: Kernel>(uri: &AeronUri, io: &mut Io<K>) -> Result<Sending, ChannelError> {
    let local = match &uri.control {
        Some(control) => resolve(control)?,
        None => SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
    };
    let data = open(io, local, &options(uri))?;
    Ok(Sending { data, feedback: None, to: None })
}

fn sending_to_group<K: Kernel>(
    uri: &AeronUri,
    group: SocketAddr,
    place: Option<Place>,
    io: &mut Io<K>,
) -> Result<Sending, ChannelError> {
    let local = place.and_then(|place| place.address).unwrap_or(any(group));
    let data = open_with(io, SocketAddr::new(local, 0), &options(uri), |socket| {
        direct(socket, uri, group, place)
    })?;
    // Only source-specific receivers answer an even group, straight to the data's source.
    let feedback = control_group(group).map(|control| {
        let options = DatagramOptions { reuse_address: true, ..options(uri) };
        let index = place.map_or(0, |place| place.index);
        open_with(io, control, &options, |socket| Ok(socket.join(control.ip(), index)?))
    });
    match feedback.transpose() {
        Ok(feedback) => Ok(Sending { data, feedback, to: Some(group) }),
        Err(error) => {
            close_source(io, data);
            Err(error)
        }
    }
}

/// A socket on the loop, which its driver reads.
fn open<K: Kernel>(
    io: &mut Io<K>,
    at: SocketAddr,
    options: &DatagramOptions,
) -> Result<Handle, ChannelError> {
    let socket = io.datagram(&Address::Inet(at), options)?;
    io.watch(socket).inspect_err(|_| close_source(io, socket))?;
    Ok(socket)
}

/// As [`open`], and set up for a group.
fn open_with<K: Kernel>(
    io: &mut Io<K>,
    at: SocketAddr,
    options: &DatagramOptions,
    set_up: impl FnOnce(&Socket) -> Result<(), ChannelError>,
) -> Result<Handle, ChannelError> {
    let socket = open(io, at, options)?;
    let is_set_up = io.socket(socket).map_err(ChannelError::from).and_then(set_up);
    is_set_up.inspect_err(|_| close_source(io, socket))?;
    Ok(socket)
}

/// Opens a subscription's sockets, one for each endpoint.
pub fn receiving<K: Kernel>(
    uri: &AeronUri,
    io: &mut Io<K>,
) -> Result<Vec<Receiving>, ChannelError> {
    let endpoints: Vec<_> = uri.endpoint.iter().chain(&uri.more_endpoints).collect();
    let remedy = "give endpoint=HOST:PORT, where it listens; port 0 picks one";
    refuse(endpoints.is_empty(), "a subscription without an endpoint", remedy)?;
    let mut lines = Vec::with_capacity(endpoints.len());
    for endpoint in endpoints {
        match resolve(endpoint).and_then(|endpoint| receiving_at(uri, endpoint, io)) {
            Ok(line) => lines.push(line),
            Err(error) => {
                lines.iter().for_each(|line: &Receiving| close_source(io, line.socket));
                return Err(error);
            }
        }
    }
    Ok(lines)
}

fn receiving_at<K: Kernel>(
    uri: &AeronUri,
    endpoint: SocketAddr,
    io: &mut Io<K>,
) -> Result<Receiving, ChannelError> {
    let options = DatagramOptions { coalesce: true, ..options(uri) };
    if !endpoint.ip().is_multicast() {
        return Ok(Receiving { socket: open(io, endpoint, &options)?, feedback: None });
    }
    let feedback = control_group(endpoint).filter(|_| uri.source.is_none());
    let is_refused = feedback.is_none() && uri.source.is_none();
    let remedy = "use a group whose last byte is odd, or name the source with source=";
    refuse(is_refused, "an even group", remedy)?;
    let place = place(uri, endpoint)?;
    let index = place.map_or(0, |place| place.index);
    let options = DatagramOptions { reuse_address: true, ..options };
    let socket = open_with(io, endpoint, &options, |socket| {
        direct(socket, uri, endpoint, place)?;
        match uri.source {
            Some(source) => socket.join_source(endpoint.ip(), source, index)?,
            None => socket.join(endpoint.ip(), index)?,
        }
        Ok(())
    })?;
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
    use taut_io::{EpollKernel, EventLoop, LoopConfig};

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
        let kernel = EpollKernel::new(4).expect("a kernel");
        let mut events = EventLoop::new(kernel, LoopConfig::default()).expect("a loop");
        let io = events.io();
        let listening = receiving(&uri, io).expect("a socket");
        let group = parse(&format!("aeron:udp?endpoint=224.0.1.99:4000|ttl=9|{more}"));
        let sending = sending(&group, io).expect("sockets");
        for socket in [listening[0].socket, sending.data] {
            let granted = io.granted(socket).expect("options");
            assert_eq!(granted.receive_buffer_bytes, 64 * 1024);
            assert_eq!(granted.send_buffer_bytes, 100 * 1024);
        }
        assert_eq!(io.socket(sending.data).expect("a socket").multicast_hops(), Ok(9));
    }

    #[test]
    fn a_groups_control_address_is_the_next_one_and_the_group_is_odd() {
        let next = |text: &str| control_group(text.parse().expect("an address"));
        assert_eq!(next("224.20.30.39:40456"), "224.20.30.40:40456".parse().ok());
        assert_eq!(next("224.20.30.40:40456"), None);
        assert_eq!(next("[ff02::1]:5"), "[ff02::2]:5".parse().ok());
    }
}
