//! Statistics of a session: what a venue says of them, and what its trades come to.

use taut_types::{Lots, Price};

use crate::event::{EventKind, Figure, Statistic, Trade};

/// The statistics of an instrument, as far as they are known: a venue's own where its feed has
/// them, else what its trades come to since they are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionStatistics {
    /// The price that the session opened at: that of the first trade.
    pub open: Option<Price>,
    /// The highest price that something traded at.
    pub high: Option<Price>,
    /// The lowest one.
    pub low: Option<Price>,
    /// The last one.
    pub last: Option<Price>,
    /// The price that positions are settled at; no trade says it.
    pub settlement: Option<Price>,
    /// What has traded.
    pub volume: Lots,
    /// Contracts that are open; no trade says it.
    pub open_interest: Option<Lots>,
    /// The price at which the venue values positions; no trade says it.
    pub mark: Option<Price>,
    /// The price of what the instrument is about; no trade says it.
    pub index: Option<Price>,
    /// What a perpetual's longs pay its shorts, in billionths of the position for eight hours; no
    /// trade says it.
    pub funding: Option<i64>,
    /// The volatility of an option's mark price, of a year, in billionths; no trade says it, nor
    /// what follows.
    pub mark_volatility: Option<i64>,
    /// That of its best bid; 0 when nobody bids.
    pub bid_volatility: Option<i64>,
    /// That of its best offer; 0 when nobody offers.
    pub ask_volatility: Option<i64>,
    /// The price from which the venue values an option.
    pub underlying: Option<Price>,
    /// The interest rate with which it does, in billionths.
    pub interest_rate: Option<i64>,
    /// How far an option's price follows the underlying, in billionths, as are the other greeks.
    pub delta: Option<i64>,
    /// How far the delta follows the underlying.
    pub gamma: Option<i64>,
    /// What a day costs.
    pub theta: Option<i64>,
    /// What a percent of volatility is worth.
    pub vega: Option<i64>,
    /// What a percent of interest is worth.
    pub rho: Option<i64>,
}

impl SessionStatistics {
    /// Takes a trade or a figure of the venue over. Cost: a few comparisons.
    #[inline]
    pub fn apply(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Trade(trade) => self.traded(trade),
            EventKind::Statistic(statistic) => self.set(*statistic),
            _ => {}
        }
    }

    /// Takes a trade over.
    #[inline]
    pub fn traded(&mut self, trade: &Trade) {
        let (price, lots) = (trade.price, trade.lots.0);
        self.open = self.open.or(Some(price));
        self.high = Some(self.high.map_or(price, |high| high.max(price)));
        self.low = Some(self.low.map_or(price, |low| low.min(price)));
        self.last = Some(price);
        self.volume = Lots(self.volume.0.saturating_add(lots));
    }

    /// Takes a figure of the venue over.
    pub const fn set(&mut self, statistic: Statistic) {
        match statistic {
            Statistic::Open(price) => self.open = Some(price),
            Statistic::High(price) => self.high = Some(price),
            Statistic::Low(price) => self.low = Some(price),
            Statistic::Last(price) => self.last = Some(price),
            Statistic::Settlement(price) => self.settlement = Some(price),
            Statistic::Volume(lots) => self.volume = lots,
            Statistic::OpenInterest(lots) => self.open_interest = Some(lots),
            Statistic::Mark(price) => self.mark = Some(price),
            Statistic::Index(price) => self.index = Some(price),
            Statistic::Funding(rate) => self.funding = Some(rate),
            Statistic::MarkVolatility(volatility) => self.mark_volatility = Some(volatility),
            Statistic::BidVolatility(volatility) => self.bid_volatility = Some(volatility),
            Statistic::AskVolatility(volatility) => self.ask_volatility = Some(volatility),
            Statistic::Underlying(price) => self.underlying = Some(price),
            Statistic::InterestRate(rate) => self.interest_rate = Some(rate),
            Statistic::Delta(greek) => self.delta = Some(greek),
            Statistic::Gamma(greek) => self.gamma = Some(greek),
            Statistic::Theta(greek) => self.theta = Some(greek),
            Statistic::Vega(greek) => self.vega = Some(greek),
            Statistic::Rho(greek) => self.rho = Some(greek),
            Statistic::Withdrawn(figure) => match figure {
                Figure::Open => self.open = None,
                Figure::High => self.high = None,
                Figure::Low => self.low = None,
                Figure::Last => self.last = None,
                Figure::Settlement => self.settlement = None,
                Figure::Volume => self.volume = Lots::ZERO,
                Figure::OpenInterest => self.open_interest = None,
                Figure::Mark => self.mark = None,
                Figure::Index => self.index = None,
                Figure::Funding => self.funding = None,
                Figure::MarkVolatility => self.mark_volatility = None,
                Figure::BidVolatility => self.bid_volatility = None,
                Figure::AskVolatility => self.ask_volatility = None,
                Figure::Underlying => self.underlying = None,
                Figure::InterestRate => self.interest_rate = None,
                Figure::Delta => self.delta = None,
                Figure::Gamma => self.gamma = None,
                Figure::Theta => self.theta = None,
                Figure::Vega => self.vega = None,
                Figure::Rho => self.rho = None,
            },
        }
    }

    /// Every figure that is known.
    pub fn all(&self) -> impl Iterator<Item = Statistic> {
        let Self { open, high, low, last, settlement, volume, open_interest, .. } = *self;
        let Self { mark, index, funding, underlying, interest_rate, .. } = *self;
        let Self { mark_volatility, bid_volatility, ask_volatility, .. } = *self;
        let Self { delta, gamma, theta, vega, rho, .. } = *self;
        let prices = [
            open.map(Statistic::Open),
            high.map(Statistic::High),
            low.map(Statistic::Low),
            last.map(Statistic::Last),
            settlement.map(Statistic::Settlement),
            mark.map(Statistic::Mark),
            index.map(Statistic::Index),
            underlying.map(Statistic::Underlying),
        ];
        let volume = (volume != Lots::ZERO).then_some(Statistic::Volume(volume));
        let open_interest = open_interest.map(Statistic::OpenInterest);
        let others = [
            volume,
            open_interest,
            funding.map(Statistic::Funding),
            mark_volatility.map(Statistic::MarkVolatility),
            bid_volatility.map(Statistic::BidVolatility),
            ask_volatility.map(Statistic::AskVolatility),
            interest_rate.map(Statistic::InterestRate),
            delta.map(Statistic::Delta),
            gamma.map(Statistic::Gamma),
            theta.map(Statistic::Theta),
            vega.map(Statistic::Vega),
            rho.map(Statistic::Rho),
        ];
        prices.into_iter().chain(others).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use taut_types::OrderId;

    use super::*;

    fn trade(price: i64, lots: i64) -> EventKind {
        let resting_order = OrderId(0);
        let (price, lots) = (Price(price), Lots(lots));
        EventKind::Trade(Trade { trade_id: 1, price, lots, aggressor: None, resting_order })
    }

    #[test]
    fn a_figure_that_the_venue_takes_back_is_not_known() {
        let mut statistics = SessionStatistics::default();
        let price = Price(9);
        for known in [
            Statistic::Open(price),
            Statistic::High(price),
            Statistic::Low(price),
            Statistic::Last(price),
            Statistic::Settlement(price),
            Statistic::Volume(Lots(3)),
            Statistic::OpenInterest(Lots(4)),
            Statistic::Mark(price),
            Statistic::Index(price),
            Statistic::Funding(-5),
            Statistic::MarkVolatility(1),
            Statistic::BidVolatility(0),
            Statistic::AskVolatility(2),
            Statistic::Underlying(price),
            Statistic::InterestRate(-1),
            Statistic::Delta(-3),
            Statistic::Gamma(4),
            Statistic::Theta(-5),
            Statistic::Vega(6),
            Statistic::Rho(7),
        ] {
            statistics.set(known);
        }
        for (gone, figure) in Figure::ALL.into_iter().enumerate() {
            assert_eq!(statistics.all().count(), Figure::ALL.len() - gone);
            statistics.apply(&EventKind::Statistic(Statistic::Withdrawn(figure)));
        }
        assert_eq!(statistics, SessionStatistics::default());
    }

    #[test]
    fn trades_come_to_a_session_and_what_the_venue_says_holds() {
        let mut statistics = SessionStatistics::default();
        assert_eq!(statistics.all().count(), 0);
        for (price, lots) in [(10, 1), (12, 2), (7, 3), (9, 4)] {
            statistics.apply(&trade(price, lots));
        }
        let price = |price| Some(Price(price));
        assert_eq!(
            statistics,
            SessionStatistics {
                open: price(10),
                high: price(12),
                low: price(7),
                last: price(9),
                volume: Lots(10),
                ..SessionStatistics::default()
            }
        );
        statistics.apply(&EventKind::Statistic(Statistic::Volume(Lots(1_000))));
        statistics.apply(&EventKind::Statistic(Statistic::Settlement(Price(8))));
        statistics.apply(&trade(8, 1));
        assert_eq!((statistics.volume, statistics.settlement), (Lots(1_001), price(8)));
        // All of its figures are the same again.
        let mut again = SessionStatistics::default();
        statistics.all().collect::<Vec<_>>().into_iter().for_each(|it| again.set(it));
        assert_eq!(again, statistics);
    }
}
