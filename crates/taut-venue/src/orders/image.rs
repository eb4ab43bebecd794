//! Clients' orders as bytes, and back: equal orders give equal bytes.

use std::collections::HashMap;

use taut_engine::{Command, JOURNAL_RECORD_BYTES, NewOrder};
use taut_fix::{OrdStatus, ShortText};
use taut_types::{Lots, OrderId, Price, Side};

use super::{ClientOrder, ClientOrders, DoneOrder, Known};
use crate::holdings::Holding;
use crate::identity::ClientId;
use crate::journal::{Put, Take};

impl ClientOrders {
    /// Writes all of them, the ClOrdIDs that are known, and what is held.
    pub fn put_image(&self, put: &mut Put) {
        put.u64(self.next_order_id);
        let mut open: Vec<_> = self.open.iter().collect();
        open.sort_unstable_by_key(|(order_id, _)| **order_id);
        put.count(open.len());
        open.iter().for_each(|(_, order)| put_order(put, order));
        put.count(self.known.len());
        self.known.iter().for_each(|known| put_table(put, known, put_known));
        put.count(self.earlier.len());
        self.earlier.iter().for_each(|earlier| put_table(put, earlier, put_done));
        let mut renamed: Vec<_> = self.renamed.values().collect();
        renamed.sort_unstable_by_key(|(_, done)| done.order_id);
        put.count(renamed.len());
        for (client, done) in renamed {
            put.u16(client.0 as u16);
            put_done(put, done);
        }
        self.trades.put_image(put);
        put.count(self.holdings.clients());
        for client in 0..self.holdings.clients() {
            let held: Vec<_> = self.holdings.held(ClientId(client), None).collect();
            put.count(held.len());
            for Holding { place, account, lots } in held {
                put.u32(*place as u32);
                put.option(account.as_ref(), Put::text);
                put.i64(lots.0);
            }
        }
    }

    /// Reads them in the place of what is there; nothing where they are none.
    pub fn take_image(&mut self, take: &mut Take<'_>) -> Option<()> {
        self.next_order_id = take.u64()?;
        self.open.clear();
        self.open_counts.clear();
        for _ in 0..take.count()? {
            let order = take_order(take)?;
            self.count(order.client, 1);
            self.open.insert(order.order.order_id, order);
        }
        self.known.clear();
        for _ in 0..take.count()? {
            self.known.push(take_table(take, take_known)?);
        }
        self.earlier.clear();
        for _ in 0..take.count()? {
            self.earlier.push(take_table(take, take_done)?);
        }
        self.renamed.clear();
        for _ in 0..take.count()? {
            let (client, done) = (ClientId(take.u16()?.into()), take_done(take)?);
            self.renamed.insert(done.order_id, (client, done));
        }
        self.trades.take_image(take)?;
        self.holdings.clear();
        for client in 0..take.count()? {
            // One who holds nothing has a place, too.
            self.holdings.shrink(ClientId(client));
            for _ in 0..take.count()? {
                let (place, account) = (take.u32()? as usize, take.option(Take::text)?);
                let lots = take.i64()?;
                let side = if lots < 0 { Side::Sell } else { Side::Buy };
                let lots = Lots(lots.checked_abs()?);
                self.holdings.traded(ClientId(client), account, place, side, lots);
            }
        }
        Some(())
    }
}

/// By the ClOrdIDs, in their order.
fn put_table<V>(put: &mut Put, table: &HashMap<ShortText, V>, value: impl Fn(&mut Put, &V)) {
    let mut all: Vec<_> = table.iter().collect();
    all.sort_unstable_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
    put.count(all.len());
    for (id, one) in all {
        put.text(id);
        value(put, one);
    }
}

fn take_table<V>(
    take: &mut Take<'_>,
    value: impl Fn(&mut Take<'_>) -> Option<V>,
) -> Option<HashMap<ShortText, V>> {
    let count = take.count()?;
    (0..count).map(|_| Some((take.text()?, value(take)?))).collect()
}

fn put_order(put: &mut Put, order: &ClientOrder) {
    put.u16(order.client.0 as u16);
    put.u32(order.place as u32);
    put.text(&order.cl_ord_id);
    put.option(order.account.as_ref(), Put::text);
    put_terms(put, &order.order);
    put.u8(u8::from(order.is_triggered));
    put.option(order.request.as_ref(), Put::text);
    put.option(order.replacement.as_ref(), |put, (order, account)| {
        put_terms(put, order);
        put.option(account.as_ref(), Put::text);
    });
    put.u8(u8::from(order.is_renamed));
    put.i64(order.traded.0);
    put.i64(order.busted.0);
    put.i128(order.notional);
}

fn take_order(take: &mut Take<'_>) -> Option<ClientOrder> {
    Some(ClientOrder {
        client: ClientId(take.u16()?.into()),
        place: take.u32()? as usize,
        cl_ord_id: take.text()?,
        account: take.option(Take::text)?,
        order: take_terms(take)?,
        is_triggered: take.flag()?,
        request: take.option(Take::text)?,
        replacement: take.option(|take| Some((take_terms(take)?, take.option(Take::text)?)))?,
        is_renamed: take.flag()?,
        traded: Lots(take.i64()?),
        busted: Lots(take.i64()?),
        notional: take.i128()?,
    })
}

fn put_terms(put: &mut Put, order: &NewOrder) {
    put.0.extend_from_slice(&Command::New(*order).to_record());
}

fn take_terms(take: &mut Take<'_>) -> Option<NewOrder> {
    match Command::from_record(take.raw(JOURNAL_RECORD_BYTES)?.first_chunk()?) {
        Ok(Command::New(order)) => Some(order),
        _ => None,
    }
}

fn put_known(put: &mut Put, known: &Known) {
    match known {
        Known::Open(order_id) => {
            put.u8(0);
            put.u64(order_id.0);
        }
        Known::Former(order_id) => {
            put.u8(1);
            put.u64(order_id.0);
        }
        Known::Done(done) => {
            put.u8(2);
            put_done(put, done);
        }
        Known::Refused => put.u8(3),
        Known::Request => put.u8(4),
    }
}

fn take_known(take: &mut Take<'_>) -> Option<Known> {
    Some(match take.u8()? {
        0 => Known::Open(OrderId(take.u64()?)),
        1 => Known::Former(OrderId(take.u64()?)),
        2 => Known::Done(take_done(take)?),
        3 => Known::Refused,
        4 => Known::Request,
        _ => return None,
    })
}

fn put_done(put: &mut Put, done: &DoneOrder) {
    put.u64(done.order_id.0);
    put.u8(done.status.to_byte());
    put.u32(done.place as u32);
    put.u8(done.side as u8);
    put.i64(done.lots.0);
    put.i64(done.traded.0);
    put.i64(done.avg_price.0);
}

fn take_done(take: &mut Take<'_>) -> Option<DoneOrder> {
    Some(DoneOrder {
        order_id: OrderId(take.u64()?),
        status: OrdStatus::from_byte(take.u8()?),
        place: take.u32()? as usize,
        side: if take.flag()? { Side::Sell } else { Side::Buy },
        lots: Lots(take.i64()?),
        traded: Lots(take.i64()?),
        avg_price: Price(take.i64()?),
    })
}
