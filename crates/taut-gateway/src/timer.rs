//! The gateway's timer in the market ring: strategies elsewhere hear it where it came, between the
//! same events as one in the gateway's thread.
//!
//! | word | |
//! |---|---|
//! | 0 | 255, which is no kind of an event |
//! | 2 | when the timer fired |
//! | 3 | 1: strategies are to come to rest |

use taut_ring::Payload;
use taut_types::Nanos;

const KIND: u64 = 0xff;

/// The timer fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timer {
    pub(crate) at: Nanos,
    /// Strategies are to come to rest: no new orders, what is open is cancelled.
    pub(crate) rests: bool,
}

impl Timer {
    /// As a slot of the ring.
    pub(crate) const fn to_slot(self) -> Payload {
        [KIND, 0, self.at.0.cast_unsigned(), self.rests as u64, 0, 0, 0]
    }

    /// The timer of a slot, if there is one in it.
    pub(crate) const fn of_slot(slot: &Payload) -> Option<Self> {
        match *slot {
            [KIND, 0, at, rests @ (0 | 1), 0, 0, 0] => {
                Some(Self { at: Nanos(at.cast_signed()), rests: rests == 1 })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_market_data::Event;
    use taut_types::Nanos;

    use super::Timer;

    #[test]
    fn a_timer_is_no_event_and_comes_back() {
        for rests in [false, true] {
            let timer = Timer { at: Nanos(-7), rests };
            assert_eq!(Timer::of_slot(&timer.to_slot()), Some(timer));
            assert_eq!(Event::from_words(&timer.to_slot()), None);
        }
        assert_eq!(Timer::of_slot(&[0xff, 0, 1, 0, 0, 0, 1]), None);
    }
}
