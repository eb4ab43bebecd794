//! `taut ws echo` and `connect` as processes, over loopback TCP and TLS.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Output};
use std::thread;

use taut_testkit::{DEADLINE, Process, Run, own_address, tcp_listener};

fn taut(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.arg("ws").args(arguments);
    command
}

fn output(arguments: &[&str]) -> Output {
    taut(arguments).run()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An echo server, ended with the test, and its URL.
struct Echo {
    url: String,
    _process: Process,
}

impl Echo {
    fn start(more: &[&str]) -> Self {
        let mut process = Process::start(taut(&["echo", "--listen", "127.0.0.1:0"]).args(more));
        let url = |line: &str| line.strip_prefix("listening on ").map(str::to_owned);
        Self { url: process.stdout_line("its address", url), _process: process }
    }
}

#[test]
fn connect_prints_what_the_server_echoes_and_json_is_one_line() {
    let echo = Echo::start(&[]);
    let sent = ["--subscribe", "one", "--subscribe", "zwei ✓", "--count", "2"];
    let made = output(&[&["connect", &echo.url], &sent[..]].concat());
    assert!(made.status.success(), "{}", words(&made));
    assert_eq!(String::from_utf8_lossy(&made.stdout), "one\nzwei ✓\n");
    let made = output(&[&["connect", &echo.url, "--json"], &sent[..]].concat());
    let line = String::from_utf8_lossy(&made.stdout).into_owned();
    assert_eq!(line.lines().count(), 1, "{line}");
    let report: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(report["messages"], 2);
    assert_eq!(report["bytes"], 11);
    assert_eq!(report["gap_ns"]["count"], 1);
}

#[test]
fn wss_carries_messages_and_an_unknown_root_is_named_with_its_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = rcgen::KeyPair::generate().expect("a key");
    let names = vec!["127.0.0.1".to_owned()];
    let certificate = rcgen::CertificateParams::new(names).expect("names");
    let certificate = certificate.self_signed(&key).expect("a certificate");
    let path = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("room");
        path.to_str().expect("a path").to_owned()
    };
    let (chain, key) = (path("chain.pem", certificate.pem()), path("key.pem", key.serialize_pem()));
    let echo = Echo::start(&["--tls-cert", &chain, "--tls-key", &key]);
    assert!(echo.url.starts_with("wss://"));
    let sent = ["--subscribe", "sealed", "--count", "1", "--tls-roots", &chain];
    let made = output(&[&["connect", &echo.url], &sent[..]].concat());
    assert!(made.status.success(), "{}", words(&made));
    assert_eq!(String::from_utf8_lossy(&made.stdout), "sealed\n");
    let other = rcgen::generate_simple_self_signed(vec!["other".to_owned()]).expect("another");
    let other = path("other.pem", other.cert.pem());
    let made = output(&["connect", &echo.url, "--tls-roots", &other]);
    assert_eq!(made.status.code(), Some(1));
    assert!(words(&made).contains("--tls-roots"), "{}", words(&made));
    // A plain client at a TLS port, and a TLS client at a plain one.
    let made = output(&["connect", &echo.url.replace("wss:", "ws:")]);
    assert_eq!(made.status.code(), Some(1));
    assert!(words(&made).contains("scheme"), "{}", words(&made));
    let plain = Echo::start(&[]);
    let url = plain.url.replace("ws:", "wss:");
    let made = output(&["connect", &url, "--tls-roots", &chain]);
    assert!(words(&made).contains("scheme"), "{}", words(&made));
}

#[test]
fn wrong_use_ends_with_exit_code_2_before_anything_starts() {
    for arguments in [
        &["connect", "http://127.0.0.1"][..],
        &["connect", "ws://"],
        &["connect", "ws://a:0"],
        &["connect", "ws://a", "--header", "no colon"],
        &["connect", "ws://a", "--header", "Host: b"],
        &["connect", "ws://a", "--count", "0"],
        &["connect", "wss://a", "--tls-roots", "/does/not/exist"],
        &["echo", "--listen", "nowhere"],
        &["echo", "--listen", "127.0.0.1:0", "--tls-cert", "x"],
        &["echo", "--listen", "127.0.0.1:0", "--tls-cert", "/no", "--tls-key", "/no"],
        &["autobahn", "--url", "127.0.0.1:1"],
    ] {
        let made = output(arguments);
        assert_eq!(made.status.code(), Some(2), "{arguments:?}: {}", words(&made));
        assert!(!made.stderr.is_empty());
    }
}

#[test]
fn a_refusal_shows_status_words_and_body_and_sends_our_headers() {
    let (listener, address) = tcp_listener();
    let url = format!("ws://{address}/private");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the head");
            head.extend(byte);
        }
        let answer = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 14\r\n\r\nthe key is old";
        stream.write_all(answer.as_bytes()).expect("a reader");
        String::from_utf8(head).expect("text")
    });
    let made = output(&["connect", &url, "--header", "X-Key: old"]);
    assert!(server.join().expect("the server").contains("\r\nX-Key: old\r\n"));
    assert_eq!(made.status.code(), Some(1));
    let words = words(&made);
    assert!(words.contains("401 Unauthorized") && words.contains("the key is old"), "{words}");
}

#[test]
fn nobody_there_is_told_with_the_url() {
    let url = format!("ws://{}/", own_address());
    let made = output(&["connect", &url]);
    assert_eq!(made.status.code(), Some(1));
    assert!(words(&made).contains(&url) && words(&made).contains("refused"), "{}", words(&made));
}
