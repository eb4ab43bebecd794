//! FIX: books and trades, whole (W) and as they change (X).

use serde_json::Value;
use taut_fix::Precision;
use taut_types::Side;

use crate::decimal::{self, parse};
use crate::deribit::fix_fields::contracts;
use crate::deribit::fix_session::Entries;
use crate::deribit::market::Market;
use crate::deribit::publish::Happened;
use crate::deribit::state::Deribit;
use crate::fix::timestamp;

impl Deribit {
    /// MarketDataSnapshotFullRefresh (W): so many levels a side and so many trades at the most.
    pub(super) fn snapshot(
        &self,
        id: &str,
        place: usize,
        entries: Entries,
        (depth, trades): (usize, usize),
    ) -> Vec<(i32, String)> {
        let Some(market) = self.market(place) else { return Vec::new() };
        let mut group = Vec::new();
        let mut count = 0;
        for (side, is_asked) in [(Side::Buy, entries.bids), (Side::Sell, entries.offers)] {
            let levels = market.book.levels(side).take(if is_asked { depth } else { 0 });
            for (price, amount) in levels {
                count += 1;
                level((side, price, amount), market, &mut group);
            }
        }
        let tape = market.tape.iter().rev().take(if entries.trades { trades } else { 0 });
        for print in tape.collect::<Vec<_>>().into_iter().rev() {
            count += 1;
            group.extend(trade(print));
        }
        let mut fields = self.head(id, market);
        fields.push((268, count.to_string()));
        fields.extend(group);
        fields
    }

    /// What stands before a group of entries.
    fn head(&self, id: &str, market: &Market) -> Vec<(i32, String)> {
        vec![
            (55, market.settings.name.clone()),
            (262, id.to_owned()),
            (231, decimal::text(market.sizes.contract)),
            (100_090, decimal::text(market.mark())),
        ]
    }

    /// Tells what has happened in a market to those who follow it over FIX.
    pub(super) fn publish_fix(&mut self, it: &Happened<'_>) {
        let Some(market) = self.market(it.place) else { return };
        let mut told = Vec::new();
        for (connection, session) in &self.fix_sessions {
            let follows = session.logon.iter().flat_map(|logon| &logon.follows);
            for following in follows.filter(|following| following.places.contains(&it.place)) {
                let (id, entries) = (&following.id, following.entries);
                let has_levels = it.changes.iter().any(|(side, ..)| entries.has(*side));
                let has_trades = entries.trades && !it.trades.is_empty();
                if !has_levels && !has_trades {
                    continue;
                }
                let message = match following.depth {
                    Some(depth) => ("W", self.snapshot(id, it.place, entries, (depth, 20))),
                    None => {
                        let mut fields = self.head(id, market);
                        changes(it, entries, market, &mut fields);
                        ("X", fields)
                    }
                };
                told.push((*connection, message));
            }
        }
        for (connection, (kind, fields)) in told {
            self.send_fix(connection, kind, &fields);
            self.flush_fix(connection);
        }
    }
}

/// The group of an incremental refresh (X). MDUpdateAction (279): new 0, change 1, delete 2.
fn changes(it: &Happened<'_>, entries: Entries, market: &Market, fields: &mut Vec<(i32, String)>) {
    let mut group = Vec::new();
    let mut count = 0;
    for &(side, price, was, is) in it.changes.iter().filter(|(side, ..)| entries.has(*side)) {
        let action = match (was, is) {
            (0, _) => "0",
            (_, 0) => "2",
            _ => "1",
        };
        count += 1;
        group.push((279, action.to_owned()));
        level((side, market.book.price(price), market.book.amount(is)), market, &mut group);
    }
    for print in it.trades.iter().filter(|_| entries.trades) {
        count += 1;
        group.push((279, "0".to_owned()));
        group.extend(trade(print));
    }
    fields.push((268, count.to_string()));
    fields.extend(group);
}

/// A level: MDEntryType (269), MDEntryPx (270), MDEntrySize (271) in contracts.
fn level(
    (side, price, amount): (Side, i128, i128),
    market: &Market,
    group: &mut Vec<(i32, String)>,
) {
    let entry = if side == Side::Buy { "0" } else { "1" };
    group.extend([(269, entry.to_owned()), (270, decimal::text(price))]);
    group.push((271, contracts(amount, market)));
}

/// A trade of the tape.
fn trade(print: &Value) -> Vec<(i32, String)> {
    let number = |name: &str| decimal::text(parse(&print[name].to_string()).unwrap_or_default());
    let side = if print["direction"] == "buy" { "1" } else { "2" };
    vec![
        (269, "2".to_owned()),
        (270, number("price")),
        (271, number("contracts")),
        (272, timestamp(print["timestamp"].as_i64().unwrap_or(0), Precision::Millis)),
        (100_009, print["trade_id"].as_str().unwrap_or_default().to_owned()),
        (54, side.to_owned()),
    ]
}
