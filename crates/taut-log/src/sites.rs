//! How often each message was said of late.

use alloc::boxed::Box;

use taut_types::Nanos;

use crate::messages::CODES;

/// Lines of one message in a second; what is more is counted.
pub const LINES_A_SECOND: u32 = 8;

const SECOND: Nanos = Nanos::from_secs(1);

/// What one message has left.
#[derive(Clone, Copy, Debug)]
struct Site {
    second_ends: Nanos,
    said: u32,
    held_back: u32,
}

/// A budget for every message of the table.
#[derive(Debug)]
pub(crate) struct Sites {
    sites: Box<[Site]>,
    /// Something is held back that no line has told yet.
    is_holding: bool,
}

impl Sites {
    pub fn new() -> Self {
        let fresh = Site { second_ends: Nanos(i64::MIN), said: 0, held_back: 0 };
        Self { sites: CODES.iter().map(|_| fresh).collect(), is_holding: false }
    }

    /// Whether the message may be said, and how often it was held back before.
    #[inline]
    pub fn may_say(&mut self, number: u16, now: Nanos) -> Option<u32> {
        let site = self.sites.get_mut(usize::from(number))?;
        if now >= site.second_ends {
            (site.second_ends, site.said) = (now + SECOND, 0);
        }
        if site.said < LINES_A_SECOND {
            return Some(site.held_back);
        }
        site.held_back = site.held_back.saturating_add(1);
        self.is_holding = true;
        None
    }

    /// It was said, and what was held back is told.
    #[inline]
    pub fn said(&mut self, number: u16) {
        if let Some(site) = self.sites.get_mut(usize::from(number)) {
            site.said += 1;
            site.held_back = 0;
        }
    }

    /// A message that was held back, whose second is over, and how often.
    pub fn poll_held_back(&mut self, now: Nanos) -> Option<(u16, u32)> {
        if !self.is_holding {
            return None;
        }
        let mut holding = (0..).zip(&self.sites).filter(|(_, site)| site.held_back > 0).peekable();
        if holding.peek().is_none() {
            self.is_holding = false;
            return None;
        }
        let due = holding.find(|(_, site)| now >= site.second_ends);
        due.map(|(number, site)| (number, site.held_back))
    }
}
