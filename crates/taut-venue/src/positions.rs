//! Requests for positions: what a client's trades have made since the venue began.

use taut_fix::{LongText, NO_POSITIONS, Now, PositionReport, RequestForPositions};
use taut_io::Kernel;
use taut_types::{Lots, Price, Qty};

use crate::clients::ClientIo;
use crate::exchange::Exchange;
use crate::holdings::Holding;
use crate::identity::ClientId;

impl Exchange {
    /// Answers a RequestForPositions: a report for each position, or one that says that there is
    /// none. They are settled at the price of the last trade.
    pub fn positions(
        &mut self,
        now: Now,
        client: ClientId,
        request: &RequestForPositions,
        clients: &mut ClientIo<'_, impl Kernel>,
    ) {
        let now = self.stamp(now);
        let held = self.orders.holdings.held(client, request.account);
        let total = held.clone().count();
        let none = PositionReport {
            report_id: LongText::from_u64(0),
            request_id: Some(request.request_id.into()),
            total: u32::try_from(total).ok(),
            result: NO_POSITIONS,
            business_day: now.utc,
            account: request.account.map(LongText::from),
            symbol: None,
            long: Qty::ZERO,
            short: Qty::ZERO,
            settlement_price: Price(0),
        };
        if total == 0 {
            return clients.answer(now, client, &none);
        }
        for (number, &Holding { place, account, lots }) in (1..).zip(held) {
            let of = &self.listings.all()[place];
            let last = self.last_price(place).and_then(|last| of.instrument.price(last).ok());
            let qty = |lots: i64| of.instrument.qty(Lots(lots.max(0))).unwrap_or_default();
            let report = PositionReport {
                report_id: LongText::from_u64(number),
                result: 0,
                account: account.map(LongText::from),
                symbol: Some(of.symbol.into()),
                long: qty(lots.0),
                short: qty(lots.0.saturating_neg()),
                settlement_price: last.unwrap_or_default(),
                ..none
            };
            clients.answer(now, client, &report);
        }
    }
}
