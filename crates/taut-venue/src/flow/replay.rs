//! A recorded market of one instrument, level by level: what a capture holds is the crowd.
//!
//! Each recorded price level is one order of the venue's. What a client takes of it is put back by
//! the flow's next step: the market is as it was recorded, whatever a client does, and a client's
//! orders trade against it. A client's order rests until a level of the other side comes to its
//! price. Trades of the recording are told as trades that no order here took part in.
//!
//! | at its end | the book |
//! |---|---|
//! | played once | stays as the last update left it, and is put back to that |
//! | repeated | loses all orders of the recording, and the recording starts again |

mod deribit;
pub(super) mod format;
pub(super) mod head;
mod lobster;
#[cfg(test)]
mod tests;

use std::path::Path;

use taut_engine::NewOrder;
use taut_recording::FileError;
use taut_recording::capture::Capture;
use taut_types::{Instrument, Lots, Nanos, OrderId};

use self::format::ReplayFormat;
use crate::flow::binance;
use crate::flow::market::{Key, Market};
use crate::flow::step::FlowStep;
use crate::flow::tape::{Tape, TapeChange, TapeStep};

/// A recording, checked and ready to be played. A round has a step before the first one of the
/// recording, which sets the book, and one behind the last, its end.
#[derive(Clone, Debug)]
pub struct ReplayFlow {
    place: usize,
    repeats: bool,
    first: Vec<(Key, Lots)>,
    first_id: u64,
    initial_orders: Vec<NewOrder>,
    steps: Vec<TapeStep>,
    /// From the first step to the last.
    span: Nanos,
    levels_max: usize,
    market: Market,
    /// How often it came to its end.
    ends: u64,
}

impl ReplayFlow {
    /// Reads and checks a file for the instrument in place 0, whose name at its venue this is: a
    /// LOBSTER message file, a capture of Binance's frames of one symbol with a depth snapshot, or
    /// one of Deribit's frames, in which other instruments may be, too. The file may be gzip, and
    /// says itself which it is.
    ///
    /// # Errors
    /// When it cannot be read, something in it is malformed or missing, a price or a size is none
    /// of the instrument's, or it is of another instrument. The error prints as one line that names
    /// the file, the line and the value.
    pub fn read(path: &Path, name: &str, instrument: Instrument) -> Result<Self, FileError> {
        Self::of(&Capture::read(path)?, name, instrument)
    }

    /// As [`ReplayFlow::read`], of a file in memory.
    ///
    /// # Errors
    /// As [`ReplayFlow::read`].
    pub fn of(capture: &Capture, name: &str, instrument: Instrument) -> Result<Self, FileError> {
        let tape = match ReplayFormat::of(capture) {
            ReplayFormat::Lobster => lobster::read_tape(capture, instrument),
            ReplayFormat::Binance => binance::read_tape(capture, name, instrument),
            ReplayFormat::Deribit => deribit::read_tape(capture, name, instrument),
        };
        let Tape { first, first_id, steps, levels_max } = tape?;
        let mut market = Market::new(instrument);
        let initial_orders = market.begin(&first);
        market.last_id = first_id;
        let span = steps.iter().map(|step| step.at).max().unwrap_or(Nanos::ZERO);
        let (place, repeats, ends) = (0, false, 0);
        Ok(Self {
            place,
            repeats,
            first,
            first_id,
            initial_orders,
            steps,
            span,
            levels_max,
            market,
            ends,
        })
    }

    /// The same for the instrument in this place of the venue's configuration.
    #[must_use]
    pub fn in_place(self, place: usize) -> Self {
        Self { place, ..self }
    }

    /// The same again and again: a round begins where the one before ended. One that takes no time
    /// ([`ReplayFlow::span`]) is played once.
    #[must_use]
    pub fn repeated(self) -> Self {
        Self { repeats: self.span > Nanos::ZERO, ..self }
    }

    /// From the first step to the last, as it was recorded.
    #[must_use]
    pub const fn span(&self) -> Nanos {
        self.span
    }

    /// The most levels that a side ever has: for so many, and for clients' orders besides, a book
    /// needs room.
    #[must_use]
    pub const fn levels_max(&self) -> usize {
        self.levels_max
    }

    /// The orders that rest before the first step: one for each level.
    #[must_use]
    pub fn initial_orders(&self) -> &[NewOrder] {
        &self.initial_orders
    }

    /// The place of its instrument.
    pub(crate) const fn place(&self) -> usize {
        self.place
    }

    /// How often it came to its end.
    pub(crate) const fn ends(&self) -> u64 {
        self.ends
    }

    /// From the first step to this one, rounds counted; `None` when there is no such step.
    pub(crate) fn offset(&self, position: usize) -> Option<Nanos> {
        let (round, nth) = self.round(position);
        if round > 0 && !self.repeats {
            return None;
        }
        let begun = self.span.0.saturating_mul(i64::try_from(round).unwrap_or(i64::MAX));
        let at = match nth.checked_sub(1) {
            None => Nanos::ZERO,
            Some(nth) => self.steps.get(nth).map_or(self.span, |step| step.at),
        };
        Some(Nanos(begun) + at)
    }

    /// What a client has taken is put back before anything else happens.
    pub(crate) fn is_behind(&self) -> bool {
        !self.market.behind.is_empty()
    }

    /// Brings a level that is behind nearer to what it shall be.
    pub(crate) fn catch_up(&mut self) -> FlowStep {
        let key = self.market.behind.pop_front();
        key.and_then(|key| self.market.command(key)).into()
    }

    /// Takes a step.
    pub(crate) fn step(&mut self, position: usize) -> FlowStep {
        let (round, nth) = self.round(position);
        let Some(nth) = nth.checked_sub(1) else {
            // In the first round the levels rest from the beginning.
            if round > 0 {
                self.begin_again();
            }
            return FlowStep::Nothing;
        };
        match self.steps.get(nth).map(|step| step.change) {
            Some(TapeChange::Level(key, lots)) => self.market.set(key, lots).into(),
            Some(TapeChange::Trade { price, lots, aggressor }) => {
                FlowStep::Print { price, lots, aggressor }
            }
            Some(TapeChange::Whole(id)) => {
                self.market.last_id = id;
                FlowStep::Nothing
            }
            None => {
                self.ends += 1;
                if self.repeats {
                    self.market.clear();
                }
                FlowStep::Nothing
            }
        }
    }

    /// An order was filled, and this is left of it.
    pub(crate) fn on_fill(&mut self, order_id: OrderId, remaining: Lots) {
        self.market.on_fill(order_id, remaining);
    }

    /// An order was refused. Its level stays empty until the recording changes it: the next attempt
    /// would be refused, too.
    pub(crate) fn on_refusal(&mut self, order_id: OrderId) {
        self.market.on_refusal(order_id);
    }

    /// Which round a step belongs to, and where it stands in it.
    const fn round(&self, position: usize) -> (usize, usize) {
        let steps = self.steps.len() + 2;
        (position / steps, position % steps)
    }

    fn begin_again(&mut self) {
        self.market.last_id = self.first_id;
        for &((side, price), lots) in &self.first {
            self.market.side_mut(side).entry(price).or_default().target = lots;
            self.market.behind.push_back((side, price));
        }
    }
}
