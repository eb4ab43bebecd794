//! The URI's parameters as the core takes them.

use taut_aeron::{
    CongestionControl, DestinationMode, FlowControl, PublicationConfig, SubscriptionConfig, Tether,
};
use taut_types::Nanos;

use crate::driver::Opening;
use crate::error::ChannelError;
use crate::random::Random;
use crate::uri::{AeronUri, Congestion, ControlMode, FlowKind};

/// The kernel splits at most this many datagrams at once.
const SEGMENTS_MAX: usize = 64;
/// Buffers of the sockets, where the URI says nothing; the kernel's limits cap them.
pub const SOCKET_BYTES: usize = 2 * 1024 * 1024;

/// A publication's parameters.
pub fn publication(
    uri: &AeronUri,
    opening: &Opening,
    is_group: bool,
) -> Result<PublicationConfig, ChannelError> {
    let random = u128::from_le_bytes(Random::new(opening).bytes()?);
    let defaults = PublicationConfig::default();
    // Session 0 in a status message means every session.
    let session_id = (random as i32).max(i32::MIN + 1) | 1;
    let initial_term_id = uri.init_term_id.unwrap_or((random >> 32) as i32);
    let destinations = destination_mode(uri);
    Ok(PublicationConfig {
        session_id: uri.session_id.unwrap_or(session_id),
        stream_id: uri.stream_id,
        initial_term_id,
        term_id: uri.term_id.unwrap_or(initial_term_id),
        term_offset: uri.term_offset.unwrap_or(0) as i32,
        term_length: uri.term_length.map_or(defaults.term_length, u32::cast_signed),
        mtu: uri.mtu.map_or(defaults.mtu, i32::from),
        ttl: uri.ttl.map_or(defaults.ttl, i32::from),
        flow: flow_control(uri)?,
        receiver_timeout: timeout(uri).unwrap_or(defaults.receiver_timeout),
        destinations,
        is_group: is_group || destinations != DestinationMode::Fixed,
        linger: uri.linger.unwrap_or(defaults.linger),
        announces_end: uri.end_of_stream.unwrap_or(true),
        segments_max: SEGMENTS_MAX,
        secret: random,
        ..defaults
    })
}

/// A subscription's parameters; where it answers is the sockets' business.
pub fn subscription(uri: &AeronUri, opening: &Opening) -> Result<SubscriptionConfig, ChannelError> {
    let random = u128::from_le_bytes(Random::new(opening).bytes()?);
    let defaults = SubscriptionConfig::default();
    let window = uri.receiver_window_bytes.map_or(defaults.receiver_window, u32::cast_signed);
    Ok(SubscriptionConfig {
        stream_id: uri.stream_id,
        session_id: uri.session_id,
        receiver_id: (random >> 64) as i64,
        group_tag: uri.group_tag,
        receiver_window: window,
        congestion: match uri.congestion {
            Some(Congestion::Cubic) => CongestionControl::Cubic,
            _ => CongestionControl::Static,
        },
        is_reliable: uri.reliable.unwrap_or(true),
        nak_delay: uri.nak_delay.unwrap_or(Nanos::ZERO),
        rejoins: uri.rejoin.unwrap_or(true),
        tether: match uri.tether {
            Some(false) => Tether::Loose {
                limit_timeout: uri.untethered_limit_timeout.unwrap_or(Nanos::ZERO),
                resting_timeout: uri.untethered_resting_timeout.unwrap_or(Nanos::ZERO),
            },
            _ => Tether::Held,
        },
        validates: uri.validate.unwrap_or(uri.source.is_none()),
        secret: random,
        ..defaults
    })
}

/// Who adds destinations.
pub fn destination_mode(uri: &AeronUri) -> DestinationMode {
    match (uri.control_mode, &uri.control) {
        (Some(ControlMode::Manual), _) => DestinationMode::Manual,
        (Some(ControlMode::Dynamic), _) | (None, Some(_)) => DestinationMode::Dynamic,
        (None, None) => DestinationMode::Fixed,
    }
}

fn flow_control(uri: &AeronUri) -> Result<FlowControl, ChannelError> {
    let Some(given) = uri.flow_control else { return Ok(FlowControl::Max) };
    if let Some(after) = given.evict_after {
        let is_min = given.kind == FlowKind::Min;
        refuse(!is_min, "fc=...,e:SPAN without min", "use fc=min,e:SPAN")?;
        return Ok(FlowControl::Evict { after });
    }
    let group_min = given.group_size_min.unwrap_or(0) as usize;
    match (given.kind, given.group_tag) {
        (FlowKind::Max, _) => Ok(FlowControl::Max),
        (FlowKind::Min, _) => Ok(FlowControl::Min { group_min }),
        (FlowKind::Tagged, Some(tag)) => Ok(FlowControl::Tagged { tag, group_min }),
        (FlowKind::Tagged, None) => {
            refuse(true, "fc=tagged without a tag", "use fc=tagged,g:TAG")?;
            Ok(FlowControl::Max)
        }
    }
}

fn timeout(uri: &AeronUri) -> Option<Nanos> {
    uri.flow_control.and_then(|given| given.timeout)
}

/// What the URI asks for is not there.
pub fn refuse(
    is_asked: bool,
    what: &'static str,
    remedy: &'static str,
) -> Result<(), ChannelError> {
    if is_asked { Err(ChannelError::Unsupported { what, remedy }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_named_need_not_prove_itself_unless_it_is_told_to() {
        let group = "aeron:udp?endpoint=232.1.1.1:4000|stream-id=7";
        for (more, validates) in [
            ("", true),
            ("|validate=off", false),
            ("|source=127.0.0.1", false),
            ("|source=127.0.0.1|validate=on", true),
        ] {
            let Ok(crate::ChannelUri::Aeron(uri)) = format!("{group}{more}").parse() else {
                panic!("{more}");
            };
            let config = subscription(&uri, &Opening::default()).expect("a configuration");
            assert_eq!(config.validates, validates, "{more}");
        }
    }
}
