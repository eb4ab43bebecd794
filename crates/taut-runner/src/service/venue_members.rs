//! `[[members]]` of a venue's file: who may trade there, what, and how much.

use serde::{Deserialize, Serialize};
use taut_types::{Instrument, Nanos, Price, Qty};
use taut_venue::{Member, Protection};

use crate::mistakes::Mistake;
use crate::service::pattern::instruments_meant;
use crate::settings::comp_id;

/// New orders and replacements that a member may send in a second, at the most.
const ORDERS_PER_SECOND: u32 = 1_000_000;

/// A member of a venue, in plain values; what is absent does not limit it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemberKeys {
    /// Its CompID.
    pub comp_id: String,
    /// What it may trade: names, or regular expressions over a whole name.
    pub instruments: Option<Vec<String>>,
    /// New orders and replacements in a second; a second's worth may come at once, and cancels are
    /// always taken.
    pub max_orders_per_second: Option<u32>,
    /// Open orders at once, over all instruments.
    pub max_open_orders: Option<u32>,
    /// OrderQty of an order: a decimal in quotes.
    pub max_quantity: Option<String>,
    /// Price times quantity of an order: a decimal in quotes.
    pub max_notional: Option<String>,
    /// When the venue cancels its orders of an instrument.
    pub protection: Option<ProtectionKeys>,
}

/// Market-maker protection, in plain values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectionKeys {
    /// How much of its orders that rest may trade: a decimal in quotes.
    pub quantity: String,
    /// Within so many milliseconds of the first fill.
    pub within_ms: u32,
}

impl MemberKeys {
    /// The member at this place of the file; what it cannot be is added to the mistakes.
    fn member(
        &self,
        at: usize,
        listed: &[(&str, Instrument)],
        mistakes: &mut Vec<Mistake>,
    ) -> Option<Member> {
        let key = |name: &str| format!("members[{at}].{name}");
        let comp_id = comp_id(&key("comp_id"), &self.comp_id);
        let comp_id = comp_id.map_err(|error| mistakes.push(error.into())).ok()?;
        let instruments = self.instruments.as_ref();
        let instruments = instruments_meant(&key("instruments"), instruments, listed, mistakes);
        let rate = self.max_orders_per_second;
        if let Some(rate) = rate.filter(|rate| !(1..=ORDERS_PER_SECOND).contains(rate)) {
            let key = key("max_orders_per_second");
            mistakes.push(Mistake::new(&key, rate, format!("1 to {ORDERS_PER_SECOND}")));
        }
        let mut decimal = |name: &str, text: Option<&String>| {
            let text = text?;
            let number = Qty::parse(text.as_bytes()).ok().filter(|it| it.mantissa > 0);
            if number.is_none() {
                let remedy = "a decimal above 0 in quotes, such as \"1000\"";
                mistakes.push(Mistake::new(&key(name), format!("{text:?}"), remedy));
            }
            number
        };
        let quantity_max = decimal("max_quantity", self.max_quantity.as_ref());
        let notional = decimal("max_notional", self.max_notional.as_ref());
        let quantity =
            decimal("protection.quantity", self.protection.as_ref().map(|it| &it.quantity));
        let notional_max = notional.and_then(|it| it.with_decimals(9)).map(|it| Price(it.mantissa));
        if notional.is_some() && notional_max.is_none() {
            let remedy = "at most 9000000000, with at most nine decimals";
            let text = self.max_notional.clone().unwrap_or_default();
            mistakes.push(Mistake::new(&key("max_notional"), text, remedy));
        }
        let within_ms = self.protection.as_ref().map_or(1, |it| it.within_ms);
        let within = Nanos::from_millis(i64::from(within_ms));
        let protection = quantity.map(|quantity| Protection { quantity, within });
        if within_ms == 0 {
            mistakes.push(Mistake::new(&key("protection.within_ms"), 0, "more than 0"));
        }
        Some(Member {
            instruments,
            orders_per_second_max: rate,
            open_orders_max: self.max_open_orders,
            quantity_max,
            notional_max,
            protection,
            ..Member::new(comp_id)
        })
    }
}

/// The members of a file, and what is wrong there.
pub(super) fn members(
    keys: &[MemberKeys],
    listed: &[(&str, Instrument)],
) -> (Vec<Member>, Vec<Mistake>) {
    let mut mistakes = Vec::new();
    let mut members: Vec<Member> = Vec::with_capacity(keys.len());
    for (at, keys) in keys.iter().enumerate() {
        let Some(member) = keys.member(at, listed, &mut mistakes) else { continue };
        if members.iter().any(|other| other.comp_id == member.comp_id) {
            let (key, remedy) = (format!("members[{at}].comp_id"), "another than those before it");
            mistakes.push(Mistake::new(&key, &keys.comp_id, remedy));
        }
        members.push(member);
    }
    (members, mistakes)
}

#[cfg(test)]
mod tests {
    use taut_types::{InstrumentId, Symbol};

    use super::*;

    #[test]
    fn members_have_what_their_file_says_and_what_cannot_be_is_named() {
        let symbol = Symbol::new(b"TAUT").expect("a symbol");
        let taut = Instrument::new(InstrumentId(7), symbol, Price(10_000_000), Qty::whole(1));
        let listed = [("TAUT", taut.expect("an instrument"))];
        let read = |text: &str| {
            let keys: MemberKeys = toml::from_str(text).expect("keys");
            let (read, mistakes) = members(&[keys], &listed);
            (read, crate::mistakes::error(&mistakes).to_string())
        };
        let (read_as, wrong) = read(
            "comp_id = \"A\"\ninstruments = [\"TA.*\"]\nmax_orders_per_second = 9\n\
             max_open_orders = 3\nmax_quantity = \"0.5\"\nmax_notional = \"1000.25\"\n\
             protection = { quantity = \"20\", within_ms = 500 }",
        );
        assert_eq!(wrong, "");
        let [member] = &read_as[..] else { panic!("{read_as:?}") };
        assert_eq!(member.instruments, Some(vec![InstrumentId(7)]));
        assert_eq!((member.orders_per_second_max, member.open_orders_max), (Some(9), Some(3)));
        assert_eq!(member.quantity_max, Some(Qty { mantissa: 5, decimals: 1 }));
        assert_eq!(member.notional_max, Some(Price(1_000_250_000_000)));
        let (quantity, within) = (Qty::whole(20), Nanos::from_millis(500));
        assert_eq!(member.protection, Some(Protection { quantity, within }));
        for (text, words) in [
            ("comp_id = \"\"", "members[0].comp_id"),
            ("comp_id = \"A\"\ninstruments = [\"X\"]", "names of instruments of this venue"),
            ("comp_id = \"A\"\ninstruments = [\"(\"]", "members[0].instruments[0]"),
            ("comp_id = \"A\"\nmax_orders_per_second = 0", "1 to 1000000"),
            ("comp_id = \"A\"\nmax_quantity = \"-1\"", "members[0].max_quantity"),
            (
                "comp_id = \"A\"\nprotection = { quantity = \"x\", within_ms = 0 }",
                "members[0].protection.within_ms",
            ),
            ("comp_id = \"A\"\nmax_notional = \"99999999999\"", "at most 9000000000"),
        ] {
            let (_, wrong) = read(text);
            assert!(wrong.contains(words), "{text}: {wrong}");
        }
        let twice = [0; 2].map(|_| MemberKeys { comp_id: "A".to_owned(), ..MemberKeys::default() });
        let wrong = crate::mistakes::error(&members(&twice, &listed).1).to_string();
        assert!(wrong.contains("members[1].comp_id"), "{wrong}");
    }
}
