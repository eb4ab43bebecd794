//! `taut fix echo`, `send` and `import` as processes, over loopback TCP.
#![forbid(unsafe_code)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

fn taut(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.arg("fix").args(arguments);
    command
}

/// An acceptor on a port, ended with the test.
struct Echo {
    process: Child,
    port: String,
    _words: BufReader<ChildStdout>,
}

impl Echo {
    fn start(config: &Path, port: &str) -> Self {
        let listen = format!("127.0.0.1:{port}");
        let mut process = taut(&["echo", "--listen", &listen, "--config"])
            .arg(config)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the acceptor");
        let mut words = BufReader::new(process.stdout.take().expect("its words"));
        let mut line = String::new();
        words.read_line(&mut line).expect("a line");
        let port = line.trim().rsplit(':').next().expect("a port").to_owned();
        assert!(line.starts_with("listening on "), "{line}");
        Self { process, port, _words: words }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("room");
    path
}

fn session(us: &str, them: &str, more: &str) -> String {
    format!(
        "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"{us}\"\n\
         target_comp_id = \"{them}\"\nsync = \"never\"\n{more}\n"
    )
}

/// Orders as a log has them, header and trailer included.
fn orders(count: usize) -> String {
    (0..count)
        .map(|at| format!("8=FIX.4.4|9=0|35=D|34=9|49=X|56=Y|11=order-{at}|55=BTC-USD|10=000|\n"))
        .collect()
}

fn send(config: &Path, connect: Option<&str>, file: &Path, wait: &str) -> Output {
    let mut command = taut(&["send", "--wait", wait, "--config"]);
    command.arg(config);
    if let Some(address) = connect {
        command.args(["--connect", address]);
    }
    command.arg(file).output().expect("the initiator")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The orders that came back, and their MsgSeqNum.
fn echoes(output: &Output) -> Vec<(String, u64)> {
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told} {}", text(&output.stderr));
    let value = |line: &str, tag: &str| {
        line.split('|').find_map(|field| field.strip_prefix(tag)).expect("a field").to_owned()
    };
    told.lines()
        .map(|line| (value(line, "11="), value(line, "34=").parse().expect("a number")))
        .collect()
}

#[test]
fn orders_come_back_and_numbers_go_on_through_restarts() {
    let folder = tempfile::tempdir().expect("a folder");
    let acceptor = session("HOST", "*", "store = \"host\"\nlog = \"host\"");
    let acceptor = write(folder.path(), "acceptor.toml", &acceptor);
    let file = write(folder.path(), "orders", &orders(3));
    let initiator = session("GUEST", "HOST", "store = \"guest\"");
    let initiator = write(folder.path(), "initiator.toml", &initiator);
    for round in 0..2 {
        // Logon, three orders, Logout: five numbers a round.
        let echo = Echo::start(&acceptor, "0");
        let connect = format!("127.0.0.1:{}", echo.port);
        let output = send(&initiator, Some(&connect), &file, "0.3");
        let expected: Vec<_> =
            (0..3).map(|at| (format!("order-{at}"), round * 5 + 2 + at)).collect();
        assert_eq!(echoes(&output), expected);
    }
    let log = fs::read_to_string(folder.path().join("host/FIX.4.4-HOST-GUEST.log"));
    assert_eq!(log.expect("the log").matches("\x0135=D\x01").count(), 12);
}

#[test]
fn many_sessions_share_a_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let acceptor = write(folder.path(), "acceptor.toml", &session("HOST", "*", ""));
    let echo = Echo::start(&acceptor, "0");
    let connect = format!("127.0.0.1:{}", echo.port);
    let file = write(folder.path(), "orders", &orders(50));
    std::thread::scope(|scope| {
        for at in 0..8 {
            let initiator = session(&format!("GUEST{at}"), "HOST", "");
            let initiator = write(folder.path(), &format!("{at}.toml"), &initiator);
            let (connect, file) = (&connect, &file);
            scope.spawn(move || {
                let output = send(&initiator, Some(connect), file, "0.3");
                assert_eq!(echoes(&output).len(), 50);
            });
        }
    });
}

#[test]
fn an_initiator_tries_its_addresses_until_one_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    // Two free ports: one stays closed, the other opens after the first attempts.
    let free = || TcpListener::bind("127.0.0.1:0").expect("a port");
    let (closed, late) = (free(), free());
    let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
    let (closed_port, late_port) = (port(&closed), port(&late));
    drop((closed, late));
    let addresses = format!(
        "addresses = [\"127.0.0.1:{closed_port}\", \"127.0.0.1:{late_port}\"]\n\
         reconnect_seconds = 0.02\nreconnect_seconds_max = 0.1"
    );
    let initiator = write(folder.path(), "i.toml", &session("GUEST", "HOST", &addresses));
    let file = write(folder.path(), "orders", &orders(1));
    let acceptor = write(folder.path(), "a.toml", &session("HOST", "GUEST", ""));
    let mut sender = taut(&["send", "--wait", "0.2", "--config"])
        .args([&initiator, &file])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the initiator");
    let mut words = BufReader::new(sender.stderr.take().expect("its words")).lines();
    for _ in 0..3 {
        let line = words.next().expect("a line").expect("text");
        assert!(line.starts_with("cannot connect: "), "{line}");
    }
    let _echo = Echo::start(&acceptor, &late_port.to_string());
    let output = sender.wait_with_output().expect("the initiator");
    assert_eq!(echoes(&output), [(String::from("order-0"), 2)]);
}

#[test]
fn wrong_use_ends_with_code_2_and_says_what_was_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "orders", &orders(1));
    let heartbeat = write(folder.path(), "h", "8=FIX.4.4|9=5|35=0|10=163|");
    let good = write(folder.path(), "good.toml", &session("A", "B", ""));
    let loose = "8=FIX.4.4|9=5|35=D|11=a|loose|55=X|10=000|";
    let loose = write(folder.path(), "loose", loose);
    let typo = write(folder.path(), "typo.toml", &session("A", "B", "hartbeat_seconds = 1"));
    let two = session("A", "B", "") + &session("A", "C", "");
    let two = write(folder.path(), "two.toml", &two);
    let (here, nowhere) = (Some("127.0.0.1:1"), Path::new("/nowhere"));
    for (config, connect, file, words) in [
        (&*typo, here, &*file, "did you mean `heartbeat_seconds`?"),
        (nowhere, here, &file, "/nowhere: cannot read it (No such file or directory"),
        (folder.path(), here, &file, "cannot read it (Is a directory"),
        (&good, here, nowhere, "/nowhere: cannot read it"),
        (&good, here, &loose, "at byte 0 has no TAG=VALUE where it says \"loose|55=X|10=000|\""),
        (&good, None, &file, "give --connect"),
        (&good, Some("host"), &file, "HOST:PORT"),
        (&good, here, &good, "no FIX message"),
        (&good, here, &heartbeat, "session's own"),
        (&two, here, &file, "--target (there are B, C)"),
    ] {
        let output = send(config, connect, file, "0");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {told}");
        assert!(told.contains(words), "{told}");
    }
    for (arguments, words) in [
        (&["echo", "--listen", "127.0.0.1:0"][..], "--config"),
        (&["echo", "--listen", "127.0.0.1:0", "--config", "/nowhere"], "/nowhere: cannot read it"),
        (
            &["echo", "--listen", "127.0.0.1:0", "--acceptance", "--dictionaries", "/nowhere"],
            "/nowhere: cannot read it",
        ),
        (&["decode", "/nowhere"], "/nowhere: cannot read it"),
        (&["check", "/nowhere"], "/nowhere: cannot read it"),
        (&["check", "/dev/null"], "/dev/null: no FIX message"),
        (&["decode", "/dev/null"], "/dev/null: no FIX message"),
        (&["decode", "/dev/null", "--dictionary", "/nowhere"], "/nowhere: cannot read"),
        (&["import", "/nowhere"], "/nowhere: cannot read it"),
    ] {
        let output = taut(arguments).output().expect("taut runs");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(words) && output.stdout.is_empty(), "{arguments:?}: {told}");
    }
}

#[test]
fn a_second_acceptor_is_told_what_is_in_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two] = ["one", "two"].map(|store| {
        let keys = format!("store = \"{store}\"");
        write(folder.path(), &format!("{store}.toml"), &session("A", "B", &keys))
    });
    let echo = Echo::start(&one, "0");
    let taken = format!("127.0.0.1:{}", echo.port);
    for (config, listen, words) in [
        (&one, "127.0.0.1:0", "one/FIX.4.4-A-B.store: another process has this store open"),
        (&two, &*taken, &*format!("cannot listen on {taken}: bind: Address already in use")),
    ] {
        let output = taut(&["echo", "--listen", listen, "--config"]).arg(config).output();
        let output = output.expect("taut runs");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn imported_settings_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let acceptor = write(folder.path(), "a.toml", &session("HOST", "GUEST", ""));
    let echo = Echo::start(&acceptor, "0");
    let theirs = format!(
        "[DEFAULT]\nConnectionType=initiator\nHeartBtInt=30\nStartTime=00:00:00\n\
         EndTime=00:00:00\n[SESSION]\nBeginString=FIX.4.4\nSenderCompID=GUEST\n\
         TargetCompID=HOST\nSocketConnectHost=127.0.0.1\nSocketConnectPort={}\n",
        echo.port
    );
    let theirs = write(folder.path(), "quickfix.cfg", &theirs);
    let output = taut(&["import"]).arg(&theirs).output().expect("the import");
    assert!(output.status.success());
    let ours = write(folder.path(), "ours.toml", &text(&output.stdout));
    let file = write(folder.path(), "orders", &orders(2));
    assert_eq!(echoes(&send(&ours, None, &file, "0.3")).len(), 2);
}

#[test]
fn both_tools_speak_tls_and_a_wrong_root_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["host", "other"] {
        let made = rcgen::generate_simple_self_signed([String::from("127.0.0.1")]);
        let made = made.expect("a certificate");
        write(folder.path(), &format!("{name}.pem"), &made.cert.pem());
        write(folder.path(), &format!("{name}.key"), &made.signing_key.serialize_pem());
    }
    let tls = "[sessions.tls]\ncertificate = \"host.pem\"\nkey = \"host.key\"";
    let acceptor = write(folder.path(), "a.toml", &session("HOST", "GUEST", tls));
    let echo = Echo::start(&acceptor, "0");
    let connect = format!("127.0.0.1:{}", echo.port);
    let file = write(folder.path(), "orders", &orders(3));
    let guest = |ca: &str| {
        let tls = format!("reconnect_seconds = 0.05\n[sessions.tls]\nca = \"{ca}.pem\"");
        write(folder.path(), &format!("{ca}.toml"), &session("GUEST", "HOST", &tls))
    };
    assert_eq!(echoes(&send(&guest("host"), Some(&connect), &file, "0.3")).len(), 3);
    let output = taut(&["send", "--patience", "0.5", "--connect", &connect, "--config"])
        .args([&guest("other"), &file])
        .output()
        .expect("the initiator");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("TLS: the peer's certificate is refused"), "{told}");
    assert!(told.contains("other.pem (tls.ca)"), "{told}");
}

/// A dialect with a data field of its own, out of order with its length.
const DIALECT: &str = "<fix major='4' minor='4'>
<header><field name='BeginString' required='Y'/><field name='BodyLength' required='Y'/>
<field name='MsgType' required='Y'/><field name='MsgSeqNum' required='Y'/>
<field name='SenderCompID' required='Y'/><field name='SendingTime' required='Y'/>
<field name='TargetCompID' required='Y'/></header>
<trailer><field name='CheckSum' required='Y'/></trailer>
<messages>
<message name='Logon' msgtype='A' msgcat='admin'><field name='EncryptMethod' required='Y'/>
<field name='HeartBtInt' required='Y'/><field name='ResetSeqNumFlag' required='N'/></message>
<message name='Logout' msgtype='5' msgcat='admin'><field name='Text' required='N'/></message>
<message name='Heartbeat' msgtype='0' msgcat='admin'/>
<message name='Order' msgtype='D' msgcat='app'><field name='ClOrdID' required='Y'/>
<field name='BlobLen' required='N'/><field name='Blob' required='N'/>
<field name='Note' required='N'/><field name='Text' required='N'/></message>
</messages>
<fields><field number='8' name='BeginString' type='STRING'/>
<field number='9' name='BodyLength' type='LENGTH'/>
<field number='10' name='CheckSum' type='STRING'/>
<field number='11' name='ClOrdID' type='STRING'/>
<field number='34' name='MsgSeqNum' type='SEQNUM'/>
<field number='35' name='MsgType' type='STRING'/>
<field number='49' name='SenderCompID' type='STRING'/>
<field number='52' name='SendingTime' type='UTCTIMESTAMP'/>
<field number='56' name='TargetCompID' type='STRING'/>
<field number='58' name='Text' type='STRING'/><field number='98' name='EncryptMethod' type='INT'/>
<field number='108' name='HeartBtInt' type='INT'/>
<field number='141' name='ResetSeqNumFlag' type='BOOLEAN'/>
<field number='5001' name='BlobLen' type='LENGTH'/>
<field number='5005' name='Note' type='STRING'/>
<field number='5010' name='Blob' type='DATA'/></fields></fix>";

#[test]
fn a_dialects_data_fields_with_delimiters_pass_every_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    let dialect = write(folder.path(), "dialect.xml", DIALECT);
    let body = "35=D\x0134=2\x0149=X\x0152=20240229-12:34:56\x0156=Y\x0111=one\x01\
                5005=note\x015001=15\x015010=a\x0110=000\x018=FIX=\x0158=end\x01";
    let mut message = format!("8=FIX.4.4\x019={}\x01{body}", body.len());
    let sum = message.bytes().fold(0u8, u8::wrapping_add);
    message += &format!("10={sum:03}\x01");
    let blob = "a\u{1}10=000\u{1}8=FIX=";
    for delimiter in ["\x01", "|"] {
        let file = write(folder.path(), "message", &message.replace('\x01', delimiter));
        let run = |tool: &str| {
            let output = taut(&[tool, "--dictionary"]).args([&dialect, &file]).output();
            text(&output.expect("the tool").stdout)
        };
        let decoded = run("decode");
        let line = decoded.lines().find(|line| line.contains("5010 Blob")).expect("the field");
        assert!(line.contains(&format!("{blob:?}")), "{line}");
        assert!(decoded.contains("58 Text") && decoded.lines().count() == 14, "{decoded}");
        assert_eq!(run("check").trim(), "1 messages, 0 of them wrong");

        let keys = "dictionary = \"dialect.xml\"";
        let acceptor = write(folder.path(), "a.toml", &session("HOST", "GUEST", keys));
        let initiator = write(folder.path(), "i.toml", &session("GUEST", "HOST", keys));
        let echo = Echo::start(&acceptor, "0");
        let connect = format!("127.0.0.1:{}", echo.port);
        let sent = send(&initiator, Some(&connect), &file, "0.3");
        let came = text(&sent.stdout);
        // Sorted by tag, the data field behind its length.
        let expected = "|11=one|58=end|5001=15|5010=a|10=000|8=FIX=|5005=note|10=";
        assert!(came.contains(expected), "{came} {}", text(&sent.stderr));
    }
}
