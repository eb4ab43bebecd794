//! Members as bytes, and back: what held when the inputs behind the image were executed.

use taut_fix::CompId;
use taut_types::{Nanos, Price, Qty};

use super::protection::{Guard, Protection, Window};
use super::throttle::Throttle;
use super::{Known, Members};
use crate::journal::{Put, Take};

impl Members {
    /// Writes their limits, and how each stands.
    pub fn put_image(&self, put: &mut Put) {
        put.count(self.all.len());
        for known in &self.all {
            put.text(&known.comp_id);
            put.u8(u8::from(known.is_listed));
            put.option(known.places.as_ref(), |put, places| {
                put.count(places.len());
                places.iter().for_each(|place| put.u32(*place));
            });
            put.option(known.open_orders_max.as_ref(), |put, max| put.u32(*max));
            put.option(known.quantity_max.as_ref(), |put, max| {
                put.i64(max.mantissa);
                put.u8(max.decimals);
            });
            put.option(known.notional_max.as_ref(), |put, max| put.i64(max.0));
            put.option(known.throttle.rate.as_ref(), |put, rate| put.u32(*rate));
            put.i64(known.throttle.paid_until.0);
            put.option(known.guard.protection.as_ref(), |put, protection| {
                put.i64(protection.quantity.mantissa);
                put.u8(protection.quantity.decimals);
                put.i64(protection.within.0);
            });
            put.count(known.guard.windows.len());
            for window in &known.guard.windows {
                put.u32(window.place);
                put.i64(window.since.0);
                put.i64(window.lots);
            }
            put.u8(u8::from(known.is_killed));
        }
    }

    /// Reads them; nothing where they are none. No client is known yet.
    pub fn of_image(take: &mut Take<'_>) -> Option<Self> {
        let count = take.count()?;
        let all = (0..count).map(|_| known(take)).collect::<Option<Vec<_>>>()?;
        Some(Self { all, of_clients: Vec::new() })
    }
}

fn known(take: &mut Take<'_>) -> Option<Known> {
    let (comp_id, is_listed): (CompId, _) = (take.text()?, take.flag()?);
    let places = take.option(|take| (0..take.count()?).map(|_| take.u32()).collect())?;
    let open_orders_max = take.option(Take::u32)?;
    let quantity_max =
        take.option(|take| Some(Qty { mantissa: take.i64()?, decimals: take.u8()? }))?;
    let notional_max = take.option(|take| take.i64().map(Price))?;
    let rate = take.option(Take::u32)?;
    let throttle = Throttle { rate, paid_until: Nanos(take.i64()?) };
    let protection = take.option(|take| {
        let quantity = Qty { mantissa: take.i64()?, decimals: take.u8()? };
        Some(Protection { quantity, within: Nanos(take.i64()?) })
    })?;
    let windows = (0..take.count()?).map(|_| window(take)).collect::<Option<_>>()?;
    let guard = Guard { protection, windows };
    let is_killed = take.flag()?;
    Some(Known {
        comp_id,
        is_listed,
        places,
        open_orders_max,
        quantity_max,
        notional_max,
        throttle,
        guard,
        is_killed,
    })
}

fn window(take: &mut Take<'_>) -> Option<Window> {
    Some(Window { place: take.u32()?, since: Nanos(take.i64()?), lots: take.i64()? })
}
