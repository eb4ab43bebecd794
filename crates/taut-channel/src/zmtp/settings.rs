//! What a URI says, in the protocol's terms.

use taut_sys::StreamOptions;
use taut_types::Nanos;
use taut_zmtp::{
    ConnectionConfig, Heartbeat, LastValueConfig, LastValueKey, PublisherConfig, Security,
    SocketType,
};

use super::secrets;
use crate::driver::Opening;
use crate::error::ChannelError;
use crate::uri::{OnFull, Pattern, ZmtpEnd, ZmtpUri};

/// The largest frame that a subscription takes.
const FRAME_BYTES_MAX: usize = 16 << 20;

/// A publication's settings.
pub(super) fn publisher(uri: &ZmtpUri) -> Result<PublisherConfig, ChannelError> {
    if !uri.subscribe.is_empty() {
        let remedy = "give it to the subscription";
        return Err(ChannelError::Unsupported { what: "subscribe on a publication", remedy });
    }
    let socket_type = match uri.pattern {
        Pattern::PubSub => SocketType::Pub,
        Pattern::PushPull => SocketType::Push,
    };
    let mut config = PublisherConfig::new(socket_type);
    common(&mut config.connection, uri, publisher_end(uri))?;
    config.hwm = uri.hwm.unwrap_or(config.hwm);
    config.on_full = match uri.on_full {
        OnFull::Block => taut_zmtp::OnFull::Block,
        OnFull::DropNewest => taut_zmtp::OnFull::DropNewest,
        OnFull::DropOldest => taut_zmtp::OnFull::DropOldest,
        OnFull::Conflate => taut_zmtp::OnFull::Conflate,
    };
    let key = LastValueKey::FirstPart;
    config.last_value = uri.cache.map(|topics_max| LastValueConfig { key, topics_max });
    Ok(config)
}

/// A subscription's settings.
pub(super) fn subscriber(uri: &ZmtpUri) -> Result<ConnectionConfig, ChannelError> {
    let socket_type = match uri.pattern {
        Pattern::PubSub => SocketType::Sub,
        Pattern::PushPull if uri.subscribe.is_empty() => SocketType::Pull,
        Pattern::PushPull => {
            let remedy = "leave subscribe out: a puller gets its share of everything";
            return Err(ChannelError::Unsupported { what: "subscribe with pushpull", remedy });
        }
    };
    let mut config = ConnectionConfig::new(socket_type);
    config.frame_bytes_max = FRAME_BYTES_MAX;
    common(&mut config, uri, subscriber_end(uri))?;
    Ok(config)
}

/// The settings of a socket's connections at a place: its own, and what the place says.
pub(super) fn exchange(
    uri: &ZmtpUri,
    end: ZmtpEnd,
    of_socket: &ConnectionConfig,
) -> Result<ConnectionConfig, ChannelError> {
    let is_channels = !uri.subscribe.is_empty()
        || uri.cache.is_some()
        || uri.hwm.is_some()
        || uri.end.is_some()
        || uri.pattern != Pattern::default()
        || uri.on_full != OnFull::default();
    if is_channels {
        let what = "bind, connect, pattern, subscribe, hwm, on-full or cache at a socket's place";
        let remedy = "the socket's type, its settings and its calls say that";
        return Err(ChannelError::Unsupported { what, remedy });
    }
    let mut config = of_socket.clone();
    let security = config.security.clone();
    common(&mut config, uri, end)?;
    if uri.curve.is_none() && uri.plain.is_none() {
        config.security = security;
    }
    Ok(config)
}

/// Who binds: the publication, unless the URI of an end says otherwise.
pub(super) fn publisher_end(uri: &ZmtpUri) -> ZmtpEnd {
    uri.end.unwrap_or(ZmtpEnd::Bind)
}

/// As [`publisher_end`], for the other end.
pub(super) fn subscriber_end(uri: &ZmtpUri) -> ZmtpEnd {
    uri.end.unwrap_or(ZmtpEnd::Connect)
}

/// The streams' options.
pub(super) fn stream(uri: &ZmtpUri) -> StreamOptions {
    StreamOptions {
        send_buffer_bytes: uri.send_buffer_bytes,
        receive_buffer_bytes: uri.receive_buffer_bytes,
        ..StreamOptions::default()
    }
}

/// A stream has no datagrams to lose.
pub(super) fn refuse_loss(opening: &Opening) -> Result<(), ChannelError> {
    let remedy = "inject it on a channel over UDP";
    match opening.loss {
        Some(_) => Err(ChannelError::Unsupported { what: "loss on a stream", remedy }),
        None => Ok(()),
    }
}

fn common(config: &mut ConnectionConfig, uri: &ZmtpUri, end: ZmtpEnd) -> Result<(), ChannelError> {
    config.security = match (&uri.curve, &uri.plain) {
        (Some(file), _) => secrets::curve(file)?,
        (None, Some(file)) => secrets::plain(file, end == ZmtpEnd::Bind)?,
        (None, None) => Security::Null,
    };
    if let Some(interval) = uri.heartbeat {
        let timeout = Nanos(interval.0.saturating_mul(3));
        let heartbeat = Heartbeat { interval, timeout };
        config.heartbeat = Some(heartbeat).filter(|_| interval > Nanos::ZERO);
    }
    Ok(())
}
