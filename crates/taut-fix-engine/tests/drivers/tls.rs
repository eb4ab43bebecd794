//! The cases over TLS.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use taut_fix::{Event, Role};
use taut_io::Kernel;

use crate::rig::{Rig, session, settings};

const QUICK: &str = "reconnect_seconds = 0.05\nreconnect_seconds_max = 0.1";

/// Writes a root, and a certificate by it for these names, into the folder.
fn certify(folder: &Path, prefix: &str, names: &[&str]) {
    let mut params = CertificateParams::new(Vec::new()).expect("no name");
    params.distinguished_name.push(DnType::CommonName, format!("the root of {prefix}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"));
    let root = root.expect("a root");
    let key = KeyPair::generate().expect("a key");
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let leaf = CertificateParams::new(names).expect("names");
    let leaf = leaf.signed_by(&key, &root).expect("a certificate");
    for (name, text) in [("ca", root.pem()), ("cert", leaf.pem()), ("key", key.serialize_pem())] {
        std::fs::write(folder.join(format!("{prefix}-{name}.pem")), text).expect("room");
    }
}

fn host(folder: &Path, more: &str) -> taut_fix_engine::Settings {
    let tls =
        format!("[sessions.tls]\ncertificate = \"host-cert.pem\"\nkey = \"host-key.pem\"{more}");
    let tls = format!("reset_on_logon = true\n{tls}");
    settings(&session("HOST", "GUEST", &tls), folder, Role::Acceptor)
}

fn guest(address: impl std::fmt::Display, tls: &str) -> String {
    session(
        "GUEST",
        "HOST",
        &format!("{QUICK}\nreset_on_logon = true\naddresses = [\"{address}\"]\n{tls}"),
    )
}

pub fn both_sides_of_a_session_over_tls<K: Kernel>(kernel: K) {
    let folder = tempfile::tempdir().expect("a folder");
    certify(folder.path(), "host", &["127.0.0.1", "fix.test"]);
    let mut rig = Rig::new(kernel);
    let address = rig.accept(host(folder.path(), ""));
    // By the address, and again by a name that it is given.
    for (round, name) in ["", "\nserver_name = \"fix.test\""].iter().enumerate() {
        let tls = format!("[sessions.tls]\nca = \"host-ca.pem\"{name}");
        let at = rig.initiate(&guest(address, &tls), folder.path());
        rig.until("the session", |rig| rig.is_up(at));
        let long = "long ".repeat(4000);
        for id in 0..20 {
            rig.send(at, id, &long);
        }
        rig.until("the echoes", |rig| {
            rig.initiators[at].endpoint().application().messages.len() == 20
        });
        assert!(rig.initiators[at].endpoint().application().bytes > 20 * 20_000);
        rig.initiators[at].stop(rig.events.io());
        rig.until("the end", |rig| rig.host(0).disconnects == round + 1);
    }
}

fn failure_of<K: Kernel>(rig: &mut Rig<K>, at: usize) -> String {
    let mut found = None;
    rig.until("a failure", |rig| {
        found = rig.initiators[at].take_failure();
        found.is_some()
    });
    found.map(|error| error.to_string()).unwrap_or_default()
}

pub fn a_certificate_of_another_root_is_refused_in_words<K: Kernel>(kernel: K) {
    let folder = tempfile::tempdir().expect("a folder");
    certify(folder.path(), "host", &["127.0.0.1"]);
    certify(folder.path(), "other", &["127.0.0.1"]);
    let mut rig = Rig::new(kernel);
    let address = rig.accept(host(folder.path(), ""));
    let at = rig.initiate(&guest(address, "[sessions.tls]\nca = \"other-ca.pem\""), folder.path());
    let words = failure_of(&mut rig, at);
    assert!(words.starts_with(&format!("{address}: TLS: the peer's certificate")), "{words}");
    assert!(words.contains("other-ca.pem (tls.ca)"), "{words}");
    let mut why = None;
    rig.until("the acceptor's words", |rig| {
        why = rig.acceptor.as_mut().and_then(|it| it.take_refusal());
        why.is_some()
    });
    let why = why.map(|refusal| refusal.why.to_string()).unwrap_or_default();
    assert_eq!(why, "the peer refuses our certificate");
    assert!(!rig.is_up(at) && rig.host(0).events.is_empty());
}

pub fn a_certificate_for_another_name_is_refused_in_words<K: Kernel>(kernel: K) {
    let folder = tempfile::tempdir().expect("a folder");
    certify(folder.path(), "host", &["fix.test"]);
    let mut rig = Rig::new(kernel);
    let address = rig.accept(host(folder.path(), ""));
    let at = rig.initiate(&guest(address, "[sessions.tls]\nca = \"host-ca.pem\""), folder.path());
    let words = failure_of(&mut rig, at);
    assert!(words.contains("for \"127.0.0.1\" (tls.server_name)"), "{words}");
}

pub fn a_client_must_show_the_certificate_that_is_asked_for<K: Kernel>(kernel: K) {
    let folder = tempfile::tempdir().expect("a folder");
    certify(folder.path(), "host", &["127.0.0.1"]);
    certify(folder.path(), "guest", &["guest"]);
    let mut rig = Rig::new(kernel);
    let address = rig.accept(host(folder.path(), "\nca = \"guest-ca.pem\""));
    let without = "[sessions.tls]\nca = \"host-ca.pem\"";
    let at = rig.initiate(&guest(address, without), folder.path());
    let words = failure_of(&mut rig, at);
    assert!(words.contains("our certificate (tls.certificate)"), "{words}");
    rig.initiators[at].stop(rig.events.io());
    let with = format!("{without}\ncertificate = \"guest-cert.pem\"\nkey = \"guest-key.pem\"");
    let at = rig.initiate(&guest(address, &with), folder.path());
    rig.until("the session", |rig| rig.is_up(at));
    assert_eq!(rig.host(0).events, [Event::LoggedOn]);
}

pub fn a_client_without_tls_is_refused<K: Kernel>(kernel: K) {
    let folder = tempfile::tempdir().expect("a folder");
    certify(folder.path(), "host", &["127.0.0.1"]);
    let mut rig = Rig::new(kernel);
    let address = rig.accept(host(folder.path(), ""));
    let at = rig.initiate(&guest(address, ""), folder.path());
    let mut why = None;
    rig.until("the acceptor's words", |rig| {
        why = rig.acceptor.as_mut().and_then(|it| it.take_refusal());
        why.is_some()
    });
    let why = why.map(|refusal| refusal.why.to_string()).unwrap_or_default();
    assert_eq!(why, "the TLS protocol was broken");
    assert!(!rig.is_up(at));
}
