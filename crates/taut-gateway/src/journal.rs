//! The order journal: a request is written down before it leaves, a report when it is heard.

use taut_journal::{Asked, Entry, Fill, JournalError, OrderRecord, VenueId, Writer};
use taut_oms::{
    Change, ExecId, Latched, Order, OrderEvent, OrderState, OrderTable, Owner, Position,
    PositionKey, Report, RequestKind, Traded, Trouble,
};
use taut_sys::tape::{self, Heard};
use taut_types::{ClientOrderId, ContractKind, Instrument, Lots, Nanos, RequestId};

use crate::message::Refusal;

/// Where a gateway's order journal is written.
#[derive(Debug)]
#[non_exhaustive]
pub enum OrderWriter {
    /// To its folder.
    Journal(Writer),
    /// Nowhere: what became of each entry is on the thread's [tape](taut_sys::tape).
    Replayed,
}

impl From<Writer> for OrderWriter {
    fn from(writer: Writer) -> Self {
        Self::Journal(writer)
    }
}

/// What became of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kept {
    #[default]
    Written,
    /// The request may leave all the same.
    Unwritten,
    /// It must not.
    Refused,
}

impl OrderWriter {
    /// Has something written; what became of it.
    #[inline]
    fn keep(&mut self, write: impl FnOnce(&mut Writer) -> Kept) -> Kept {
        let ask = || match self {
            Self::Journal(writer) => write(writer),
            Self::Replayed => Kept::Written,
        };
        let known = [Kept::Written, Kept::Unwritten, Kept::Refused];
        tape::hear(
            Heard::Kept,
            ask,
            |kept, on| on.number(*kept as u64),
            |from| known.get(usize::try_from(from.number()?).ok()?).copied(),
        )
    }
}

/// The journal of a gateway, or none: then nothing is written down, and everything may leave.
#[derive(Debug, Default)]
pub(crate) struct OrderJournal {
    writer: Option<OrderWriter>,
    missed: u64,
    /// Requests that left without being written down, as the settings let them.
    unjournalled: u64,
    /// Orders of which something is missed: they are written down anew when there is room again.
    behind: Vec<ClientOrderId>,
    /// What is stopped is missed, and written down anew as well.
    misses_kills: bool,
    /// The beginning of a day, too.
    misses_day: bool,
    /// By instrument: whether it is an inverse contract.
    inverse: Vec<bool>,
}

const fn written(is_written: bool) -> Kept {
    if is_written { Kept::Written } else { Kept::Unwritten }
}

/// Something of so many orders may be missed without the journal going wrong.
const BEHIND_MAX: usize = 4_096;

impl OrderJournal {
    /// Of these instruments, with room for so many.
    pub(crate) fn new(writer: OrderWriter, instruments: &[Instrument], capacity: usize) -> Self {
        let behind = Vec::with_capacity(BEHIND_MAX);
        let mut inverse = Vec::with_capacity(capacity);
        inverse.extend(instruments.iter().map(|it| it.kind() == ContractKind::Inverse));
        Self {
            writer: Some(writer),
            missed: 0,
            unjournalled: 0,
            behind,
            misses_kills: false,
            misses_day: false,
            inverse,
        }
    }

    /// What writes it, where something does.
    pub(crate) const fn writer(&mut self) -> Option<&mut Writer> {
        match &mut self.writer {
            Some(OrderWriter::Journal(writer)) => Some(writer),
            _ => None,
        }
    }

    /// What wrote it, where something did: nothing more is written down.
    pub(crate) fn close(&mut self) -> Option<Writer> {
        match self.writer.take() {
            Some(OrderWriter::Journal(writer)) => Some(writer),
            _ => None,
        }
    }

    /// Takes an instrument that is added behind all others.
    pub(crate) fn add_instrument(&mut self, instrument: &Instrument) {
        if self.writer.is_some() {
            self.inverse.push(instrument.kind() == ContractKind::Inverse);
        }
    }

    /// A trade of this owner's under this name.
    fn journalled(&self, owner: Owner, fill: &taut_oms::Fill, name: &ExecId) -> Fill {
        let taut_oms::Fill { order, instrument, account, side, price, lots, fee, .. } = *fill;
        let exec_id = if name.is_none() { VenueId::NONE } else { VenueId::new(name.as_bytes()) };
        let is_inverse = self.inverse.get(instrument.0 as usize).copied().unwrap_or_default();
        Fill { order, owner, instrument, account, side, price, lots, exec_id, fee, is_inverse }
    }

    /// What is not in the journal and should be: reports, and requests that left all the same.
    pub(crate) fn missed(&self) -> u64 {
        self.missed + self.unjournalled
    }

    /// Whether all of it is safe from a power cut, where it is to be before a request leaves.
    #[cfg(test)]
    pub(crate) fn is_committed(&self) -> bool {
        match &self.writer {
            Some(OrderWriter::Journal(writer)) => writer.is_committed(),
            _ => true,
        }
    }

    /// A request is about to leave; it must not when it is refused.
    #[inline]
    pub(crate) fn admit(
        &mut self,
        utc: Nanos,
        order: ClientOrderId,
        request: impl FnOnce() -> Entry,
    ) -> Result<(), Refusal> {
        self.admit_with(order, |writer| writer.admit(utc, &request()))
    }

    /// As [`OrderJournal::admit`], of a request that leaves with others:
    /// [`OrderJournal::commit`] comes before they do.
    pub(crate) fn admit_uncommitted(
        &mut self,
        utc: Nanos,
        order: ClientOrderId,
        request: impl FnOnce() -> Entry,
    ) -> Result<(), Refusal> {
        self.admit_with(order, |writer| writer.admit_uncommitted(utc, &request()))
    }

    /// Makes requests that are about to leave safe, where they are to be. They leave in any case.
    pub(crate) fn commit(&mut self) {
        if let Some(writer) = &mut self.writer {
            let kept = writer.keep(|writer| written(writer.commit().is_ok()));
            self.missed += u64::from(kept != Kept::Written);
        }
    }

    #[inline]
    fn admit_with(
        &mut self,
        order: ClientOrderId,
        admit: impl FnOnce(&mut Writer) -> Result<(), JournalError>,
    ) -> Result<(), Refusal> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let kept = writer.keep(|writer| {
            let unjournalled = writer.unjournalled();
            match admit(writer) {
                Ok(()) => written(writer.unjournalled() == unjournalled),
                Err(_) => Kept::Refused,
            }
        });
        match kept {
            Kept::Written => return Ok(()),
            Kept::Unwritten => {}
            Kept::Refused => return Err(Refusal::Journal),
        }
        self.unjournalled += 1;
        self.is_behind_with(order);
        Ok(())
    }

    #[cold]
    fn is_behind_with(&mut self, order: ClientOrderId) {
        if self.behind.len() < BEHIND_MAX {
            self.behind.push(order);
        }
    }

    /// Something happened.
    #[inline]
    pub(crate) fn note(&mut self, utc: Nanos, entry: impl FnOnce() -> Entry) {
        if let Some(writer) = &mut self.writer {
            let kept = writer.keep(|writer| written(writer.append(utc, &entry()).is_ok()));
            self.missed += u64::from(kept != Kept::Written);
        }
    }

    /// A scope is stopped, or trades again: safe at once, where a request would be. No request may
    /// follow that would make it so.
    pub(crate) fn note_kill(&mut self, utc: Nanos, latched: Latched, is_latched: bool) {
        let missed = self.missed;
        self.note(utc, || Entry::KillSwitch { word: latched.to_word(), is_latched });
        self.commit();
        // A release that is missed leaves the next gateway stopped: that is told, and harmless.
        self.misses_kills |= self.missed != missed && is_latched;
    }

    /// Open orders are another owner's: safe at once, where a request would be.
    pub(crate) fn note_handed_over(&mut self, utc: Nanos, orders: &[ClientOrderId], to: Owner) {
        for &order in orders {
            let missed = self.missed;
            self.note(utc, || Entry::HandedOver { order, to });
            if self.missed != missed {
                self.is_behind_with(order);
            }
        }
        self.commit();
    }

    /// A day begins with these positions: safe at once, where a request would be. What there is no
    /// room for is to be written down once more, all of it.
    pub(crate) fn note_day(
        &mut self,
        utc: Nanos,
        rolled: impl Iterator<Item = Entry>,
        begun: Entry,
    ) {
        let (missed, is_again) = (self.missed, self.misses_day);
        for entry in rolled.chain(std::iter::once(begun)) {
            self.note(utc, || entry);
            if self.missed != missed {
                break;
            }
        }
        self.commit();
        self.misses_day = self.missed != missed;
        if is_again {
            // There is no room yet: that was no miss of something new.
            self.missed = missed;
        }
    }

    /// Whether the beginning of a day is to be written down anew.
    pub(crate) const fn misses_day(&self) -> bool {
        self.misses_day
    }

    /// Writes down anew what is stopped, when that could not be written when it was.
    pub(crate) fn catch_up_with_kills(
        &mut self,
        utc: Nanos,
        latched: impl Iterator<Item = Latched>,
    ) {
        if std::mem::take(&mut self.misses_kills) {
            let missed = self.missed;
            latched.for_each(|latched| self.note_kill(utc, latched, true));
            // There is no room yet: that was no miss of something new.
            self.missed = missed;
        }
    }

    /// An order is as `change` has made it, by the venue's word or for want of it.
    #[inline]
    pub(crate) fn heard(
        &mut self,
        utc: Nanos,
        order: &Order,
        (report, venue_id): (&Report, &[u8]),
        change: &Change,
    ) {
        if self.writer.is_none() {
            return;
        }
        let missed = self.missed;
        self.note_change(utc, order, (report, venue_id), change);
        if self.missed != missed {
            self.is_behind_with(order.id);
        }
    }

    #[inline]
    fn note_change(
        &mut self,
        utc: Nanos,
        order: &Order,
        (report, venue_id): (&Report, &[u8]),
        change: &Change,
    ) {
        let request = |version| RequestId { order: order.id, version };
        let answered = change.answered;
        if answered.is_some_and(|it| it.kind == RequestKind::Create) && order.version_accepted > 0 {
            let venue_id = VenueId::new(venue_id);
            self.note(utc, || Entry::Acknowledged { request: request(1), venue_id });
        }
        self.note_trades(utc, order.owner, report, change);
        let price_and_lots = (order.terms.price, order.terms.lots);
        match (change.was.is_done(), change.state.is_done()) {
            (true, true) => {}
            (false, true) => self.note_end(utc, order, (report.event, change)),
            (true, false) => self.note_order(utc, order, venue_id),
            (false, false) => match (report.event, answered) {
                (OrderEvent::Replaced, Some(answered)) if answered.kind == RequestKind::Modify => {
                    let ((price, lots), request) = (price_and_lots, request(answered.version));
                    self.note(utc, || Entry::Replaced { request, price, lots });
                }
                (OrderEvent::ChangeRefused, Some(answered)) => {
                    let request = request(answered.version);
                    self.note(utc, || Entry::Rejected { request, reason: 0 });
                }
                (
                    OrderEvent::Replaced
                    | OrderEvent::Restated
                    | OrderEvent::Status(_)
                    | OrderEvent::Reopened,
                    _,
                ) => self.note_order(utc, order, venue_id),
                _ => {}
            },
        }
    }

    /// Writes down anew what it could not take when it happened, as it stands now; `held` is what
    /// the owner of an order holds.
    pub(crate) fn catch_up(
        &mut self,
        utc: Nanos,
        table: &OrderTable,
        held: impl Fn(&Order) -> Option<(PositionKey, Position)>,
    ) {
        while let Some(id) = self.behind.last().copied() {
            let missed = self.missed;
            if let Some(order) = table.get(id) {
                match order.state.is_done() {
                    true => self.note(utc, || Entry::Expired { order: id }),
                    false => self.note_order(utc, order, b""),
                }
                if let Some((key, position)) = held(order) {
                    self.note(utc, || Entry::Position(key, position));
                }
            }
            if self.missed != missed {
                // There is no room yet: that was no miss of something new.
                self.missed = missed;
                return;
            }
            self.behind.pop();
        }
    }

    fn note_trades(&mut self, utc: Nanos, owner: Owner, report: &Report, change: &Change) {
        for fill in change.fills.iter().flatten().filter(|fill| fill.lots != Lots::ZERO) {
            // The name of a correction stands for more than one of its trades: see below.
            let name = if fill.is_correction { &ExecId::NONE } else { &fill.exec_id };
            let fill = self.journalled(owner, fill, name);
            self.note(utc, || Entry::Filled(fill));
        }
        let is_correction =
            matches!(report.event, OrderEvent::TradeCancelled | OrderEvent::TradeCorrected);
        if let Some(fill) = change.fills.iter().flatten().last()
            && is_correction
        {
            // How much counts from now on under both names.
            let is_trade = report.event == OrderEvent::TradeCorrected;
            let now = Traded::of(report.last, report.lot).filter(|_| is_trade).unwrap_or_default();
            let fill = taut_oms::Fill { lots: now.lots, ..*fill };
            let is_known = change.trouble != Some(Trouble::UnknownTrade);
            for name in [Some(&report.exec_ref).filter(|_| is_known), Some(&report.exec_id)] {
                let Some(name) = name.filter(|name| !name.is_none()) else { continue };
                let execution = self.journalled(owner, &fill, name);
                self.note(utc, || Entry::Execution(execution));
            }
        }
    }

    fn note_end(&mut self, utc: Nanos, order: &Order, (event, change): (OrderEvent, &Change)) {
        let Order { id, version_sent, .. } = *order;
        match change.state {
            // One that was never changed ends by itself with the last of its lots.
            OrderState::Filled
                if event == OrderEvent::Traded
                    && version_sent == 1
                    && order.traded.lots >= order.terms.lots => {}
            OrderState::Cancelled => {
                let of_cancel = change.answered.filter(|it| it.kind == RequestKind::Cancel);
                let version = of_cancel.map_or(0, |it| it.version);
                self.note(utc, || Entry::Cancelled { request: RequestId { order: id, version } });
            }
            OrderState::Rejected => {
                let request = RequestId::create(id);
                self.note(utc, || Entry::Rejected { request, reason: 0 });
            }
            _ => self.note(utc, || Entry::Expired { order: id }),
        }
    }

    /// An open order as it stands, with the requests under way.
    fn note_order(&mut self, utc: Nanos, order: &Order, venue_id: &[u8]) {
        let record = OrderRecord {
            order: order.id,
            tag: order.tag,
            terms: order.terms,
            version_sent: order.version_sent,
            version_accepted: order.version_accepted,
            lots_filled: order.traded.lots,
            worth: order.worth(),
            venue_id: VenueId::new(venue_id),
        };
        self.note(utc, || Entry::OpenOrder(record));
        if order.owner != Owner::of(order.id) {
            self.note(utc, || Entry::HandedOver { order: order.id, to: order.owner });
        }
        for pending in order.pending() {
            let (price, lots) = (pending.price, pending.lots);
            let asked = match pending.kind {
                RequestKind::Create => continue,
                RequestKind::Modify => Asked::Modify { price, lots },
                RequestKind::Cancel => Asked::Cancel,
            };
            let request = RequestId { order: order.id, version: pending.version };
            self.note(utc, || Entry::Unanswered { request, asked });
        }
    }
}
