//! What a process costs: CPU time and memory, as the kernel counts them.

use std::fs;

/// CPU time of this process and the children it waited for, in clock ticks of 10 ms.
pub fn cpu_ticks() -> u64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rfind(')').and_then(|at| text.get(at + 1..)).unwrap_or_default();
    fields.split_ascii_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum()
}

/// Resident memory of this process in bytes, shared pages included.
pub fn rss_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_ascii_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
