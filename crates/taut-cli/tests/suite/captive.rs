//! Programs that find a venue at the real one's names: `taut venue --captive`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::TAUT;

/// What a venue says where it may have no namespaces.
const FORBIDDEN: &str = "is not to be had";

/// Runs a program at a venue of the sample file, but for the port that others may have; nothing
/// where the kernel forbids namespaces.
fn captive(venue: &str, command: &[&str]) -> Option<Output> {
    let folder = tempfile::tempdir().expect("a folder");
    let sample = Command::new(TAUT).args(["venue", "sample", "--as", venue]).output();
    let sample = String::from_utf8(sample.expect("a sample").stdout).expect("text");
    let file = folder.path().join("venue.toml");
    fs::write(&file, sample).expect("a file");
    let output = Command::new(TAUT)
        .args(["venue", "--as", venue, "--config"])
        .arg(&file)
        .arg("--captive")
        .args(command)
        .env("https_proxy", "http://127.0.0.1:9")
        .output()
        .expect("taut");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains(FORBIDDEN) {
        println!("skipped: {said}");
        return None;
    }
    Some(output)
}

fn has_curl() -> bool {
    let has = Command::new("curl").arg("--version").output().is_ok_and(|it| it.status.success());
    if !has {
        println!("skipped: there is no curl");
    }
    has
}

#[test]
fn a_program_finds_the_venue_at_the_real_ones_names_over_tls() {
    if !has_curl() {
        return;
    }
    for (venue, url, expected) in [
        ("deribit", "https://www.deribit.com/api/v2/public/get_currencies", "\"BTC\""),
        ("deribit", "https://test.deribit.com/api/v2/public/test", "\"version\""),
        ("binance", "https://api.binance.com/api/v3/exchangeInfo", "\"BTCUSDT\""),
        ("binance", "https://stream.binance.com:9443/api/v3/time", "serverTime"),
        ("binance", "https://stream-sbe.binance.com/api/v3/time", "serverTime"),
    ] {
        let Some(output) = captive(venue, &["curl", "--silent", "--show-error", url]) else {
            return;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            said.contains(expected),
            "{url}: {said} {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(output.status.success());
    }
    // Nothing else is there.
    let outside = captive("binance", &["curl", "--silent", "http://127.0.0.2:1/"]);
    assert_eq!(outside.and_then(|it| it.status.code()), Some(7), "curl: no connection");
}

#[test]
fn fix_is_where_the_venues_have_it() {
    let open = |host: &str, port: u16| format!("exec 3<>/dev/tcp/{host}/{port}");
    for (venue, hosts, ports) in [
        ("deribit", ["www.deribit.com", "fix-test.deribit.com"], &[9881, 9883][..]),
        ("binance", ["fix-oe.binance.com", "fix-dc.binance.com"], &[9000]),
    ] {
        let all = hosts.iter().flat_map(|host| ports.iter().map(|port| open(host, *port)));
        let script = all.collect::<Vec<_>>().join(" && ") + " && echo all";
        let Some(output) = captive(venue, &["bash", "-c", &script]) else { return };
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.stdout, b"all\n", "{venue}: {said}");
    }
}

#[test]
fn it_ends_as_the_program_does_and_leaves_nothing() {
    let Some(output) = captive("deribit", &["sh", "-c", "echo $SSL_CERT_FILE; exit 7"]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let bundle = String::from_utf8(output.stdout).expect("a path");
    let folder = Path::new(bundle.trim()).parent().expect("a folder");
    assert!(folder.starts_with(std::env::temp_dir()) && !folder.exists(), "{bundle}");
    let killed = captive("deribit", &["sh", "-c", "kill -9 $$"]).expect("namespaces");
    assert_eq!(killed.status.code(), Some(128 + 9));
    let missing = captive("deribit", &["./there-is-none"]).expect("namespaces");
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("there-is-none"));
}

#[test]
fn what_the_program_left_behind_ends_with_it_and_this_machines_name_is_known() {
    let Some(output) = captive("deribit", &["sh", "-c", "sleep 4711 & echo $!"]) else { return };
    let left = String::from_utf8(output.stdout).expect("a number");
    let command = fs::read_to_string(format!("/proc/{}/cmdline", left.trim())).unwrap_or_default();
    assert!(!command.contains("4711"), "{command:?}");
    let name = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let known = fs::read_to_string("/etc/hosts").is_ok_and(|hosts| hosts.contains(name.trim()));
    if known {
        let found = captive("deribit", &["getent", "hosts", name.trim()]).expect("namespaces");
        assert!(found.status.success(), "{name}");
    }
}

#[test]
fn ctrl_c_is_the_programs_own_and_another_stop_signal_is_passed_on() {
    let said =
        "trap 'echo int' INT; trap 'echo term; exit 3' TERM; kill -TERM $PPID; sleep 30 & wait";
    let Some(output) = captive("deribit", &["sh", "-c", said]) else { return };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "term\n");
    assert_eq!(output.status.code(), Some(3));
    // As a terminal says it: to both. The program ends by it, and hears nothing else.
    let said = "trap 'echo int; sleep 1; exit 4' INT; trap 'echo term' TERM; \
                kill -INT $PPID $$; sleep 30 & wait";
    let output = captive("deribit", &["sh", "-c", said]).expect("namespaces");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "int\n");
    assert_eq!(output.status.code(), Some(4));
}
