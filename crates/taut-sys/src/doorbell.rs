//! A doorbell: wakes a process that sleeps in the kernel.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};

use crate::error::{SysError, SysResult};

/// An event counter that can be waited for and passed to another process.
#[derive(Debug)]
pub struct Doorbell {
    fd: OwnedFd,
}

impl Doorbell {
    /// A silent doorbell.
    ///
    /// # Errors
    /// What `eventfd(2)` says.
    pub fn new() -> Result<Self, SysError> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Self { fd: eventfd(0, flags).during("doorbell")? })
    }

    /// Rings: whoever waits for it wakes up. Cost: one system call.
    pub fn ring(&self) {
        // The counter cannot overflow into a failure that matters: full is as loud as rung.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Silences it; call before looking for the work that it announced.
    pub fn silence(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.fd, &mut count);
    }

    /// A second handle to the same doorbell.
    ///
    /// # Errors
    /// What `dup(2)` says.
    pub fn try_clone(&self) -> Result<Self, SysError> {
        let fd = self.fd.try_clone().map_err(|_| SysError::last("duplicate doorbell"))?;
        Ok(Self { fd })
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<OwnedFd> for Doorbell {
    fn from(fd: OwnedFd) -> Self {
        Self { fd }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait_readable;
    use taut_types::Nanos;

    #[test]
    fn a_ring_wakes_and_silence_lets_sleep_again() {
        let bell = Doorbell::new().expect("doorbell");
        let other = bell.try_clone().expect("clone");
        let wait = |bell: &Doorbell| wait_readable(&[bell.as_fd()], Some(Nanos(1)));
        assert_eq!(wait(&bell), Ok(false));
        other.ring();
        assert_eq!(wait(&bell), Ok(true));
        bell.silence();
        assert_eq!(wait(&bell), Ok(false));
    }
}
