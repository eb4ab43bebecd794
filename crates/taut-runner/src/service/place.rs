//! A place for a strategy.

use std::os::fd::AsFd;

use taut_ipc::Segment;
use taut_sys::Doorbell;

/// A place for a strategy, as the listening thread sees it.
#[derive(Debug)]
pub struct Place<'a> {
    pub segment: &'a Segment,
    pub bell: Doorbell,
    /// The name of who has it.
    pub strategy: Option<String>,
}

impl<'a> Place<'a> {
    pub const fn vacant(segment: &'a Segment, bell: Doorbell) -> Self {
        Self { segment, bell, strategy: None }
    }

    /// Another handle of the doorbell.
    pub fn another_bell(&self) -> std::io::Result<Doorbell> {
        self.bell.as_fd().try_clone_to_owned().map(Doorbell::from)
    }
}
