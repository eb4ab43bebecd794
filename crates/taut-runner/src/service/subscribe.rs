//! Instruments that a file names by patterns: chosen, at the start and by a reload, of those that
//! the venue defines.

mod cycle;
mod defined;

use std::borrow::Cow;

use taut_market_data::native::InstrumentDefinition;
use taut_sys::{catch_stop_signals, monotonic, stop_requests};
use taut_types::Nanos;

use crate::error::RunnerError;
use crate::mistakes::Mistake;
use crate::service::file::GatewayFile;
use crate::service::pattern::Pattern;
use crate::service::subscribe_rule::Subscribed;
pub use cycle::Listening;

/// After so long it is told that the venue has not defined its instruments.
const PATIENCE: Nanos = Nanos::from_secs(2);

impl GatewayFile {
    /// Every pattern that is none, and where there can be none.
    pub(super) fn mistakes_of_patterns(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for (at, rule) in self.subscribe.iter().enumerate() {
            let key = format!("subscribe[{at}].pattern");
            mistakes.extend(Pattern::new(&key, &rule.pattern).err());
        }
        if !self.subscribe.is_empty() && self.venue.is_none() {
            let text = "[[subscribe]] goes with [venue], whose feed defines its instruments; at \
                        other venues [[instruments]] names each";
            mistakes.push(Mistake::told("subscribe", text));
        }
        mistakes
    }

    /// The file with the instruments that its patterns mean, once the venue has defined all of its
    /// own. A venue that is not there is waited for, until the deadline or a stop signal.
    ///
    /// # Errors
    /// What the file then says wrong, or no instrument that it means.
    pub(super) fn subscribed(
        &self,
        deadline: Option<Nanos>,
        mut heard: impl FnMut(&str),
    ) -> Result<Cow<'_, Self>, RunnerError> {
        let Some(venue) = self.venue.as_ref().filter(|_| !self.subscribe.is_empty()) else {
            return Ok(Cow::Borrowed(self));
        };
        catch_stop_signals().map_err(|error| RunnerError::run("signals", error))?;
        let (mut listening, began) = (Listening::open(venue)?, monotonic());
        let mut is_told = false;
        let defined = loop {
            if let Some(defined) = listening.poll()? {
                break defined;
            }
            let now = monotonic();
            if stop_requests() > 0 || deadline.is_some_and(|deadline| now >= deadline) {
                let at = venue.snapshot;
                let text = format!("[[subscribe]]: the venue defined no instruments at {at}");
                return Err(RunnerError::Run(text));
            }
            if now >= began + PATIENCE && !std::mem::replace(&mut is_told, true) {
                heard("waiting for the venue to define its instruments");
            }
        };
        // With a journal each keeps its number.
        let order = self.order_journal().map(|it| it.symbols()).unwrap_or_default();
        let file = self.defined_by(&defined, &order)?;
        let (own, all) = (file.instruments.len(), defined.len());
        heard(&format!("{own} instruments of the {all} that the venue defines"));
        file.check()?;
        Ok(Cow::Owned(file))
    }

    /// The file with what the venue defines: those that `order` has in its order, and behind them
    /// the others.
    pub(super) fn defined_by(
        &self,
        defined: &[InstrumentDefinition],
        order: &[String],
    ) -> Result<Self, RunnerError> {
        let mut file = self.clone();
        let mut numbers = Vec::new();
        for (at, written) in self.instruments.iter().enumerate() {
            let is_it = |it: &&InstrumentDefinition| it.symbol.as_str() == written.symbol;
            let definition = defined.iter().find(is_it).ok_or_else(|| {
                let remedy = "the symbol of an instrument that the venue defines";
                RunnerError::setting(&format!("instruments[{at}].symbol"), &written.symbol, remedy)
            })?;
            numbers.push(definition.instrument);
        }
        let rules = self.subscribe.iter().enumerate().map(|(at, rule)| {
            let pattern = Pattern::new(&format!("subscribe[{at}].pattern"), &rule.pattern);
            pattern.map(|pattern| (pattern, rule))
        });
        let rules: Vec<_> =
            rules.collect::<Result<_, _>>().map_err(|wrong| crate::mistakes::error(&[wrong]))?;
        let mut defined: Vec<_> = defined.iter().collect();
        // The venue's order, whichever it defines first: what it lists later comes last.
        let place = |symbol: &str| order.iter().position(|it| it == symbol).unwrap_or(usize::MAX);
        defined.sort_by_cached_key(|definition| {
            (place(definition.symbol.as_str()), definition.instrument)
        });
        for definition in defined {
            let symbol = definition.symbol.to_string();
            let is_written = self.instruments.iter().any(|written| written.symbol == symbol);
            let rule = rules.iter().find(|(pattern, _)| pattern.means(&symbol));
            if let Some((_, rule)) = rule.filter(|_| !is_written) {
                file.instruments.push(rule.settings(definition));
                numbers.push(definition.instrument);
            }
        }
        if file.instruments.is_empty() {
            let text = "[[subscribe]]: no pattern means an instrument that the venue defines";
            return Err(RunnerError::Run(text.to_owned()));
        }
        file.subscribed = Some(Subscribed { written: self.instruments.len(), numbers });
        Ok(file)
    }

    /// The same file read again, with the instruments of the gateway that runs, where neither those
    /// that are written nor the patterns are others.
    pub(super) fn subscribed_as(mut self, running: &Self) -> Self {
        if let Some(subscribed) = &running.subscribed
            && self.subscribe == running.subscribe
            && running.instruments.get(..subscribed.written) == Some(&self.instruments)
        {
            self.instruments.clone_from(&running.instruments);
            self.subscribed = Some(subscribed.clone());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use taut_types::{InstrumentId, Price, Qty, Symbol};

    use super::*;

    fn definition(number: u32, symbol: &str) -> InstrumentDefinition {
        InstrumentDefinition {
            tick: Price(250_000_000),
            lot_mantissa: if number == 4 { 10 } else { 1 },
            instrument: InstrumentId(number),
            lot_decimals: 3,
            symbol: Symbol::new(symbol.as_bytes()).expect("a symbol"),
        }
    }

    fn file(more: &str) -> GatewayFile {
        let text = "name = \"x\"\n[venue]\norders = \"127.0.0.1:1\"\n\
                    incremental = \"127.0.0.1:2\"\nsnapshot = \"127.0.0.1:3\"\n\
                    target_comp_id = \"V\"\n[[strategies]]\nname = \"s\"\nnumber = 1\n";
        toml::from_str(&format!("{text}{more}")).expect("a file")
    }

    #[test]
    fn patterns_choose_among_what_the_venue_defines_and_keep_its_order() {
        let defined: Vec<_> = [(4, "BTC-C"), (0, "ETH-A"), (1, "BTC-A"), (2, "DOGE"), (7, "SOL")]
            .map(|(number, symbol)| definition(number, symbol))
            .to_vec();
        let file = file(
            "[[instruments]]\nsymbol = \"SOL\"\n[[subscribe]]\npattern = \"BTC-.*\"\n\
             currency = \"USD\"\n[[subscribe]]\npattern = \".*-A|SOL\"\n",
        );
        let chosen = file.defined_by(&defined, &[]).expect("right");
        chosen.check().expect("right");
        let symbols: Vec<_> = chosen.instruments.iter().map(|it| it.symbol.as_str()).collect();
        assert_eq!(symbols, ["SOL", "ETH-A", "BTC-A", "BTC-C"]);
        let numbers = chosen.subscribed.as_ref().map(|it| it.numbers.clone());
        assert_eq!(numbers, Some([7, 0, 1, 4].map(InstrumentId).to_vec()));
        let built = chosen.instruments().expect("right");
        assert_eq!(built[2].tick(), Price(250_000_000));
        assert_eq!(built[2].lot(), Qty { mantissa: 1, decimals: 3 });
        assert_eq!(built[3].lot(), Qty::parse(b"0.01").expect("a quantity"));
        let currencies: Vec<_> =
            chosen.instruments.iter().map(|it| it.currency.as_deref()).collect();
        assert_eq!(currencies, [None, None, Some("USD"), Some("USD")]);
        // Read again, it is the same; with another pattern it is not.
        assert_eq!(file.clone().subscribed_as(&chosen), chosen);
        let mut other = file.clone();
        other.subscribe[0].pattern = "BTC-A".to_owned();
        assert_eq!(other.clone().subscribed_as(&chosen), other);
    }

    #[test]
    fn what_the_venue_does_not_define_is_named() {
        let defined = [definition(0, "ONE")];
        let written = file("[[instruments]]\nsymbol = \"TWO\"\n[[subscribe]]\npattern = \".*\"\n");
        let told = written.defined_by(&defined, &[]).expect_err("not defined").to_string();
        assert!(told.contains("instruments[0].symbol = TWO"), "{told}");
        let told = file("[[subscribe]]\npattern = \"T.*\"\n").defined_by(&defined, &[]);
        assert!(told.expect_err("none").to_string().contains("no pattern means"));
        let wrong = file("[[subscribe]]\npattern = \"(\"\n").mistakes_of_patterns();
        assert_eq!(wrong.len(), 1);
        assert!(file("[[subscribe]]\npattern = \"T.*\"\n").check().is_ok());
        let mut elsewhere = file("[[subscribe]]\npattern = \".*\"\n");
        elsewhere.venue = None;
        assert_eq!(elsewhere.mistakes_of_patterns().len(), 1);
    }
}
