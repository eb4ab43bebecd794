//! Market-maker protection: fills that come too fast.

use taut_types::{Instrument, Lots, Nanos, Qty};

use super::amounts::is_more;

/// When a member's orders of an instrument are cancelled by the venue: where fills of those that
/// rest come to this quantity within this time of the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    /// How much.
    pub quantity: Qty,
    /// From the first fill on; then it is counted anew.
    pub within: Nanos,
}

/// Fills of an instrument that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The place of the instrument.
    pub place: u32,
    /// When the first of them was, in UTC.
    pub since: Nanos,
    pub lots: i64,
}

/// A member's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    pub protection: Option<Protection>,
    /// By their places.
    pub windows: Vec<Window>,
}

impl Guard {
    /// With room for so many instruments, where it protects.
    pub fn new(protection: Option<Protection>, instruments: usize) -> Self {
        let windows = Vec::with_capacity(if protection.is_some() { instruments } else { 0 });
        Self { protection, windows }
    }

    /// An order of the member that rested has traded: whether that is too much. Then it is counted
    /// anew.
    pub fn fill(&mut self, place: usize, of: &Instrument, lots: Lots, utc: Nanos) -> bool {
        let Some(Protection { quantity, within }) = self.protection else { return false };
        let place = place as u32;
        let found = self.windows.binary_search_by_key(&place, |window| window.place);
        let at = found.unwrap_or_else(|at| {
            self.windows.insert(at, Window { place, since: utc, lots: 0 });
            at
        });
        let window = &mut self.windows[at];
        let age = utc.0.saturating_sub(window.since.0);
        if window.lots == 0 || age < 0 || age >= within.0 {
            (window.since, window.lots) = (utc, 0);
        }
        window.lots = window.lots.saturating_add(lots.0);
        let filled = of.qty(Lots(window.lots)).unwrap_or(Qty::whole(i64::MAX));
        let is_too_much = !is_more(quantity, filled);
        if is_too_much {
            window.lots = 0;
        }
        is_too_much
    }
}

#[cfg(test)]
mod tests {
    use taut_types::{InstrumentId, Price, Symbol};

    use super::*;

    #[test]
    fn fills_are_counted_from_the_first_one_on_for_each_instrument() {
        let symbol = Symbol::new(b"AAPL").expect("a symbol");
        let instrument = Instrument::new(InstrumentId(1), symbol, Price(10_000_000), Qty::whole(1));
        let of = instrument.expect("an instrument");
        let protection = Some(Protection { quantity: Qty::whole(10), within: Nanos(100) });
        let mut guard = Guard { protection, windows: Vec::new() };
        let mut fill = |place, lots, at| guard.fill(place, &of, Lots(lots), Nanos(at));
        assert!(!fill(0, 6, 1_000) && !fill(1, 6, 1_000) && fill(0, 4, 1_099));
        assert!(!fill(0, 9, 1_100), "counted anew");
        assert!(!fill(0, 9, 1_200), "too late: the window is over");
        assert!(fill(0, 1, 1_299));
        assert!(!fill(1, 6, 900), "a clock that was set back begins anew");
        assert!(!Guard::default().fill(0, &of, Lots(1_000), Nanos(0)));
    }
}
