//! The last trades of clients, so that one can be taken back.

use std::collections::VecDeque;

use taut_fix::ShortText;
use taut_types::{Lots, OrderId, Price, Side};

use crate::identity::ClientId;
use crate::journal::{Put, Take};

/// Trades that are remembered.
pub const TRADES_MAX: usize = 4_096;

/// A client's part of a trade, as its report told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub client: ClientId,
    pub order_id: OrderId,
    /// Of the order, when it traded.
    pub cl_ord_id: ShortText,
    /// Account (1).
    pub account: Option<ShortText>,
    pub side: Side,
    /// ExecID (17).
    pub exec_id: u64,
    /// Commission (12), if there was one.
    pub commission: Option<Price>,
}

/// A trade in which a client took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientTrade {
    pub place: usize,
    pub price: Price,
    pub lots: Lots,
    /// The taker's and the maker's; nothing where that is the flow.
    pub parts: [Option<Part>; 2],
    /// It was taken back.
    pub is_busted: bool,
}

/// The last of them, the oldest first.
#[derive(Debug)]
pub struct Trades(VecDeque<ClientTrade>);

impl Trades {
    pub fn new() -> Self {
        Self(VecDeque::with_capacity(TRADES_MAX))
    }

    /// Remembers one; the oldest is forgotten.
    #[inline]
    pub fn push(&mut self, trade: ClientTrade) {
        if self.0.len() == TRADES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(trade);
    }

    /// The trade of which a report with this ExecID told.
    pub fn of(&mut self, exec_id: u64) -> Option<&mut ClientTrade> {
        let is_it = |trade: &&mut ClientTrade| {
            trade.parts.iter().flatten().any(|part| part.exec_id == exec_id)
        };
        self.0.iter_mut().rfind(is_it)
    }

    pub fn put_image(&self, put: &mut Put) {
        put.count(self.0.len());
        for trade in &self.0 {
            put.u32(trade.place as u32);
            put.i64(trade.price.0);
            put.i64(trade.lots.0);
            for part in &trade.parts {
                put.option(part.as_ref(), |put, part| {
                    put.u16(part.client.0 as u16);
                    put.u64(part.order_id.0);
                    put.text(&part.cl_ord_id);
                    put.option(part.account.as_ref(), Put::text);
                    put.u8(part.side as u8);
                    put.u64(part.exec_id);
                    put.option(part.commission.as_ref(), |put, commission| put.i64(commission.0));
                });
            }
            put.u8(u8::from(trade.is_busted));
        }
    }

    /// Reads them in the place of what is there; nothing where they are none.
    pub fn take_image(&mut self, take: &mut Take<'_>) -> Option<()> {
        self.0.clear();
        for _ in 0..take.count()? {
            let (place, price) = (take.u32()? as usize, Price(take.i64()?));
            let lots = Lots(take.i64()?);
            let parts = [take.option(part)?, take.option(part)?];
            self.push(ClientTrade { place, price, lots, parts, is_busted: take.flag()? });
        }
        Some(())
    }
}

fn part(take: &mut Take<'_>) -> Option<Part> {
    Some(Part {
        client: ClientId(take.u16()?.into()),
        order_id: OrderId(take.u64()?),
        cl_ord_id: take.text()?,
        account: take.option(Take::text)?,
        side: if take.flag()? { Side::Sell } else { Side::Buy },
        exec_id: take.u64()?,
        commission: take.option(|take| take.i64().map(Price))?,
    })
}
