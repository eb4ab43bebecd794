//! What the referee wants to hear of an engine's events, and in which bytes.
//!
//! A line a report, joined by newlines without one at the end: `0,seq,side,id,price,qty` accepted,
//! `1,seq,price,qty,maker,taker` trade, `2,seq,side,id,price` cancelled (also what is left of an
//! immediate-or-cancel order), `3,seq,side,id,price,qty` modified, `4,seq,id` cancel rejected,
//! `5,seq,id` modify rejected. A refused new order has no line.

use std::io::Write;

use taut_engine::Event;
use taut_ring::Payload;
use taut_types::{HalfTicks, Lots, OrderId, Side};

/// The kinds of report, by number.
pub const ACCEPTED: u64 = 0;
/// A trade.
pub const TRADE: u64 = 1;
/// A cancel, or a remainder's end.
pub const CANCELLED: u64 = 2;
/// A modification.
pub const MODIFIED: u64 = 3;
/// A refused cancel.
pub const CANCEL_REJECTED: u64 = 4;
/// A refused modification.
pub const MODIFY_REJECTED: u64 = 5;

/// A report as the words of a ring's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Which kind.
    pub kind: u64,
    side: u64,
    sequence: u64,
    /// The order; of a trade, the maker.
    pub order_id: u64,
    /// Of a trade.
    pub taker: u64,
    /// In ticks.
    pub price: i64,
    /// The quantity.
    pub lots: i64,
}

impl Report {
    /// The report of an event of the command with this number, if it is one.
    #[inline]
    pub const fn of(sequence: u64, event: &Event) -> Option<Self> {
        let blank = Self { kind: 0, side: 0, sequence, order_id: 0, taker: 0, price: 0, lots: 0 };
        Some(match *event {
            Event::Trade { maker, taker, price, lots, .. } => Self {
                kind: TRADE,
                order_id: maker.0,
                taker: taker.0,
                price: ticks(price),
                lots: lots.0,
                ..blank
            },
            Event::Accepted { order_id, side, price, lots, .. } => {
                order(ACCEPTED, sequence, order_id, side, price, lots)
            }
            Event::Cancelled { order_id, side, price, .. } => {
                order(CANCELLED, sequence, order_id, side, price, Lots(0))
            }
            Event::Replaced { order_id, side, price, lots, .. } => {
                order(MODIFIED, sequence, order_id, side, price, lots)
            }
            Event::CancelRejected { order_id, .. } => {
                Self { kind: CANCEL_REJECTED, order_id: order_id.0, ..blank }
            }
            Event::ReplaceRejected { order_id, .. } => {
                Self { kind: MODIFY_REJECTED, order_id: order_id.0, ..blank }
            }
            _ => return None,
        })
    }

    /// As a message of a ring.
    #[inline]
    pub const fn to_payload(self) -> Payload {
        let Self { kind, side, sequence, order_id, taker, price, lots } = self;
        let (price, lots) = (price.cast_unsigned(), lots.cast_unsigned());
        [kind, side, sequence, order_id, taker, price, lots]
    }

    /// Appends its line, without a newline.
    pub fn write(&self, text: &mut Vec<u8>) {
        let &Self { kind, side, sequence, order_id, taker, price, lots } = self;
        // Writing to memory cannot fail.
        let _ = match kind {
            TRADE => write!(text, "{kind},{sequence},{price},{lots},{order_id},{taker}"),
            CANCELLED => write!(text, "{kind},{sequence},{side},{order_id},{price}"),
            CANCEL_REJECTED | MODIFY_REJECTED => write!(text, "{kind},{sequence},{order_id}"),
            _ => write!(text, "{kind},{sequence},{side},{order_id},{price},{lots}"),
        };
    }
}

const fn order(
    kind: u64,
    sequence: u64,
    order_id: OrderId,
    side: Side,
    price: HalfTicks,
    lots: Lots,
) -> Report {
    let (side, price, lots) = (side.index() as u64, ticks(price), lots.0);
    Report { kind, side, sequence, order_id: order_id.0, taker: 0, price, lots }
}

/// Prices of orders and of their trades are whole ticks.
const fn ticks(price: HalfTicks) -> i64 {
    price.0 >> 1
}

/// A running sum over all words of all reports and over their order: cheap enough for a timed pass,
/// and as telling as a count for work that was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    /// Reports.
    pub count: u64,
    sum: u64,
}

impl Checksum {
    /// As words, to pass it to another thread.
    pub const fn to_words(self) -> [u64; 2] {
        [self.count, self.sum]
    }

    /// The checksum of [`Checksum::to_words`].
    pub const fn from_words([count, sum]: [u64; 2]) -> Self {
        Self { count, sum }
    }

    /// Adds a report. Cost: seven independent rotations, and two cycles that the next one waits
    /// for.
    #[inline]
    pub fn add(&mut self, payload: &Payload) {
        let [a, b, c, d, e, f, g] = *payload;
        let (a, b, c) = (a ^ b.rotate_left(9), c.rotate_left(18), d.rotate_left(27));
        let (d, e, f) = (e.rotate_left(36), f.rotate_left(45), g.rotate_left(54));
        self.count += 1;
        self.sum = self.sum.rotate_left(5).wrapping_add((a ^ b) ^ (c ^ d) ^ (e ^ f));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_line() {
        let report = |kind| Report {
            kind,
            side: 1,
            sequence: 7,
            order_id: u64::MAX,
            taker: 4,
            price: -3,
            lots: 9,
        };
        let lines: Vec<_> = (ACCEPTED..=MODIFY_REJECTED)
            .map(|kind| {
                let mut line = Vec::new();
                report(kind).write(&mut line);
                String::from_utf8(line).unwrap()
            })
            .collect();
        let id = "18446744073709551615";
        assert_eq!(lines[..2], [format!("0,7,1,{id},-3,9"), format!("1,7,-3,9,{id},4")]);
        assert_eq!(lines[2..4], [format!("2,7,1,{id},-3"), format!("3,7,1,{id},-3,9")]);
        assert_eq!(lines[4..], [format!("4,7,{id}"), format!("5,7,{id}")]);
    }

    #[test]
    fn the_checksum_sees_every_word_and_the_order() {
        let of = |payloads: &[Payload]| {
            let mut checksum = Checksum::default();
            payloads.iter().for_each(|payload| checksum.add(payload));
            checksum
        };
        let (a, b) = ([1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]);
        assert_ne!(of(&[a, b]), of(&[b, a]));
        assert_ne!(of(&[a]), of(&[b]));
    }
}
