//! The machine that a run was measured on, as the report tells it.

use serde::Serialize;

use crate::units::human_bytes;

/// The machine, as Linux describes it. What cannot be read is `unknown` or 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many CPUs this process may use.
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
    /// This machine.
    #[must_use]
    pub fn read() -> Self {
        taut_sys::Machine::describe().into()
    }

    /// One line of text.
    #[must_use]
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
}

impl From<taut_sys::Machine> for Machine {
    fn from(machine: taut_sys::Machine) -> Self {
        Self {
            cpu: known(machine.cpu_model),
            cores: machine.cpu_count as u64,
            memory_bytes: machine.memory_bytes,
            kernel: known(machine.kernel),
            clock_source: known(machine.clocksource),
            virtualised: machine.virtual_machine,
        }
    }
}

fn known(text: String) -> String {
    if text.is_empty() { "unknown".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_unknown_where_nothing_could_be_read() {
        let machine = Machine::from(taut_sys::Machine {
            cpu_model: String::new(),
            cpu_count: 2,
            kernel: "6.1.0-31-amd64".to_owned(),
            clocksource: "tsc".to_owned(),
            virtual_machine: true,
            memory_bytes: 8_148_000 * 1024,
        });
        assert_eq!(
            machine.text(),
            "unknown, 2 CPUs (virtual machine), 7.8 GiB, Linux 6.1.0-31-amd64, clock source tsc"
        );
    }
}
