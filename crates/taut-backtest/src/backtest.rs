//! The driver: four sources of events on one clock.

use alloc::collections::VecDeque;

use taut_types::Nanos;

use crate::order::{Order, Response};
use crate::row::{Row, RowKind};
use crate::side::ExchangeSide;
use crate::trader::OrderTable;
use crate::{Account, BacktestError, Exchange, FlatBook, Market, Recording, Strategy, Trader};

/// What a run stops for, besides the time that is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// Nothing.
    #[default]
    Time,
    /// A response.
    Response,
    /// A row that we learn of, or a response.
    Event,
}

/// Why a run stopped. Everything at its instant has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The time is reached, and more is to come.
    Time,
    /// A response arrived.
    Response,
    /// A row arrived.
    Row,
    /// Nothing is to come: no row, no request, no response.
    End,
}

/// A run over a recording: an exchange, our side, and what is on its way between them.
///
/// Four sources have times: rows that we learn of, responses, rows that the exchange learns of,
/// requests. The earliest goes first, at one instant in this order, and who decides acts after all
/// of them. No request overtakes an earlier one, and no response does. The exchange's side depends
/// on ours by requests alone, so that each side runs through its rows in a loop of its own as far
/// as the other cannot disturb it.
#[derive(Debug)]
pub struct Backtest<'r, X: Exchange> {
    recording: &'r Recording,
    side: ExchangeSide<'r, X>,
    market: X::Market,
    table: OrderTable,
    /// Responses that arrived and were not asked for.
    heard: VecDeque<Response>,
    local_next: usize,
    now: i64,
}

impl<'r, X: Exchange> Backtest<'r, X> {
    /// A run at the earliest time of its recording, before anything happened.
    ///
    /// # Errors
    /// When prices span too many ticks.
    pub fn new(recording: &'r Recording, exchange: X) -> Result<Self, BacktestError> {
        Ok(Self {
            recording,
            side: ExchangeSide::new(recording, exchange),
            market: X::Market::new(recording)?,
            table: OrderTable::default(),
            heard: VecDeque::new(),
            local_next: 0,
            now: recording.starts_at().0,
        })
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Nanos {
        Nanos(self.now)
    }

    /// The exchange's side, to look.
    #[must_use]
    pub const fn exchange(&self) -> &X {
        self.side.exchange()
    }

    /// The levels as we see them.
    #[must_use]
    pub fn book(&self) -> &FlatBook {
        self.market.book()
    }

    /// Our orders, by id.
    pub fn orders(&self) -> impl Iterator<Item = &Order> {
        self.table.orders.values()
    }

    /// What was booked.
    #[must_use]
    pub const fn account(&self) -> &Account {
        &self.table.account
    }

    /// Our side, to look and to send requests at the time that it is.
    pub fn trader(&mut self) -> Trader<'_> {
        Trader { now: Nanos(self.now), book: self.market.book(), table: &mut self.table }
    }

    /// The next response that arrived.
    pub fn poll_response(&mut self) -> Option<Response> {
        self.heard.pop_front()
    }

    /// Runs until a time, or until what it stops for. A time in the past is now.
    ///
    /// A row costs an access to an array on each side that learns of it, and allocates nothing.
    ///
    /// # Errors
    /// [`BacktestError::FilledTwice`], as hftbacktest's error 14.
    pub fn run_until(&mut self, time: Nanos, stop: Stop) -> Result<Stopped, BacktestError> {
        self.run_until_with(time, stop, |_| {})
    }

    /// As [`run_until`](Self::run_until), and tells each trade of the recording that arrives.
    ///
    /// # Errors
    /// Those of [`run_until`](Self::run_until).
    pub fn run_until_with(
        &mut self,
        time: Nanos,
        stop: Stop,
        mut on_trade: impl FnMut(&Row),
    ) -> Result<Stopped, BacktestError> {
        self.send_requests();
        let time = time.0.max(self.now);
        let mut limit = time;
        if stop != Stop::Time {
            limit = self.side.next_response_at().map_or(limit, |at| limit.min(at.0));
        }
        if stop == Stop::Event {
            limit = self.next_local_at().map_or(limit, |at| limit.min(at));
        }
        let ran = self.side.run_until(Nanos(limit.max(self.now)), stop != Stop::Time);
        let limit = match ran {
            Ok(Nanos(limit)) => limit,
            Err((Nanos(at), error)) => {
                // Ours is as it was at that time.
                self.run_local(at, &mut on_trade);
                self.now = at;
                return Err(error);
            }
        };
        let (rows, responses) = self.run_local(limit, &mut on_trade);
        let is_over = self.is_over();
        if !is_over || limit < time {
            self.now = limit;
        }
        Ok(match (is_over, responses, rows) {
            (true, ..) => Stopped::End,
            (false, true, _) if stop != Stop::Time => Stopped::Response,
            (false, _, true) if stop == Stop::Event => Stopped::Row,
            // It stopped early for a row or a response alone, which came.
            _ => {
                debug_assert!(limit >= time, "stopped at {limit} of {time} for nothing");
                Stopped::Time
            }
        })
    }

    /// Runs a strategy to the end of the recording: it does not act any more when nothing is to
    /// come after the time at which it would.
    ///
    /// # Errors
    /// Those of the strategy's requests, and [`BacktestError::FilledTwice`].
    pub fn run(&mut self, strategy: &mut impl Strategy) -> Result<(), BacktestError> {
        let mut next = strategy.first(self.recording.starts_at());
        loop {
            let stopped = self.run_until_with(next, Stop::Time, |row| strategy.on_trade(row))?;
            while let Some(response) = self.poll_response() {
                strategy.hear(&response);
            }
            if stopped == Stopped::End {
                return Ok(());
            }
            next = strategy.act(&mut self.trader())?;
        }
    }

    /// Sends what was asked for since the last run.
    fn send_requests(&mut self) {
        while let Some(request) = self.table.outgoing.pop_front() {
            self.side.send(request);
        }
    }

    /// Takes what arrives up to a time: whether there were rows and responses.
    fn run_local(&mut self, until: i64, on_trade: &mut impl FnMut(&Row)) -> (bool, bool) {
        let compat = *self.side.exchange().compat();
        let (rows, mut next) = (self.recording.local_rows(), self.local_next);
        let mut has_row = false;
        while let Some(row) = rows.get(next) {
            if row.is_local() {
                if row.local_at() > until {
                    break;
                }
                match row.kind() {
                    RowKind::Trade => on_trade(row),
                    _ => self.market.take(row, compat.clear_skips_a_tick),
                }
                has_row = true;
            }
            next += 1;
        }
        self.local_next = next;
        let mut has_heard = false;
        while let Some(response) = self.side.poll_response(Nanos(until)) {
            let (any, filled_only) = (compat.any_response_answers, compat.partial_fills_unbooked);
            self.table.hear(&response, any, filled_only);
            self.heard.push_back(response);
            has_heard = true;
        }
        (has_row, has_heard)
    }

    /// When the next row arrives.
    fn next_local_at(&self) -> Option<i64> {
        let rows = self.recording.local_rows().get(self.local_next..)?;
        rows.iter().find(|row| row.is_local()).map(|row| row.local_at())
    }

    /// Whether nothing is to come.
    fn is_over(&self) -> bool {
        self.side.is_over() && self.local_next >= self.recording.local_rows().len()
    }
}
