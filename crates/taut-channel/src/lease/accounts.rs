//! What was sent to each subscriber, and what it did not get.

use std::collections::VecDeque;
use std::net::SocketAddr;

use super::place;
use crate::counters::{DEPARTED_MAX, SubscriberCounters};

/// One account for each lease, in their order. What is sent goes to all of them: only what somebody
/// did not get needs a look.
#[derive(Debug)]
pub(super) struct Accounts {
    open: Vec<Account>,
    departed: VecDeque<SubscriberCounters>,
    /// Places that the message being sent did not go to.
    missed: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    address: SocketAddr,
    /// Messages before its lease.
    sent_before: u64,
    dropped: u64,
}

impl Account {
    fn counters(&self, sent: u64) -> SubscriberCounters {
        SubscriberCounters {
            session: place::session_of(self.address),
            peer: Some(self.address),
            is_connected: true,
            sent: sent.saturating_sub(self.sent_before).saturating_sub(self.dropped),
            dropped: self.dropped,
            ..SubscriberCounters::default()
        }
    }
}

impl Accounts {
    pub(super) fn new(subscribers_max: usize) -> Self {
        Self {
            open: Vec::with_capacity(subscribers_max),
            departed: VecDeque::with_capacity(DEPARTED_MAX),
            missed: Vec::with_capacity(subscribers_max),
        }
    }

    /// After leases were given or ended: `sent` messages were sent before.
    #[cold]
    pub(super) fn follow(&mut self, leases: impl Iterator<Item = SocketAddr>, sent: u64) {
        let mut count = 0;
        for address in leases {
            let known = self.open.iter().skip(count).position(|one| one.address == address);
            let at = known.map_or(self.open.len(), |behind| count + behind);
            if known.is_none() {
                self.open.push(Account { address, sent_before: sent, dropped: 0 });
            }
            self.open.swap(count, at);
            count += 1;
        }
        for account in self.open.drain(count..) {
            if self.departed.len() == DEPARTED_MAX {
                self.departed.pop_front();
            }
            let counters = account.counters(sent);
            self.departed.push_back(SubscriberCounters { is_connected: false, ..counters });
        }
    }

    /// The message being sent did not go to the lease at this place.
    #[cold]
    pub(super) fn miss(&mut self, at: usize) {
        self.missed.push(at);
    }

    /// The message is sent, or is none. Returns for how many it was dropped.
    #[inline]
    pub(super) fn settle(&mut self, is_message: bool) -> u64 {
        if self.missed.is_empty() { 0 } else { self.settle_missed(is_message) }
    }

    #[cold]
    fn settle_missed(&mut self, is_message: bool) -> u64 {
        let mut dropped = 0;
        for at in self.missed.drain(..) {
            if let Some(account) = self.open.get_mut(at).filter(|_| is_message) {
                account.dropped += 1;
                dropped += 1;
            }
        }
        dropped
    }

    pub(super) fn subscribers(&self, sent: u64) -> Vec<SubscriberCounters> {
        let open = self.open.iter().map(|account| account.counters(sent));
        self.departed.iter().copied().chain(open).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn counts(accounts: &Accounts, sent: u64) -> Vec<(u16, bool, u64, u64)> {
        let all = accounts.subscribers(sent).into_iter();
        all.map(|one| (one.peer.map_or(0, |at| at.port()), one.is_connected, one.sent, one.dropped))
            .collect()
    }

    #[test]
    fn each_lease_has_its_own_account_whatever_becomes_of_the_others() {
        let mut accounts = Accounts::new(4);
        accounts.follow([1, 2, 3].map(address).into_iter(), 0);
        accounts.miss(1);
        assert_eq!(accounts.settle(true), 1);
        accounts.miss(0);
        assert_eq!(accounts.settle(false), 0, "a heartbeat is no message");
        // The first one leaves, the last one takes its place, another one comes.
        accounts.follow([3, 2, 4].map(address).into_iter(), 10);
        accounts.miss(0);
        assert_eq!(accounts.settle(true), 1);
        let expected = [(1, false, 10, 0), (3, true, 14, 1), (2, true, 14, 1), (4, true, 5, 0)];
        assert_eq!(counts(&accounts, 15), expected);
        accounts.follow(std::iter::empty(), 15);
        assert!(counts(&accounts, 15).iter().all(|(_, is_connected, ..)| !is_connected));
    }
}
