//! The floor: an epoll receiver without the loop. Edge-triggered, a wait and a `recv` per message.

use taut_io::Calls;
use taut_sys::{Epoll, Interest, Socket, SysError, monotonic};
use taut_types::Nanos;

use super::meter::Meter;

/// Receives until every stream ends or the time is over.
pub fn receive(
    sockets: &[Socket],
    blocks: bool,
    end: Nanos,
    meter: &mut Meter<'_>,
) -> Result<(), SysError> {
    let mut epoll = Epoll::new(256)?;
    for (token, socket) in (0u64..).zip(sockets) {
        epoll.add(socket, token, Interest::Read)?;
    }
    let mut buffer = vec![0; 64 * 1024];
    let mut calls = Calls::default();
    let (mut open, mut has_ended) = (sockets.len(), vec![false; sockets.len()]);
    while open > 0 && monotonic() < end {
        let span = if blocks { Nanos::from_millis(100) } else { Nanos::ZERO };
        let ready = epoll.wait(Some(span))?;
        if ready == 0 {
            calls.idle += 1;
            continue;
        }
        calls.io += 1;
        for index in 0..ready {
            let Some((token, readiness)) = epoll.event(index) else { break };
            let Some(socket) = sockets.get(token as usize) else { continue };
            loop {
                let got = socket.receive(&mut buffer)?;
                calls.io += 1;
                match got {
                    None => break,
                    Some(0) => {
                        // An end can be told more than once.
                        open -=
                            usize::from(!std::mem::replace(&mut has_ended[token as usize], true));
                        break;
                    }
                    Some(bytes) => {
                        meter.received(token as usize, &buffer[..bytes], calls);
                        if bytes < buffer.len() && !readiness.ended {
                            break;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}
