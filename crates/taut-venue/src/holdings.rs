//! What clients hold, by their trades since the venue began, and who asks for it.

use std::collections::HashMap;

use taut_fix::{LongText, NO_POSITIONS, Now, PositionReport, RequestForPositions, ShortText};
use taut_io::Kernel;
use taut_types::{Lots, Price, Qty, Side};

use crate::clients::ClientIo;
use crate::exchange::Exchange;
use crate::orders::{ClientId, ClientOrder};

/// Holdings that need no further memory.
const CAPACITY: usize = 1_024;

/// Whose it is, in which account, and the place of what it is.
type Key = (ClientId, Option<ShortText>, usize);

/// Bought less sold, of each client, Account (1) and instrument. Clients keep it over all their
/// sessions.
#[derive(Debug)]
pub struct Holdings {
    held: HashMap<Key, Lots>,
}

impl Holdings {
    pub fn new() -> Self {
        Self { held: HashMap::with_capacity(CAPACITY) }
    }

    /// Counts a trade of an order.
    pub fn traded(&mut self, order: &ClientOrder, lots: Lots) {
        let held = self.held.entry((order.client, order.account, order.place)).or_default();
        let signed = if order.side() == Side::Buy { lots.0 } else { -lots.0 };
        held.0 = held.0.saturating_add(signed);
    }

    /// What a client holds in an account, or in all of them, by the place of the instrument.
    fn of(&self, client: ClientId, account: Option<ShortText>) -> Vec<(Key, Lots)> {
        let is_meant = |(of, its, _): &Key| *of == client && (account.is_none() || *its == account);
        let all = self.held.iter().filter(|(key, held)| is_meant(key) && **held != Lots::ZERO);
        let mut all: Vec<_> = all.map(|(key, held)| (*key, *held)).collect();
        all.sort_unstable_by_key(|((_, its, place), _)| {
            (*place, its.map(|its| its.as_bytes().to_vec()))
        });
        all
    }
}

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
        let held = self.orders.holdings.of(client, request.account);
        let none = PositionReport {
            report_id: LongText::from_u64(0),
            request_id: Some(request.request_id.into()),
            total: u32::try_from(held.len()).ok(),
            result: NO_POSITIONS,
            business_day: now.utc,
            account: request.account.map(LongText::from),
            symbol: None,
            long: Qty::ZERO,
            short: Qty::ZERO,
            settlement_price: Price(0),
        };
        if held.is_empty() {
            return clients.send(now, client, &none);
        }
        for (number, ((_, account, place), lots)) in (1..).zip(&held) {
            let of = &self.listings.all()[*place];
            let last = self.last_price(*place).and_then(|last| of.instrument.price(last).ok());
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
            clients.send(now, client, &report);
        }
    }
}
