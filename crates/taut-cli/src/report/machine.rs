//! The machine that a run was measured on.

use std::fs;

use serde::Serialize;

use super::units::human_bytes;

/// The machine, as Linux describes it. What cannot be read is `unknown` or 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many logical CPUs are online.
    pub cores: u64,
    /// Memory, bytes.
    pub memory_bytes: u64,
    /// The kernel's release.
    pub kernel: String,
    /// What the kernel reads the time from: `tsc`, `kvm-clock`.
    pub clock_source: String,
    /// Whether a hypervisor is below.
    pub virtualised: bool,
}

impl Machine {
    /// Reads `/proc` and `/sys`.
    pub fn read() -> Self {
        let cpu = read_text("/proc/cpuinfo");
        let memory = read_text("/proc/meminfo");
        let kernel = read_text("/proc/sys/kernel/osrelease");
        let clock = read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        Self::parse(&cpu, &memory, &kernel, &clock)
    }

    /// One line of text.
    pub fn text(&self) -> String {
        let virtualised = if self.virtualised { " (virtual machine)" } else { "" };
        format!(
            "{}, {} CPUs{virtualised}, {}, Linux {}, clock source {}",
            self.cpu,
            self.cores,
            human_bytes(self.memory_bytes),
            self.kernel,
            self.clock_source,
        )
    }

    fn parse(cpu: &str, memory: &str, kernel: &str, clock: &str) -> Self {
        let flags = field(cpu, "flags").or_else(|| field(cpu, "Features")).unwrap_or_default();
        let kilobytes = field(memory, "MemTotal").and_then(|text| text.split(' ').next());
        let kilobytes: u64 = kilobytes.and_then(|text| text.parse().ok()).unwrap_or(0);
        Self {
            cpu: known(field(cpu, "model name").unwrap_or_default()),
            cores: cpu.lines().filter(|line| key(line) == Some("processor")).count() as u64,
            memory_bytes: kilobytes * 1024,
            kernel: known(kernel.trim()),
            clock_source: known(clock.trim()),
            virtualised: flags.split(' ').any(|flag| flag == "hypervisor"),
        }
    }
}

fn read_text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| key(line) == Some(name))?;
    line.split_once(':').map(|(_, value)| value.trim())
}

fn key(line: &str) -> Option<&str> {
    line.split_once(':').map(|(key, _)| key.trim())
}

fn known(text: &str) -> String {
    if text.is_empty() { "unknown".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_linux_says() {
        let cpu = "processor\t: 0\nmodel name\t: AMD EPYC 7443P\nflags\t\t: fpu hypervisor tsc\n\n\
                   processor\t: 1\nmodel name\t: AMD EPYC 7443P\nflags\t\t: fpu hypervisor tsc\n";
        let memory = "MemTotal:        8148000 kB\nMemFree:   1 kB\n";
        let machine = Machine::parse(cpu, memory, "6.1.0-31-amd64\n", "tsc\n");
        assert_eq!(
            machine.text(),
            "AMD EPYC 7443P, 2 CPUs (virtual machine), 7.8 GiB, Linux 6.1.0-31-amd64, \
             clock source tsc"
        );
    }

    #[test]
    fn says_unknown_where_nothing_can_be_read() {
        let machine = Machine::parse("", "", "", "");
        assert_eq!((machine.cpu.as_str(), machine.cores), ("unknown", 0));
        assert!(!machine.virtualised);
    }
}
