//! A proxy on the way of a connection that is no WebSocket: it is asked for a tunnel to the venue,
//! and what goes through the tunnel begins behind its answer.

use taut_io::{Completion, Handle, Io, IoError, Kernel};
use taut_net::{ProxyFault, Tunnel};
use taut_types::Nanos;

use crate::config::Transport;
use crate::through::Through;

/// How long a proxy may take to answer.
pub const PATIENCE: Nanos = Nanos::from_secs(5);

/// The connection can not be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// A request that has no answer yet.
#[derive(Debug)]
pub struct Asking {
    stream: Handle,
    tunnel: Tunnel,
    then: Transport,
}

/// What a completion was to it.
#[derive(Debug)]
pub enum Asked {
    /// It is another's.
    NotOurs,
    Waits,
    /// The venue is at the other end of the stream now, which is to carry this.
    Stands(Handle, Transport),
    /// There is no way, or the stream is gone.
    Refused(Option<ProxyFault>),
}

/// What is said of a proxy that does not lead to the venue.
#[cold]
pub fn no_way(fault: ProxyFault) -> String {
    format!("no way through the proxy: {fault}")
}

impl Asking {
    /// On a stream that is connected to the proxy.
    pub fn start(
        io: &mut Io<impl Kernel>,
        stream: Handle,
        through: &Through,
        then: &Transport,
    ) -> Result<Self, Gone> {
        let tunnel = through.tunnel();
        let deadline = io.now() + PATIENCE;
        let mut ask = || {
            io.receive(stream)?;
            io.set_receive_deadline(stream, Some(deadline))?;
            io.write(stream, tunnel.request(), None)
        };
        ask().map_err(|_: IoError| Gone)?;
        Ok(Self { stream, tunnel, then: then.clone() })
    }

    /// Takes a completion if it is the stream's.
    pub fn take(&mut self, io: &mut Io<impl Kernel>, completion: &Completion<'_>) -> Asked {
        match *completion {
            Completion::Received { stream, bytes } if stream == self.stream => {
                match self.tunnel.take(bytes) {
                    Ok(false) => Asked::Waits,
                    Ok(true) => match io.set_receive_deadline(stream, None) {
                        Ok(()) => Asked::Stands(stream, std::mem::take(&mut self.then)),
                        Err(_) => Asked::Refused(None),
                    },
                    Err(fault) => Asked::Refused(Some(fault)),
                }
            }
            Completion::Ended { stream } if stream == self.stream => {
                Asked::Refused(Some(ProxyFault::Ended))
            }
            Completion::Closed { source, .. } | Completion::Failed { source, .. }
                if source == self.stream =>
            {
                Asked::Refused(None)
            }
            _ => Asked::NotOurs,
        }
    }
}
