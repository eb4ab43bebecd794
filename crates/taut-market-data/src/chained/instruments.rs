//! The instruments that a decoder knows by their names.

use alloc::vec::Vec;

use taut_types::{Instrument, InstrumentError, InstrumentId, Nanos};

use crate::amount::AmountScale;
use crate::event::{Context, InstrumentKey, Origin, SequenceRange};
use crate::handler::FollowError;
use crate::names::Names;

/// An instrument that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedInstrument<'a> {
    /// The venue's name of it, which may be longer than a symbol is.
    pub name: &'a [u8],
    /// Its number, its steps, and an alias. Amounts are counted in its lots.
    pub instrument: Instrument,
}

/// How a venue's books are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainConfig<'a> {
    /// The instruments whose books are kept.
    pub instruments: &'a [NamedInstrument<'a>],
    /// Price levels of a side of a book that fit: 48 bytes of addresses for each, and of memory
    /// for those that were ever in use.
    pub level_capacity: usize,
    /// When no subscription brings anything for so long, the feed is silent and every book stale.
    /// Heartbeats and answers do not count. A line that is silent while the other one is not is
    /// given up until it brings something again.
    pub silence: Nanos,
    /// When the channel of a book brings nothing for so long while the venue says other things, the
    /// venue may have lost the subscription: the book is stale, and its channel subscribed to anew.
    /// Without it a quiet channel is a quiet market.
    pub channel_silence: Option<Nanos>,
    /// The time between two requests for a book's snapshot.
    pub snapshot_interval: Nanos,
}

impl<'a> ChainConfig<'a> {
    /// The usual: books of 8,192 levels a side, ten seconds of silence, a request every five.
    #[must_use]
    pub const fn new(instruments: &'a [NamedInstrument<'a>]) -> Self {
        Self {
            instruments,
            level_capacity: 1 << 13,
            silence: Nanos::from_secs(10),
            channel_silence: None,
            snapshot_interval: Nanos::from_secs(5),
        }
    }
}

/// Instruments by their names: places, numbers and scales.
#[derive(Clone, Debug)]
pub(crate) struct InstrumentTable {
    names: Names,
    known: Vec<(InstrumentId, AmountScale)>,
    other: AmountScale,
}

impl InstrumentTable {
    /// Decimal places of the lots of an instrument that is not known.
    pub(crate) const DECIMALS: u8 = 8;

    pub(crate) fn new(instruments: &[NamedInstrument<'_>]) -> Result<Self, InstrumentError> {
        let known = instruments.iter().map(|&NamedInstrument { instrument, .. }| {
            let scale = AmountScale::of_lot(instrument.lot());
            Ok((instrument.id(), scale.ok_or(InstrumentError::BadIncrement)?))
        });
        Ok(Self {
            names: Names::new(instruments.iter().map(|listed| listed.name)),
            known: known.collect::<Result<_, _>>()?,
            other: AmountScale::of_decimals(Self::DECIMALS),
        })
    }

    /// Knows one more instrument behind the others. Takes memory.
    pub(crate) fn add(&mut self, listed: &NamedInstrument<'_>) -> Result<(), FollowError> {
        let NamedInstrument { name, instrument } = *listed;
        let scale = AmountScale::of_lot(instrument.lot()).ok_or(FollowError::Lot)?;
        if !self.names.add(name) {
            return Err(FollowError::Name);
        }
        self.known.push((instrument.id(), scale));
        Ok(())
    }

    /// The place, number and scale of the instrument with this name.
    #[inline]
    pub(crate) fn find(&self, name: &[u8]) -> (Option<usize>, InstrumentId, AmountScale) {
        let place = self.names.place(name);
        match place.and_then(|place| self.known.get(place)) {
            Some(&(id, scale)) => (place, id, scale),
            None => (None, InstrumentId::UNKNOWN, self.other),
        }
    }

    /// What the events of a message about an instrument have in common.
    #[inline]
    pub(crate) fn origin<'a>(
        &self,
        name: &'a [u8],
        exchange_time: Nanos,
        receive_time: Nanos,
        sequence: SequenceRange,
    ) -> Origin<'a> {
        let (_, instrument, scale) = self.find(name);
        let context = Context {
            instrument: InstrumentKey::Symbol(name),
            sequence,
            lot_decimals: scale.lot_decimals(),
        };
        Origin { context, instrument, exchange_time, receive_time }
    }
}

impl Default for InstrumentTable {
    /// Knows none.
    fn default() -> Self {
        let (names, known) = (Names::default(), Vec::new());
        Self { names, known, other: AmountScale::of_decimals(Self::DECIMALS) }
    }
}
