//! The Linux boundary: clocks, sockets, polling, memory, scheduling, processes.
//!
//! Nobody else names libc or rustix, or reads a clock. A failed system call is a [`SysError`]: a
//! `Copy` value of the operation's name and the error number, made without allocation.

mod clock;
mod control;
mod doorbell;
mod error;
mod file;
mod fork;
mod futex;
mod machine;
mod memory;
mod poll;
mod process;
mod sched;
mod signal;
mod tcp;
mod udp;
mod wait;

pub use clock::{Anchoring, Clock, MAPPING_WORDS, TickMapping, monotonic, utc};
pub use control::{CONTROL_BYTES_MAX, ControlSocket, Received};
pub use doorbell::Doorbell;
pub use error::SysError;
pub use file::{Access, FileStatus, MemoryFile, effective_user, free_bytes, names_in, unlink};
pub use fork::{fork, wait_for_child};
pub use futex::{accept_remote_barriers, futex_wait, futex_wake_all, remote_barrier};
pub use machine::Machine;
pub use memory::{Mapping, MemoryOptions, SharedMemory};
pub use poll::{POLL_FDS_MAX, wait_readable};
pub use process::{
    ProcessSignal, ProcessState, die_with_parent, parent_process_id, process_id, process_started,
    process_state, signal_process, started_by,
};
pub use sched::{available_cpus, pin_to_cpu, set_batch_scheduling, set_timer_slack, yield_cpu};
pub use signal::{StopSignal, catch_stop_signals, stop_requests, stop_signal};
pub use tcp::{TcpListener, TcpStream};
pub use udp::UdpSocket;
pub use wait::{Wait, Waiter};
