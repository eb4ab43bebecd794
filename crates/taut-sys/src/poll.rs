//! Waiting for descriptors.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use taut_types::Nanos;

use crate::error::{SysError, SysResult};

/// The most descriptors that one wait takes: they live on the stack.
const FDS_MAX: usize = 16;

fn timespec(span: Nanos) -> Timespec {
    let ns = span.0.max(0);
    Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
}

/// Blocks until one of `fds` is readable (or closed, or failed), the span is over, or a signal
/// came. Returns whether a descriptor is ready. No span waits for ever; those beyond the
/// sixteenth are not looked at. Cost: one system call, no allocation.
///
/// # Errors
/// What `ppoll(2)` says; an interruption is not an error.
pub fn wait_readable(fds: &[BorrowedFd<'_>], span: Option<Nanos>) -> Result<bool, SysError> {
    let timeout = span.map(timespec);
    let mut wanted: [Option<PollFd<'_>>; FDS_MAX] = [const { None }; FDS_MAX];
    let count = fds.len().min(FDS_MAX);
    for (slot, fd) in wanted.iter_mut().zip(fds) {
        *slot = Some(PollFd::new(fd, PollFlags::IN));
    }
    // The array without its empty tail. `from_fn` needs a descriptor for each place, so a short
    // list is repeated by its first: a duplicate changes nothing but the count.
    let ready = match wanted.iter().flatten().next() {
        None => poll(&mut [], timeout.as_ref()),
        Some(first) => {
            let mut all: [PollFd<'_>; FDS_MAX] = std::array::from_fn(|at| {
                wanted.get(at).cloned().flatten().unwrap_or_else(|| first.clone())
            });
            poll(&mut all[..count], timeout.as_ref())
        }
    };
    Ok(ready.unless_blocked("poll")?.is_some_and(|count| count > 0))
}

/// Whether the other end of a pipe, a socket or a terminal is gone. Cost: one system call.
#[must_use]
pub fn peer_is_gone(fd: BorrowedFd<'_>) -> bool {
    // Errors and hang-ups are reported without being asked for.
    let mut fds = [PollFd::new(&fd, PollFlags::empty())];
    let looked = poll(&mut fds, Some(&timespec(Nanos::ZERO)));
    looked.is_ok() && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Sleeps for a span, or until a signal: for pacing, where nothing but time is waited for. Cost:
/// one system call.
pub fn sleep(span: Nanos) {
    let _ = poll(&mut [], Some(&timespec(span)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_pipe_whose_reader_is_gone_is_told_from_one_that_is_read_or_full() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        assert!(!peer_is_gone(writer.as_fd()) && !peer_is_gone(reader.as_fd()));
        std::io::Write::write_all(&mut writer, &[0; 65_536]).expect("room");
        assert!(!peer_is_gone(writer.as_fd()), "a full pipe has its reader");
        drop(reader);
        assert!(peer_is_gone(writer.as_fd()));
    }
}
