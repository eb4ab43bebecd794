//! The Linux boundary: clocks, sockets, polling, memory, scheduling, processes.
//!
//! Nobody else names libc or rustix, or reads a clock. A failed system call is a [`SysError`]: a
//! `Copy` value of the operation's name and the error number, made without allocation.

mod address;
mod beside;
mod clock;
mod control;
mod datagram;
mod directory;
mod discipline;
mod doorbell;
mod epoll;
mod error;
mod file;
mod fork;
mod futex;
mod interface;
mod local_datagram;
mod machine;
mod memory;
mod mirror;
mod multicast;
mod namespace;
mod nic;
mod option;
mod options;
mod poll;
mod process;
mod random;
mod raw_address;
mod sched;
mod send_stamp;
mod signal;
mod socket;
pub mod tape;
mod tuning;
mod uring;
mod usage;
mod visible;
mod wait;

pub use address::{Address, UNIX_NAME_BYTES_MAX, UnixName};
pub use clock::{Anchoring, Clock, MAPPING_WORDS, TickMapping, monotonic, utc};
pub use control::{CONTROL_BYTES_MAX, ControlListener, ControlSocket, Received};
pub use datagram::{DatagramBatch, DatagramInfo, SEND_BATCH_MAX};
pub use directory::check_writable_directory;
pub use discipline::{ClockDiscipline, clock_discipline};
pub use doorbell::Doorbell;
pub use epoll::{Epoll, Interest, Readiness};
pub use error::SysError;
pub use file::{Access, FileStatus, MemoryFile, effective_user, free_bytes, names_in, unlink};
pub use fork::{fork, wait_for_child};
pub use futex::{accept_remote_barriers, futex_wait, futex_wake_all, remote_barrier};
pub use interface::{Interface, interfaces};
pub use local_datagram::LocalDatagram;
pub use machine::Machine;
pub use memory::{Mapping, MemoryOptions, SharedMemory, return_freed_memory};
pub use mirror::MirroredBuffer;
pub use multicast::interface_index;
pub use namespace::{enter_own_namespaces, kill_with_parent, mount_over, processes_of_own_network};
pub use nic::{Coalescing, NicSettings, nic_settings};
pub use options::{DatagramOptions, Granted, StreamOptions};
pub use poll::{peer_is_gone, sleep, wait_readable};
pub use process::{
    CpuTimes, ProcessSignal, ProcessState, cpu_times, parent_process_id, process_id, process_nice,
    process_started, process_state, signal_process, started_by, thread_id, wake_when_parent_dies,
};
pub use random::random_bytes;
pub use sched::{
    available_cpus, nice, pin_to_cpu, pinnable_cpus, set_nice, set_timer_slack, yield_cpu,
};
pub use send_stamp::SendStamp;
pub use signal::{
    StopSignal, catch_kill_signals, catch_reload_signals, catch_stop_signals, forget_stop_requests,
    kill_requests, reload_requests, stop_request, stop_requests, stop_signal,
};
pub use socket::{ConnectProgress, PARTS_MAX, Socket};
pub use tuning::{Tuned, Tuning, set_fifo_scheduling, set_idle_scheduling};
pub use uring::{BufferLease, Uring, UringBuffers, UringCompletion, UringConfig};
pub use usage::{CpuTotals, Usage, cpu_totals, family_cpu, machine_times, thread_usage};
pub use visible::visible;
pub use wait::{Wait, Waiter};
