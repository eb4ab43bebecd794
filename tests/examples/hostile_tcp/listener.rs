//! Listeners in processes of their own, and what the system says of them.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use taut_channel::{ChannelUri, Opening, Publication, Subscription};
use taut_sys::monotonic;
use taut_testkit::{Process, own_address};
use taut_types::Nanos;

use crate::{BETWEEN_LOOKS, pace, stream, tls};

/// The word with which this program listens itself.
pub const SERVE: &str = "serve";
/// A listener over ZMTP that sends, sends so much, so often.
const MESSAGE: [u8; 256] = [7; 256];
const EVERY: Nanos = Nanos::from_millis(1);
const LOOK: Nanos = Nanos::from_micros(200);

/// A process that listens.
pub struct Listener {
    process: Process,
    pub address: SocketAddr,
    /// Open descriptors before anybody came.
    open_first: u64,
    _folder: Option<tempfile::TempDir>,
}

impl Listener {
    /// A bound `publisher` or `subscriber`.
    pub fn of_zmtp(what: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        // glibc raises the size from which it gives memory back with each large piece that is
        // freed, up to 64 MiB: the stage measures what the channel keeps, and not what glibc does.
        command.env("MALLOC_TRIM_THRESHOLD_", "131072");
        Self::start(command.args([SERVE, what]), None)
    }

    /// `taut ws echo`.
    pub fn of_websocket(taut: &str) -> Self {
        Self::start(Command::new(taut).args(["ws", "echo", "--listen", "127.0.0.1:0"]), None)
    }

    /// The same over TLS.
    pub fn of_websocket_tls(taut: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [chain, key] = tls::certificate(folder.path());
        let mut command = Command::new(taut);
        command.args(["ws", "echo", "--listen", "127.0.0.1:0", "--tls-cert", &chain]);
        Self::start(command.args(["--tls-key", &key]), Some(folder))
    }

    /// `taut fix echo`, with a session for each visit of the good peer, and one with a password.
    pub fn of_fix(taut: &str) -> Self {
        Self::of_fix_with(taut, tempfile::tempdir().expect("a folder"), "")
    }

    /// The same over TLS.
    pub fn of_fix_tls(taut: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [chain, key] = tls::certificate(folder.path());
        let tls = format!("tls = {{ certificate = \"{chain}\", key = \"{key}\" }}\n");
        Self::of_fix_with(taut, folder, &tls)
    }

    fn of_fix_with(taut: &str, folder: tempfile::TempDir, tls: &str) -> Self {
        let mut text = format!("[defaults]\nsending_time_tolerance_seconds = 0\n{tls}");
        let locked = "credentials = { kind = \"password\", username = \"me\", secret = \"hush\" }";
        for (guest, more) in [("STEADY", ""), ("GOOD", ""), ("LOCKED", locked)] {
            text += &format!(
                "[[sessions]]\nbegin_string = \"FIX.4.4\"\nsender_comp_id = \"HOST\"\n\
                 target_comp_id = \"{guest}\"\n{more}\n"
            );
        }
        let config: PathBuf = folder.path().join("host.toml");
        fs::write(&config, text).expect("room for a file");
        let mut command = Command::new(taut);
        command.args(["fix", "echo", "--listen", "127.0.0.1:0", "--config"]).arg(config);
        Self::start(&mut command, Some(folder))
    }

    /// The order entry of `taut venue`, which lets any member in.
    pub fn of_venue(taut: &str) -> Self {
        Self::of_venue_at(taut, |orders, _| orders)
    }

    /// The drop copies of `taut venue`, with a reader for each visit of the good peer.
    pub fn of_drop_copies(taut: &str) -> Self {
        Self::of_venue_at(taut, |_, copies| copies)
    }

    fn of_venue_at(taut: &str, which: fn(SocketAddr, SocketAddr) -> SocketAddr) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [orders, copies] = [own_address(), own_address()];
        let [incremental, snapshot] = [own_address(), own_address()];
        let text = format!(
            "comp_id = \"HOST\"\norders = \"{orders}\"\nincremental = \"{incremental}\"\n\
             snapshot = \"{snapshot}\"\n[drop_copy]\nlisten = \"{copies}\"\n\
             readers = {{ STEADY = \"A\", GOOD = \"B\" }}\nstore = \"copies\"\n\
             [[instruments]]\nsymbol = \"TAUT\"\ntick = \"0.01\"\nlot_decimals = 0\n\
             [flow]\ncommands_per_second = 0\n"
        );
        let config: PathBuf = folder.path().join("venue.toml");
        fs::write(&config, text).expect("room for a file");
        let mut process =
            Process::start(Command::new(taut).args(["venue", "--config"]).arg(config));
        process
            .stderr_line("a venue that listens", |line| line.contains("orders at").then_some(()));
        let address = which(orders, copies);
        let mut listener = Self { process, address, open_first: 0, _folder: Some(folder) };
        listener.open_first = listener.open_count();
        listener
    }

    /// HTTP of `taut venue --as deribit`.
    pub fn of_web_http(taut: &str) -> Self {
        Self::of_web_venue(taut, " at ")
    }

    /// FIX of the same.
    pub fn of_web_fix(taut: &str) -> Self {
        Self::of_web_venue(taut, "FIX at ")
    }

    /// The venue that its sample describes, without a crowd.
    fn of_web_venue(taut: &str, which: &str) -> Self {
        let sample = Command::new(taut).args(["venue", "sample", "--as", "deribit"]).output();
        let sample = String::from_utf8(sample.expect("a sample").stdout).expect("text");
        let text = sample
            .replace("listen = [\"127.0.0.1:8080\"]", "listen = [\"127.0.0.1:0\"]")
            .replace("# venue_fix = [\"127.0.0.1:9881\"]", "venue_fix = [\"127.0.0.1:0\"]")
            .replace("commands_per_second = 200", "commands_per_second = 0");
        let folder = tempfile::tempdir().expect("a folder");
        let config: PathBuf = folder.path().join("venue.toml");
        fs::write(&config, text).expect("room for a file");
        let mut command = Command::new(taut);
        command.args(["venue", "--as", "deribit", "--config"]).arg(config);
        let mut process = Process::start(&mut command);
        let address = process.stderr_line("a venue that listens", |line| {
            let (_, rest) = line.split_once(which)?;
            rest.split([';', '"']).next()?.trim().parse().ok()
        });
        let mut listener = Self { process, address, open_first: 0, _folder: Some(folder) };
        listener.open_first = listener.open_count();
        listener
    }

    /// A recorded venue's own stream.
    pub fn of_stream(_: &str) -> Self {
        let program = std::env::current_exe().expect("this program");
        Self::start(Command::new(program).args([SERVE, "stream"]), None)
    }

    fn start(command: &mut Command, folder: Option<tempfile::TempDir>) -> Self {
        let mut process = Process::start(command);
        let address = process.stdout_line("its address", |line| {
            let at = line.strip_prefix("listening on ")?;
            at.rsplit('/').next()?.parse().ok()
        });
        let mut listener = Self { process, address, open_first: 0, _folder: folder };
        listener.open_first = listener.open_count();
        listener
    }

    /// Memory that is in use.
    pub fn memory_kib(&self) -> u64 {
        self.process.memory_kib()
    }

    /// Open descriptors.
    pub fn open_count(&self) -> u64 {
        let entries = fs::read_dir(format!("/proc/{}/fd", self.process.id()));
        entries.expect("its descriptors").count() as u64
    }

    /// What it has had of a CPU.
    pub fn cpu_time(&self) -> Nanos {
        self.process.cpu_time()
    }

    /// Waits until the connections of all who left are closed; what it waited for in vain.
    pub fn comes_to_rest(&self, patience: Nanos, at: &str) -> Option<String> {
        let deadline = monotonic() + patience;
        while self.open_count() > self.open_first {
            if monotonic() >= deadline {
                let open = self.open_count() - self.open_first;
                return Some(format!("{at}: {open} connections are left open"));
            }
            pace(BETWEEN_LOOKS);
        }
        None
    }

    /// What is wrong if it has ended.
    pub fn failure(&mut self) -> Option<String> {
        let has_ended = !self.process.is_running();
        has_ended.then(|| format!("the listener has ended: {}", self.process.stderr()))
    }
}

/// Listens over ZMTP, or for who follows a recorded venue, until it is killed.
pub fn serve(what: &str) -> ExitCode {
    if what == "stream" {
        return stream::serve();
    }
    let uri: ChannelUri = match what {
        "publisher" => "tcp://127.0.0.1:0",
        _ => "tcp://127.0.0.1:0?bind",
    }
    .parse()
    .expect("a URI");
    let opening = Opening { now: monotonic(), ..Opening::default() };
    if what == "publisher" {
        publish(Publication::open(&uri, &opening).expect("a publication"))
    } else {
        subscribe(Subscription::open(&uri, &opening).expect("a subscription"))
    }
}

fn publish(mut publication: Publication) -> ExitCode {
    println!("listening on {}", publication.local_address().expect("an address"));
    let mut next = monotonic();
    loop {
        let now = monotonic();
        if now >= next {
            // Nobody may be there, or nobody quick enough.
            let _ = publication.offer(now, &MESSAGE);
            next = now + EVERY;
        }
        if publication.work(now) == 0 {
            publication.block(LOOK);
        }
        while publication.poll_event().is_some() {}
    }
}

fn subscribe(mut subscription: Subscription) -> ExitCode {
    println!("listening on {}", subscription.local_address().expect("an address"));
    loop {
        if subscription.poll(monotonic(), 256, |_| {}) == 0 {
            subscription.block(LOOK);
        }
        while subscription.poll_event().is_some() {}
    }
}
