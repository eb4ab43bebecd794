//! A place for a strategy.

use std::os::fd::AsFd;

use taut_gateway::{StrategyCounters, StrategyRegions};
use taut_ipc::Segment;
use taut_ring::spsc;
use taut_sys::Doorbell;

/// A place for a strategy, as the listening thread sees it.
#[derive(Debug)]
pub struct Place<'a> {
    pub segment: &'a Segment,
    pub bell: Doorbell,
    /// The name of who has it. Nobody's once the strategy was dropped, although the place is no
    /// other one's before the connection ends: until then a process may read and write its memory.
    pub strategy: Option<String>,
}

impl<'a> Place<'a> {
    pub const fn vacant(segment: &'a Segment, bell: Doorbell) -> Self {
        Self { segment, bell, strategy: None }
    }

    /// What the one before left unread and counted is not the next one's. Only while nobody has the
    /// place.
    pub fn clear(&self) {
        let Ok(regions) = StrategyRegions::of(self.segment) else { return };
        StrategyCounters::default().store(regions.counters);
        if let Ok(mut replies) = spsc::Consumer::resume(regions.replies) {
            while replies.pop().is_some() {}
            replies.report();
        }
    }

    /// What the strategy's process has counted.
    pub fn counters(&self) -> StrategyCounters {
        let regions = StrategyRegions::of(self.segment);
        regions.map_or_else(|_| <_>::default(), |it| StrategyCounters::load(it.counters))
    }

    /// Another handle of the doorbell.
    pub fn another_bell(&self) -> std::io::Result<Doorbell> {
        self.bell.as_fd().try_clone_to_owned().map(Doorbell::from)
    }
}
