//! Every pair runs, over real sockets and real shared memory, and says what it should.
#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// A program of this package, which `cargo test` has built beside this one.
fn program(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("a path");
    let folder = tests.parent().and_then(Path::parent).expect("a target folder");
    folder.join("examples").join(name)
}

/// A program that goes on until it is dropped.
struct Server {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Server {
    /// Starts it and waits for its first line.
    fn start(name: &str, arguments: &[&str]) -> (Self, String) {
        let mut command = Command::new(program(name));
        let mut child =
            command.args(arguments).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        (Self { child, output }, line)
    }

    /// Asks it to stop, and returns what it still said.
    fn stop(mut self) -> String {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-INT", &pid]).status().expect("kill");
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("text");
        assert!(self.child.wait().expect("an end").success(), "{text}");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(name: &str, arguments: &[&str]) -> String {
    let output: Output = Command::new(program(name)).args(arguments).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// A port of 127.0.0.1 with two behind it that nobody else of these tests takes.
fn port(place: u16) -> u16 {
    // Below the ports that the kernel gives away.
    let pid = u16::try_from(std::process::id() % 1_500).expect("small");
    20_000 + pid * 8 + place
}

#[test]
fn messages_pass_over_every_channel_whoever_starts_first() {
    let port = port(0);
    let uris = [
        format!("ipc:example-{port}"),
        format!("aeron:udp?endpoint=127.0.0.1:{port}|stream-id=7"),
        format!("tcp://127.0.0.1:{port}?on-full=block"),
        format!("lease:udp?endpoint=127.0.0.1:{port}"),
    ];
    for (uri, subscriber_first) in uris.iter().flat_map(|uri| [(uri, true), (uri, false)]) {
        let start = |name: &str, arguments: &[&str]| {
            let mut command = Command::new(program(name));
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("the program starts")
        };
        let publisher = [uri.as_str(), "200"];
        let mut pair = if subscriber_first {
            [start("subscriber", &[uri]), start("publisher", &publisher)]
        } else {
            [start("publisher", &publisher), start("subscriber", &[uri])]
        };
        let [one, other] = pair.each_mut().map(|child| {
            let mut text = String::new();
            let _ = child.stdout.take().expect("a pipe").read_to_string(&mut text);
            assert!(child.wait().expect("an end").success(), "{uri}: {text}");
            text
        });
        let all = one + &other;
        assert!(all.contains("sent 200 quotes, Closed"), "{uri}: {all}");
        assert!(all.contains("received 200 quotes up to number 200"), "{uri}: {all}");
    }
}

#[test]
fn a_strategy_trades_with_an_exchange() {
    let port = port(1).to_string();
    let (exchange, line) = Server::start("exchange", &[&port]);
    assert!(line.starts_with("open: orders at 127.0.0.1:"), "{line}");
    let told = run("trader", &[&port, "1"]);
    assert!(told.contains(" fills") && !told.contains(" 0 fills"), "{told}");
    assert!(exchange.stop().contains("closed: "));
}

#[test]
fn orders_are_filled_over_fix() {
    let at = format!("127.0.0.1:{}", port(4));
    let (acceptor, line) = Server::start("order-acceptor", &[&at]);
    assert_eq!(line, format!("listening on {at}\n"));
    let told = run("order-initiator", &[&at, "2"]);
    assert_eq!(told, "order 1 filled: 100 at 585.33\norder 2 filled: 100 at 585.33\n");
    assert_eq!(acceptor.stop(), "logged on\nlogged out\n");
}

#[test]
fn an_echo_comes_back() {
    let at = format!("127.0.0.1:{}", port(5));
    let (server, line) = Server::start("echo-server", &[&at]);
    assert_eq!(line, format!("listening on {at}\n"));
    let told = run("echo-client", &[&at, "100"]);
    assert!(told.starts_with("100 round trips: p50 "), "{told}");
    assert_eq!(server.stop(), "");
}
