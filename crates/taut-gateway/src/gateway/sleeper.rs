//! What a gateway that has nothing to do waits for.

use std::os::fd::{AsFd, BorrowedFd};

use taut_io::{EpollKernel, TapedKernel};

use super::Gateway;

impl<C, F, O, H> Gateway<'_, C, F, EpollKernel, O, H> {
    /// What to wait for when there is nothing to do: readable when the loop has something. Only
    /// for a gateway whose sockets are not hot.
    #[must_use]
    pub fn fd(&mut self) -> BorrowedFd<'_> {
        self.events.io().kernel().set().as_fd()
    }
}

impl<C, F, O, H> Gateway<'_, C, F, TapedKernel<EpollKernel>, O, H> {
    /// As that of a gateway on the kernel itself; nothing where the kernel is none.
    #[must_use]
    pub fn fd(&mut self) -> Option<BorrowedFd<'_>> {
        self.events.io().kernel().below().map(|kernel| kernel.set().as_fd())
    }
}
