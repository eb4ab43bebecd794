//! What only system calls tell.

use std::collections::BTreeMap;
use std::path::PathBuf;

use taut_sys::{
    ClockDiscipline, NicSettings, SysError, Uring, UringConfig, clock_discipline, nic_settings,
    pinnable_cpus, process_id,
};

use crate::cpu_list::CpuList;

/// What only a system call tells.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// How the hardware of each interface is set.
    pub nics: BTreeMap<String, NicSettings>,
    /// The CPUs that a thread of this process can be pinned to; `None` where nobody asked.
    pub pinnable: Option<Result<CpuList, SysError>>,
    /// How the clock is kept; `None` where nobody asked.
    pub clock: Option<Result<ClockDiscipline, SysError>>,
    /// Whether io_uring can be used; `None` where nobody asked.
    pub io_uring: Option<Result<(), SysError>>,
    /// The file of the program that asks, where the kernel tells.
    pub program: Option<PathBuf>,
    /// The process that asks: it is not in its own way.
    pub process: u32,
}

impl Answers {
    /// Asks the kernel that this process runs on, about these interfaces.
    #[must_use]
    pub fn ask(interfaces: &[String]) -> Self {
        let ring =
            UringConfig { submissions: 8, completions: 16, buffers: 8, buffer_bytes: 64, files: 8 };
        Self {
            nics: interfaces.iter().map(|name| (name.clone(), nic_settings(name))).collect(),
            pinnable: Some(pinnable_cpus().map(CpuList::from_iter)),
            clock: Some(clock_discipline()),
            io_uring: Some(Uring::new(ring).map(|_| ())),
            program: std::env::current_exe().ok(),
            process: process_id(),
        }
    }
}
