//! `taut ws echo` and `connect` as processes, over loopback TCP and TLS.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Output};
use std::thread;

use taut_sys::monotonic;
use taut_testkit::{DEADLINE, Process, Run, odd_json_keys, own_address, tcp_listener};

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
    assert_eq!((line.lines().count(), odd_json_keys(&line)), (1, Vec::new()), "{line}");
    let report: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(report["messages"], 2);
    assert_eq!(report["bytes"], 11);
    assert_eq!(report["gap_ns"]["count"], 1);
    assert!(report["msgs_per_s"].is_f64() && report["bytes_per_s"].is_f64(), "{line}");
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
    // Which of the two depends on the names of the roots.
    let causes = ["leads to no root that is trusted", "its issuer's name did not sign it"];
    let told = words(&made);
    assert!(causes.iter().any(|cause| told.contains(cause)), "{told}");
    assert!(told.contains("give the certificate of its issuer as --tls-roots"), "{told}");
    // A plain client at a TLS port, and a TLS client at a plain one.
    let made = output(&["connect", &echo.url.replace("wss:", "ws:")]);
    assert_eq!(made.status.code(), Some(1));
    assert!(words(&made).contains("scheme"), "{}", words(&made));
    let plain = Echo::start(&[]);
    let url = plain.url.replace("ws:", "wss:");
    let made = output(&["connect", &url, "--tls-roots", &chain]);
    assert!(words(&made).contains("scheme"), "{}", words(&made));
}

/// What `openssl req -x509` makes without further words is an authority's own certificate.
#[test]
fn a_certificate_that_is_refused_is_told_with_its_reason_and_what_helps() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = |name: &str, is_ca: rcgen::IsCa| {
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).expect("names");
        params.is_ca = is_ca;
        let certificate = params.self_signed(&key).expect("a certificate");
        let path = |kind: &str, text: String| {
            let path = folder.path().join(format!("{name}.{kind}"));
            fs::write(&path, text).expect("room");
            path.to_str().expect("a path").to_owned()
        };
        (path("pem", certificate.pem()), path("key", key.serialize_pem()))
    };
    let authority = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    for ((chain, key), cause, remedy) in [
        (made("127.0.0.1", authority), "a certificate authority's own", "CA:FALSE"),
        (made("localhost", rcgen::IsCa::NoCa), "for another name", "must be for \"127.0.0.1\""),
    ] {
        let echo = Echo::start(&["--tls-cert", &chain, "--tls-key", &key]);
        let made = output(&["connect", &echo.url, "--tls-roots", &chain]);
        assert_eq!(made.status.code(), Some(1));
        let told = words(&made);
        assert!(told.contains(cause) && told.contains(remedy), "{told}");
    }
    // With what the remedy says it stands.
    let (chain, key) = made("127.0.0.1", rcgen::IsCa::ExplicitNoCa);
    let echo = Echo::start(&["--tls-cert", &chain, "--tls-key", &key]);
    let sent = ["--subscribe", "sealed", "--count", "1", "--tls-roots", &chain];
    let made = output(&[&["connect", &echo.url], &sent[..]].concat());
    assert!(made.status.success(), "{}", words(&made));
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_as_long_as_was_said() {
    let (listener, address) = tcp_listener();
    let start = monotonic();
    let made = output(&["connect", &format!("ws://{address}/"), "--patience", "1"]);
    let took = monotonic().since(start);
    drop(listener);
    assert_eq!(made.status.code(), Some(1));
    let told = words(&made);
    assert!(
        told.contains("no answer to the opening handshake in time; raise --patience"),
        "{told}"
    );
    // Once: twice as long were two seconds, and another five a default.
    assert!((1..5).contains(&(took.0 / 1_000_000_000)), "{took:?}");
}

#[test]
fn a_server_listens_at_a_name() {
    let mut process = Process::start(&mut taut(&["echo", "--listen", "localhost:0"]));
    let url = |line: &str| line.strip_prefix("listening on ").map(str::to_owned);
    let url = process.stdout_line("its address", url);
    let made = output(&["connect", &url, "--subscribe", "hello", "--count", "1"]);
    assert!(made.status.success(), "{}", words(&made));
}

#[test]
fn compression_is_offered_agreed_on_and_counted() {
    let text = "a price, and a price, and a price. ".repeat(100);
    for (compresses, compressed) in [(true, 1), (false, 0)] {
        let echo = Echo::start(if compresses { &["--compress"] } else { &[] });
        let sent = ["--compress", "--json", "--subscribe", &text, "--count", "1"];
        let made = output(&[&["connect", &echo.url], &sent[..]].concat());
        assert!(made.status.success(), "{}", words(&made));
        let report: serde_json::Value = serde_json::from_slice(&made.stdout).expect("JSON");
        assert_eq!(report["compression"], compresses);
        assert_eq!(report["bytes"], text.len());
        assert_eq!(report["compressed_messages"], compressed);
        assert!(report["compressed_bytes"].as_u64().expect("a number") < 200, "{report}");
    }
}

#[test]
fn a_proxy_is_told_who_asks_and_what_it_refuses_is_told_with_a_remedy() {
    let head = |stream: &mut std::net::TcpStream| {
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the head");
            head.extend(byte);
        }
        String::from_utf8(head).expect("text")
    };
    let (listener, address) = tcp_listener();
    let proxy = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let asked = head(&mut stream);
        let answer = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n";
        stream.write_all(answer.as_bytes()).expect("a reader");
        asked
    });
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("user");
    fs::write(&file, "me:word\n").expect("room");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("its");
    let (proxy_url, user) = (format!("http://{address}"), format!("file:{}", file.display()));
    let way = ["--proxy", &proxy_url, "--proxy-user", &user];
    let made = output(&[&["connect", "ws://venue.invalid/"], &way[..]].concat());
    let asked = proxy.join().expect("the proxy");
    assert!(asked.starts_with("CONNECT venue.invalid:80 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("Proxy-Authorization: Basic bWU6d29yZA==\r\n"), "{asked}");
    assert_eq!(made.status.code(), Some(1));
    let told = words(&made);
    assert!(told.contains("407") && told.contains("--proxy-user"), "{told}");
    assert!(told.contains(&proxy_url) && !told.contains("word\n"), "{told}");
}

/// A text may hold anything; a terminal must not obey it.
#[test]
fn what_a_server_sends_is_shown_and_not_obeyed() {
    let echo = Echo::start(&[]);
    let sent = "a\u{1b}]0;title\u{7}b\u{9b}2J";
    let made = output(&["connect", &echo.url, "--subscribe", sent, "--count", "1"]);
    assert!(made.status.success(), "{}", words(&made));
    let printed = String::from_utf8_lossy(&made.stdout).into_owned();
    assert_eq!(printed, "a\\u001b]0;title\\u0007b\\u009b2J\n");
}

#[test]
fn the_reason_of_a_server_that_closes_is_told_though_its_stream_is_reset() {
    let (listener, address) = tcp_listener();
    let url = format!("ws://{address}/");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("the head");
            head.extend(byte);
        }
        let config = taut_ws::WsConfig::default();
        let connection = taut_ws::Connection::server(&config, monotonic());
        let mut connection = connection.expect("a server");
        connection.handle_bytes(monotonic(), &head);
        connection.outbox().accept(None, &[]).expect("a request");
        stream.write_all(connection.poll_transmit()).expect("a reader");
        // The first bytes of its message, and then it is enough: what is left unread is a reset.
        stream.read_exact(&mut [0; 8]).expect("a message");
        stream.write_all(b"\x88\x0a\x03\xf1too much").expect("a reader");
    });
    // It leaves in one write: a later one would fail before the reason is read.
    let text = "x".repeat(30_000);
    let made = output(&["connect", &url, "--subscribe", &text]);
    server.join().expect("the server");
    assert_eq!(made.status.code(), Some(1));
    let told = words(&made);
    assert!(told.contains("closed with 1009 \"too much\""), "{told}");
}

#[test]
fn an_echo_says_what_was_too_long_for_it() {
    let echo = Echo::start(&["--message-bytes", "100"]);
    // Most of it is unread when the server ends: the reason must not be lost in a reset.
    let text = "x".repeat(100_000);
    let made = output(&["connect", &echo.url, "--subscribe", &text]);
    assert_eq!(made.status.code(), Some(1));
    let told = words(&made);
    assert!(told.contains("closed with 1009"), "{told}");
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
        &["connect", "ws://a", "--protocol", "two words"],
        &["connect", "ws://a", "--redirects", "21"],
        &["connect", "ws://a", "--proxy", "socks5://b"],
        &["connect", "ws://a", "--proxy", "http://user:word@b"],
        &["connect", "ws://a", "--proxy-user", "env:HOME"],
        &["connect", "ws://a", "--proxy", "http://b", "--proxy-user", "me:hunter2"],
        &["connect", "ws://a", "--proxy", "http://b", "--proxy-user", "env:TAUT_UNSET"],
        &["connect", "wss://a", "--tls-roots", "/does/not/exist"],
        &["echo", "--listen", "nowhere"],
        &["echo", "--listen", "127.0.0.1:0", "--tls-cert", "x"],
        &["echo", "--listen", "127.0.0.1:0", "--tls-cert", "/no", "--tls-key", "/no"],
        &["autobahn", "--url", "127.0.0.1:1"],
    ] {
        let made = output(arguments);
        assert_eq!(made.status.code(), Some(2), "{arguments:?}: {}", words(&made));
        assert!(!made.stderr.is_empty() && !words(&made).contains("hunter2"));
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
