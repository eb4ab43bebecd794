//! `lease:udp?endpoint=H:P`: typed UDP with leases.

use std::path::PathBuf;

use taut_types::Nanos;

use crate::uri::endpoint::{ENDPOINT, Endpoint};
use crate::uri::error::UriError;
use crate::uri::parameters::Parameters;
use crate::uri::value;

const PARAMETERS: &[&str] = &[
    "endpoint",
    "group",
    "interface",
    "ttl",
    "mtu",
    "lease",
    "late",
    "key",
    "so-sndbuf",
    "so-rcvbuf",
];

/// `lease:udp?endpoint=H:P[|...]`: the endpoint is the publisher's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseUri {
    /// Where the publisher is: it binds there, and subscribers ask there.
    pub endpoint: Endpoint,
    /// Multicast mode: messages go once to this group, leases are asked for at the endpoint.
    pub group: Option<Endpoint>,
    /// The interface of the group, by an address that it has or its name.
    pub interface: Option<String>,
    /// Hops of a multicast datagram.
    pub ttl: Option<u8>,
    /// The longest datagram payload in bytes; nothing larger is ever sent.
    pub mtu: Option<u16>,
    /// How long a subscription lives without being renewed.
    pub lease: Option<Nanos>,
    /// Whether a subscription drops what comes behind a later message.
    pub drops_late: bool,
    /// A file of mode 0600 with the pre-shared key.
    pub key: Option<PathBuf>,
    /// SO_SNDBUF.
    pub send_buffer_bytes: Option<usize>,
    /// SO_RCVBUF.
    pub receive_buffer_bytes: Option<usize>,
}

impl LeaseUri {
    pub(crate) fn parse(rest: &str) -> Result<Self, UriError> {
        let (medium, query) = rest.split_once('?').unwrap_or((rest, ""));
        if medium != "udp" {
            let wanted = "lease:udp?endpoint=HOST:PORT";
            return Err(UriError::Name { found: format!("lease:{medium}"), wanted });
        }
        let given = Parameters::split(query, &['|', '&'], PARAMETERS, &[])?;
        let bytes = |text: &str| usize::try_from(value::size(text)?).ok().filter(|n| *n > 0);
        let why = "the publisher's address, as in endpoint=127.0.0.1:4000";
        let endpoint = given.value("endpoint", ENDPOINT, Endpoint::parse)?;
        let endpoint = endpoint.ok_or(UriError::Absent { name: "endpoint", why })?;
        if endpoint.is_multicast() {
            let wanted = "the publisher's own address; a group goes into group=GROUP:PORT";
            return Err(UriError::Value { name: "endpoint", found: endpoint.to_string(), wanted });
        }
        let group = given.value("group", "GROUP:PORT, a multicast address", |text| {
            Endpoint::parse(text).filter(Endpoint::is_multicast)
        })?;
        let lease = given.value("lease", "a span of 100ms to 1000s", |text| {
            let range = Nanos::from_millis(100)..=Nanos::from_secs(1000);
            value::span(text).filter(|span| range.contains(span))
        })?;
        let mtu = given.value("mtu", "64 to 65507 bytes", |text| {
            let bytes = u16::try_from(value::size(text)?).ok()?;
            (64..=65_507).contains(&bytes).then_some(bytes)
        })?;
        let late = given.value("late", "deliver or drop", |text| match text {
            "deliver" => Some(false),
            "drop" => Some(true),
            _ => None,
        })?;
        Ok(Self {
            endpoint,
            group,
            interface: given.text("interface").map(str::to_owned),
            ttl: given.value("ttl", "0 to 255", |text| text.parse().ok())?,
            mtu,
            lease,
            drops_late: late.unwrap_or(false),
            key: given.value("key", "a file", file)?,
            send_buffer_bytes: given.value("so-sndbuf", value::SIZE, bytes)?,
            receive_buffer_bytes: given.value("so-rcvbuf", value::SIZE, bytes)?,
        })
    }
}

/// A file name that is not empty.
fn file(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| PathBuf::from(text))
}
