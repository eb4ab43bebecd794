//! `[[schedule]]` and `[[bands]]` of a venue's file: when instruments trade, and how far their
//! prices may go.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use taut_types::{Instrument, Nanos, Price};
use taut_venue::{Phase, PriceBands, ScheduledPhase};

use crate::mistakes::Mistake;
use crate::service::pattern::instruments_meant;

const SECOND: i64 = 1_000_000_000;
/// An interruption at the most: a day.
const INTERRUPTION_SECONDS: u32 = 86_400;

/// The phases, as a file and `taut venue phase` name them.
const PHASES: [(Phase, &str); 7] = [
    (Phase::PreOpen, "pre-open"),
    (Phase::OpeningAuction, "auction"),
    (Phase::Continuous, "continuous"),
    (Phase::Halted, "halt"),
    (Phase::ClosingAuction, "closing-auction"),
    (Phase::Closed, "closed"),
    (Phase::VolatilityAuction, "volatility-auction"),
];

/// What a phase is called.
pub(super) fn phase_name(phase: Phase) -> &'static str {
    PHASES.iter().find(|(it, _)| *it == phase).map_or("another", |(_, name)| name)
}

/// The phase of this name; prices alone lead to a volatility auction.
pub(super) fn phase_named(name: &str) -> Option<Phase> {
    let settable = PHASES.iter().filter(|(phase, _)| *phase != Phase::VolatilityAuction);
    settable.copied().find(|(_, it)| *it == name).map(|(phase, _)| phase)
}

/// The names of the phases that can be set.
pub(super) const PHASE_NAMES: &str =
    "\"pre-open\", \"auction\", \"continuous\", \"halt\", \"closing-auction\" or \"closed\"";

/// A time of the day in UTC, to the second: `09:00:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay {
    seconds: u32,
}

impl FromStr for TimeOfDay {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "must be a time of the day in UTC, such as \"09:00:00\"";
        let part = |text: Option<&str>, count: u32| {
            let text = text.filter(|it| it.len() == 2 && it.bytes().all(|b| b.is_ascii_digit()));
            text.and_then(|it| it.parse().ok()).filter(|it: &u32| *it < count).ok_or(wrong)
        };
        let mut parts = text.split(':');
        let (hours, minutes) = (part(parts.next(), 24)?, part(parts.next(), 60)?);
        let seconds = part(parts.next(), 60)?;
        match parts.next() {
            None => Ok(Self { seconds: 3_600 * hours + 60 * minutes + seconds }),
            Some(_) => Err(wrong),
        }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (minutes, seconds) = (self.seconds / 60, self.seconds % 60);
        write!(f, "{:02}:{:02}:{seconds:02}", minutes / 60, minutes % 60)
    }
}

impl Serialize for TimeOfDay {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// When instruments come to a phase, every day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleKeys {
    /// The time of the day, in UTC.
    pub at: TimeOfDay,
    /// The phase.
    pub phase: String,
    /// Which instruments: names, or regular expressions over a whole name; all without it.
    #[serde(default)]
    pub instruments: Option<Vec<String>>,
}

/// How far the prices of instruments may go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BandKeys {
    /// Which instruments: names, or regular expressions over a whole name; all without it. Of
    /// several that mean one the last holds.
    pub instruments: Option<Vec<String>>,
    /// The middle of the static band: a decimal in quotes.
    pub reference_price: Option<String>,
    /// How far a limit price may be from the reference price: a decimal in quotes.
    pub static_band: Option<String>,
    /// How far a price may be from the last trade's: a decimal in quotes.
    pub dynamic_band: Option<String>,
    /// A trade beyond the dynamic band stops trading for an auction of so many seconds; without it
    /// a limit price beyond the band is refused.
    pub halt_seconds: Option<u32>,
}

/// The schedule of a file, and what is wrong there.
pub(super) fn schedule(
    keys: &[ScheduleKeys],
    listed: &[(&str, Instrument)],
) -> (Vec<ScheduledPhase>, Vec<Mistake>) {
    let (mut phases, mut mistakes) = (Vec::new(), Vec::new());
    for (number, ScheduleKeys { at, phase, instruments }) in keys.iter().enumerate() {
        let key = |name: &str| format!("schedule[{number}].{name}");
        let instruments =
            instruments_meant(&key("instruments"), instruments.as_ref(), listed, &mut mistakes);
        match phase_named(phase) {
            Some(phase) => {
                let at = Nanos(i64::from(at.seconds) * SECOND);
                phases.push(ScheduledPhase { instruments, at, phase });
            }
            None => mistakes.push(Mistake::new(&key("phase"), phase, PHASE_NAMES)),
        }
    }
    (phases, mistakes)
}

/// The bands of a file, and what is wrong there.
pub(super) fn bands(
    keys: &[BandKeys],
    listed: &[(&str, Instrument)],
) -> (Vec<PriceBands>, Vec<Mistake>) {
    let (mut bands, mut mistakes) = (Vec::new(), Vec::new());
    for (number, keys) in keys.iter().enumerate() {
        let key = |name: &str| format!("bands[{number}].{name}");
        let instruments = instruments_meant(
            &key("instruments"),
            keys.instruments.as_ref(),
            listed,
            &mut mistakes,
        );
        let mut price = |name: &str, text: Option<&String>| {
            let text = text?;
            let price = Price::parse(text.as_bytes()).ok().filter(|price| price.0 > 0);
            if price.is_none() {
                let remedy = "a decimal above 0 in quotes, such as \"5.50\"";
                mistakes.push(Mistake::new(&key(name), format!("{text:?}"), remedy));
            }
            price
        };
        let reference = price("reference_price", keys.reference_price.as_ref());
        let around = price("static_band", keys.static_band.as_ref());
        let dynamic = price("dynamic_band", keys.dynamic_band.as_ref());
        if keys.reference_price.is_some() != keys.static_band.is_some() {
            let text = "`reference_price` and `static_band` go together";
            mistakes.push(Mistake::told(
                &key("static_band"),
                format!("{}: {text}", key("static_band")),
            ));
        }
        let seconds = keys.halt_seconds;
        if let Some(seconds) = seconds.filter(|it| !(1..=INTERRUPTION_SECONDS).contains(it)) {
            let remedy = format!("1 to {INTERRUPTION_SECONDS}");
            mistakes.push(Mistake::new(&key("halt_seconds"), seconds, remedy));
        }
        if seconds.is_some() && keys.dynamic_band.is_none() {
            let remedy = "left out without dynamic_band";
            mistakes.push(Mistake::new(&key("halt_seconds"), seconds.unwrap_or(0), remedy));
        }
        let limits = reference.zip(around).map(|(middle, around)| {
            (Price(middle.0.saturating_sub(around.0)), Price(middle.0.saturating_add(around.0)))
        });
        let interruption = seconds.map(|it| Nanos(i64::from(it) * SECOND));
        let all = || listed.iter().map(|(_, it)| it.id()).collect();
        let of = instruments.unwrap_or_else(all).into_iter();
        bands.extend(of.map(|instrument| PriceBands { instrument, limits, dynamic, interruption }));
    }
    (bands, mistakes)
}

#[cfg(test)]
mod tests {
    use taut_types::{InstrumentId, Qty, Symbol};

    use super::*;

    fn instrument(number: u32) -> Instrument {
        let symbol = Symbol::new(format!("S{number}").as_bytes()).expect("a symbol");
        Instrument::new(InstrumentId(number), symbol, Price(10_000_000), Qty::whole(1))
            .expect("an instrument")
    }

    fn wrong(mistakes: &[Mistake]) -> String {
        crate::mistakes::error(mistakes).to_string()
    }

    #[test]
    fn a_schedule_is_read_and_what_cannot_be_is_named() {
        let listed = [("S1", instrument(1)), ("S2", instrument(2))];
        let read = |text: &str| {
            let keys: Result<ScheduleKeys, _> = toml::from_str(text);
            keys.map(|keys| schedule(&[keys], &listed)).map_err(|error| error.to_string())
        };
        let (phases, mistakes) =
            read("at = \"09:30:15\"\nphase = \"pre-open\"\ninstruments = [\".*2\"]").expect("keys");
        assert_eq!(wrong(&mistakes), "");
        let at = Nanos(34_215 * SECOND);
        let instruments = Some(vec![InstrumentId(2)]);
        assert_eq!(phases, [ScheduledPhase { instruments, at, phase: Phase::PreOpen }]);
        for text in ["9:00:00", "24:00:00", "09:00", "09:00:60", "09:00:00:00", "+9:00:00"] {
            let refused = read(&format!("at = \"{text}\"\nphase = \"closed\"")).expect_err(text);
            assert!(refused.contains("time of the day"), "{refused}");
        }
        let (_, mistakes) = read("at = \"09:00:00\"\nphase = \"lunch\"").expect("keys");
        assert!(wrong(&mistakes).contains("schedule[0].phase = lunch"), "{}", wrong(&mistakes));
        let time: TimeOfDay = "09:05:07".parse().expect("a time");
        assert_eq!(time.to_string(), "09:05:07");
        assert_eq!(phase_named("volatility-auction"), None, "prices alone lead to it");
    }

    #[test]
    fn bands_are_read_and_what_cannot_be_is_named() {
        let listed = [("S1", instrument(1)), ("S2", instrument(2))];
        let read = |text: &str| {
            let keys: BandKeys = toml::from_str(text).expect("keys");
            bands(&[keys], &listed)
        };
        let (found, mistakes) = read(
            "reference_price = \"100\"\nstatic_band = \"12.5\"\ndynamic_band = \"2\"\n\
             halt_seconds = 30",
        );
        assert_eq!(wrong(&mistakes), "");
        let price = |text: &str| Price::parse(text.as_bytes()).expect("a price");
        let all = [1, 2].map(|number| PriceBands {
            instrument: InstrumentId(number),
            limits: Some((price("87.5"), price("112.5"))),
            dynamic: Some(price("2")),
            interruption: Some(Nanos::from_secs(30)),
        });
        assert_eq!(found, all);
        for (text, words) in [
            ("static_band = \"1\"", "go together"),
            ("dynamic_band = \"0\"", "bands[0].dynamic_band"),
            ("halt_seconds = 3", "left out without dynamic_band"),
            ("dynamic_band = \"1\"\nhalt_seconds = 0", "1 to 86400"),
            ("instruments = [\"X\"]", "names of instruments of this venue"),
        ] {
            let (_, mistakes) = read(text);
            assert!(wrong(&mistakes).contains(words), "{text}: {}", wrong(&mistakes));
        }
    }
}
