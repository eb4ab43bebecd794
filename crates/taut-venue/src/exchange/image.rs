//! All that an exchange has come to, as bytes, and back: instruments, books, orders, the numbers of
//! reports and of the feed. Exchanges that came to the same have the same image.

use taut_engine::{Engine, EngineConfig, Phase};
use taut_fix::ShortText;
use taut_types::{FeeRates, Instrument, Nanos, Price};

use super::{Configured, Exchange, rules_of};
use crate::bands::Bands;
use crate::error::NotTaken;
use crate::journal::{Put, Take};
use crate::listing::Listing;
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
            put.u8(listing.phase as u8);
            put.option(listing.resumes_at.as_ref(), |put, at| put.i64(at.0));
            put.i64(listing.scheduled.0);
            put_rules(put, listing);
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

    /// What trades cost from here on; where inputs of a journal are executed, from their end on.
    pub fn set_fees(&mut self, fees: &[FeeRates]) {
        match &mut self.configured {
            None => self.listings.set_fees(fees),
            Some(Configured { rules, .. }) => {
                rules.iter_mut().zip(fees).for_each(|(rules, fees)| rules.0 = *fees);
            }
        }
    }

    /// What the configuration says holds from here on: inputs of a journal were executed under what
    /// held for them.
    pub fn go_by_configured(&mut self) {
        let Some(configured) = self.configured.take() else { return };
        let Configured { rules, members } = configured;
        for (place, (fees, bands)) in rules.into_iter().enumerate() {
            let listing = self.listings.at_mut(place);
            listing.fees = fees;
            if std::mem::replace(&mut listing.bands, bands) == bands {
                continue;
            }
            let (sizes, of) = (self.sizes, &self.listings.all()[place]);
            if let Some(engine) = &mut self.engines[place] {
                let mut words = Vec::new();
                engine.snapshot(|word| words.push(word));
                // It fits: the sizes are the same.
                if let Ok(same) = Engine::restore(sizes, rules_of(sizes, of), words) {
                    **engine = same;
                }
            }
        }
        let before = std::mem::replace(&mut self.members, members);
        self.members.take_over(before);
        self.phases_due = Nanos::ZERO;
    }

    /// Reads it in the place of what is there, with the rules that held. Instruments that were not
    /// there before come behind those that were. What the configuration says waits for
    /// [`go_by_configured`](Self::go_by_configured).
    pub fn take_image(&mut self, take: &mut Take<'_>) -> Result<(), NotTaken> {
        let rules = self.listings.all().iter().map(|it| (it.fees, it.bands)).collect();
        let members = std::mem::take(&mut self.members);
        self.configured = Some(Configured { rules, members });
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
            take_listing(take, self.listings.at_mut(place)).ok_or(NotTaken::Malformed)?;
            let (sizes, of) = (self.sizes, &self.listings.all()[place]);
            let engine = take.option(|take| engine_of(take, sizes, of)).ok_or(NotTaken::Engine)?;
            self.engines[place] = engine.map(Box::new);
        }
        self.orders.take_image(take).ok_or(NotTaken::Malformed)?;
        self.members = Members::of_image(take).ok_or(NotTaken::Malformed)?;
        self.reporter.exec_count = take.u64().ok_or(NotTaken::Malformed)?;
        self.publisher.take_image(take).ok_or(NotTaken::Malformed)
    }
}

/// What holds for the trades of an instrument: its fees and bands.
fn put_rules(put: &mut Put, of: &Listing) {
    put.i64(of.fees.maker);
    put.i64(of.fees.taker);
    put.option(of.bands.limits.as_ref(), |put, (low, high)| {
        put.i64(low.0);
        put.i64(high.0);
    });
    put.option(of.bands.dynamic.as_ref(), |put, distance| put.i64(distance.0));
    put.option(of.bands.interruption.as_ref(), |put, span| put.i64(span.0));
}

fn take_listing(take: &mut Take<'_>, listing: &mut Listing) -> Option<()> {
    listing.phase = Phase::from_index(take.u8()?)?;
    listing.resumes_at = take.option(|take| take.i64().map(Nanos))?;
    listing.scheduled = Nanos(take.i64()?);
    listing.fees = FeeRates { maker: take.i64()?, taker: take.i64()? };
    listing.bands = Bands {
        limits: take.option(|take| Some((Price(take.i64()?), Price(take.i64()?))))?,
        dynamic: take.option(|take| take.i64().map(Price))?,
        interruption: take.option(|take| take.i64().map(Nanos))?,
    };
    Some(())
}

fn engine_of(take: &mut Take<'_>, sizes: EngineConfig, of: &Listing) -> Option<Engine> {
    let bytes = take.count()?.checked_mul(8)?;
    let words = take.raw(bytes)?.as_chunks::<8>().0;
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    Engine::restore(sizes, rules_of(sizes, of), words).ok()
}

fn identity(instrument: &Instrument) -> Identity {
    let lot = instrument.lot();
    let symbol = instrument.symbol().into();
    (instrument.id().0, symbol, instrument.tick().0, lot.mantissa, lot.decimals)
}
