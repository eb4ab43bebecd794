//! A file that is read again, held against what the venue defines now.

use taut_market_data::native::InstrumentDefinition;
use taut_types::{Instrument, InstrumentId, Qty};

use crate::service::file::GatewayFile;

impl GatewayFile {
    /// The venue's number of the instrument in this place.
    pub(in crate::service) fn venue_number(&self, at: usize) -> InstrumentId {
        let numbers = self.subscribed.as_ref().map(|it| it.numbers.as_slice());
        let number = numbers.and_then(|numbers| numbers.get(at)).copied();
        number.unwrap_or(InstrumentId(u32::try_from(at).unwrap_or(u32::MAX)))
    }

    /// The same file read again, with the instruments that its patterns mean now: those of the
    /// gateway that runs first, in their order.
    ///
    /// # Errors
    /// The instrument that the venue does not define as the file says, or numbers otherwise than
    /// when the gateway started.
    pub(in crate::service) fn redefined(
        self,
        defined: &[InstrumentDefinition],
        running: &Self,
    ) -> Result<Self, String> {
        let file = if self.subscribe.is_empty() {
            self
        } else {
            let order: Vec<_> = running.instruments.iter().map(|it| it.symbol.clone()).collect();
            self.defined_by(defined, &order).map_err(|error| error.to_string())?
        };
        file.check_again().map_err(|error| error.to_string())?;
        for (at, (was, is)) in running.instruments.iter().zip(&file.instruments).enumerate() {
            let [before, now] = [running, &file].map(|file| file.venue_number(at));
            // One that is another is told elsewhere.
            if before != now && was.symbol == is.symbol {
                return Err(format!(
                    "instruments[{at}] {}: the venue's number of it is {}, and was {}; end the \
                     gateway and start it again",
                    was.symbol, now.0, before.0
                ));
            }
        }
        let instruments = file.instruments().map_err(|error| error.to_string())?;
        for (at, new) in instruments.iter().enumerate().skip(running.instruments.len()) {
            let number = file.venue_number(at);
            let definition = defined.iter().find(|it| it.instrument == number);
            if let Some(wrong) = contradiction(new, number, definition) {
                return Err(format!("instruments[{at}] {}: {wrong}", new.symbol()));
            }
        }
        Ok(file)
    }
}

/// What the venue says otherwise of an instrument with this number.
fn contradiction(
    new: &Instrument,
    InstrumentId(number): InstrumentId,
    definition: Option<&InstrumentDefinition>,
) -> Option<String> {
    let Some(definition) = definition else {
        return Some(format!("the venue defines no instrument with the number {number}"));
    };
    let InstrumentDefinition { tick, lot_mantissa, lot_decimals, symbol, .. } = *definition;
    if symbol != new.symbol() {
        return Some(format!(
            "the venue's instrument {number} is {symbol}; without [[subscribe]] [[instruments]] \
             are in the venue's order"
        ));
    }
    let lot = Qty { mantissa: lot_mantissa, decimals: lot_decimals };
    let decimals = lot.decimals.max(new.lot().decimals);
    let is_same =
        tick == new.tick() && lot.with_decimals(decimals) == new.lot().with_decimals(decimals);
    (!is_same).then(|| format!("the venue's tick is {tick} and its lot {lot}"))
}

#[cfg(test)]
mod tests {
    use taut_types::{Price, Symbol};

    use super::*;
    use crate::service::file::GATEWAY_SAMPLE;

    fn definition(number: u32, symbol: &str) -> InstrumentDefinition {
        InstrumentDefinition {
            tick: Price(10_000_000),
            lot_mantissa: 1,
            instrument: InstrumentId(number),
            lot_decimals: 0,
            symbol: Symbol::new(symbol.as_bytes()).expect("a symbol"),
        }
    }

    fn file(symbols: &[&str], patterns: &[&str]) -> GatewayFile {
        let named = |name: &&str| format!("[[instruments]]\nsymbol = \"{name}\"\n");
        let instruments: String = symbols.iter().map(named).collect();
        let of = |pattern: &&str| format!("[[subscribe]]\npattern = \"{pattern}\"\n");
        let patterns: String = patterns.iter().map(of).collect();
        let sample = "[[instruments]]\nsymbol = \"TAUT\"\n# A decimal in quotes: a float would not \
                      be exact\ntick = \"0.01\"\nlot_decimals = 0\n";
        assert!(GATEWAY_SAMPLE.contains(sample));
        let text = GATEWAY_SAMPLE.replace(sample, &format!("{instruments}{patterns}"));
        toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    #[test]
    fn a_new_instrument_is_what_the_venue_defines_under_its_number() {
        let running = file(&["A"], &[]);
        let new = |symbols: &[&str], defined: &[InstrumentDefinition]| {
            let file = file(symbols, &[]).redefined(defined, &running)?;
            Ok::<_, String>(file.instruments.len())
        };
        let defined = [definition(0, "A"), definition(1, "B")];
        assert_eq!(new(&["A", "B"], &defined), Ok(2));
        for (symbols, words) in [
            (&["A", "C"][..], "instruments[1] C: the venue's instrument 1 is B"),
            (&["A", "B", "C"], "instruments[2] C: the venue defines no instrument with the number"),
        ] {
            assert!(new(symbols, &defined).expect_err(words).contains(words));
        }
        let other = InstrumentDefinition { lot_mantissa: 5, ..definition(1, "B") };
        let told = new(&["A", "B"], &[defined[0], other]).expect_err("another lot");
        assert!(
            told.contains("instruments[1] B: the venue's tick is 0.01 and its lot 5"),
            "{told}"
        );
        let same = InstrumentDefinition { lot_mantissa: 10, lot_decimals: 1, ..other };
        assert_eq!(new(&["A", "B"], &[defined[0], same]), Ok(2));
    }

    #[test]
    fn what_patterns_mean_anew_stands_behind_what_is_traded() {
        let defined = [(0, "X"), (1, "BTC"), (2, "ETH"), (3, "SOL")].map(|(n, s)| definition(n, s));
        let running = file(&["SOL"], &["ETH"]).defined_by(&defined, &[]).expect("right");
        let file = file(&["SOL"], &["ETH", "BTC|X"]);
        let read = file.clone().redefined(&defined, &running).expect("right");
        let symbols: Vec<_> = read.instruments.iter().map(|it| it.symbol.as_str()).collect();
        assert_eq!(symbols, ["SOL", "ETH", "X", "BTC"]);
        let numbers: Vec<_> = (0..4).map(|at| read.venue_number(at).0).collect();
        assert_eq!(numbers, [3, 2, 0, 1]);
        // A venue that numbers otherwise than when the gateway started is another one.
        let other = [(0, "X"), (1, "BTC"), (4, "ETH"), (3, "SOL")].map(|(n, s)| definition(n, s));
        let told = file.redefined(&other, &running).expect_err("another number");
        assert!(told.contains("instruments[1] ETH: the venue's number of it is 4, and was 2"));
    }
}
