//! `aeron:udp?...`: reliable UDP, with Aeron's parameter names.

use std::fmt;
use std::net::IpAddr;

use taut_types::Nanos;

use crate::uri::endpoint::{ENDPOINT, Endpoint};
use crate::uri::error::UriError;
use crate::uri::parameters::Parameters;
use crate::uri::value;

/// What taut has; then what only Aeron has, each refused with what to do instead.
const PARAMETERS: &[&str] = &[
    "endpoint",
    "interface",
    "source",
    "stream-id",
    "control",
    "control-mode",
    "session-id",
    "term-length",
    "mtu",
    "init-term-id",
    "term-id",
    "term-offset",
    "ttl",
    "so-rcvbuf",
    "so-sndbuf",
    "rcv-wnd",
    "fc",
    "gtag",
    "cc",
    "nak-delay",
    "reliable",
    "tether",
    "untethered-window-limit-timeout",
    "untethered-resting-timeout",
    "linger",
    "eos",
    "ssc",
    "rejoin",
    "validate",
];
const UNSUPPORTED: &[(&str, &str)] = &[
    ("alias", "leave it out"),
    ("tags", "leave it out: a channel is one object here"),
    ("sparse", "leave it out: no log file is made"),
    ("group", "leave it out: the endpoint says whether it is a group"),
    ("max-resend", "leave it out: repairs are limited by their share of the bytes sent"),
    ("response-correlation-id", "open a channel for each direction"),
    ("response-endpoint", "open a channel for each direction"),
    ("media-rcv-ts-offset", "put the stamps into the message"),
    ("channel-rcv-ts-offset", "put the stamps into the message"),
    ("channel-snd-ts-offset", "put the stamps into the message"),
    ("pub-wnd", "use term-length: the window is half of it"),
    ("untethered-linger-timeout", "leave it out: a caller at rest loses what it has not read"),
    ("stream-session-limit", "leave it out: sessions are bounded anyway"),
];

/// The most endpoints of one channel.
const ENDPOINTS_MAX: usize = 4;
const ENDPOINTS: &str = "HOST:PORT, or up to four of them by commas";

/// A session id that was asked for.
pub type SessionId = i32;

/// How a multi-destination publication learns its destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlMode {
    /// Subscribers ask at the control address.
    Dynamic,
    /// The application adds them.
    Manual,
}

/// Which receivers hold the sender back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowKind {
    /// The fastest one.
    #[default]
    Max,
    /// The slowest one.
    Min,
    /// The slowest one of those with the group's tag.
    Tagged,
}

/// `fc=max|min|tagged[,g:TAG[/SIZE]][,t:TIMEOUT][,e:SPAN]`; `e` is taut's: who holds the sender
/// back for so long is evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowControl {
    /// Which receivers count.
    pub kind: FlowKind,
    /// The tag of the group.
    pub group_tag: Option<i64>,
    /// How many receivers must be there before the publication is connected.
    pub group_size_min: Option<u32>,
    /// How long a silent receiver counts.
    pub timeout: Option<Nanos>,
    /// How long one receiver may hold the sender back.
    pub evict_after: Option<Nanos>,
}

/// `cc=static|cubic`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// The receiver's window.
    #[default]
    Static,
    /// CUBIC.
    Cubic,
}

/// An `aeron:udp?` channel. What is not given is `None`; the driver has the defaults.
///
/// The parameters have Aeron's names; those with a star are taut's own. Sizes are written as
/// `8192`, `256k` or `4m`, spans as `20us`, `5ms` or `1s`. A name that is not here is an error.
///
/// | parameter | default | meaning |
/// |---|---|---|
/// | `endpoint=H:P` | | where the subscriber listens, or the group; port 0 picks one |
/// | `endpoint=H:P,H:P` * | | a subscription at up to four; a manual publication's first ones |
/// | `stream-id` | | the stream; needed |
/// | `interface` | the route's | of a group: a name, an address, or a network with its mask |
/// | `source=IP` * | any | of a group: the only source; implies `validate=off` |
/// | `control=H:P` | | where a publication hears its many subscribers, and they ask for it |
/// | `control-mode` | `dynamic` | who adds destinations: subscribers, or `manual` the application |
/// | `session-id` | random | the publication's; of a subscription: the only one it hears |
/// | `term-length` | `256k` | a power of two, 64k to 1g; a message is at most an eighth of it |
/// | `mtu` | `1408` | the longest datagram, a multiple of 32 |
/// | `init-term-id`, `term-id`, `term-offset` | random, 0 | where the stream begins; together |
/// | `ttl` | the kernel's | hops of a multicast datagram |
/// | `so-sndbuf`, `so-rcvbuf` | `2m` | buffers of the sockets, up to the kernel's limits |
/// | `rcv-wnd` | `128k` | what may be under way to a subscriber, at most half a term |
/// | `fc=max` | `max` | the fastest subscriber sets the pace: others may be left behind |
/// | `fc=min[,g:/N][,t:SPAN]` | 1, `5s` | the slowest; N connect; how long a silent one counts |
/// | `fc=tagged,g:TAG[/N][,t:SPAN]` | | the slowest of those with the tag |
/// | `fc=min,e:SPAN` * | | the slowest, but one that holds the others so long is evicted |
/// | `gtag` | none | the tag of a subscription |
/// | `cc` | `static` | the window: all of `rcv-wnd`, or `cubic` |
/// | `nak-delay` | 0 | how long a gap may heal, beside what reordering teaches |
/// | `reliable` | `true` | `false`: gaps are passed at once, each an `Event::Gap` |
/// | `tether` | `true` | `false`: a caller more than `rcv-wnd` behind is passed, an `Event::Gap` |
/// | `untethered-window-limit-timeout` | 0 (Aeron: 5s) | how long it may be behind before |
/// | `untethered-resting-timeout` | 0 (Aeron: 10s) | how long nothing is delivered to it then |
/// | `rejoin` | `true` | whether a session that fell silent is taken again |
/// | `validate` * | `on` | a source must echo a random value before memory is spent on it |
/// | `linger` | `5s` | how long a closed publication waits for who has not everything |
/// | `eos` | `true` | whether the end of the stream is sent |
/// | `ssc` | `false` | spies alone connect and move the publication |
///
/// A caller without a tether must still do its duty: what is not polled cannot be received. Each
/// poll reads the sockets before it hands messages over, whatever its limit, and again when the
/// handler has taken 100 microseconds; so a slow handler loses messages and holds nobody back. One
/// call of the handler that takes longer than the sender needs for `rcv-wnd` holds the sender for
/// as long as it takes: nobody reads the socket meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AeronUri {
    /// Where the subscriber listens, or the group.
    pub endpoint: Option<Endpoint>,
    /// More of them (taut's: `endpoint=H:P,H:P`): a subscription listens at all of them and takes
    /// each session once (multi-destination subscription); a manual publication begins with them.
    pub more_endpoints: Vec<Endpoint>,
    /// The interface of a group: an address that it has, with or without a mask, or its name.
    pub interface: Option<String>,
    /// The only source of the group that is listened to.
    pub source: Option<IpAddr>,
    /// The stream.
    pub stream_id: i32,
    /// The control address of a multi-destination publication.
    pub control: Option<Endpoint>,
    /// How its destinations become known.
    pub control_mode: Option<ControlMode>,
    /// The publication's session, or the only one that is listened to.
    pub session_id: Option<SessionId>,
    /// Bytes of a term, a power of two.
    pub term_length: Option<u32>,
    /// The longest frame.
    pub mtu: Option<u16>,
    /// The first term id ever.
    pub init_term_id: Option<i32>,
    /// The term id to begin with.
    pub term_id: Option<i32>,
    /// The offset in it to begin with.
    pub term_offset: Option<u32>,
    /// Hops of a multicast datagram.
    pub ttl: Option<u8>,
    /// SO_RCVBUF.
    pub receive_buffer_bytes: Option<usize>,
    /// SO_SNDBUF.
    pub send_buffer_bytes: Option<usize>,
    /// The receiver's window.
    pub receiver_window_bytes: Option<u32>,
    /// Flow control.
    pub flow_control: Option<FlowControl>,
    /// The tag that a receiver sends.
    pub group_tag: Option<i64>,
    /// Congestion control.
    pub congestion: Option<Congestion>,
    /// How long a gap may be reordering before it is a loss.
    pub nak_delay: Option<Nanos>,
    /// Whether gaps are repaired; else they are passed and reported.
    pub reliable: Option<bool>,
    /// Whether the publisher waits for this subscription.
    pub tether: Option<bool>,
    /// How long a subscription without a tether may be more than its window behind.
    pub untethered_limit_timeout: Option<Nanos>,
    /// How long nothing is delivered to it then.
    pub untethered_resting_timeout: Option<Nanos>,
    /// How long a closed publication still repairs.
    pub linger: Option<Nanos>,
    /// Whether the end of the stream is sent.
    pub end_of_stream: Option<bool>,
    /// Whether spies alone make a publication connected.
    pub spies_simulate_connection: Option<bool>,
    /// Whether an image that ended by silence is taken again.
    pub rejoin: Option<bool>,
    /// Whether a source must prove its address before memory is spent on it (taut's).
    pub validate: Option<bool>,
}

impl AeronUri {
    /// What follows `aeron:`.
    pub(crate) fn parse(rest: &str) -> Result<Self, UriError> {
        let (medium, query) = rest.split_once('?').unwrap_or((rest, ""));
        if medium != "udp" {
            let wanted = "aeron:udp?endpoint=HOST:PORT|stream-id=N or aeron:ipc?stream-id=N";
            return Err(UriError::Name { found: format!("aeron:{medium}"), wanted });
        }
        // What is refused is none of those that are known.
        let mut names = query.split('|').map(|pair| pair.split('=').next().unwrap_or_default());
        let refused = names.find_map(|given| UNSUPPORTED.iter().find(|(name, _)| *name == given));
        if let Some((name, remedy)) = refused {
            return Err(UriError::Unsupported { name, remedy });
        }
        let given = Parameters::split(query, &['|'], PARAMETERS, &[])?;
        let uri = read_addresses(&given)?;
        let uri = read_terms(&given, uri)?;
        read_behaviour(&given, uri)
    }

    /// Checks what depends on another parameter.
    fn checked(self) -> Result<Self, UriError> {
        let manual = self.control_mode == Some(ControlMode::Manual);
        if self.endpoint.is_none() && self.control.is_none() && !manual {
            let why = "where the subscriber listens, as in endpoint=127.0.0.1:4000";
            return Err(UriError::Absent { name: "endpoint", why });
        }
        if self.control_mode == Some(ControlMode::Dynamic) && self.control.is_none() {
            let why = "where subscribers of a dynamic publication ask";
            return Err(UriError::Absent { name: "control", why });
        }
        let group = self.endpoint.as_ref().is_some_and(Endpoint::is_multicast);
        if self.source.is_some() && !group {
            let why = "source= belongs to a group, as in endpoint=232.1.1.1:4000";
            return Err(UriError::Absent { name: "endpoint", why });
        }
        let start = [self.init_term_id.is_some(), self.term_id.is_some()];
        if start.contains(&true) != (start == [true, true] && self.term_offset.is_some())
            || (self.term_offset.is_some() && !start.contains(&true))
        {
            let why = "init-term-id, term-id and term-offset are given together";
            let names = ["init-term-id", "term-id", "term-offset"];
            let given = [start[0], start[1], self.term_offset.is_some()];
            let absent = names.iter().zip(given).find(|(_, given)| !given);
            return Err(UriError::Absent { name: absent.map_or("term-offset", |n| n.0), why });
        }
        Ok(self)
    }
}

fn read_addresses(given: &Parameters<'_>) -> Result<AeronUri, UriError> {
    let why = "it tells streams of one endpoint apart, as in stream-id=1001";
    let stream_id = given.value("stream-id", "a number of 32 bits", |t| t.parse().ok())?;
    let endpoints = given.value("endpoint", ENDPOINTS, |text| {
        let all: Option<Vec<_>> = text.split(',').map(Endpoint::parse).collect();
        all.filter(|all| all.len() <= ENDPOINTS_MAX)
    })?;
    let mut endpoints = endpoints.unwrap_or_default().into_iter();
    Ok(AeronUri {
        endpoint: endpoints.next(),
        more_endpoints: endpoints.collect(),
        interface: given.text("interface").map(str::to_owned),
        source: given.value("source", "an IP address", |text| text.parse().ok())?,
        stream_id: stream_id.ok_or(UriError::Absent { name: "stream-id", why })?,
        control: given.value("control", ENDPOINT, Endpoint::parse)?,
        control_mode: given.value("control-mode", "dynamic or manual", |text| match text {
            "dynamic" => Some(ControlMode::Dynamic),
            "manual" => Some(ControlMode::Manual),
            _ => None,
        })?,
        session_id: given.value("session-id", "a number of 32 bits", |t| t.parse().ok())?,
        ..AeronUri::default()
    })
}

fn read_terms(given: &Parameters<'_>, uri: AeronUri) -> Result<AeronUri, UriError> {
    let id = |text: &str| text.parse().ok();
    let bytes = |text: &str| usize::try_from(value::size(text)?).ok().filter(|n| *n > 0);
    let term_length = given.value("term-length", "a power of two from 64k to 1g", |text| {
        let bytes = u32::try_from(value::size(text)?).ok()?;
        (bytes.is_power_of_two() && (1 << 16..=1 << 30).contains(&bytes)).then_some(bytes)
    })?;
    let mtu = given.value("mtu", "a multiple of 32 from 64 to 65504 bytes", |text| {
        let bytes = u16::try_from(value::size(text)?).ok()?;
        (bytes.is_multiple_of(32) && (64..=65_504).contains(&bytes)).then_some(bytes)
    })?;
    let term_offset = given.value("term-offset", "a multiple of 32 in the term", |text| {
        let offset = u32::try_from(value::size(text)?).ok()?;
        let inside = offset <= term_length.unwrap_or(1 << 30);
        (offset.is_multiple_of(32) && inside).then_some(offset)
    })?;
    let window = |text: &str| {
        let bytes = u32::try_from(value::size(text)?).ok()?;
        (1024..=1 << 30).contains(&bytes).then_some(bytes)
    };
    let uri = AeronUri {
        term_length,
        mtu,
        init_term_id: given.value("init-term-id", "a number of 32 bits", id)?,
        term_id: given.value("term-id", "a number of 32 bits", id)?,
        term_offset,
        ttl: given.value("ttl", "0 to 255", |text| text.parse().ok())?,
        receive_buffer_bytes: given.value("so-rcvbuf", value::SIZE, bytes)?,
        send_buffer_bytes: given.value("so-sndbuf", value::SIZE, bytes)?,
        receiver_window_bytes: given.value("rcv-wnd", "1k to 1g", window)?,
        ..uri
    };
    uri.checked()
}

fn read_behaviour(given: &Parameters<'_>, uri: AeronUri) -> Result<AeronUri, UriError> {
    let switch = |name| given.value(name, value::SWITCH, value::switch);
    let span = |name| given.value(name, value::SPAN, value::span);
    let uri = AeronUri {
        flow_control: given.value("fc", FLOW, flow_control)?,
        group_tag: given.value("gtag", "a number of 64 bits", |text| text.parse().ok())?,
        congestion: given.value("cc", "static or cubic", |text| match text {
            "static" => Some(Congestion::Static),
            "cubic" => Some(Congestion::Cubic),
            _ => None,
        })?,
        nak_delay: span("nak-delay")?,
        reliable: switch("reliable")?,
        tether: switch("tether")?,
        untethered_limit_timeout: span("untethered-window-limit-timeout")?,
        untethered_resting_timeout: span("untethered-resting-timeout")?,
        linger: span("linger")?,
        end_of_stream: switch("eos")?,
        spies_simulate_connection: switch("ssc")?,
        rejoin: switch("rejoin")?,
        validate: given.value("validate", "on or off", |text| match text {
            "on" | "true" => Some(true),
            "off" | "false" => Some(false),
            _ => None,
        })?,
        ..uri
    };
    let spans = [uri.untethered_limit_timeout, uri.untethered_resting_timeout];
    if spans.iter().any(Option::is_some) && uri.tether != Some(false) {
        let why = "the untethered-...-timeouts belong to tether=false";
        return Err(UriError::Absent { name: "tether", why });
    }
    Ok(uri)
}

const FLOW: &str = "max, min or tagged, then any of g:TAG/SIZE, t:SPAN and e:SPAN, by commas";

fn flow_control(text: &str) -> Option<FlowControl> {
    let mut parts = text.split(',');
    let kind = match parts.next()? {
        "max" => FlowKind::Max,
        "min" => FlowKind::Min,
        "tagged" => FlowKind::Tagged,
        _ => return None,
    };
    let mut flow = FlowControl { kind, ..FlowControl::default() };
    for part in parts {
        let (name, value) = part.split_once(':')?;
        match name {
            "g" => {
                let (tag, size) = value.split_once('/').unwrap_or((value, ""));
                flow.group_tag = if tag.is_empty() { None } else { Some(tag.parse().ok()?) };
                flow.group_size_min = if size.is_empty() { None } else { Some(size.parse().ok()?) };
            }
            "t" => flow.timeout = Some(value::span(value)?),
            "e" => flow.evict_after = Some(value::span(value)?),
            _ => return None,
        }
    }
    Some(flow)
}

impl fmt::Display for AeronUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("aeron:udp?")?;
        if let Some(endpoint) = &self.endpoint {
            write!(f, "endpoint={endpoint}")?;
            self.more_endpoints.iter().try_for_each(|more| write!(f, ",{more}"))?;
            f.write_str("|")?;
        }
        if let Some(control) = &self.control {
            write!(f, "control={control}|")?;
        }
        write!(f, "stream-id={}", self.stream_id)
    }
}
