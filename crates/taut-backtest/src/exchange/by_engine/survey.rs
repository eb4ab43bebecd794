//! Whether a recording can be replayed into an engine, and how much room it takes.

use taut_engine::EngineConfig;
use taut_types::Side;

use crate::book::{NONE, key};
use crate::market::OrderLevels;
use crate::row::{Row, RowKind};
use crate::{BacktestError, Market, Recording};

/// Room for our orders.
const OWN_MAX: usize = 1 << 12;
/// Room for the market's orders that ours keep in the book longer than they were there.
const KEPT_MAX: usize = 1 << 16;

/// Goes through the rows once.
///
/// # Errors
/// [`BacktestError::NeedsOrders`] for rows about levels, [`BacktestError::Crosses`] for an order
/// that the recording has rest where an engine would have it trade.
pub fn survey(recording: &Recording) -> Result<EngineConfig, BacktestError> {
    let mut market = <OrderLevels as Market>::new(recording)?;
    let (mut count, mut most) = ([0usize; 2], 0);
    for (at, row) in recording.exchange_rows().iter().enumerate() {
        if !row.is_at_exchange() {
            continue;
        }
        match row.kind() {
            RowKind::Level => return Err(BacktestError::NeedsOrders { row: at }),
            RowKind::Trade | RowKind::Fill => {}
            RowKind::Clear => {
                let sides = Side::BOTH.into_iter();
                let cleared = sides.filter(|one| row.side().is_none_or(|side| side == *one));
                cleared.for_each(|side| count[side.index()] = 0);
                market.take(row, false);
            }
            RowKind::Add | RowKind::Cancel | RowKind::Modify => {
                let before = market.order(row).copied();
                let Some(side) = before.map(|order| order.side).or(row.side()) else { continue };
                let moves = match before {
                    None => row.kind() == RowKind::Add,
                    Some(order) => row.kind() == RowKind::Modify && order.tick != row.tick(),
                };
                if moves && row.lots() > 0 && crosses(&market, side, row) {
                    return Err(BacktestError::Crosses { row: at });
                }
                market.take(row, false);
                let count = &mut count[side.index()];
                *count += usize::from(market.order(row).is_some());
                *count -= usize::from(before.is_some());
            }
        }
        most = most.max(count[0] + count[1]);
    }
    let kept = recording.orders().saturating_sub(most).min(KEPT_MAX);
    let order_capacity = most + kept + OWN_MAX;
    let span = recording.ticks().end() - recording.ticks().start() + 1;
    let span = usize::try_from(span).unwrap_or(usize::MAX).saturating_add(OWN_MAX);
    Ok(EngineConfig { order_capacity, level_capacity: order_capacity.min(span) })
}

fn crosses(market: &OrderLevels, side: Side, row: &Row) -> bool {
    let other = side.opposite();
    let best = market.book().best_key(other);
    best != NONE && key(other, row.tick()) <= best
}
