//! The channel that both ends meet in.

use std::sync::Arc;

use taut_ipc::{Channel, ChannelOptions, IpcError, Stream, StreamKind};
use taut_sys::Access;
use taut_types::Nanos;

use crate::error::ChannelError;
use crate::uri::IpcUri;

pub(super) const STREAM: &str = "messages";
/// Subscriptions that may register.
pub(super) const SUBSCRIBERS_MAX: usize = 32;
/// The capacity where none is asked for: messages up to 128 KiB.
const CAPACITY_BYTES: usize = 1 << 20;
/// How often an end looks for others that came, went or died: system calls that no message needs.
pub(super) const LOOK_EVERY: Nanos = Nanos::from_millis(50);

/// Enters the channel, or creates it; what a dead process left is used again.
pub(super) fn enter(uri: &IpcUri) -> Result<Arc<Channel>, ChannelError> {
    let options = ChannelOptions::default();
    if uri.capacity_bytes.is_none()
        && let Ok(channel) = Channel::open(&uri.name, Access::Write, &options)
        && capacity(&channel).is_some()
    {
        return Ok(Arc::new(channel));
    }
    let wanted = uri.capacity_bytes.unwrap_or(CAPACITY_BYTES);
    let kind = StreamKind::Log { capacity_bytes: wanted };
    let stream = Stream { name: STREAM, kind, reader_count: SUBSCRIBERS_MAX, layout: 0 };
    match Channel::open_or_create(&uri.name, &[stream], &options) {
        Ok(channel) => Ok(Arc::new(channel)),
        Err(IpcError::OtherStreams) => {
            let channel = Channel::open(&uri.name, Access::Write, &options)?;
            match capacity(&channel) {
                // Somebody was faster; any capacity is as good.
                Some(_) if uri.capacity_bytes.is_none() => Ok(Arc::new(channel)),
                Some(found) => Err(ChannelError::OtherCapacity { wanted, found }),
                None => Err(IpcError::OtherStreams.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The capacity of the stream of messages, if the channel has one.
pub(super) fn capacity(channel: &Channel) -> Option<usize> {
    let stream = channel.streams().find(|stream| stream.name == STREAM)?;
    match stream.kind {
        StreamKind::Log { capacity_bytes } => Some(capacity_bytes),
        _ => None,
    }
}
