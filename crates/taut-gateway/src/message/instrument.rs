//! An instrument with its reference data, in the slots of a ring.
//!
//! Most have one tick: their words fit the two slots of a reply. The steps of a tick table go
//! before these, three in a slot.

use taut_ring::Payload;
use taut_types::{
    ContractKind, Instrument, InstrumentId, Lots, Nanos, Price, Qty, TickStep, TickTable,
};

use crate::message::slots::{byte, head, high, kind, symbol_of, symbol_words};

/// Steps in a slot.
const STEPS: usize = 3;

/// Slots of an instrument at the most.
pub(super) const INSTRUMENT_SLOTS_MAX: usize = TickTable::STEPS_MAX.div_ceil(STEPS) + 2;

/// The slots of its steps, which go before the others.
pub(super) fn step_slots(instrument: &Instrument) -> impl Iterator<Item = Payload> {
    instrument.ticks().steps().chunks(STEPS).map(pack_steps)
}

fn pack_steps(steps: &[TickStep]) -> Payload {
    let mut words = [0; 2 * STEPS];
    for (pair, step) in words.chunks_exact_mut(2).zip(steps) {
        pair.copy_from_slice(&[step.from.0.cast_unsigned(), step.tick.0.cast_unsigned()]);
    }
    let [a, b, c, d, e, f] = words;
    [head([kind::TICK_STEPS, steps.len() as u8, 0, 0], 0), a, b, c, d, e, f]
}

/// The words of an instrument without the steps of its table: four for the slot that goes before,
/// and its own slot.
pub(super) fn pack(instrument: &Instrument) -> ([u64; 4], Payload) {
    let unsigned = |value: i64| value.cast_unsigned();
    let (length, [low, high]) = symbol_words(&instrument.symbol());
    let (lot, multiplier) = (instrument.lot(), instrument.multiplier());
    let is_inverse = u64::from(instrument.kind() == ContractKind::Inverse);
    let bytes = [kind::INSTRUMENT, lot.decimals, length, multiplier.decimals];
    let expiry = instrument.expiry().unwrap_or_default();
    let before = [
        unsigned(multiplier.mantissa),
        unsigned(instrument.lots_min().0),
        unsigned(instrument.notional_min().0),
        unsigned(expiry.0),
    ];
    let (tick, lot) = (unsigned(instrument.tick().0), unsigned(lot.mantissa));
    (before, [head(bytes, instrument.id().0), tick, lot, low, high, is_inverse, 0])
}

/// The instrument of these words, if it is one.
pub(super) fn unpack(before: [u64; 4], slot: &Payload, steps: &StepsReader) -> Option<Instrument> {
    let [multiplier, lots_min, notional_min, expiry] = before.map(u64::cast_signed);
    let [head, tick, lot, low, symbol_high, is_inverse, _] = *slot;
    let symbol = symbol_of(byte(head, 2), [low, symbol_high])?;
    let lot = Qty { mantissa: lot.cast_signed(), decimals: byte(head, 1) };
    let multiplier = Qty { mantissa: multiplier, decimals: byte(head, 3) };
    let kind = match is_inverse {
        0 => ContractKind::Linear,
        1 => ContractKind::Inverse,
        _ => return None,
    };
    let tick = Price(tick.cast_signed());
    let plain = Instrument::new(InstrumentId(high(head)), symbol, tick, lot).ok()?;
    let stepped = plain.with_tick_steps(steps.all()).ok()?;
    let valued = stepped.with_multiplier(multiplier).ok()?;
    let whole = valued.with_minima(Lots(lots_min), Price(notional_min)).ok()?;
    Some(whole.with_kind(kind).with_expiry(Nanos(expiry)))
}

/// The steps that were read before their instrument.
#[derive(Debug, Default)]
pub(super) struct StepsReader {
    steps: [TickStep; TickTable::STEPS_MAX],
    count: usize,
}

impl StepsReader {
    /// Takes the steps of a slot; those that have no room are none of an instrument's.
    pub(super) fn take(&mut self, payload: &Payload) {
        let [head, words @ ..] = *payload;
        let count = usize::from(byte(head, 1));
        for pair in words.chunks_exact(2).take(count) {
            let &[from, tick] = pair else { return };
            let (from, tick) = (Price(from.cast_signed()), Price(tick.cast_signed()));
            if let Some(place) = self.steps.get_mut(self.count) {
                *place = TickStep { from, tick };
                self.count += 1;
            }
        }
    }

    fn all(&self) -> &[TickStep] {
        self.steps.get(..self.count).unwrap_or_default()
    }
}
