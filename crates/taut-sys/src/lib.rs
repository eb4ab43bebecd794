//! The Linux boundary: clocks, sockets, polling, memory, scheduling, processes.
