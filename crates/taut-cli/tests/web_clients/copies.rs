//! Our own gateway reads Binance's drop copies over TLS, by its file alone.

use std::fs;
use std::process::Command;

use taut_testkit::{Process, until};

use crate::gateway::{Settings, count, gateway, status};
use crate::{DAY, Venue, taut};

/// Copies that are read before it is believed.
const COPIES_MIN: u64 = 10;

/// Settings of a gateway that has its orders in JSON over a plain connection, and the copies of
/// them over TLS, if its venue's certificate is one of these roots'.
fn reading(venue: &Venue, roots: &str) -> Settings {
    let mut settings = Settings::at_binance(venue).with_key();
    let port = venue.fix_tls.expect("its FIX port over TLS");
    for (right, other) in [
        ("# ca = \"roots.pem\"", format!("ca = {roots:?}")),
        ("# [drop_copy_reader]", "[drop_copy_reader]".to_owned()),
        ("# address = \"fix-dc.binance.com:9000\"", format!("address = \"127.0.0.1:{port}\"")),
        ("# sender_comp_id = \"TAUTDC\"", "sender_comp_id = \"TAUTDC\"".to_owned()),
        ("# heartbeat_seconds = 30", "heartbeat_seconds = 30".to_owned()),
        ("# after_ms = 2000", "after_ms = 200".to_owned()),
    ] {
        assert_eq!(settings.text.matches(right).count(), 1, "{right}");
        settings.text = settings.text.replace(right, &other);
    }
    fs::write(settings.path(), &settings.text).expect("a file");
    settings
}

fn stop(gateway: Process, control: &str) {
    let stopped = taut(&["gateway", "stop", "--gateway", control]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    let ended = gateway.finish();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_gateway_reads_binances_drop_copies_over_tls_from_who_its_roots_know() {
    let folder = tempfile::tempdir().expect("a folder");
    let [root, key, other] = ["venue.pem", "venue.key", "other.pem"]
        .map(|name| folder.path().join(name).to_str().expect("a path").to_owned());
    let made = || rcgen::generate_simple_self_signed([String::from("127.0.0.1")]);
    let (venues, others) = (made().expect("a certificate"), made().expect("another"));
    fs::write(&root, venues.cert.pem()).expect("a file");
    fs::write(&key, venues.signing_key.serialize_pem()).expect("a file");
    fs::write(&other, others.cert.pem()).expect("a file");
    let tls =
        format!("[tls]\nlisten = []\nfix = [\"127.0.0.1:0\"]\nchain = {root:?}\nkey = {key:?}");
    let venue = Venue::start_with("binance", &tls);

    let settings = reading(&venue, &other);
    let mut refusing = gateway(&settings.path());
    refusing.stderr_line("that the copies are not read", |line| {
        let is_it = line.contains("drop copies of the venue are not read: ");
        (is_it && line.contains("TLS: the peer's certificate is refused")).then_some(())
    });
    let control = settings.control();
    assert_eq!(count(&status(&control), "drop_copies_read"), 0);
    stop(refusing, &control);

    let settings = reading(&venue, &root);
    let mut trusting = gateway(&settings.path());
    let is_read = |line: &str| line.contains("drop copies of the venue are read").then_some(());
    trusting.stderr_line("that the copies are read", is_read);
    let control = settings.control();
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let touch = ["strategy", "touch", "--gateway", &control, "--lots", "100"];
    let _strategy = Process::start(command.args(touch));
    until("copies of orders and of trades", DAY, || {
        let status = status(&control);
        count(&status, "drop_copies_read") > COPIES_MIN && count(&status, "fills") > 0
    });
    // The session had said all of it.
    let status = status(&control);
    assert_eq!(count(&status, "drop_copy_corrections"), 0, "{status}");
    assert_eq!(count(&status, "foreign_reports"), 0, "{status}");
    stop(trusting, &control);
}
