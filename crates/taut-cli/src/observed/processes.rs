//! The processes of `taut` on this machine, whatever they do: gateways, venues, strategies,
//! recorders.
//!
//! Source: proc(5), `/proc/PID/{comm,cmdline,stat,status}`.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use serde::Serialize;
use taut_sys::{effective_user, monotonic, process_id};
use taut_types::Nanos;

/// Ticks of the kernel's accounts in a second (`USER_HZ`), which is 100 on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProcessSeen {
    /// Its number.
    pub process: u32,
    /// What it was started with, behind the program.
    pub command: String,
    /// How much of a CPU it took since the last look, all threads together: 1 is one CPU.
    pub cpus: f64,
    /// Memory that it has in RAM.
    pub resident_bytes: u64,
}

/// Looks at processes, and knows what they had taken.
#[derive(Debug, Default)]
pub struct Processes {
    before: HashMap<u32, (Nanos, u64)>,
}

impl Processes {
    /// All of this user's but this one, by their numbers.
    pub fn look(&mut self) -> Vec<ProcessSeen> {
        let now = monotonic();
        let (user, own) = (effective_user(), process_id());
        let mut taken = HashMap::new();
        let mut seen = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(process) = name.to_str().and_then(|it| it.parse::<u32>().ok()) else {
                continue;
            };
            let is_ours = process != own && entry.metadata().is_ok_and(|it| it.uid() == user);
            // One that has ended meanwhile has no files any more.
            let Some((mut it, ticks)) = is_ours.then(|| read(process)).flatten() else { continue };
            if let Some((at, before)) = self.before.get(&process) {
                let seconds = now.since(*at).0 as f64 / 1e9;
                let grown = ticks.saturating_sub(*before) as f64 / TICKS_PER_SECOND;
                it.cpus = if seconds > 0.0 { grown / seconds } else { 0.0 };
            }
            taken.insert(process, (now, ticks));
            seen.push(it);
        }
        self.before = taken;
        seen.sort_by_key(|it| it.process);
        seen
    }
}

/// A process of `taut` with the ticks that it has taken.
fn read(process: u32) -> Option<(ProcessSeen, u64)> {
    let file = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).ok();
    if file("comm")?.trim_end() != "taut" {
        return None;
    }
    let ticks = ticks(&file("stat")?)?;
    let resident_bytes = resident(&file("status")?);
    let words = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let words = words.split(|byte| *byte == 0).skip(1).map(String::from_utf8_lossy);
    let command = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    Some((ProcessSeen { process, command, cpus: 0.0, resident_bytes }, ticks))
}

/// Of user and system, the fields 14 and 15. The second field is a name in brackets, and may have
/// brackets and spaces itself.
fn ticks(stat: &str) -> Option<u64> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_whitespace().skip(11);
    let [user, system] = [fields.next()?, fields.next()?];
    user.parse::<u64>().ok()?.checked_add(system.parse().ok()?)
}

/// Bytes; 0 where the kernel does not say.
fn resident(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_whatever_a_program_is_called() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 2 3 4 5 250 50 8 9 20 0 1 0 99 4096";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!((ticks("7 (a S"), ticks("7 (a) S 1")), (None, None));
        assert_eq!(resident("Name:\ttaut\nVmRSS:\t   12 kB\n"), 12 * 1_024);
        assert_eq!(resident("Name:\tkthreadd\n"), 0);
    }
}
