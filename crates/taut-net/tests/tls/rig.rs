//! Two ends of one TLS stream on one loop, and certificates for them.

use taut_io::{Completion, Io, Kernel, WaitStrategy};
use taut_net::{NetError, TlsClientConfig, TlsEvent, TlsServerConfig, TlsStream};

pub use crate::shared::{PATIENCE, Pki, Rig};

/// What one end has seen.
#[derive(Debug, Default)]
pub struct Seen {
    pub handshaken: bool,
    pub received: Vec<u8>,
    pub ended: bool,
    pub truncated: bool,
    pub failed: Option<NetError>,
    pub closed: bool,
}

/// One end.
#[derive(Debug)]
pub struct End {
    pub tls: TlsStream,
    pub seen: Seen,
}

impl End {
    pub fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
        self.tls.handle(io, completion);
        while let Some(event) = self.tls.poll_event() {
            assert!(!self.seen.closed, "after the last event");
            match event {
                TlsEvent::Handshaken => self.seen.handshaken = true,
                TlsEvent::Received(bytes) => self.seen.received.extend_from_slice(bytes),
                TlsEvent::Ended => self.seen.ended = true,
                TlsEvent::Truncated => self.seen.truncated = true,
                TlsEvent::Failed(error) => self.seen.failed = Some(error),
                TlsEvent::Closed => self.seen.closed = true,
            }
        }
    }
}

impl<K: Kernel> Rig<K> {
    /// Both ends of a TLS stream, at the begin of their handshake.
    pub fn tls(
        &mut self,
        (client, name): (&TlsClientConfig, &str),
        server: &TlsServerConfig,
    ) -> (End, End) {
        let (near, far) = self.streams();
        let io = self.events.io();
        let deadline = io.now() + PATIENCE;
        let server = TlsStream::server(io, far, server, deadline).unwrap();
        let client = TlsStream::client(io, near, client, name, deadline).unwrap();
        let end = |tls| End { tls, seen: Seen::default() };
        (end(client), end(server))
    }

    /// Runs until `done`, which may act.
    pub fn until(
        &mut self,
        what: &str,
        (near, far): (&mut End, &mut End),
        mut done: impl FnMut(&mut Io<K>, &mut End, &mut End) -> bool,
    ) {
        if done(self.events.io(), near, far) {
            return;
        }
        let mut satisfied = false;
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            near.handle(io, &completion);
            far.handle(io, &completion);
            if done(io, near, far) {
                satisfied = true;
                io.stop();
            }
        };
        self.events.run_for(&mut handler, WaitStrategy::Block, PATIENCE).unwrap();
        assert!(satisfied, "not in time: {what}: {:?} {:?}", near.seen, far.seen);
    }

    /// Runs until both have ended their handshake.
    pub fn handshake(&mut self, near: &mut End, far: &mut End) {
        self.until("the handshake", (near, far), |_, near, far| {
            near.seen.handshaken && far.seen.handshaken
        });
    }
}
