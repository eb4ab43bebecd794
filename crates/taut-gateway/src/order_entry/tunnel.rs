//! A proxy on the way of a connection that is no WebSocket: it is asked for a tunnel to the venue,
//! and what goes through the tunnel begins behind its answer.

use taut_io::{Completion, Handle, Io, IoError, Kernel};
use taut_net::{ProxyFault, Tunnel};
use taut_types::Nanos;

use super::wire::Gone;
use crate::config::{Through, Transport};

/// How long a proxy may take to answer.
const PATIENCE: Nanos = Nanos::from_secs(5);

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

#[cfg(test)]
mod tests {
    use taut_io::{Admission, EventLoop, LoopConfig, SimConfig, SimKernel, WaitStrategy};
    use taut_net::Proxy;
    use taut_sys::{Address, StreamOptions};

    use super::*;
    use crate::order_entry::wire::{Unwrapped, Wire};

    /// What came of asking a proxy that answers so, or not at all: whether bytes pass, why not, and
    /// what the venue behind it was sent.
    fn ask(answer: Option<&str>) -> (bool, Option<String>, Vec<u8>) {
        let kernel = SimKernel::new(8, SimConfig::default());
        let mut events = EventLoop::new(kernel, LoopConfig::default()).expect("a loop");
        let io = events.io();
        let (any, options) = (Address::Inet(([127, 0, 0, 1], 0).into()), StreamOptions::default());
        let listener = io.listen(&any, &options, &Admission::OPEN).expect("a listener");
        let at = io.local_address(listener).expect("an address");
        let stream = io.connect(&at, &options, None).expect("an attempt");
        let proxy = Proxy::parse("http://proxy.test").expect("a proxy");
        let through = Through { proxy, host: "venue.test".to_owned(), port: 9000 };
        let (mut wire, mut far, mut asked) = (Wire::Plain, None, Vec::new());
        let (mut is_open, mut said, mut arrived) = (false, None, Vec::new());
        let mut unwrapped = Unwrapped::default();
        let mut handler = |io: &mut Io<SimKernel>, completion: Completion<'_>| match completion {
            Completion::Accepted { stream, .. } => {
                far = Some(stream);
                io.receive(stream).expect("a stream");
            }
            Completion::Connected { .. } => {
                let transport = Transport::Plain;
                wire = Wire::open(io, stream, &transport, Some(&through)).expect("room");
                assert!(!wire.is_plain() && wire.write(io, b"too early").is_err());
            }
            Completion::Received { stream: source, bytes } if Some(source) == far => {
                if asked.ends_with(b"\r\n\r\n") {
                    return arrived.extend_from_slice(bytes);
                }
                asked.extend_from_slice(bytes);
                if !asked.ends_with(b"\r\n\r\n") {
                    return;
                }
                assert!(asked.starts_with(b"CONNECT venue.test:9000 HTTP/1.1\r\n"));
                // In two pieces.
                let (first, rest) = answer.unwrap_or_default().split_at(answer.map_or(0, |_| 9));
                io.write(source, first.as_bytes(), None).expect("room");
                io.write(source, rest.as_bytes(), None).expect("room");
            }
            completion => {
                if wire.take(io, &completion, &mut unwrapped) {
                    if unwrapped.is_open {
                        is_open = true;
                        io.write(stream, b"8=FIX.4.4", None).expect("room");
                    }
                    if unwrapped.is_gone {
                        let fault = unwrapped.fault.map(no_way);
                        said = said.take().or(fault).or(Some(String::new()));
                    }
                }
            }
        };
        let span = PATIENCE + Nanos::from_secs(1);
        events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");
        (is_open, said, arrived)
    }

    #[test]
    fn bytes_pass_once_the_proxy_has_said_that_the_tunnel_stands() {
        let (is_open, said, arrived) = ask(Some("HTTP/1.1 200 OK\r\nVia: x\r\n\r\n"));
        assert_eq!((is_open, said, arrived.as_slice()), (true, None, &b"8=FIX.4.4"[..]));
    }

    #[test]
    fn a_proxy_that_refuses_or_says_nothing_is_no_way() {
        let (is_open, said, arrived) = ask(Some("HTTP/1.1 403 Forbidden\r\n\r\n"));
        assert!(!is_open && arrived.is_empty());
        assert!(said.as_ref().is_some_and(|said| said.contains("403")), "{said:?}");
        assert_eq!(ask(None), (false, Some(String::new()), Vec::new()), "given up in time");
    }
}
