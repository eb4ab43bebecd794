//! A loop with streams on it, and certificates, for whatever is driven over them.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use taut_io::{Admission, Completion, EventLoop, Handle, Io, Kernel, LoopConfig, WaitStrategy};
use taut_net::{TlsClientConfig, TlsServerConfig};
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
        let listener =
            events.io().listen(&any, &StreamOptions::default(), &Admission::OPEN).unwrap();
        let to = events.io().local_address(listener).unwrap();
        Self { events, listener, to }
    }

    /// Two connected streams: the connecting end first.
    pub fn streams(&mut self) -> (Handle, Handle) {
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
}
