//! A sender and a receiver as processes of their own, watched until both have ended.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use taut_sys::{ProcessSignal, monotonic, signal_process, sleep, stop_requests};
use taut_types::Nanos;

use crate::exit::Failure;

/// How often the processes are looked at.
const LOOK_EVERY: Nanos = Nanos::from_millis(20);

/// What both said, and what they cost.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub sent: Value,
    pub received: Value,
    /// CPU time of both, in seconds.
    pub cpu_s: f64,
    /// From the start of the first to the end of the last.
    pub seconds: f64,
    /// The most memory that both had, in bytes.
    pub memory_bytes: u64,
    /// Bytes over all network interfaces of the machine meanwhile.
    pub wire_bytes: u64,
}

struct Watched {
    child: Child,
    cpu_ticks: u64,
    memory_kb: u64,
}

impl Watched {
    fn start(arguments: &[String]) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| Failure::run("own path", error))?;
        let mut command = Command::new(program);
        command.args(arguments).arg("--json");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| Failure::run("start taut", error))?;
        Ok(Self { child, cpu_ticks: 0, memory_kb: 0 })
    }

    /// Looks at what it costs; whether it has ended.
    fn look(&mut self) -> bool {
        let read = |file| fs::read_to_string(format!("/proc/{}/{file}", self.child.id()));
        let stat = read("stat").unwrap_or_default();
        let fields = stat.rfind(')').and_then(|at| stat.get(at + 1..)).unwrap_or_default();
        let ticks = fields.split_ascii_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|text| text.parse::<u64>().ok()).sum();
        let status = read("status").unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.split_ascii_whitespace().next()?.parse().ok());
        self.cpu_ticks = self.cpu_ticks.max(ticks);
        self.memory_kb = self.memory_kb.max(peak.unwrap_or(0));
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    fn stop(&mut self) {
        let _ = signal_process(self.child.id(), ProcessSignal::Terminate);
    }

    fn report(self) -> Result<Value, Failure> {
        let output = self.child.wait_with_output();
        let output = output.map_err(|error| Failure::run("a process", error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            let said = said.strip_prefix("taut: ").unwrap_or(&said).to_owned();
            return Err(match output.status.code() {
                Some(2) => Failure::Usage(said),
                _ => Failure::Run(said),
            });
        }
        serde_json::from_slice(&output.stdout).map_err(|error| Failure::run("its report", error))
    }
}

/// Runs `taut receive` and `taut send` with these arguments.
pub fn run(receive: &[String], send: &[String], patience: Nanos) -> Result<Outcome, Failure> {
    let wire = wire_bytes();
    let begun = monotonic();
    let mut receiver = Watched::start(receive)?;
    let mut sender = match Watched::start(send) {
        Ok(sender) => sender,
        Err(failure) => {
            receiver.stop();
            return Err(failure);
        }
    };
    let deadline = monotonic() + patience;
    let mut was_stopped = false;
    loop {
        let ended = (receiver.look(), sender.look());
        if ended == (true, true) {
            break;
        }
        // Whoever is left behind by a failure of the other one, or outlasts its time, is asked to
        // end; both end soon.
        let failed = |child: &mut Child| {
            child.try_wait().ok().flatten().is_some_and(|status| !status.success())
        };
        let is_over = monotonic() > deadline
            || stop_requests() > 0
            || failed(&mut sender.child)
            || failed(&mut receiver.child);
        if is_over && !was_stopped {
            was_stopped = true;
            receiver.stop();
            sender.stop();
        }
        // PACE: two children and a time are waited for at once; each look is a system call.
        sleep(LOOK_EVERY);
    }
    let seconds = (monotonic() - begun).0 as f64 / 1e9;
    let ticks = receiver.cpu_ticks + sender.cpu_ticks;
    let memory_kb = receiver.memory_kb + sender.memory_kb;
    let (received, sent) = (receiver.report(), sender.report());
    if stop_requests() > 0 {
        return Err(Failure::Run("interrupted".to_owned()));
    }
    Ok(Outcome {
        sent: sent?,
        received: received?,
        // The kernel counts in hundredths of a second.
        cpu_s: ticks as f64 / 100.0,
        seconds,
        memory_bytes: memory_kb * 1024,
        wire_bytes: wire_bytes().saturating_sub(wire),
    })
}

/// Bytes sent by all interfaces so far.
fn wire_bytes() -> u64 {
    let text = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let sent = lines.filter_map(|(_, counts)| counts.split_ascii_whitespace().nth(8));
    sent.filter_map(|text| text.parse::<u64>().ok()).sum()
}
