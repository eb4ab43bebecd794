//! Candles: what trades of a span of time come to. Kept by the minute, merged for longer ones.

use std::collections::BTreeMap;

use crate::decimal::times;

pub const MINUTE_MS: i64 = 60_000;
/// Minutes that are remembered: a little more than a day.
const MINUTES_MAX: usize = 1_500;

/// The widths of candles that are offered, in minutes.
pub const INTERVALS: [(&str, i64); 12] = [
    ("1m", 1),
    ("3m", 3),
    ("5m", 5),
    ("15m", 15),
    ("30m", 30),
    ("1h", 60),
    ("2h", 120),
    ("4h", 240),
    ("6h", 360),
    ("8h", 480),
    ("12h", 720),
    ("1d", 1_440),
];

/// The width of a candle by its name, in milliseconds.
pub fn interval_ms(name: &str) -> Option<i64> {
    INTERVALS.iter().find(|(it, _)| *it == name).map(|(_, minutes)| minutes * MINUTE_MS)
}

/// The trades of a span of time; prices and amounts at 1e-9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candle {
    pub open: i128,
    pub high: i128,
    pub low: i128,
    pub close: i128,
    pub volume: i128,
    pub quote_volume: i128,
    /// Of these, what buyers took.
    pub taker_volume: i128,
    pub taker_quote_volume: i128,
    pub count: u64,
    /// Trade ids, when there are trades.
    pub ids: Option<(u64, u64)>,
}

impl Candle {
    /// One without a trade, at the price before.
    pub const fn flat(price: i128) -> Self {
        Self {
            open: price,
            high: price,
            low: price,
            close: price,
            volume: 0,
            quote_volume: 0,
            taker_volume: 0,
            taker_quote_volume: 0,
            count: 0,
            ids: None,
        }
    }

    fn of_trade(id: u64, price: i128, amount: i128, buyer_takes: bool) -> Self {
        let value = times(amount, price);
        let taken = if buyer_takes { (amount, value) } else { (0, 0) };
        Self {
            volume: amount,
            quote_volume: value,
            taker_volume: taken.0,
            taker_quote_volume: taken.1,
            count: 1,
            ids: Some((id, id)),
            ..Self::flat(price)
        }
    }

    /// This one and the next together.
    fn and(self, next: Self) -> Self {
        let (first, last) = (self.ids.or(next.ids), next.ids.or(self.ids));
        Self {
            open: self.open,
            high: self.high.max(next.high),
            low: self.low.min(next.low),
            close: next.close,
            volume: self.volume + next.volume,
            quote_volume: self.quote_volume + next.quote_volume,
            taker_volume: self.taker_volume + next.taker_volume,
            taker_quote_volume: self.taker_quote_volume + next.taker_quote_volume,
            count: self.count + next.count,
            ids: first.zip(last).map(|((first, _), (_, last))| (first, last)),
        }
    }
}

/// A market's candles by the minute; those without a trade are not kept.
#[derive(Debug, Default)]
pub struct Candles {
    minutes: BTreeMap<i64, Candle>,
}

impl Candles {
    pub fn take(&mut self, ms: i64, id: u64, price: i128, amount: i128, buyer_takes: bool) {
        let minute = ms - ms.rem_euclid(MINUTE_MS);
        let trade = Candle::of_trade(id, price, amount, buyer_takes);
        let so_far = self.minutes.get(&minute).copied();
        self.minutes.insert(minute, so_far.map_or(trade, |it| it.and(trade)));
        if self.minutes.len() > MINUTES_MAX {
            self.minutes.pop_first();
        }
    }

    /// All trades from one time to before another, if there are any.
    pub fn traded(&self, from_ms: i64, to_ms: i64) -> Option<Candle> {
        self.minutes.range(from_ms..to_ms.max(from_ms)).map(|(_, it)| *it).reduce(Candle::and)
    }

    /// The candle that begins at a time; flat without a trade, none before the first trade.
    pub fn candle(&self, start_ms: i64, width_ms: i64) -> Option<Candle> {
        self.traded(start_ms, start_ms + width_ms).or_else(|| {
            let (_, before) = self.minutes.range(..start_ms).next_back()?;
            Some(Candle::flat(before.close))
        })
    }

    /// When the first trade was, by its minute.
    pub fn first_ms(&self) -> Option<i64> {
        self.minutes.first_key_value().map(|(minute, _)| *minute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: i128 = crate::decimal::UNITS;

    #[test]
    fn minutes_add_up_to_longer_candles_and_gaps_are_flat() {
        let mut candles = Candles::default();
        assert_eq!(candles.candle(0, MINUTE_MS), None);
        for (ms, id, price, buyer_takes) in
            [(1, 1, 10, true), (2, 2, 12, false), (150_000, 3, 8, true)]
        {
            candles.take(ms, id, price * ONE, ONE, buyer_takes);
        }
        let first = candles.candle(0, MINUTE_MS).expect("a candle");
        assert_eq!((first.open, first.high, first.close), (10 * ONE, 12 * ONE, 12 * ONE));
        assert_eq!((first.volume, first.quote_volume, first.count), (2 * ONE, 22 * ONE, 2));
        assert_eq!((first.taker_volume, first.ids), (ONE, Some((1, 2))));
        assert_eq!(candles.candle(MINUTE_MS, MINUTE_MS), Some(Candle::flat(12 * ONE)));
        let three = candles.candle(0, 3 * MINUTE_MS).expect("a candle");
        assert_eq!((three.low, three.close, three.ids), (8 * ONE, 8 * ONE, Some((1, 3))));
    }
}
