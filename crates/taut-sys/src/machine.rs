//! The machine that a number was measured on.

use std::fs;

/// What a reader of a latency figure must know about the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The processor's model name.
    pub cpu_model: String,
    /// CPUs that this process may use.
    pub cpu_count: usize,
    /// Kernel release.
    pub kernel: String,
    /// The kernel's clock source.
    pub clocksource: String,
    /// Whether a hypervisor runs it: other guests take time that no tuning gives back.
    pub virtual_machine: bool,
    /// Memory, in bytes.
    pub memory_bytes: u64,
}

impl Machine {
    /// Reads what the kernel says; what it does not say is empty or 0.
    #[must_use]
    pub fn describe() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = value_after(&meminfo, "MemTotal")
            .and_then(|v| v.split(' ').next().and_then(|n| n.parse::<u64>().ok()));
        let flags = value_after(&cpuinfo, "flags").unwrap_or_default();
        Self {
            cpu_model: value_after(&cpuinfo, "model name").unwrap_or_default(),
            cpu_count: crate::sched::available_cpus().map_or(0, |cpus| cpus.len()),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            clocksource: fs::read_to_string(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            )
            .map(|name| name.trim().to_owned())
            .unwrap_or_default(),
            virtual_machine: flags.split(' ').any(|flag| flag == "hypervisor"),
            memory_bytes: kib.unwrap_or(0).saturating_mul(1024),
        }
    }
}

/// The value of the first `key : value` line.
fn value_after(text: &str, key: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_this_machine() {
        let machine = Machine::describe();
        assert!(machine.cpu_count > 0 && !machine.kernel.is_empty() && machine.memory_bytes > 0);
        assert_eq!(value_after("a : 1\nab : 2\n", "ab"), Some("2".to_owned()));
    }
}
