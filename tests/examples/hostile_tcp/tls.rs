//! TLS for peers: a client of another make than the listener's own code around it.

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// What the peers of this run trust: the listener's own certificate.
static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();

/// Files of a certificate for this host and of its key, which the peers trust from now on.
pub fn certificate(folder: &Path) -> [String; 2] {
    let key = rcgen::KeyPair::generate().expect("a key");
    let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let _ = CONFIG.set(Arc::new(config));
    [("chain.pem", certificate.pem()), ("key.pem", key.serialize_pem())].map(|(name, text)| {
        let path = folder.join(name);
        fs::write(&path, text).expect("room for a file");
        path.to_str().expect("a path").to_owned()
    })
}

/// A client at the beginning of its handshake.
pub fn client() -> ClientConnection {
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let config = CONFIG.get().expect("a listener with TLS");
    ClientConnection::new(Arc::clone(config), name).expect("a client")
}

/// What such a client says first.
pub fn client_hello() -> Vec<u8> {
    let mut bytes = Vec::new();
    client().write_tls(&mut bytes).expect("room");
    bytes
}
