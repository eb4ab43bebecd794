//! Our own gateway as a client, by its file alone.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use taut_testkit::{Process, Run, until};
use tempfile::TempDir;

use crate::{DAY, Venue, taut};

/// Who trades at the sample's venue.
const SECRET: (&str, &str) = ("DERIBIT_SECRET", "secret-of-one");

/// Where the venue is, and where nobody is.
const HERE: &str = "url = \"ws://127.0.0.1:";
const ELSEWHERE: &str = "url = \"ws://127.0.0.2:";

/// A gateway's settings, as the sample has them but for where the venue is and who trades.
pub struct Settings {
    folder: TempDir,
    pub text: String,
}

impl Settings {
    pub fn at(venue: &Venue) -> Self {
        let sample = taut(&["gateway", "sample", "--venue", "deribit"]);
        let sample = String::from_utf8(sample.stdout).expect("a sample");
        let folder = tempfile::tempdir().expect("a folder");
        let control = folder.path().join("control");
        let text = sample
            .replace("wss://test.deribit.com/", &format!("ws://127.0.0.1:{}/", venue.port))
            .replace("\"CLIENT_ID\"", "\"one\"")
            .replace("name = \"deribit\"", &format!("name = \"deribit\"\ncontrol = {control:?}"));
        Self { folder, text }
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("gateway.toml")
    }

    pub fn control(&self) -> String {
        self.folder.path().join("control").to_str().expect("a path").to_owned()
    }

    /// Checks the settings with one line changed; the exit code and what was said.
    fn check(&self, (right, wrong): (&str, &str), secret: &str, live: &[&str]) -> (i32, String) {
        assert!(right.is_empty() || self.text.contains(right), "{right}");
        std::fs::write(self.path(), self.text.replacen(right, wrong, 1)).expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(["gateway", "check"]).arg(self.path()).args(live).env(SECRET.0, secret);
        let output = command.run();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or(-1), said)
    }
}

#[test]
fn a_gateway_says_what_it_sees_at_deribit() {
    let venue = Venue::start("deribit");
    let settings = Settings::at(&venue);
    let live = ["--live", "--patience", "60"];
    let (code, said) = settings.check(("", ""), SECRET.1, &live);
    assert_eq!(code, 0, "{said}");
    for words in [
        "orders: logged on at 127.0.0.1:",
        "BTC-PERPETUAL: the book is sound",
        "the venue's tick is 0.5, its lot 10",
        "the venue's tick is 0.05, its lot 1",
        "no order was sent",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // Until the patience ends: it is short where nothing is to come.
    let short = ["--live", "--patience", "3"];
    for (change, secret, words) in [
        (("", ""), "wrong", "the venue said: 13004"),
        (("tick = \"0.5\"", "tick = \"1\""), SECRET.1, "tick = 1: the venue says 0.5"),
        (("lot = \"10\"", "lot = \"1\""), SECRET.1, "lot = 1: the venue says 10"),
        (("\"ETH-PERPETUAL\"", "\"XYZ-PERPETUAL\""), SECRET.1, "no sound book of XYZ-PERPETUAL"),
        ((HERE, ELSEWHERE), SECRET.1, "not logged on at 127.0.0.2:"),
    ] {
        let (code, said) = settings.check(change, secret, &short);
        assert_eq!(code, 1, "{change:?}: {said}");
        assert!(said.contains(words), "{words}: {said}");
    }
    let wrong = [
        ("[deribit]\n", "[deribit]\nurl2 = 1\n", "did you mean `url`?"),
        ("url = \"ws:", "url = \"http:", "deribit.url"),
        ("interval = \"100ms\"", "interval = \"10ms\"", "unknown variant"),
        ("kept_for_cancels = 5", "kept_for_cancels = 20", "below orders_burst, 20"),
        ("kind = \"deribit\"", "kind = \"password\"", "of kind \"deribit\""),
        ("lot = \"10\"", "lot = \"0\"", "instruments[0].lot = 0"),
        ("[risk]\n", "[venue]\n[risk]\n", "missing field"),
    ];
    for (right, wrong, words) in wrong {
        let (code, said) = settings.check((right, wrong), SECRET.1, &[]);
        assert_eq!(code, 2, "{wrong}: {said}");
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn a_gateway_trades_at_deribit_by_its_file() {
    let venue = Venue::start("deribit");
    let settings = Settings::at(&venue);
    trades_by(&settings, &[]);
}

#[test]
fn over_fix_a_gateway_trades_at_deribit_by_its_file() {
    let venue = Venue::start("deribit");
    let mut settings = Settings::at(&venue);
    let fix = venue.fix.expect("its FIX port");
    settings.text = settings
        .text
        .replace("orders = \"json\"", "orders = \"fix\"")
        .replace("# fix = \"test.deribit.com:9883\"", &format!("fix = \"127.0.0.1:{fix}\""))
        .replace("# fix_tls = true", "fix_tls = false");
    let (code, said) = settings.check(("", ""), SECRET.1, &["--live", "--patience", "60"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("orders: logged on at 127.0.0.1:{fix}")), "{said}");
    let (code, said) = settings.check(("", ""), "wrong", &["--live", "--patience", "3"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("the venue said: invalid_credentials"), "{said}");
    trades_by(&settings, &[]);
}

pub fn status(control: &str) -> Value {
    let said = taut(&["gateway", "status", "--json", "--gateway", control]).stdout;
    serde_json::from_slice(&said).unwrap_or_default()
}

pub fn count(status: &Value, what: &str) -> u64 {
    status["counters"][what].as_u64().unwrap_or(0)
}

pub fn gateway(settings: &Path) -> Process {
    gateway_with(settings, &[])
}

fn gateway_with(settings: &Path, more: &[&str]) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["gateway", "--config"]).arg(settings).args(more);
    Process::start(command.env(SECRET.0, SECRET.1))
}

/// A recorded gateway does again what it did, without a key, and no key is in what was recorded.
fn expect_the_same_again(recording: &Path) {
    let recording_text = recording.to_str().expect("a path");
    let replayed = taut(&["replay", recording_text]);
    let said = String::from_utf8_lossy(&replayed.stdout).into_owned()
        + &String::from_utf8_lossy(&replayed.stderr);
    assert!(replayed.status.success() && said.contains("; 0 differences"), "{said}");
    let key = PRIVATE_KEY.lines().nth(1).expect("the key");
    for file in std::fs::read_dir(recording).expect("a folder") {
        let bytes = std::fs::read(file.expect("a file").path()).expect("a file");
        for secret in [SECRET.1, key] {
            let is_there = bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
            assert!(!is_there, "a secret is in the recording");
        }
    }
}

/// With a file that has no key: market data are everybody's.
#[test]
fn a_gateway_trades_on_paper_without_a_key() {
    let venue = Venue::start("deribit");
    let settings = Settings::at(&venue);
    std::fs::write(settings.path(), &settings.text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let recording = settings.folder.path().join("recording");
    command.args(["gateway", "--paper", "--config"]).arg(settings.path()).env_remove(SECRET.0);
    command.arg("--record").arg(&recording);
    let mut gateway = Process::start(&mut command);
    gateway.stderr_line("that it is on paper", |line| line.contains("on paper:").then_some(()));
    let control = settings.control();
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let _strategy = Process::start(command.args(["strategy", "touch", "--gateway", &control]));
    until("orders trade on paper", DAY, || {
        let status = status(&control);
        count(&status, "acks") > 10 && count(&status, "fills") > 3
    });
    let status = status(&control);
    assert_eq!(count(&status, "order_rejects"), 0, "{status}");
    let stopped = taut(&["gateway", "stop", "--gateway", &control]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    let ended = gateway.finish();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    expect_the_same_again(&recording);
}

#[test]
fn an_operator_sees_why_there_is_no_session() {
    let venue = Venue::start("deribit");
    let settings = Settings::at(&venue);
    std::fs::write(settings.path(), &settings.text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["gateway", "--config"]).arg(settings.path()).env(SECRET.0, "wrong");
    let mut gateway = Process::start(&mut command);
    gateway.stderr_line("where it listens", |line| line.contains("meet it at").then_some(()));
    let control = settings.control();
    until("the venue has refused", DAY, || {
        let said = taut(&["gateway", "status", "--gateway", &control]).stdout;
        String::from_utf8_lossy(&said).contains("the venue said: 13004 invalid_credentials")
    });
}

/// The private key of account one of the sample's venue: the one that Binance's documents publish.
const PRIVATE_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u
-----END PRIVATE KEY-----
";

impl Settings {
    /// A gateway at Binance, and its key.
    pub fn at_binance(venue: &Venue) -> Self {
        let sample = taut(&["gateway", "sample", "--venue", "binance"]);
        let sample = String::from_utf8(sample.stdout).expect("a sample");
        let folder = tempfile::tempdir().expect("a folder");
        let control = folder.path().join("control");
        let own = format!("ws://127.0.0.1:{}", venue.port);
        let text = sample
            .replace(
                "# streams = \"wss://stream.binance.com:9443\"",
                &format!("streams = \"{own}\""),
            )
            .replace("# api = \"wss://ws-api.binance.com:443", &format!("api = \"{own}"))
            .replace("\"API_KEY\"", "\"one-ed25519\"")
            .replace("name = \"binance\"", &format!("name = \"binance\"\ncontrol = {control:?}"));
        Self { folder, text }
    }

    pub fn with_key(self) -> Self {
        let key = self.folder.path().join("binance.pem");
        let options = OpenOptions::new().write(true).create_new(true).mode(0o600).open(key);
        options.and_then(|mut file| file.write_all(PRIVATE_KEY.as_bytes())).expect("a key");
        self
    }
}

#[test]
fn a_gateway_says_what_it_sees_at_binance_and_trades_there_by_its_file() {
    let venue = Venue::start("binance");
    let settings = Settings::at_binance(&venue).with_key();
    let live = ["--live", "--patience", "60"];
    let (code, said) = settings.check(("", ""), "", &live);
    assert_eq!(code, 0, "{said}");
    for symbol in ["BTCUSDT", "ETHUSDT"] {
        assert!(said.contains(&format!("{symbol}: the book is sound")), "{said}");
    }
    for (right, wrong, words) in [
        ("tick = \"0.01\"", "tick = \"0.001\"", "BTCUSDT: tick is 0.001, and the venue's is 0.01"),
        ("one-ed25519", "nobody", "-2015"),
    ] {
        let live = ["--live", "--patience", "3"];
        let (code, said) = settings.check((right, wrong), "", &live);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(words), "{words}: {said}");
    }
    trades_by(&settings, &["--lots", "100"]);
}

#[test]
fn in_sbe_a_gateway_follows_binance_by_its_file_and_shows_its_key() {
    let venue = Venue::start("binance");
    let mut settings = Settings::at_binance(&venue).with_key();
    let streams = format!("streams = \"ws://127.0.0.1:{}", venue.port);
    settings.text = settings
        .text
        .replace("encoding = \"json\"", "encoding = \"sbe\"")
        .replace(&streams, &format!("{streams}/sbe"));
    let (code, said) = settings.check(("", ""), "", &["--live", "--patience", "60"]);
    assert_eq!(code, 0, "{said}");
    // On paper, too.
    let nobody = ("one-ed25519", "nobody");
    let (code, said) = settings.check(nobody, "", &["--paper", "--live", "--patience", "3"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("no sound book of BTCUSDT, ETHUSDT: the venue said: HTTP 401"), "{said}");
    trades_by(&settings, &["--lots", "100"]);
}

#[test]
fn over_fix_a_gateway_trades_at_binance_by_its_file() {
    let venue = Venue::start("binance");
    let mut settings = Settings::at_binance(&venue).with_key();
    let fix = venue.fix.expect("its FIX port");
    settings.text = settings
        .text
        .replace("orders = \"json\"", "orders = \"fix\"")
        .replace("# fix = \"fix-oe.binance.com:9000\"", &format!("fix = \"127.0.0.1:{fix}\""))
        .replace("# fix_tls = true", "fix_tls = false");
    let (code, said) = settings.check(("", ""), "", &["--live", "--patience", "60"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains(&format!("orders: logged on at 127.0.0.1:{fix}")), "{said}");
    let wrong = ("# fix_sender_comp_id = \"TAUT\"", "fix_sender_comp_id = \"NINECHARS\"");
    let (code, said) = settings.check(wrong, "", &[]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("one to eight letters, digits, - and _"), "{said}");
    trades_by(&settings, &["--lots", "100"]);
}

/// A gateway by this file, at whose venue a strategy trades until some orders have.
fn trades_by(settings: &Settings, strategy: &[&str]) {
    std::fs::write(settings.path(), &settings.text).expect("a file");
    let recording = settings.folder.path().join("recording");
    let record = ["--record", recording.to_str().expect("a path")];
    let mut gateway = gateway_with(&settings.path(), &record);
    gateway.stderr_line("where it listens", |line| line.contains("meet it at").then_some(()));
    let control = settings.control();
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let touch = ["strategy", "touch", "--gateway", &control];
    let _strategy = Process::start(command.args(touch).args(strategy));
    until("orders are acknowledged and some trade", DAY, || {
        let status = status(&control);
        count(&status, "acks") > 10 && count(&status, "fills") > 0
    });
    let status = status(&control);
    assert_eq!(count(&status, "order_rejects"), 0, "{status}");
    assert_eq!(count(&status, "lost_requests"), 0, "{status}");
    let stopped = taut(&["gateway", "stop", "--gateway", &control]);
    assert!(stopped.status.success(), "{}", String::from_utf8_lossy(&stopped.stderr));
    let ended = gateway.finish();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    expect_the_same_again(&recording);
}

#[test]
fn a_gateway_trades_binances_market_on_paper() {
    let venue = Venue::start("binance");
    let settings = Settings::at_binance(&venue);
    // Without a key there is paper, and the file says so.
    let (code, said) = settings.check(("kind = \"binance\"", "kind = \"deribit\""), "", &[]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("--paper"), "{said}");
    let (code, said) = settings.check(("", ""), "", &["--paper", "--live", "--patience", "60"]);
    assert_eq!(code, 0, "{said}");
    for symbol in ["BTCUSDT", "ETHUSDT"] {
        assert!(said.contains(&format!("{symbol}: the book is sound")), "{said}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["gateway", "--paper", "--config"]).arg(settings.path());
    let mut gateway = Process::start(&mut command);
    gateway.stderr_line("where it listens", |line| line.contains("meet it at").then_some(()));
    let control = settings.control();
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    let _strategy = Process::start(command.args(["strategy", "touch", "--gateway", &control]));
    until("orders trade on paper", DAY, || {
        let status = status(&control);
        count(&status, "acks") > 10 && count(&status, "fills") > 3
    });
    let status = status(&control);
    assert_eq!((count(&status, "order_rejects"), count(&status, "malformed")), (0, 0), "{status}");
    assert_eq!(status["paper"], true, "{status}");
}
