//! What is run: a gateway of any venue, and a client that can be brought to rest.

use taut_gateway::{Client, FusedClient, Gateway, Hub, RequestDifference, Strategy};
use taut_io::{EpollKernel, TapedKernel};

use crate::looker::Looker;

/// A gateway whose bare send may be measured.
pub type RunningGateway<'m, C, F, H> = Gateway<'m, C, F, TapedKernel<EpollKernel>, Looker<'m>, H>;

/// A client that can be brought to rest.
pub trait RestingClient: Client {
    /// No new orders from now on.
    fn stop(&mut self);
    /// Whether its strategy lives here and has no open order.
    fn is_idle(&self) -> bool;
    /// How many requests of a replay were held against those that a strategy makes now.
    fn requests_compared(&self) -> Option<u64>;
    /// Holds those against each other that were given since the last time.
    fn compare_requests(&mut self) -> Option<RequestDifference>;
}

impl<S: Strategy> RestingClient for FusedClient<S> {
    fn stop(&mut self) {
        Self::stop(self);
    }
    fn is_idle(&self) -> bool {
        self.is_at_rest()
    }
    fn requests_compared(&self) -> Option<u64> {
        None
    }
    fn compare_requests(&mut self) -> Option<RequestDifference> {
        None
    }
}

impl RestingClient for Hub<'_> {
    fn stop(&mut self) {
        self.rest();
    }
    fn is_idle(&self) -> bool {
        false
    }
    fn requests_compared(&self) -> Option<u64> {
        self.requests_compared()
    }
    fn compare_requests(&mut self) -> Option<RequestDifference> {
        self.compare_requests()
    }
}
