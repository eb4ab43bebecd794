//! Statistics: of the session, of the day before, and what has traded.

use taut_types::{Lots, Nanos, Price};

use super::codec::{DailyStatisticsDecoder, SessionStatisticsDecoder, VolumeDecoder};
use super::origin::{end, entry_origin};
use crate::event::{Batch, EventKind, MarketSink, Statistic};

/// MDUpdateAction (279): the figure is gone.
const DELETE: u8 = 2;
/// OpenCloseSettlFlag (286): a price that the opening may have, and not that of the opening.
const INDICATIVE: u8 = 5;

/// An entry: instrument, RptSeq (83), and its figure where it is one that is told.
type Entry = (i32, u32, Option<Statistic>);

/// What has traded in the session (37).
pub fn tell_volume(message: &VolumeDecoder<'_>, received: Nanos, sink: &mut impl MarketSink) {
    let entries = message.figures().into_iter().map(|entry| {
        let volume = Statistic::Volume(Lots(entry.size().max(0).into()));
        let figure = (entry.action() != DELETE).then_some(volume);
        (entry.security_id(), entry.rpt_seq(), figure)
    });
    tell((message.transact_time(), message.event_flags()), entries, received, sink);
}

/// Settlement and open interest (49).
pub fn tell_day(message: &DailyStatisticsDecoder<'_>, received: Nanos, sink: &mut impl MarketSink) {
    let entries = message.figures().into_iter().map(|entry| {
        let figure = match entry.entry_type() {
            _ if entry.action() == DELETE => None,
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
        let figure = match entry.entry_type() {
            _ if entry.action() == DELETE => None,
            b'4' if entry.open_flag() != Some(INDICATIVE) => Some(Statistic::Open(price)),
            b'7' => Some(Statistic::High(price)),
            b'8' => Some(Statistic::Low(price)),
            _ => None,
        };
        (entry.security_id(), entry.rpt_seq(), figure)
    });
    tell((message.transact_time(), message.event_flags()), entries, received, sink);
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
