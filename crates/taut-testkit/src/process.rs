//! Programs under test: watched, waited for with a deadline, and never left behind.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, thread};

use taut_types::Nanos;

use crate::until::{DEADLINE, until_some};

/// The step in which Linux tells CPU times to programs: USER_HZ is 100 everywhere.
const TICK_MS: i64 = 10;

/// A program that runs. It is killed and reaped when this is dropped, whatever happens before; what
/// it writes is taken at once, so that it is never held back by a full pipe.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    /// Whether it leads a group of processes, which ends with it.
    is_group: bool,
    stdout: Words,
    stderr: Words,
}

impl Process {
    /// Starts it, without input, and takes what it writes to both its streams.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null());
        Self::start_with_streams(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// As [`Process::start`], for a script or whatever else starts programs of its own: they are a
    /// group, and none of them outlives the guard. (A group does not get the terminal's Ctrl-C.)
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn start_group(command: &mut Command) -> Self {
        let mut process = Self::start(command.process_group(0));
        process.is_group = true;
        process
    }

    /// Starts it with the streams that the command says, and takes what comes through pipes.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn start_with_streams(command: &mut Command) -> Self {
        let name = name(command);
        match command.spawn() {
            Ok(child) => Self::watch(child, name),
            Err(error) => panic!("{name} cannot be started: {error}"),
        }
    }

    /// Watches a program that was started. A pipe that its starter has taken is the starter's.
    #[must_use]
    pub fn watch(mut child: Child, name: String) -> Self {
        let (stdout, stderr) = (Words::of(child.stdout.take()), Words::of(child.stderr.take()));
        Self { name, child, is_group: false, stdout, stderr }
    }

    /// The number of its process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its input, if the command gave it a pipe; dropped, it ends.
    pub const fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Whether it has not ended yet.
    ///
    /// # Panics
    /// When the system cannot say.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the state of a child").is_none()
    }

    /// The memory that it has now, in KiB: the pages that are in place (VmRSS in proc(5)).
    ///
    /// # Panics
    /// When the system does not say: it has ended.
    #[must_use]
    #[track_caller]
    pub fn memory_kib(&self) -> u64 {
        let status = self.told("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        memory.unwrap_or_else(|| panic!("{} has no memory: it has ended", self.name))
    }

    /// What it has had of a CPU, for itself and in the kernel, in steps of 10 ms.
    ///
    /// # Panics
    /// When the system does not say: it has ended and was reaped.
    #[must_use]
    #[track_caller]
    pub fn cpu_time(&self) -> Nanos {
        let stat = self.told("stat");
        // Behind the name, which may hold anything: utime and stime are the 12th and the 13th.
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let user = fields.nth(11).and_then(|ticks| ticks.parse::<i64>().ok());
        let kernel = fields.next().and_then(|ticks| ticks.parse::<i64>().ok());
        match (user, kernel) {
            (Some(user), Some(kernel)) => Nanos::from_millis(TICK_MS * (user + kernel)),
            _ => panic!("no CPU times of {} in {stat:?}", self.name),
        }
    }

    /// What the system tells of it in a file of /proc.
    #[track_caller]
    fn told(&self, file: &str) -> String {
        let told = fs::read_to_string(format!("/proc/{}/{file}", self.id()));
        told.unwrap_or_else(|error| panic!("{}: /proc has no {file}: {error}", self.name))
    }

    /// What it has written to standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it has written to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits for a whole line on standard output that `read` makes something of.
    ///
    /// # Panics
    /// When none has come within [`DEADLINE`], or it has ended without one.
    #[track_caller]
    pub fn stdout_line<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> T {
        self.line(what, |process| process.stdout.lines(), read)
    }

    /// Waits for a whole line on standard error that `read` makes something of.
    ///
    /// # Panics
    /// When none has come within [`DEADLINE`], or it has ended without one.
    #[track_caller]
    pub fn stderr_line<T>(&mut self, what: &str, read: impl Fn(&str) -> Option<T>) -> T {
        self.line(what, |process| process.stderr.lines(), read)
    }

    #[track_caller]
    fn line<T>(
        &mut self,
        what: &str,
        lines: impl Fn(&Self) -> String,
        read: impl Fn(&str) -> Option<T>,
    ) -> T {
        let what = format!("{} says {what}", self.name);
        until_some(&what, DEADLINE, || {
            // Before the look: what it wrote until its end counts.
            let has_ended = !self.is_running() && self.has_said_all();
            let found = lines(self).lines().find_map(&read);
            assert!(found.is_some() || !has_ended, "{what}: it has ended: {}", self.words());
            found
        })
    }

    /// Kills it, if it has not ended, and reaps it.
    pub fn kill(&mut self) {
        if self.is_group {
            let group = format!("-{}", self.id());
            let _ =
                Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end, and returns what it wrote.
    ///
    /// # Panics
    /// When it has not ended within [`DEADLINE`].
    #[track_caller]
    pub fn finish(mut self) -> Output {
        let status = self.end();
        Output { status, stdout: self.stdout.take(), stderr: self.stderr.take() }
    }

    /// Waits for its end and for the end of what it writes.
    ///
    /// # Panics
    /// When it has not ended within [`DEADLINE`].
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let what = format!("{} ends", self.name);
        let status =
            until_some(&what, DEADLINE, || self.child.try_wait().expect("the state of a child"));
        // A grandchild may have its streams still.
        let what = format!("{} lets go of its streams", self.name);
        until_some(&what, DEADLINE, || self.has_said_all().then_some(()));
        status
    }

    fn has_said_all(&self) -> bool {
        self.stdout.has_ended() && self.stderr.has_ended()
    }

    fn words(&self) -> String {
        format!("{}{}", self.stdout(), self.stderr())
    }
}

/// Runs a program to its end, as [`Command::output`] does, but not for ever.
pub trait Run {
    /// Without input.
    ///
    /// # Panics
    /// When it cannot be started, or has not ended within [`DEADLINE`].
    fn run(&mut self) -> Output;
}

impl Run for Command {
    #[track_caller]
    fn run(&mut self) -> Output {
        Process::start(self).finish()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            eprintln!("{}: {}", self.name, self.words());
        }
    }
}

fn name(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let mut name = program.rsplit('/').next().unwrap_or_default().to_owned();
    for argument in command.get_args() {
        name += " ";
        name += &argument.to_string_lossy();
    }
    name
}

/// What comes through a pipe, as far as it has come: a thread reads it.
#[derive(Debug)]
struct Words {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Words {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::<Mutex<Vec<u8>>>::default();
        let reader = pipe.map(|mut pipe| {
            let bytes = Arc::clone(&bytes);
            thread::spawn(move || {
                let mut buffer = [0; 4_096];
                while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                    lock(&bytes).extend_from_slice(&buffer[..count]);
                }
            })
        });
        Self { bytes, reader }
    }

    fn has_ended(&self) -> bool {
        self.reader.as_ref().is_none_or(thread::JoinHandle::is_finished)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.bytes)).into_owned()
    }

    /// The lines that are whole, and the last one too once no more can come.
    fn lines(&self) -> String {
        let is_whole = self.has_ended();
        let mut text = self.text();
        if !is_whole {
            text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        }
        text
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.bytes))
    }
}

fn lock(bytes: &Mutex<Vec<u8>>) -> std::sync::MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::until::until;

    fn shell(script: &str) -> Process {
        Process::start(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn its_words_and_its_end_are_waited_for() {
        let mut process = shell("echo one; echo two 2 >&2; exec cat /dev/zero | head -c 200000");
        let two = |line: &str| line.strip_prefix("two ")?.parse::<u8>().ok();
        assert_eq!(process.stderr_line("a number", two), 2);
        let output = process.finish();
        assert!(output.status.success() && output.stdout.starts_with(b"one\n"));
        assert_eq!((output.stdout.len(), &output.stderr[..]), (200_004, &b"two 2\n"[..]));
    }

    #[test]
    fn it_is_gone_with_its_guard() {
        let mut process = shell("exec sleep 600");
        assert!(process.is_running());
        let place = format!("/proc/{}", process.id());
        drop(process);
        assert!(!std::path::Path::new(&place).exists());
    }

    #[test]
    fn its_memory_and_its_cpu_time_are_told_while_it_runs() {
        let process = shell("while :; do :; done");
        until("it has had of a CPU", DEADLINE, || process.cpu_time() > Nanos::ZERO);
        assert!((100..100_000).contains(&process.memory_kib()), "{} KiB", process.memory_kib());
    }

    #[test]
    #[should_panic(expected = "/proc has no status")]
    fn who_has_ended_has_no_memory() {
        let mut process = shell(":");
        process.end();
        let _ = process.memory_kib();
    }

    #[test]
    #[should_panic(expected = "/proc has no stat")]
    fn who_has_ended_has_no_cpu_time() {
        let mut process = shell(":");
        process.end();
        let _ = process.cpu_time();
    }

    #[test]
    fn a_group_leaves_nobody_behind() {
        let script = "sleep 600 & echo $!; wait";
        let mut process = Process::start_group(Command::new("sh").args(["-c", script]));
        let child: u32 = process.stdout_line("its child", |line| line.parse().ok());
        drop(process);
        let stat = || std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        until("its child is gone, or waits to be reaped", DEADLINE, || {
            let stat = stat();
            stat.is_empty() || stat.contains(") Z ")
        });
    }

    #[test]
    #[should_panic(expected = "says the moon: it has ended: the sun")]
    fn what_it_does_not_say_before_it_ends_is_named() {
        shell("echo the sun").stdout_line("the moon", |line| (line == "the moon").then_some(()));
    }
}
