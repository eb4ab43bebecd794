//! `taut fix echo`, `send` and `import` as processes, over loopback TCP.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use taut_sys::{ProcessSignal, signal_process};
use taut_testkit::{DEADLINE, Process, Run, odd_json_keys, own_address, until};

fn taut(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.arg("fix").args(arguments);
    command
}

/// An acceptor, ended with the test, and its port.
struct Echo {
    port: String,
    _process: Process,
}

impl Echo {
    fn start(config: &Path) -> Self {
        Self::start_at(config, "127.0.0.1:0")
    }

    fn start_at(config: &Path, listen: &str) -> Self {
        let mut process =
            Process::start(taut(&["echo", "--listen", listen, "--config"]).arg(config));
        let port =
            |line: &str| Some(line.strip_prefix("listening on ")?.rsplit_once(':')?.1.to_owned());
        Self { port: process.stdout_line("its port", port), _process: process }
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
    command.arg(file).run()
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
        let echo = Echo::start(&acceptor);
        let connect = format!("127.0.0.1:{}", echo.port);
        let output = send(&initiator, Some(&connect), &file, "1.5");
        let expected: Vec<_> =
            (0..3).map(|at| (format!("order-{at}"), round * 5 + 2 + at)).collect();
        assert_eq!(echoes(&output), expected);
    }
    let log = fs::read_to_string(folder.path().join("host/FIX.4.4-HOST-GUEST.log"));
    assert_eq!(log.expect("the log").matches("\x0135=D\x01").count(), 12);
}

#[test]
fn the_sample_of_the_settings_is_right_and_every_key_of_it_has_a_line() {
    let output = taut(&["sample"]).run();
    assert!(output.status.success());
    let sample = text(&output.stdout);
    assert_eq!(sample.trim_end(), taut_fix_engine::SAMPLE.trim_end());
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "sample.toml", &sample.replace("\"ME\"", "\"HOST\""));
    let _echo = Echo::start(&config);
}

#[test]
fn a_logon_that_is_refused_is_told_with_its_reason_on_both_sides() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = |word: &str| {
        format!(
            "[sessions.credentials]\nkind = \"password\"\nusername = \"u\"\nsecret = \"{word}\""
        )
    };
    let acceptor = session("HOST", "GUEST", &secret("right")) + &session("HOST", "OTHER", "");
    let acceptor = write(folder.path(), "a.toml", &acceptor);
    let mut process =
        Process::start(taut(&["echo", "--listen", "localhost:0", "--config"]).arg(&acceptor));
    let at = |line: &str| Some(line.strip_prefix("listening on ")?.to_owned());
    let connect = process.stdout_line("its address", at);
    let file = write(folder.path(), "orders", &orders(1));
    let quick = "reconnect_seconds = 0.05\n";
    let older = session("OTHER", "HOST", quick).replace("FIX.4.4", "FIX.4.2");
    for (guest, theirs, ours) in [
        (
            session("STRANGER", "HOST", quick),
            "FIX.4.4 STRANGER -> HOST: there is no session",
            "no session FIX.4.4 STRANGER -> HOST",
        ),
        (older, "FIX.4.2 OTHER -> HOST: there is no session", "no session FIX.4.2 OTHER -> HOST"),
        (
            session("GUEST", "HOST", &(quick.to_owned() + &secret("wrong"))),
            "FIX.4.4 GUEST -> HOST: the credentials are wrong",
            ": the credentials are wrong",
        ),
    ] {
        let guest = write(folder.path(), "i.toml", &guest);
        let send = || {
            let mut send = taut(&["send", "--patience", "1", "--connect", &connect, "--config"]);
            send.args([&guest, &file]).run()
        };
        let output = send();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(ours), "{told}");
        // It says a few lines a second: others may have had those of this one.
        until("the acceptor's words", DEADLINE, || {
            let is_said = process.stderr().contains(theirs);
            if !is_said {
                send();
            }
            is_said
        });
    }
}

/// Nothing was sent: that is no success, whatever ended it.
#[test]
fn a_send_that_is_interrupted_before_its_session_is_up_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let guest = write(folder.path(), "i.toml", &session("GUEST", "HOST", ""));
    let file = write(folder.path(), "orders", &orders(1));
    let nobody = own_address().to_string();
    let sender =
        Process::start(taut(&["send", "--connect", &nobody, "--config"]).args([&guest, &file]));
    until("it has tried", DEADLINE, || sender.stderr().contains("cannot connect: "));
    signal_process(sender.id(), ProcessSignal::Interrupt).expect("interrupt");
    let output = sender.finish();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("interrupted before the session was up: "), "{told}");
}

#[test]
fn a_send_whose_answers_cannot_be_printed_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = Echo::start(&write(folder.path(), "a.toml", &session("HOST", "GUEST", "")));
    let guest = write(folder.path(), "i.toml", &session("GUEST", "HOST", ""));
    let file = write(folder.path(), "orders", &orders(3));
    let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut command = taut(&["send", "--connect", &format!("127.0.0.1:{}", echo.port), "--config"]);
    let command = command.args([&guest, &file]).stdout(full).stderr(Stdio::piped());
    let output = Process::start_with_streams(command).finish();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("standard output: No space left on device"), "{told}");
}

#[test]
fn numbers_that_are_too_low_are_told_with_what_helps() {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = Echo::start(&write(folder.path(), "a.toml", &session("HOST", "GUEST", "")));
    let connect = format!("127.0.0.1:{}", echo.port);
    let guest = write(folder.path(), "i.toml", &session("GUEST", "HOST", ""));
    let file = write(folder.path(), "orders", &orders(1));
    assert_eq!(echoes(&send(&guest, Some(&connect), &file, "0.5")).len(), 1);
    let output = send(&guest, Some(&connect), &file, "0.5");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for words in ["MsgSeqNum too low", "store = \"FOLDER\"", "reset_on_logon = true"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // As it says.
    let reset = write(folder.path(), "r.toml", &session("GUEST", "HOST", "reset_on_logon = true"));
    assert_eq!(echoes(&send(&reset, Some(&connect), &file, "0.5")).len(), 1);
}

#[test]
fn what_comes_on_standard_input_is_sent_as_it_comes() {
    let folder = tempfile::tempdir().expect("a folder");
    let echo = Echo::start(&write(folder.path(), "a.toml", &session("HOST", "GUEST", "")));
    let guest = write(folder.path(), "i.toml", &session("GUEST", "HOST", ""));
    let connect = format!("127.0.0.1:{}", echo.port);
    let mut command = taut(&["send", "--wait", "0.2", "--connect", &connect, "--config"]);
    command.arg(&guest).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut sender = Process::start_with_streams(command.stderr(Stdio::piped()));
    let mut input = sender.take_input().expect("a pipe");
    // The second is written when the first has come back.
    for at in 0..2 {
        let order = format!("8=FIX.4.4|9=0|35=D|11=order-{at}|55=BTC-USD|10=000|\n");
        input.write_all(order.as_bytes()).expect("a reader");
        let id = format!("|11=order-{at}|");
        until("its echo", DEADLINE, || sender.stdout().contains(&id));
    }
    drop(input);
    assert_eq!(echoes(&sender.finish()).len(), 2);
}

/// The name in a foreign file may hold anything; a terminal must not obey it.
#[test]
fn what_is_imported_is_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().expect("a folder");
    let theirs = "[DEFAULT]\nConnectionType=initiator\nHeartBtInt=30\nStartTime=00:00:00\n\
                  EndTime=00:00:00\n[SESSION]\nBeginString=FIX.4.4\nSenderCompID=G\u{1b}[2J\n\
                  TargetCompID=HOST\nSocketConnectHost=h\u{9b}0m\nSocketConnectPort=1\n\
                  Un\u{1b}known=1\n";
    let output = taut(&["import"]).arg(write(folder.path(), "quickfix.cfg", theirs)).run();
    for said in [&output.stdout, &output.stderr] {
        let said = text(said);
        let is_obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!said.contains(is_obeyed), "{said:?}");
    }
}

#[test]
fn many_sessions_share_a_port() {
    let folder = tempfile::tempdir().expect("a folder");
    let acceptor = write(folder.path(), "acceptor.toml", &session("HOST", "*", ""));
    let echo = Echo::start(&acceptor);
    let connect = format!("127.0.0.1:{}", echo.port);
    let file = write(folder.path(), "orders", &orders(50));
    std::thread::scope(|scope| {
        for at in 0..8 {
            let initiator = session(&format!("GUEST{at}"), "HOST", "");
            let initiator = write(folder.path(), &format!("{at}.toml"), &initiator);
            let (connect, file) = (&connect, &file);
            scope.spawn(move || {
                let output = send(&initiator, Some(connect), file, "1.5");
                assert_eq!(echoes(&output).len(), 50);
            });
        }
    });
}

#[test]
fn an_initiator_tries_its_addresses_until_one_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    // One stays closed, the other opens after the first attempts.
    let (closed, late) = (own_address(), own_address());
    let addresses = format!(
        "addresses = [\"{closed}\", \"{late}\"]\n\
         reconnect_seconds = 0.02\nreconnect_seconds_max = 0.1"
    );
    let initiator = write(folder.path(), "i.toml", &session("GUEST", "HOST", &addresses));
    let file = write(folder.path(), "orders", &orders(1));
    let acceptor = write(folder.path(), "a.toml", &session("HOST", "GUEST", ""));
    let mut sender = taut(&["send", "--wait", "1.5", "--config"]);
    let sender = Process::start(sender.args([&initiator, &file]));
    until("three attempts", DEADLINE, || {
        let said = sender.stderr();
        let lines = said.split_inclusive('\n').filter(|line| line.ends_with('\n')).take(3);
        assert!(lines.clone().all(|line| line.starts_with("cannot connect: ")), "{said}");
        lines.count() == 3
    });
    let _echo = Echo::start_at(&acceptor, &late.to_string());
    let output = sender.finish();
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
        (
            &*typo,
            here,
            &*file,
            "line 6: unknown key `hartbeat_seconds`; did you mean `heartbeat_seconds`?\n",
        ),
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
        let output = taut(arguments).run();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(words) && output.stdout.is_empty(), "{arguments:?}: {told}");
    }
}

#[test]
fn a_message_over_fixt_is_held_against_two_dictionaries() {
    let folder = tempfile::tempdir().expect("a folder");
    // The transport has no order, the application no header and no trailer.
    let replace = |text: &str, from: &str, to: &str, by: &str| {
        let (before, rest) = text.split_once(from).expect("its start");
        format!("{before}{by}{}", rest.split_once(to).expect("its end").1)
    };
    let transport = replace(DIALECT, "<message name='Order'", "</message>", "");
    let application = replace(DIALECT, "<header>", "</header>", "<header/>");
    let application = replace(&application, "<trailer>", "</trailer>", "<trailer/>");
    let transport = write(folder.path(), "FIXT11.xml", &transport);
    let application = write(folder.path(), "FIX50.xml", &application);
    let check = |kind: &str, fields: &str, both: bool| {
        let body = format!("35={kind}|34=2|49=X|52=20240229-12:34:56|56=Y|{fields}");
        let message = format!("8=FIXT.1.1|9={}|{body}", body.len()).replace('|', "\x01");
        let sum = message.bytes().fold(0u8, u8::wrapping_add);
        let file = write(folder.path(), "message", &format!("{message}10={sum:03}\x01"));
        let mut command = taut(&["check", "--dictionary"]);
        command.arg(&application).arg(&file);
        if both {
            command.arg("--transport-dictionary").arg(&transport);
        }
        text(&command.run().stdout)
    };
    assert!(check("D", "11=one|", false).contains("1 of them wrong"));
    // Each message against the one that has it; one that is wrong stays wrong.
    for (kind, fields) in [("D", "11=one|"), ("0", ""), ("5", "58=bye|")] {
        assert_eq!(check(kind, fields, true).trim(), "1 messages, 0 of them wrong", "{kind}");
    }
    for (kind, fields) in [("D", "58=no id|"), ("D", "11=one|98=0|"), ("0", "11=one|"), ("A", "")] {
        assert!(check(kind, fields, true).contains("1 of them wrong"), "{kind} {fields}");
    }
}

#[test]
fn a_second_acceptor_is_told_what_is_in_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two] = ["one", "two"].map(|store| {
        let keys = format!("store = \"{store}\"");
        write(folder.path(), &format!("{store}.toml"), &session("A", "B", &keys))
    });
    let echo = Echo::start(&one);
    let taken = format!("127.0.0.1:{}", echo.port);
    for (config, listen, words) in [
        (&one, "127.0.0.1:0", "one/FIX.4.4-A-B.store: another process has this store open"),
        (&two, &*taken, &*format!("cannot listen on {taken}: bind: Address already in use")),
    ] {
        let output = taut(&["echo", "--listen", listen, "--config"]).arg(config).run();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn imported_settings_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let acceptor = write(folder.path(), "a.toml", &session("HOST", "GUEST", ""));
    let echo = Echo::start(&acceptor);
    let theirs = format!(
        "[DEFAULT]\nConnectionType=initiator\nHeartBtInt=30\nStartTime=00:00:00\n\
         EndTime=00:00:00\n[SESSION]\nBeginString=FIX.4.4\nSenderCompID=GUEST\n\
         TargetCompID=HOST\nSocketConnectHost=127.0.0.1\nSocketConnectPort={}\n",
        echo.port
    );
    let theirs = write(folder.path(), "quickfix.cfg", &theirs);
    let output = taut(&["import"]).arg(&theirs).run();
    assert!(output.status.success());
    let ours = write(folder.path(), "ours.toml", &text(&output.stdout));
    let file = write(folder.path(), "orders", &orders(2));
    assert_eq!(echoes(&send(&ours, None, &file, "1.5")).len(), 2);
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
    let echo = Echo::start(&acceptor);
    let connect = format!("127.0.0.1:{}", echo.port);
    let file = write(folder.path(), "orders", &orders(3));
    let guest = |ca: &str| {
        let tls = format!("reconnect_seconds = 0.05\n[sessions.tls]\nca = \"{ca}.pem\"");
        write(folder.path(), &format!("{ca}.toml"), &session("GUEST", "HOST", &tls))
    };
    assert_eq!(echoes(&send(&guest("host"), Some(&connect), &file, "1.5")).len(), 3);
    let output = taut(&["send", "--patience", "0.5", "--connect", &connect, "--config"])
        .args([&guest("other"), &file])
        .run();
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
        let run =
            |tool: &str| text(&taut(&[tool, "--dictionary"]).args([&dialect, &file]).run().stdout);
        let decoded = run("decode");
        let line = decoded.lines().find(|line| line.contains("5010 Blob")).expect("the field");
        assert!(line.contains(&format!("{blob:?}")), "{line}");
        assert!(decoded.contains("58 Text") && decoded.lines().count() == 14, "{decoded}");
        assert_eq!(run("check").trim(), "1 messages, 0 of them wrong");
        let json = taut(&["decode", "--json", "--dictionary"]).args([&dialect, &file]).run();
        let json = text(&json.stdout);
        assert_eq!((json.lines().count(), odd_json_keys(&json)), (1, Vec::new()), "{json}");
        let one: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(one["fault"], serde_json::Value::Null, "{json}");

        let keys = "dictionary = \"dialect.xml\"";
        let acceptor = write(folder.path(), "a.toml", &session("HOST", "GUEST", keys));
        let initiator = write(folder.path(), "i.toml", &session("GUEST", "HOST", keys));
        let echo = Echo::start(&acceptor);
        let connect = format!("127.0.0.1:{}", echo.port);
        let sent = send(&initiator, Some(&connect), &file, "1.5");
        let came = text(&sent.stdout);
        // Sorted by tag, the data field behind its length.
        let expected = "|11=one|58=end|5001=15|5010=a|10=000|8=FIX=|5005=note|10=";
        assert!(came.contains(expected), "{came} {}", text(&sent.stderr));
    }
}
