//! What has happened in the markets goes to who listens: at once, each 100 ms, each second.

use taut_types::Side;

use crate::binance::candles::{INTERVALS, MINUTE_MS};
use crate::binance::frames::{
    self, AggTrade, AvgPrice, BookTicker, DepthUpdate, Kline, KlineBody, MiniTicker, Ticker, Trade,
};
use crate::binance::market::{Aggregate, Changes, DAY_MS, Market, Print};
use crate::binance::sbe;
use crate::binance::state::Binance;
use crate::binance::stream::{SbeStream, Speed, Stream};
use crate::binance::usd_m;
use crate::decimal::{fixed8, over};

/// The fold of the SBE streams, and how many levels partial books have there.
const SBE_FOLD: usize = 2;
const SBE_LEVELS: usize = 20;
/// How many levels partial books have.
const PARTIAL_LEVELS: [usize; 3] = [5, 10, 20];

impl Binance {
    pub(super) fn publish_trades(&mut self, place: usize, prints: &[Print], all: &[Aggregate]) {
        let ms = self.ms();
        for print in prints {
            self.publish_of(place, &Stream::Trade(place), |market| match market.is_spot() {
                true => trade(market, print, ms),
                false => usd_m::trade(market, print, ms),
            });
        }
        if !prints.is_empty() {
            let traded = |it: &Market, us| sbe::trades(it, prints, us);
            self.publish_sbe(place, SbeStream::Trades, traded);
        }
        for it in all {
            self.publish_of(place, &Stream::AggTrade(place), |market| match market.is_spot() {
                true => aggregate(market, it, ms),
                false => usd_m::aggregate(market, it, ms),
            });
        }
    }

    pub(super) fn publish_top(&mut self, place: usize) {
        let ms = self.ms();
        self.publish_of(place, &Stream::BookTicker(place), |market| match market.is_spot() {
            true => book_ticker(market),
            false => usd_m::book_ticker(market, ms),
        });
        self.publish_sbe(place, SbeStream::BestBidAsk, sbe::best_bid_ask);
    }

    fn publish_of(
        &mut self,
        place: usize,
        stream: &Stream,
        text: impl FnOnce(&Market) -> String,
    ) -> usize {
        self.publish(stream, |it| it.market(place).map(text).unwrap_or_default())
    }

    /// The streams of each 100 ms.
    pub(super) fn flush_fast(&mut self) {
        self.flush_books(Speed::Fast);
    }

    /// The streams of each second.
    pub(super) fn flush_slow(&mut self) {
        self.flush_books(Speed::Slow);
        let (ms, before) = (self.ms(), self.flushed_ms);
        self.flushed_ms = ms;
        let mut has_traded = false;
        for place in 0..self.markets.len() {
            let Some(market) = self.markets.get_mut(place) else { continue };
            let (traded, is_spot) = (std::mem::take(&mut market.has_traded), market.is_spot());
            has_traded |= traded && is_spot;
            if !is_spot {
                let mark_price = |it: &Market| usd_m::mark_price(it, ms);
                self.publish_of(place, &Stream::MarkPrice(place), mark_price);
            }
            self.flush_candles(place, before, traded);
            if traded {
                self.publish_of(place, &Stream::Ticker(place), |it| ticker(it, ms));
                self.publish_of(place, &Stream::MiniTicker(place), |it| mini_ticker(it, ms));
                self.publish_of(place, &Stream::AvgPrice(place), |it| average(it, ms));
            }
        }
        if has_traded {
            self.publish(&Stream::MiniTickers, |it| {
                let spot = it.markets.iter().filter(|it| it.is_spot());
                let all: Vec<String> = spot.map(|it| mini_ticker(it, ms)).collect();
                format!("[{}]", all.join(","))
            });
        }
    }

    /// The SBE streams of each 50 ms.
    pub(super) fn flush_sbe(&mut self) {
        for place in 0..self.markets.len() {
            let Some(market) = self.markets.get_mut(place) else { continue };
            let Some(changes) = market.unfold(SBE_FOLD) else { continue };
            let told = self.publish_sbe(place, SbeStream::Depth, |market, us| {
                let levels = [Side::Buy, Side::Sell].map(|side| market.changed(&changes, side));
                sbe::depth_diff(market, (changes.first, changes.last), &levels, us)
            });
            self.depth_updates += told as u64;
            let levels = |it: &Market, us| sbe::depth_snapshot(it, SBE_LEVELS, us);
            self.publish_sbe(place, SbeStream::Depth20, levels);
        }
    }

    /// Changes of books that the next events of each 100 ms and each 50 ms will tell, to each who
    /// follows them.
    pub(super) fn pending_depth_updates(&self) -> u64 {
        let pending = |fold: usize, stream: fn(usize) -> Stream| {
            let is_pending =
                move |it: &Market| it.folds.get(fold).is_some_and(|fold| !fold.dirty.is_empty());
            let markets = self.markets.iter().enumerate().filter(move |(_, it)| is_pending(it));
            markets.map(|(place, _)| self.listeners(&stream(place)).len() as u64).sum::<u64>()
        };
        pending(0, |place| Stream::Depth(place, Speed::Fast))
            + pending(SBE_FOLD, |place| Stream::Sbe(place, SbeStream::Depth))
    }

    /// What has changed in the books since the last time.
    fn flush_books(&mut self, speed: Speed) {
        let (ms, at) = (self.ms(), usize::from(speed == Speed::Slow));
        for place in 0..self.markets.len() {
            let Some(market) = self.markets.get_mut(place) else { continue };
            let Some(changes) = market.unfold(at) else { continue };
            let stream = Stream::Depth(place, speed);
            let told = self.publish_of(place, &stream, |market| match market.is_spot() {
                true => depth_update(market, &changes, ms),
                false => usd_m::depth_update(market, &changes, ms),
            });
            self.depth_updates += told as u64;
            for count in PARTIAL_LEVELS {
                let stream = Stream::Partial(place, count, speed);
                self.publish_of(place, &stream, |market| match market.is_spot() {
                    true => frames::text(&market.depth(count)),
                    false => usd_m::partial_depth(market, count, &changes, ms),
                });
            }
        }
    }

    /// Candles that have ended since the last time, and those that trades have changed.
    fn flush_candles(&mut self, place: usize, before_ms: i64, traded: bool) {
        let ms = self.ms();
        for (name, minutes) in INTERVALS {
            let width = minutes * MINUTE_MS;
            let start = |at: i64| at - at.rem_euclid(width);
            let has_ended = before_ms > 0 && start(before_ms) != start(ms);
            let ended = has_ended.then(|| (start(before_ms), true));
            let current = traded.then(|| (start(ms), false));
            for (start_ms, is_closed) in [ended, current].into_iter().flatten() {
                let has_one = self
                    .market(place)
                    .is_some_and(|it| it.candles.candle(start_ms, width).is_some());
                if !has_one {
                    continue;
                }
                self.publish_of(place, &Stream::Kline(place, name), |market| {
                    kline(market, (name, width), start_ms, is_closed, ms)
                });
            }
        }
    }
}

fn trade(market: &Market, print: &Print, ms: i64) -> String {
    frames::text(&Trade {
        e: "trade",
        event_ms: ms,
        s: &market.settings.name,
        id: print.id,
        p: fixed8(print.price),
        q: fixed8(market.book.amount(print.lots)),
        trade_ms: print.ms,
        buyer_is_maker: print.buyer_is_maker,
        ignored: true,
    })
}

fn aggregate(market: &Market, it: &Aggregate, ms: i64) -> String {
    frames::text(&AggTrade {
        e: "aggTrade",
        event_ms: ms,
        s: &market.settings.name,
        id: it.id,
        p: fixed8(it.price),
        q: fixed8(market.book.amount(it.lots)),
        first: it.first,
        last: it.last,
        trade_ms: it.ms,
        buyer_is_maker: it.buyer_is_maker,
        ignored: true,
    })
}

fn book_ticker(market: &Market) -> String {
    let [(bid, bid_quantity), (ask, ask_quantity)] = market.best();
    frames::text(&BookTicker {
        update: market.update_id,
        s: &market.settings.name,
        bid: fixed8(bid),
        bid_quantity: fixed8(bid_quantity),
        ask: fixed8(ask),
        ask_quantity: fixed8(ask_quantity),
    })
}

fn depth_update(market: &Market, changes: &Changes, ms: i64) -> String {
    let levels = |side| market.changed_levels(changes, side);
    frames::text(&DepthUpdate {
        e: "depthUpdate",
        event_ms: ms,
        s: &market.settings.name,
        first: changes.first,
        last: changes.last,
        bids: levels(Side::Buy),
        asks: levels(Side::Sell),
    })
}

fn kline(
    market: &Market,
    (name, width): (&'static str, i64),
    start_ms: i64,
    is_closed: bool,
    ms: i64,
) -> String {
    let candle = market.candles.candle(start_ms, width);
    let candle =
        candle.unwrap_or_else(|| crate::binance::candles::Candle::flat(market.last_price()));
    let (first, last) = candle.ids.map_or((-1, -1), |(a, b)| (a as i64, b as i64));
    frames::text(&Kline {
        e: "kline",
        event_ms: ms,
        s: &market.settings.name,
        k: KlineBody {
            start_ms,
            end_ms: start_ms + width - 1,
            s: &market.settings.name,
            i: name,
            first,
            last,
            o: fixed8(candle.open),
            c: fixed8(candle.close),
            h: fixed8(candle.high),
            l: fixed8(candle.low),
            volume: fixed8(candle.volume),
            n: candle.count,
            is_closed,
            quote_volume: fixed8(candle.quote_volume),
            taker_volume: fixed8(candle.taker_volume),
            taker_quote_volume: fixed8(candle.taker_quote_volume),
            ignored: "0",
        },
    })
}

/// The ticker of the last day.
pub fn day_ticker(market: &Market, ms: i64) -> Ticker<'_> {
    let day = market.day(ms);
    let (first_id, last_id) = day.ids.map_or((-1, -1), |(a, b)| (a as i64, b as i64));
    let [(bid, bid_quantity), (ask, ask_quantity)] = market.best();
    let last_lots = market.tape.back().map_or(0, |print| print.lots);
    let before = market.candles.candle(ms - DAY_MS, MINUTE_MS).map_or(day.open, |it| it.close);
    let change = day.close - day.open;
    let percent = over(change * 100, day.open);
    Ticker {
        e: "24hrTicker",
        event_ms: ms,
        s: &market.settings.name,
        change: fixed8(change),
        // Of three places.
        change_percent: {
            let thousandths = percent / 1_000_000;
            let sign = if thousandths < 0 { "-" } else { "" };
            let thousandths = thousandths.unsigned_abs();
            format!("{sign}{}.{:03}", thousandths / 1_000, thousandths % 1_000)
        },
        average: fixed8(if day.volume == 0 {
            day.close
        } else {
            over(day.quote_volume, day.volume)
        }),
        previous_close: fixed8(before),
        last: fixed8(day.close),
        last_quantity: fixed8(market.book.amount(last_lots)),
        bid: fixed8(bid),
        bid_quantity: fixed8(bid_quantity),
        ask: fixed8(ask),
        ask_quantity: fixed8(ask_quantity),
        open: fixed8(day.open),
        high: fixed8(day.high),
        low: fixed8(day.low),
        volume: fixed8(day.volume),
        quote_volume: fixed8(day.quote_volume),
        from_ms: ms - DAY_MS,
        to_ms: ms,
        first_id,
        last_id,
        count: day.count,
    }
}

fn ticker(market: &Market, ms: i64) -> String {
    frames::text(&day_ticker(market, ms))
}

fn mini_ticker(market: &Market, ms: i64) -> String {
    let day = market.day(ms);
    frames::text(&MiniTicker {
        e: "24hrMiniTicker",
        event_ms: ms,
        s: &market.settings.name,
        last: fixed8(day.close),
        open: fixed8(day.open),
        high: fixed8(day.high),
        low: fixed8(day.low),
        volume: fixed8(day.volume),
        quote_volume: fixed8(day.quote_volume),
    })
}

fn average(market: &Market, ms: i64) -> String {
    frames::text(&AvgPrice {
        e: "avgPrice",
        event_ms: ms,
        s: &market.settings.name,
        i: "5m",
        average: fixed8(market.average_price(ms)),
        last_ms: market.tape.back().map_or(0, |print| print.ms),
    })
}
