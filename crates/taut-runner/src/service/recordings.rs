//! Recordings that are the markets of a venue's instruments.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use taut_log::Entry;
use taut_log::messages::RecordingEnded;
use taut_types::Instrument;
use taut_venue::flow::{FileError, ReplayFlow, ReplayHead};
use taut_venue::{Flow, Speed, VenueConfig};

use crate::error::RunnerError;
use crate::service::telling::entry;

/// A recording that is the market of an instrument, in the crowd's place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingSettings {
    /// The instrument's name at the venue.
    pub instrument: String,
    /// A LOBSTER message file, or a capture of Binance's or Deribit's frames; gzip or plain.
    pub file: PathBuf,
    /// How many times as fast as it was recorded.
    #[serde(default = "as_recorded")]
    pub speed: f64,
    /// Whether it begins again at its end, with an empty book. Otherwise the book stays as it was.
    #[serde(default)]
    pub repeat: bool,
}

const fn as_recorded() -> f64 {
    1.0
}

/// More would be as fast as the venue can.
const SPEED_MAX: f64 = 1e6;

/// Instruments that are told to who names none of them.
const NAMES_TOLD: usize = 12;

impl RecordingSettings {
    /// Relative paths start at this folder.
    pub(super) fn start_path_at(&mut self, folder: &Path) {
        self.file = folder.join(&self.file);
    }

    /// Where its instrument stands among those with these names.
    fn place(&self, names: &[&str]) -> Option<usize> {
        names.iter().position(|name| *name == self.instrument)
    }

    /// What is said when it is at its end, which it came to so many times.
    fn end(&self, times: u64) -> String {
        let Self { instrument, file, .. } = self;
        let what = format!("{instrument}: the recording {} is at its end", file.display());
        match (self.repeat, times) {
            (false, _) => format!("{what}; the book stays as it is"),
            (true, 1) => format!("{what} and begins again"),
            (true, times) => format!("{what} and begins again, {times} times by now"),
        }
    }
}

/// Looks at every value, in a file whose instruments have these names.
///
/// # Errors
/// The first setting that cannot be.
pub(super) fn check(all: &[RecordingSettings], names: &[&str]) -> Result<(), RunnerError> {
    for (nth, it) in all.iter().enumerate() {
        let wrong = |key: &str, value: &dyn std::fmt::Display, must_be: String| {
            Err(RunnerError::setting(&format!("recordings[{nth}].{key}"), value, must_be))
        };
        if it.place(names).is_none() {
            let names: Vec<_> = names.iter().copied().take(NAMES_TOLD).collect();
            let must_be = format!("an instrument of this file: {}", names.join(", "));
            return wrong("instrument", &it.instrument, must_be);
        }
        if all.iter().take(nth).any(|before| before.instrument == it.instrument) {
            let must_be = "another instrument: a recording before it is this one's market";
            return wrong("instrument", &it.instrument, must_be.to_owned());
        }
        if !(it.speed > 0.0 && it.speed <= SPEED_MAX) {
            let must_be = format!("above 0 and at most {SPEED_MAX}; 1 is as fast as recorded");
            return wrong("speed", &it.speed, must_be);
        }
        if !it.file.is_file() {
            return wrong("file", &it.file.display(), "a recording that exists".to_owned());
        }
    }
    Ok(())
}

/// What the first lines of a recording say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingSeen {
    /// The instrument's name at the venue.
    pub instrument: String,
    /// The file.
    pub file: PathBuf,
    /// What was seen there.
    pub head: ReplayHead,
}

/// Looks at the first lines of each file, for these instruments with their names at the venue.
///
/// # Errors
/// What is wrong there: the file, the line, the value, and what the file must be.
pub(super) fn look(
    all: &[RecordingSettings],
    listed: &[(&str, Instrument)],
) -> Result<Vec<RecordingSeen>, RunnerError> {
    let look = |(nth, it): (usize, &RecordingSettings)| {
        let (name, instrument) = listed.iter().find(|(name, _)| *name == it.instrument)?;
        let head = ReplayFlow::look(&it.file, name, *instrument).map_err(|error: FileError| {
            let text = format!(
                "{error}; recordings[{nth}].file must be a LOBSTER message file, or a capture of \
                 Binance's or Deribit's frames of {name}"
            );
            RunnerError::Settings(text)
        });
        let (instrument, file) = (it.instrument.clone(), it.file.clone());
        Some(head.map(|head| RecordingSeen { instrument, file, head }))
    };
    all.iter().enumerate().filter_map(look).collect()
}

/// Whether a recording is the market of the instrument with this name.
pub(super) fn has(all: &[RecordingSettings], name: &str) -> bool {
    all.iter().any(|it| it.instrument == name)
}

/// What the files of recordings hold.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    flows: Vec<Flow>,
    levels_max: usize,
}

impl Recordings {
    /// Reads the files, for these instruments with their names at the venue, each in its place.
    ///
    /// # Errors
    /// What is wrong in a file: the file, the line, the value. Also when the recording of an
    /// instrument is to begin again and takes no time.
    pub(super) fn read(
        all: &[RecordingSettings],
        listed: &[(&str, Instrument)],
    ) -> Result<Self, RunnerError> {
        let names: Vec<_> = listed.iter().map(|(name, _)| *name).collect();
        let mut read = Self::default();
        for (nth, it) in all.iter().enumerate() {
            let Some(place) = it.place(&names) else { continue };
            let Some((name, instrument)) = listed.get(place) else { continue };
            let flow = ReplayFlow::read(&it.file, name, *instrument);
            let mut flow = flow
                .map_err(|error: FileError| RunnerError::Settings(error.to_string()))?
                .in_place(place);
            if it.repeat && flow.span().0 == 0 {
                let must_be = "false: the recording has nothing behind its first book";
                let key = format!("recordings[{nth}].repeat");
                return Err(RunnerError::setting(&key, true, must_be));
            }
            if it.repeat {
                flow = flow.repeated();
            }
            read.levels_max = read.levels_max.max(flow.levels_max());
            read.flows.push(Flow::replay(flow, Speed::Factor(it.speed)));
        }
        Ok(read)
    }

    /// Makes room in every book for the levels of the largest one.
    pub(super) const fn make_room(&self, config: &mut VenueConfig) {
        config.level_capacity += self.levels_max;
        config.order_capacity += 2 * self.levels_max;
    }

    /// The flow of a venue whose other instruments have this one.
    pub(super) fn beside(self, crowd: Flow) -> Flow {
        if self.flows.is_empty() {
            return crowd;
        }
        let mut flows = self.flows;
        flows.push(crowd);
        Flow::Several(flows)
    }
}

/// Recordings while they are played, and what was told of them.
#[derive(Debug)]
pub(super) struct Playing<'f>(Vec<Played<'f>>);

#[derive(Debug)]
struct Played<'f> {
    settings: &'f RecordingSettings,
    place: usize,
    /// How many of its ends were told.
    told: u64,
}

impl<'f> Playing<'f> {
    /// Of a file whose instruments have these names.
    pub(super) fn new(all: &'f [RecordingSettings], names: &[&str]) -> Self {
        let played = |settings: &'f RecordingSettings| -> Option<Played<'f>> {
            Some(Played { settings, place: settings.place(names)?, told: 0 })
        };
        Self(all.iter().filter_map(played).collect())
    }

    /// Says which recordings came to their ends since the last time. `ends` knows how often that of
    /// a place did.
    pub(super) fn tell_ends(&mut self, ends: impl Fn(usize) -> u64, heard: impl Fn(&Entry)) {
        for played in &mut self.0 {
            let times = ends(played.place);
            if times > played.told {
                played.told = times;
                heard(&entry(&RecordingEnded {}, played.settings.end(times)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use taut_types::{InstrumentId, Price, Qty, Symbol};

    use super::*;

    fn recording(instrument: &str, file: PathBuf) -> RecordingSettings {
        let instrument = instrument.to_owned();
        RecordingSettings { instrument, file, speed: 1.0, repeat: false }
    }

    fn said<T: std::fmt::Debug>(result: Result<T, RunnerError>) -> String {
        result.expect_err("a wrong setting").to_string()
    }

    #[test]
    fn a_setting_that_cannot_be_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows.csv");
        fs::write(&file, "").expect("written");
        let right = recording("A", file);
        assert_eq!(check(std::slice::from_ref(&right), &["A", "B"]), Ok(()));
        let stranger = RecordingSettings { instrument: "C".to_owned(), ..right.clone() };
        let text = said(check(&[right.clone(), stranger], &["A", "B"]));
        assert!(
            text.starts_with("recordings[1].instrument = C: must be") && text.ends_with("A, B")
        );
        let text = said(check(&[right.clone(), right.clone()], &["A", "B"]));
        assert!(text.starts_with("recordings[1].instrument = A: must be another"), "{text}");
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e6] {
            let text = said(check(&[RecordingSettings { speed, ..right.clone() }], &["A"]));
            assert!(text.starts_with("recordings[0].speed = "), "{text}");
        }
        let nowhere = recording("A", folder.path().join("nowhere.gz"));
        let text = said(check(&[nowhere], &["A"]));
        assert!(text.contains("recordings[0].file") && text.contains("nowhere.gz"), "{text}");
    }

    #[test]
    fn what_is_wrong_in_a_file_and_a_recording_that_takes_no_time_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows.csv");
        let (tick, lot) = (Price::parse(b"0.05").expect("a tick"), Qty::whole(1));
        let symbol = Symbol::new(b"AAPL").expect("a symbol");
        let apple = Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument");
        let repeated = RecordingSettings { repeat: true, ..recording("AAPL", file.clone()) };
        let read = |rows: &str| {
            fs::write(&file, rows).expect("written");
            Recordings::read(std::slice::from_ref(&repeated), &[("AAPL", apple)])
        };
        let row = "34200.0,1,1,18,5853500,1\n";
        let text = said(read(&format!("{row}34200.1,1,2,18,5853600,-1\n")));
        assert!(text.contains("rows.csv:2: the price 585.36 is no multiple"), "{text}");
        let text = said(read(row));
        assert!(text.starts_with("recordings[0].repeat = true: must be false"), "{text}");
        let read = read(&format!("{row}34200.1,1,2,18,5854000,-1\n")).expect("a recording");
        assert_eq!(read.levels_max, 1);
        assert!(matches!(read.beside(Flow::None), Flow::Several(flows) if flows.len() == 2));
    }

    #[test]
    fn a_look_says_what_is_seen_and_what_a_file_must_be() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("rows.csv");
        let (tick, lot) = (Price::parse(b"0.05").expect("a tick"), Qty::whole(1));
        let symbol = Symbol::new(b"AAPL").expect("a symbol");
        let apple = Instrument::new(InstrumentId(0), symbol, tick, lot).expect("an instrument");
        let all = [recording("AAPL", file.clone())];
        fs::write(&file, "34200.0,1,1,18,5853500,1\n").expect("written");
        let seen = look(&all, &[("AAPL", apple)]).expect("a recording");
        let [RecordingSeen { instrument, file: named, head }] = &seen[..] else { panic!("one") };
        assert_eq!((instrument.as_str(), named, head.lines), ("AAPL", &file, 1));
        fs::write(&file, "34200.0,1,1,18,5853500\n").expect("written");
        let text = said(look(&all, &[("AAPL", apple)]));
        assert!(text.contains("rows.csv:1: "), "{text}");
        assert!(text.contains("; recordings[0].file must be a LOBSTER message file"), "{text}");
    }

    #[test]
    fn an_end_is_told_with_what_follows() {
        let once = recording("BTCUSDT", PathBuf::from("day.gz"));
        let again = RecordingSettings { repeat: true, ..once.clone() };
        let what = "BTCUSDT: the recording day.gz is at its end";
        assert_eq!(once.end(1), format!("{what}; the book stays as it is"));
        assert_eq!(again.end(1), format!("{what} and begins again"));
        assert_eq!(again.end(3), format!("{what} and begins again, 3 times by now"));
    }
}
