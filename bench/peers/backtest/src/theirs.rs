//! hftbacktest's side.

use hftbacktest::backtest::assettype::LinearAsset;
use hftbacktest::backtest::data::{Data, DataSource};
use hftbacktest::backtest::models::{
    CommonFees, ConstantLatency, L3FIFOQueueModel, RiskAdverseQueueModel, TradingValueFeeModel,
};
use hftbacktest::backtest::{
    Backtest, BacktestError, ExchangeKind, L2AssetBuilder, L3AssetBuilder,
};
use hftbacktest::depth::{
    HashMapMarketDepth, INVALID_MAX, INVALID_MIN, L2MarketDepth, L3MarketDepth, MarketDepth,
    ROIVectorMarketDepth,
};
use hftbacktest::types::{Bot, ElapseResult, Event, OrdType, Side, TimeInForce};
use taut_backtest::Recording;
use taut_recording::hft::HftRow;

use crate::grid::{Backtester, ENTRY, LOTS, Open, RESPONSE, run, stepped};
use crate::{Row, Steps};

/// What is measured over rows, with either of its books: an array over the recording's ticks, and a
/// hash table.
pub fn measured(rows: &[HftRow], recording: &Recording, steps: Steps) -> Vec<Row> {
    let units = steps.units();
    let (tick, lot) = units;
    let [low, high] =
        [recording.ticks().start(), recording.ticks().end()].map(|at| *at as f64 * tick);
    let array = move || ROIVectorMarketDepth::new(tick, lot, low, high);
    let hash = move || HashMapMarketDepth::new(tick, lot);
    let [one, two, three, four] = [(); 4].map({
        let data = data(rows);
        move |()| data.clone()
    });
    let names = ["hftbacktest, array", "hftbacktest, hash"];
    let grids = ["grid: hftbacktest, array", "grid: hftbacktest, hash"];
    if recording.orders() == 0 {
        return vec![
            Row::new(names[0], move || stepped(by_level(&one, array, units))),
            Row::new(names[1], move || stepped(by_level(&two, hash, units))),
            Row::new(grids[0], move || run(by_level(&three, array, units))),
            Row::new(grids[1], move || run(by_level(&four, hash, units))),
        ];
    }
    vec![
        Row::new(names[0], move || stepped(by_order(&one, array, units))),
        Row::new(names[1], move || stepped(by_order(&two, hash, units))),
        Row::new(grids[0], move || run(by_order(&three, array, units))),
        Row::new(grids[1], move || run(by_order(&four, hash, units))),
    ]
}

/// The rows as it wants them.
fn data(rows: &[HftRow]) -> Data<Event> {
    let events: Vec<_> = rows
        .iter()
        .map(|row| Event {
            ev: row.ev,
            exch_ts: row.exch_ts,
            local_ts: row.local_ts,
            px: row.px,
            qty: row.qty,
            order_id: row.order_id,
            ival: row.ival,
            fval: row.fval,
        })
        .collect();
    Data::from_data(&events)
}

/// A run, and its instrument's steps.
struct Theirs<MD> {
    run: Backtest<MD>,
    tick: f64,
    lot: f64,
}

fn latency() -> ConstantLatency {
    ConstantLatency::new(ENTRY, RESPONSE)
}

fn fees() -> TradingValueFeeModel<CommonFees> {
    TradingValueFeeModel::new(CommonFees::new(-0.00005, 0.0007))
}

/// Over levels.
fn by_level<MD: MarketDepth + L2MarketDepth + 'static>(
    data: &Data<Event>,
    depth: impl Fn() -> MD + 'static,
    (tick, lot): (f64, f64),
) -> Theirs<MD> {
    let asset = L2AssetBuilder::new()
        .data(vec![DataSource::Data(data.clone())])
        .latency_model(latency())
        .asset_type(LinearAsset::new(1.0))
        .fee_model(fees())
        .exchange(ExchangeKind::NoPartialFillExchange)
        .queue_model(RiskAdverseQueueModel::new())
        .depth(depth)
        .build()
        .expect("an asset");
    let run = Backtest::builder().add_asset(asset).build().expect("a run");
    Theirs { run, tick, lot }
}

/// Over orders.
fn by_order<MD: MarketDepth + L3MarketDepth + 'static>(
    data: &Data<Event>,
    depth: impl Fn() -> MD + 'static,
    (tick, lot): (f64, f64),
) -> Theirs<MD>
where
    BacktestError: From<<MD as L3MarketDepth>::Error>,
{
    let asset = L3AssetBuilder::new()
        .data(vec![DataSource::Data(data.clone())])
        .latency_model(latency())
        .asset_type(LinearAsset::new(1.0))
        .fee_model(fees())
        .exchange(ExchangeKind::NoPartialFillExchange)
        .queue_model(L3FIFOQueueModel::new())
        .depth(depth)
        .build()
        .expect("an asset");
    let run = Backtest::builder().add_asset(asset).build().expect("a run");
    Theirs { run, tick, lot }
}

impl<MD: MarketDepth> Backtester for Theirs<MD> {
    fn wait(&mut self, nanoseconds: i64) -> bool {
        self.run.elapse(nanoseconds).expect("no error") == ElapseResult::Ok
    }

    fn forget_done(&mut self) {
        self.run.clear_inactive_orders(Some(0));
    }

    fn best(&self) -> Option<(i64, i64)> {
        let depth = self.run.depth(0);
        let (bid, ask) = (depth.best_bid_tick(), depth.best_ask_tick());
        (bid != INVALID_MIN && ask != INVALID_MAX).then_some((bid, ask))
    }

    fn position(&self) -> i64 {
        (self.run.position(0) / self.lot).round() as i64
    }

    fn open(&self, orders: &mut Vec<Open>) {
        orders.extend(self.run.orders(0).values().map(|order| Open {
            id: order.order_id,
            sign: if order.side == Side::Buy { 1 } else { -1 },
            tick: order.price_tick,
            may_be_cancelled: order.cancellable(),
        }));
    }

    fn send(&mut self, id: u64, sign: i64, tick: i64) {
        let (price, lots) = (tick as f64 * self.tick, LOTS as f64 * self.lot);
        let (force, kind) = (TimeInForce::GTX, OrdType::Limit);
        let sent = match sign {
            1 => self.run.submit_buy_order(0, id, price, lots, force, kind, false),
            _ => self.run.submit_sell_order(0, id, price, lots, force, kind, false),
        };
        sent.expect("a new id");
    }

    fn cancel(&mut self, id: u64) {
        self.run.cancel(0, id, false).expect("an order that may be cancelled");
    }

    fn fills(&self) -> u64 {
        self.run.state_values(0).num_trades.cast_unsigned()
    }
}
