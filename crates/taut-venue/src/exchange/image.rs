//! All that an exchange has come to, as bytes, and back: instruments, books, orders, the numbers of
//! reports and of the feed. Exchanges that came to the same have the same image.

use taut_engine::{Engine, EngineConfig};
use taut_fix::ShortText;
use taut_market_data::TradingStatus;
use taut_types::Instrument;

use super::{Exchange, rules_of};
use crate::error::NotTaken;
use crate::journal::{Put, Take};
use crate::members::Members;

/// By which instruments are told apart.
type Identity = (u32, ShortText, i64, i64, u8);

impl Exchange {
    /// Writes all of it.
    pub fn put_image(&self, put: &mut Put) {
        put.count(self.listings.all().len());
        for (listing, engine) in self.listings.all().iter().zip(&self.engines) {
            let (id, symbol, tick, lot, decimals) = identity(&listing.instrument);
            put.u32(id);
            put.text(&symbol);
            put.i64(tick);
            put.i64(lot);
            put.u8(decimals);
            put.u8(u8::from(listing.status == TradingStatus::Halted));
            put.option(engine.as_ref(), |put, engine| {
                let mut words = 0_u64;
                engine.snapshot(|_| words += 1);
                put.u64(words);
                engine.snapshot(|word| put.u64(word));
            });
        }
        self.orders.put_image(put);
        self.members.put_image(put);
        put.u64(self.reporter.exec_count);
        self.publisher.put_image(put);
    }

    /// Reads it in the place of what is there. Instruments that were not there before come behind
    /// those that were.
    pub fn take_image(&mut self, take: &mut Take<'_>) -> Result<(), NotTaken> {
        let was = take.count().ok_or(NotTaken::Malformed)?;
        if was > self.listings.all().len() {
            return Err(NotTaken::Instruments);
        }
        for place in 0..was {
            let identity_then =
                (|| Some((take.u32()?, take.text()?, take.i64()?, take.i64()?, take.u8()?)))();
            let then: Identity = identity_then.ok_or(NotTaken::Malformed)?;
            if then != identity(&self.listings.all()[place].instrument) {
                return Err(NotTaken::Instruments);
            }
            if take.flag().ok_or(NotTaken::Malformed)? {
                self.listings.set_status(place, TradingStatus::Halted);
            }
            let sizes = self.sizes;
            let engine = take.option(|take| engine_of(take, sizes)).ok_or(NotTaken::Engine)?;
            self.engines[place] = engine.map(Box::new);
        }
        self.orders.take_image(take).ok_or(NotTaken::Malformed)?;
        self.members = Members::of_image(take).ok_or(NotTaken::Malformed)?;
        self.reporter.exec_count = take.u64().ok_or(NotTaken::Malformed)?;
        self.publisher.take_image(take).ok_or(NotTaken::Malformed)
    }
}

fn engine_of(take: &mut Take<'_>, sizes: EngineConfig) -> Option<Engine> {
    let bytes = take.count()?.checked_mul(8)?;
    let words = take.raw(bytes)?.as_chunks::<8>().0;
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    Engine::restore(sizes, rules_of(sizes), words).ok()
}

fn identity(instrument: &Instrument) -> Identity {
    let lot = instrument.lot();
    let symbol = instrument.symbol().into();
    (instrument.id().0, symbol, instrument.tick().0, lot.mantissa, lot.decimals)
}
