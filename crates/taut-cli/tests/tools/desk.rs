//! `taut desk`: who is let in, what pages are told, and the page itself in a real browser.

/// A real Chromium.
mod browser;
/// The page in it.
mod page;
/// A WebSocket that a test waits for.
mod socket;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use taut_testkit::{DEADLINE, Process};

use crate::gateway::{run, taut, text};
use socket::Socket;

const READ: &str = "read-0123456789abcdef";
const CONTROL: &str = "control-0123456789abc";

/// What a server said.
pub struct Told {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Sends these bytes, and takes what comes until the end.
fn raw(address: &str, bytes: &[u8]) -> Told {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    stream.write_all(bytes).expect("sent");
    let mut told = Vec::new();
    // A reset behind the answer is an end, too.
    let _ = stream.read_to_end(&mut told);
    let told = text(&told);
    let (head, body) = told.split_once("\r\n\r\n").unwrap_or((&told, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    Told { status, head: head.to_owned(), body: body.to_owned() }
}

/// Asks for a path, as this host unless a header says another.
pub fn get(address: &str, path: &str, headers: &[(&str, &str)]) -> Told {
    ask("GET", address, path, headers, "")
}

fn ask(method: &str, address: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Told {
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    if !headers.iter().any(|(name, _)| *name == "Host") {
        let _ = write!(request, "Host: {address}\r\n");
    }
    for (name, value) in headers {
        let _ = write!(request, "{name}: {value}\r\n");
    }
    let length = body.len();
    let _ = write!(request, "Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    raw(address, request.as_bytes())
}

/// A desk, and where it is.
pub fn start(arguments: &[&str]) -> (Process, String) {
    let mut command = taut();
    command.args(["desk", "--listen", "127.0.0.1:0"]).args(arguments);
    let mut desk = Process::start(&mut command);
    let address = desk.stdout_line("where it listens", |line| {
        Some(line.strip_prefix("http://")?.strip_suffix('/')?.to_owned())
    });
    (desk, address)
}

/// A file of tokens with this mode.
fn token_file(folder: &Path, words: &str, mode: u32) -> PathBuf {
    let path = folder.join("tokens");
    std::fs::write(&path, words).expect("a file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("its mode");
    path
}

fn tokens(folder: &Path) -> PathBuf {
    token_file(folder, &format!("read {READ}\ncontrol {CONTROL}\n"), 0o600)
}

/// The next message of this kind.
fn next(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let said = socket.receive().expect("a message");
        if said["kind"] == kind {
            return said;
        }
    }
}

#[test]
fn who_has_no_token_sees_the_page_and_no_figure() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = tokens(folder.path());
    let file = file.to_str().expect("a path");
    let nobody = folder.path().join("nobody");
    let nobody = nobody.to_str().expect("a path");
    let (desk, address) = start(&["--token-file", file, "--gateway", nobody, "--runs", nobody]);
    let page = get(&address, "/", &[]);
    assert!(page.status == 200 && page.body.contains("<title>taut desk</title>"), "{}", page.head);
    let policy = "Content-Security-Policy: default-src 'none'; script-src 'self'; ";
    assert!(page.head.contains(policy), "{}", page.head);
    assert!(!page.head.contains("unsafe") && page.head.contains("frame-ancestors 'none'"));
    assert_eq!(get(&address, "/role", &[]).body, "{\"role\":null}");
    for path in ["/snapshot", "/runs", "/nothing"] {
        assert_eq!(get(&address, path, &[]).status, 401, "{path}");
        let bearer = format!("Bearer {READ}x");
        assert_eq!(get(&address, path, &[("Authorization", &bearer)]).status, 401, "{path}");
    }
    let bearer = format!("Bearer {READ}");
    let read = [("Authorization", bearer.as_str())];
    assert_eq!(get(&address, "/role", &read).body, "{\"role\":\"read\"}");
    assert_eq!(get(&address, "/nothing", &read).status, 404);
    assert!(get(&address, "/runs", &read).body.contains("\"runs\":[]"));
    assert!(get(&address, "/snapshot", &read).body.contains("\"gateways\":"));

    // A browser logs on, and is known by its cookie.
    let log_on =
        |token: &str, headers: &[(&str, &str)]| ask("POST", &address, "/login", headers, token);
    assert_eq!(log_on("guess-0123456789abcdef", &[]).status, 403);
    assert_eq!(log_on(CONTROL, &[("Origin", "http://evil.example")]).status, 403);
    let logged_on = log_on(CONTROL, &[("Origin", &format!("http://{address}"))]);
    assert_eq!((logged_on.status, &*logged_on.body), (200, "{\"role\":\"control\"}"));
    let cookie = logged_on.head.lines().find_map(|it| it.strip_prefix("Set-Cookie: "));
    let cookie = cookie.expect("a cookie");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().expect("a pair");
    assert_eq!(get(&address, "/role", &[("Cookie", pair)]).body, "{\"role\":\"control\"}");

    // So is a WebSocket, and only for the desk's own page.
    let url = format!("ws://{address}/live");
    let ours = format!("http://{address}");
    let connect = |headers: &[(&str, &str)]| Socket::connect(&url, headers).map(drop);
    assert_eq!(connect(&[("Origin", &ours)]), Err(401));
    assert_eq!(connect(&[("Origin", "http://evil.example"), ("Cookie", pair)]), Err(403));
    assert_eq!(connect(&[("Origin", "null"), ("Cookie", pair)]), Err(403));
    assert_eq!(connect(&[("Origin", &ours), ("Cookie", pair)]), Ok(()));
    let elsewhere = Socket::connect(&format!("ws://{address}/other"), &read).map(drop);
    assert_eq!(elsewhere, Err(404));
    drop(desk);
}

#[test]
fn what_is_no_request_of_ours_is_refused_and_the_desk_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let nobody = folder.path().join("nobody");
    let nobody = nobody.to_str().expect("a path");
    let (desk, address) = start(&["--gateway", nobody, "--runs", nobody, "--host", "desk.example"]);
    let as_host = |host: &str| get(&address, "/snapshot", &[("Host", host)]).status;
    for host in ["localhost", "127.0.0.1:1", "[::1]:80", "desk.example", "Desk.Example:9465"] {
        assert_eq!(as_host(host), 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", ""] {
        assert_eq!(as_host(host), 421, "{host}");
    }
    assert_eq!(get(&address, "/", &[("Host", "evil.example")]).status, 421);
    let strange = Socket::connect(&format!("ws://{address}/live"), &[("Origin", "http://a.b")]);
    assert_eq!(strange.map(drop), Err(403));
    for (bytes, status) in [
        (&b"\x16\x03\x01\x02\x00\x01"[..], 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 411),
        (b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n", 413),
        (&[b'a'; 20_000], 431),
        (b"GET / HTTP/1.1\r\n\r\n", 421),
    ] {
        assert_eq!(raw(&address, bytes).status, status, "{:?}", text(&bytes[..6]));
    }
    for method in ["PUT", "DELETE", "POST", "OPTIONS"] {
        assert_eq!(ask(method, &address, "/snapshot", &[], "").status, 405, "{method}");
    }
    let head = ask("HEAD", &address, "/snapshot", &[], "");
    assert!(head.status == 200 && head.body.is_empty());
    // Without tokens whoever is here may look, and nobody may act: nothing that is said helps.
    let mut socket = Socket::connect(&format!("ws://{address}/live"), &[]).expect("a page");
    let hello = next(&mut socket, "hello");
    assert_eq!((&hello["role"], &hello["asks_for_tokens"]), (&json!("read"), &json!(false)));
    for said in [
        json!({ "kind": "kill", "gateway": nobody, "confirm": nobody, "revive": false }),
        json!({ "kind": "kill" }),
        json!({ "kind": "other" }),
        json!([1, 2]),
    ] {
        socket.send(&said);
        let answer = next(&mut socket, "answer");
        assert_eq!(answer["is_done"], false, "{said}: {answer}");
    }
    // More than a page has to say ends it.
    socket.send(&json!("x".repeat(10_000)));
    while socket.receive().is_some() {}
    assert_eq!(get(&address, "/snapshot", &[]).status, 200);
    drop(desk);
}

#[test]
fn others_reach_it_over_tls_with_a_token() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = rcgen::generate_simple_self_signed([String::from("127.0.0.1")]).expect("keys");
    let [chain, key] = ["chain.pem", "key.pem"]
        .map(|name| folder.path().join(name).to_str().expect("a path").to_owned());
    std::fs::write(&chain, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let file = tokens(folder.path());
    let nobody = folder.path().join("nobody");
    let mut command = taut();
    command.args(["desk", "--listen", "0.0.0.0:0", "--tls-cert", &chain, "--tls-key", &key]);
    command.arg("--token-file").arg(file).arg("--gateway").arg(nobody);
    let mut desk = Process::start(&mut command);
    let port = desk.stdout_line("where it listens", |line| {
        Some(line.strip_prefix("https://0.0.0.0:")?.strip_suffix('/')?.to_owned())
    });
    let url = format!("wss://127.0.0.1:{port}/live");
    let connect = |more: &[&str]| {
        run(&[&["ws", "connect", &url, "--tls-roots", &chain, "--count", "1"], more].concat())
    };
    let heard = connect(&["--header", &format!("Authorization: Bearer {READ}")]);
    let told = text(&heard.stdout);
    assert!(heard.status.success(), "{}", text(&heard.stderr));
    assert!(told.contains("\"kind\":\"hello\"") && told.contains("\"role\":\"read\""), "{told}");
    let refused = connect(&[]);
    assert!(text(&refused.stderr).contains("401"), "{}", text(&refused.stderr));
    // Who speaks without TLS is not heard.
    assert_eq!(get(&format!("127.0.0.1:{port}"), "/", &[]).status, 0);
    drop(desk);
}

#[test]
fn what_would_be_open_to_others_does_not_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |arguments: &[&str], words: &str| {
        let said = run(&[&["desk"], arguments].concat());
        let told = text(&said.stderr);
        assert_eq!(said.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
        assert!(!told.contains("0123456789"), "no token is told: {told}");
    };
    let all = "0.0.0.0:0";
    refused(&["--listen", all], "--token-file");
    let good = tokens(folder.path());
    let good = good.to_str().expect("a path");
    refused(&["--listen", all, "--token-file", good], "--tls-cert");
    refused(&["--tls-cert", good], "--tls-key");
    refused(&["--tls-cert", good, "--tls-key", good], good);
    refused(&["--token-file", "/nowhere"], "/nowhere");
    let words = format!("read {READ}\n");
    token_file(folder.path(), &words, 0o644);
    refused(&["--token-file", good], "chmod 600");
    for (words, said) in
        [("", "no token"), ("admin 0123456789abcdef", "line 1"), ("read x", "line 1")]
    {
        token_file(folder.path(), words, 0o600);
        refused(&["--token-file", good], said);
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("its address").to_string();
    let said = run(&["desk", "--listen", &taken]);
    assert_eq!(said.status.code(), Some(1));
    assert!(text(&said.stderr).contains(&taken), "{}", text(&said.stderr));
}
