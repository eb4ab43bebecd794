//! Statistics: of the session, of the day before, and what has traded.

use taut_types::{Lots, Nanos, Price};

use super::codec::{DailyStatisticsDecoder, SessionStatisticsDecoder, VolumeDecoder};
use super::origin::{end, entry_origin};
use crate::event::{Batch, EventKind, Figure, MarketSink, Statistic};

/// MDUpdateAction (279): the figure is taken back, and nothing is known in its place.
const DELETE: u8 = 2;
/// OpenCloseSettlFlag (286): a price that the opening may have, and not that of the opening.
const INDICATIVE: u8 = 5;

/// An entry: instrument, RptSeq (83), and its figure where it is one that is told.
type Entry = (i32, u32, Option<Statistic>);

/// What has traded in the session (37).
pub fn tell_volume(message: &VolumeDecoder<'_>, received: Nanos, sink: &mut impl MarketSink) {
    let entries = message.figures().into_iter().map(|entry| {
        let volume = Statistic::Volume(Lots(entry.size().max(0).into()));
        let told = if entry.action() == DELETE { gone(Figure::Volume) } else { Some(volume) };
        (entry.security_id(), entry.rpt_seq(), told)
    });
    tell((message.transact_time(), message.event_flags()), entries, received, sink);
}

/// Settlement and open interest (49).
pub fn tell_day(message: &DailyStatisticsDecoder<'_>, received: Nanos, sink: &mut impl MarketSink) {
    let entries = message.figures().into_iter().map(|entry| {
        let is_gone = entry.action() == DELETE;
        let figure = match entry.entry_type() {
            b'6' if is_gone => gone(Figure::Settlement),
            b'C' if is_gone => gone(Figure::OpenInterest),
            b'6' => entry.price().map(|price| Statistic::Settlement(Price(price))),
            b'C' => entry.size().map(|size| Statistic::OpenInterest(Lots(size.into()))),
            _ => None,
        };
        (entry.security_id(), entry.rpt_seq(), figure)
    });
    tell((message.transact_time(), message.event_flags()), entries, received, sink);
}

/// Open, high and low (51).
pub fn tell_session(
    message: &SessionStatisticsDecoder<'_>,
    received: Nanos,
    sink: &mut impl MarketSink,
) {
    let entries = message.figures().into_iter().map(|entry| {
        let price = Price(entry.price());
        let is_gone = entry.action() == DELETE;
        let figure = match entry.entry_type() {
            b'4' if is_gone && entry.open_flag() != Some(INDICATIVE) => gone(Figure::Open),
            b'7' if is_gone => gone(Figure::High),
            b'8' if is_gone => gone(Figure::Low),
            b'4' if entry.open_flag() != Some(INDICATIVE) => Some(Statistic::Open(price)),
            b'7' => Some(Statistic::High(price)),
            b'8' => Some(Statistic::Low(price)),
            _ => None,
        };
        (entry.security_id(), entry.rpt_seq(), figure)
    });
    tell((message.transact_time(), message.event_flags()), entries, received, sink);
}

/// The venue has taken a figure back.
const fn gone(figure: Figure) -> Option<Statistic> {
    Some(Statistic::Withdrawn(figure))
}

fn tell(
    (time, flags): (u64, u8),
    entries: impl Iterator<Item = Entry>,
    received: Nanos,
    sink: &mut impl MarketSink,
) {
    entry_origin(time, received, None).hand(EventKind::Begin(Batch::Update), sink);
    for (security_id, number, figure) in entries {
        if let Some(figure) = figure {
            let of = entry_origin(time, received, Some((security_id, number)));
            of.hand(EventKind::Statistic(figure), sink);
        }
    }
    entry_origin(time, received, None).hand(end(flags), sink);
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::super::packet::decode_packet;
    use super::*;
    use crate::event::{Context, Event};

    /// A packet with one message, byte by byte as CME's schema has it; the statistics that it
    /// tells.
    fn told<const N: usize>(template: u16, entry: [u8; N], count: u8) -> Vec<Statistic> {
        let mut message = Vec::new();
        for word in [11, template, 1, 9] {
            message.extend_from_slice(&word.to_le_bytes());
        }
        message.extend_from_slice(&[0; 11]);
        message.extend_from_slice(&(N as u16).to_le_bytes());
        message.push(count);
        (0..count).for_each(|_| message.extend_from_slice(&entry));
        let mut packet = std::vec![0; 12];
        packet.extend_from_slice(&(message.len() as u16 + 2).to_le_bytes());
        packet.extend_from_slice(&message);
        let mut told = Vec::new();
        let mut sink = |_: &Context<'_>, event: &Event| {
            if let EventKind::Statistic(statistic) = event.kind {
                told.push(statistic);
            }
        };
        decode_packet(Nanos(1), &packet, &mut sink).unwrap();
        told
    }

    fn volume(action: u8) -> Vec<Statistic> {
        let mut entry = [0; 16];
        (entry[0], entry[12]) = (7, action);
        told(37, entry, 1)
    }

    fn day(entry_type: u8, action: u8) -> Vec<Statistic> {
        let mut entry = [0; 32];
        (entry[0], entry[8], entry[23], entry[24]) = (5, 6, action, entry_type);
        told(49, entry, 1)
    }

    fn session(entry_type: u8, action: u8, open_flag: u8) -> Vec<Statistic> {
        let mut entry = [0; 24];
        (entry[0], entry[16], entry[17], entry[18]) = (5, open_flag, action, entry_type);
        told(51, entry, 2)
    }

    #[test]
    fn a_figure_that_is_deleted_is_withdrawn_and_not_left_as_it_was() {
        let gone = |figure| [Statistic::Withdrawn(figure)];
        assert_eq!(volume(0), [Statistic::Volume(Lots(7))]);
        assert_eq!(volume(DELETE), gone(Figure::Volume));
        assert_eq!(day(b'6', 0), [Statistic::Settlement(Price(5))]);
        assert_eq!(day(b'6', DELETE), gone(Figure::Settlement));
        assert_eq!(day(b'C', 1), [Statistic::OpenInterest(Lots(6))]);
        assert_eq!(day(b'C', DELETE), gone(Figure::OpenInterest));
        assert_eq!(day(b'B', DELETE), []);
        let both = |figure| [Statistic::Withdrawn(figure); 2];
        assert_eq!(session(b'7', DELETE, 0), both(Figure::High));
        assert_eq!(session(b'8', DELETE, 0), both(Figure::Low));
        assert_eq!(session(b'4', DELETE, 0), both(Figure::Open));
        // One that the opening may have was never told.
        assert_eq!(session(b'4', DELETE, INDICATIVE), []);
        assert_eq!(session(b'4', 0, 0), [Statistic::Open(Price(5)); 2]);
    }
}
