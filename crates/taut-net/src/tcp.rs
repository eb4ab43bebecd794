//! What a TCP stream is to be, checked. The loop itself connects and accepts
//! ([`Io::connect`], [`Io::listen`]); a dual-stack listener is `[::]:port` with
//! `StreamOptions { ipv6_only: false, .. }`.

use taut_io::{Handle, Io, Kernel};
use taut_sys::{Granted, StreamOptions};
use taut_types::Nanos;

use crate::error::NetError;

/// Options of an order session over a wide network: no Nagle, acknowledgements at once, a peer that
/// is silent is noticed within `patience` both when it owes data (keep-alive) and when it owes
/// acknowledgements (user timeout).
#[must_use]
pub fn order_session(patience: Nanos) -> StreamOptions {
    StreamOptions {
        quick_ack: true,
        keep_alive: Some(patience),
        user_timeout: Some(patience),
        ..StreamOptions::default()
    }
}

/// Whether the kernel granted the buffers that were asked for: it caps them at `net.core.wmem_max`
/// and `rmem_max` without an error.
///
/// # Errors
/// [`NetError::LessBuffer`]; a stale handle.
pub fn check_buffers<K: Kernel>(
    io: &mut Io<K>,
    source: Handle,
    send: Option<usize>,
    receive: Option<usize>,
) -> Result<Granted, NetError> {
    let granted = io.granted(source)?;
    let pairs = [(send, granted.send_buffer_bytes), (receive, granted.receive_buffer_bytes)];
    for (asked, granted) in pairs {
        if let Some(asked) = asked.filter(|asked| *asked > granted) {
            return Err(NetError::LessBuffer { asked, granted });
        }
    }
    Ok(granted)
}
