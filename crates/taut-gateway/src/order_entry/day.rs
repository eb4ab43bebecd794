//! The end of a day: positions are settled, and profit, fees and losses count from 0.

use taut_journal::{Entry, LOT_VALUE};
use taut_oms::{PositionReport, RiskInstrument};
use taut_types::{InstrumentId, Nanos, Price};

use super::OrderSession;
use super::handler::OrderHandler;

impl<H: OrderHandler> OrderSession<H> {
    /// The number of the day that began last; 0 while none did.
    pub(crate) const fn day(&self) -> u32 {
        self.day
    }

    /// The day with this number is the one that counts now; nothing is rolled.
    pub(crate) fn begin_day(&mut self, utc: Nanos, day: u32) {
        self.day = day;
        self.note_day(utc);
    }

    /// Settles every position at its settlement price, or else at the market's last middle, and
    /// counts anew; the new day has this number, if it has one. `closed` gets each position of the
    /// old day, settled.
    pub(crate) fn roll_day(
        &mut self,
        utc: Nanos,
        day: Option<u32>,
        settlement: impl Fn(InstrumentId) -> Option<Price>,
        mut closed: impl FnMut(&PositionReport),
    ) {
        let Self { positions, earned_before, .. } = self;
        positions.roll(
            |id, mark| settlement(id).or(mark),
            |report| {
                *earned_before.entry(report.key).or_default() += report.realised - report.fees;
                closed(report);
            },
        );
        self.risk.start_day();
        self.day = day.unwrap_or(self.day);
        self.note_day(utc);
    }

    /// Writes down how all positions begin the day, and then that it has begun: a roll that was cut
    /// short is done again, and the second one changes nothing where the first one was.
    pub(super) fn note_day(&mut self, utc: Nanos) {
        let Self { positions, instruments, earned_before, journal, day, .. } = self;
        let rolled = earned_before.iter().filter_map(|(key, earned)| {
            let of = RiskInstrument::of(instruments.get(key.instrument.0 as usize)?)?;
            let position = positions.get(*key)?.rescaled(of.lot_value, LOT_VALUE);
            Some(Entry::Rolled(*key, position, *earned))
        });
        journal.note_day(utc, rolled, Entry::Day(*day));
    }
}
