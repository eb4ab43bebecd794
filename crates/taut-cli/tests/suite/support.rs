//! A demo under test: started, watched, and never left behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use taut_sys::{ProcessSignal, signal_process};
use taut_testkit::{DEADLINE, Turn, until, until_some};
use taut_types::Nanos;
use tempfile::TempDir;

pub use crate::outcome::Outcome;

/// The binary.
pub const TAUT: &str = env!("CARGO_BIN_EXE_taut");
/// A flow that a debug build on a busy machine keeps up with.
pub const SLOW: [&str; 4] = ["--ticks", "2000", "--rate", "200"];
/// How long a run that lost a process may leave traces: three seconds, of which a busy machine may
/// give its processes few.
const TRACES: Duration = Duration::from_secs(20);
/// Marks every process of one demo: children inherit it.
const MARK: &str = "TAUT_TEST_MARK";

/// A demo in its own directory. Its processes are killed when this is dropped.
pub struct Demo {
    process: Child,
    mark: String,
    directory: TempDir,
    shared_memory_before: Vec<String>,
    /// Of what may start processes that spin.
    _turn: Option<Turn>,
}

impl Demo {
    /// `taut demo --json --out report` with these arguments.
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(TAUT);
        command.args(["demo", "--json", "--out", "report"]).args(arguments);
        Self::spawn(command)
    }

    /// A run of the slow synthetic flow by processes that leave the CPUs to others while nothing
    /// happens.
    pub fn gentle(arguments: &[&str]) -> Self {
        Self::start(&[&SLOW[..], &["--wait", "block"], arguments].concat())
    }

    /// A run of the slow synthetic flow by processes that wait as they do by default, or are told.
    pub fn slow(arguments: &[&str]) -> Self {
        Self::start(&[&SLOW, arguments].concat())
    }

    /// This command, in an empty directory of its own; what it prints goes to files beside it,
    /// where the command does not say otherwise.
    pub fn spawn(command: Command) -> Self {
        Self::spawn_with(command, None, None)
    }

    /// As [`Demo::spawn`], with these streams instead of files.
    pub fn spawn_with(command: Command, out: Option<Stdio>, err: Option<Stdio>) -> Self {
        let turn = Some(Turn::take());
        Self::begin(command, out, err, turn)
    }

    /// The outcome of a command that starts nothing and ends at once: it waits for no turn.
    pub fn answer(command: Command) -> Outcome {
        Self::begin(command, None, None, None).finish()
    }

    fn begin(
        mut command: Command,
        out: Option<Stdio>,
        err: Option<Stdio>,
        turn: Option<Turn>,
    ) -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        fs::create_dir(directory.path().join("work")).expect("working directory");
        let file = |name: &str| {
            Stdio::from(fs::File::create(directory.path().join(name)).expect("output file"))
        };
        // No other directory has this name, so that no other process has this mark.
        let mark = directory.path().display().to_string();
        let process = command
            .current_dir(directory.path().join("work"))
            .env(MARK, &mark)
            .env_remove("RUST_BACKTRACE")
            .stdin(Stdio::null())
            .stdout(out.unwrap_or_else(|| file("stdout")))
            .stderr(err.unwrap_or_else(|| file("stderr")))
            // Not in our group: what the terminal sends to the tests is not meant for it.
            .process_group(0)
            .spawn()
            .expect("start taut");
        let shared_memory_before = shared_memory_files();
        Self { process, mark, directory, shared_memory_before, _turn: turn }
    }

    /// The parent's process id.
    pub fn parent(&self) -> u32 {
        self.process.id()
    }

    /// The process of this role, once the demo has said which it is.
    pub fn process_of(&self, role: &str) -> u32 {
        let process = || {
            let text = self.stderr();
            let line = text.lines().find(|line| line.contains("(process "))?;
            let place = line.split("; ").find(|place| place.starts_with(role))?;
            place.split("(process ").nth(1)?.split(')').next()?.parse().ok()
        };
        self.wait_for(&format!("the process of the {role}"), process)
    }

    /// Waits until the parent has started all the others.
    pub fn wait_until_all_run(&self) {
        let all = || (marked_processes(&self.mark).len() == 4).then_some(());
        self.wait_for("the parent and three others", all);
    }

    /// Waits until ticks flow and orders are sent, which the live line tells.
    pub fn wait_until_live(&self) {
        let live = || self.stderr().contains("ticks/s").then_some(());
        self.wait_for("the live line", live);
    }

    /// Waits until an order was sent, which the live line tells, too.
    pub fn wait_until_orders(&self) {
        let sent = || {
            let text = self.stderr();
            let words: Vec<&str> = text.split_whitespace().collect();
            let has_orders = |it: &[&str]| it[1] == "orders" && it[0] != "0";
            words.windows(2).any(has_orders).then_some(())
        };
        self.wait_for("a live line with orders", sent);
    }

    /// What it has printed for people so far.
    pub fn stderr(&self) -> String {
        self.text("stderr")
    }

    /// Waits for the end of the parent, and that nothing is left of the others.
    pub fn finish(mut self) -> Outcome {
        let status = until_some("the demo ends", DEADLINE, || {
            self.process.try_wait().expect("wait for taut")
        });
        self.expect_gone();
        self.outcome(status)
    }

    /// Holds that within three seconds nothing of it is left: no process, no shared memory.
    pub fn expect_gone(&self) {
        // Twice in a row: a process that is just being started shows its mark a moment later.
        let mut looks_without = 0;
        until("nothing of the demo is left in /proc", TRACES, || {
            let left = marked_processes(&self.mark);
            looks_without = if left.is_empty() { looks_without + 1 } else { 0 };
            pause(Nanos::from_millis(5));
            looks_without == 2
        });
        let before = &self.shared_memory_before;
        let new: Vec<_> =
            shared_memory_files().into_iter().filter(|name| !before.contains(name)).collect();
        assert!(new.is_empty(), "left in /dev/shm: {new:?}");
    }

    fn outcome(&self, status: ExitStatus) -> Outcome {
        Outcome {
            status,
            stdout: self.text("stdout"),
            stderr: self.stderr(),
            written: names(self.directory.path().join("work")),
            report: names(self.directory.path().join("work/report")),
            run: fs::read_to_string(self.directory.path().join("work/report/run.json")).ok(),
        }
    }

    fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.directory.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn wait_for<T>(&self, what: &str, look: impl Fn() -> Option<T>) -> T {
        until_some(what, DEADLINE, || {
            // A process that has ended but was not waited for has no program any more.
            let alive = fs::read_link(format!("/proc/{}/exe", self.parent())).is_ok();
            let found = look();
            assert!(alive || found.is_some(), "{what}: the demo has ended");
            found
        })
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.stderr());
        }
        // A process may be starting another just now: look until there is none.
        for _ in 0..100 {
            let left = marked_processes(&self.mark);
            if left.is_empty() {
                break;
            }
            for process in left {
                let _ = signal_process(process, ProcessSignal::Kill);
            }
            let _ = self.process.try_wait();
            pause(Nanos::from_millis(5));
        }
        let _ = self.process.wait();
    }
}

/// Sends a signal to a process that is there.
pub fn send(process: u32, signal: ProcessSignal) {
    signal_process(process, signal).expect("send a signal");
}

/// Lets time pass.
pub fn pause(span: Nanos) {
    // PACE: when a signal comes, and for how long a process stands still, is what the tests vary.
    std::thread::sleep(std::time::Duration::from_nanos(span.0.unsigned_abs()));
}

/// A file beside the repository, or nothing, with a notice.
pub fn shared_file(path: &str) -> Option<String> {
    let file = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/{}"), path);
    let there = PathBuf::from(&file).is_file();
    if !there {
        println!("skipped: {file} does not exist");
    }
    there.then_some(file)
}

/// The processes that carry this mark. One that has ended but was not waited for has none.
fn marked_processes(mark: &str) -> Vec<u32> {
    let entry = format!("{MARK}={mark}");
    let marked = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == entry.as_bytes())
    };
    names(PathBuf::from("/proc"))
        .iter()
        .filter_map(|name| name.parse().ok())
        .filter(marked)
        .collect()
}

fn shared_memory_files() -> Vec<String> {
    let mut files = names(PathBuf::from("/dev/shm"));
    // Other tests may run beside these; a demo names nothing so.
    files.retain(|name| name.contains("taut") && !name.contains("taut.test"));
    files
}

/// What lies in a directory, sorted; nothing when there is no such directory.
fn names(directory: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
