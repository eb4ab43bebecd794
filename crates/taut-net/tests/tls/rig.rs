//! Two ends of one TLS stream on one loop, and certificates for them.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use taut_io::{Completion, EventLoop, Handle, Io, Kernel, LoopConfig, WaitStrategy};
use taut_net::{NetError, TlsClientConfig, TlsEvent, TlsServerConfig, TlsStream};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

/// A root, and a certificate by it for one name, as PEM texts.
pub struct Pki {
    pub root: String,
    pub chain: String,
    pub key: String,
}

impl Pki {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new([name.to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &root).unwrap();
        Self { root: root.pem(), chain: leaf.pem(), key: key.serialize_pem() }
    }

    pub fn client(&self, protocols: &[&[u8]]) -> TlsClientConfig {
        TlsClientConfig::new(self.root.as_bytes(), protocols).unwrap()
    }

    pub fn server(&self, protocols: &[&[u8]]) -> TlsServerConfig {
        TlsServerConfig::new(self.chain.as_bytes(), self.key.as_bytes(), protocols).unwrap()
    }
}

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
    fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) {
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

pub const PATIENCE: Nanos = Nanos::from_secs(20);

/// A loop, and the listener that all streams come through.
pub struct Rig<K: Kernel> {
    pub events: EventLoop<K>,
    listener: Handle,
    to: Address,
}

impl<K: Kernel> Rig<K> {
    pub fn new(kernel: K) -> Self {
        let config = LoopConfig {
            sources_max: 16,
            write_bytes_max: 16 * 1024,
            writes_max: 16,
            ..LoopConfig::default()
        };
        let mut events = EventLoop::new(kernel, config).unwrap();
        let any = Address::Inet("127.0.0.1:0".parse().unwrap());
        let listener = events.io().listen(&any, &StreamOptions::default()).unwrap();
        let to = events.io().local_address(listener).unwrap();
        Self { events, listener, to }
    }

    /// Two connected streams, without TLS yet: the connecting end first.
    pub fn pair(&mut self) -> (Handle, Handle) {
        let near = self.events.io().connect(&self.to, &StreamOptions::default(), None).unwrap();
        let (mut far, mut stands) = (None, false);
        let listener = self.listener;
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
            match completion {
                Completion::Accepted { stream, listener: by, .. } if by == listener => {
                    far = Some(stream);
                }
                Completion::Connected { stream } => stands |= stream == near,
                _ => {}
            }
            if far.is_some() && stands {
                io.stop();
            }
        };
        self.events.run_for(&mut handler, WaitStrategy::Block, PATIENCE).unwrap();
        (near, far.expect("accepted"))
    }

    /// Both ends of a TLS stream, at the begin of their handshake.
    pub fn tls(
        &mut self,
        (client, name): (&TlsClientConfig, &str),
        server: &TlsServerConfig,
    ) -> (End, End) {
        let (near, far) = self.pair();
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
