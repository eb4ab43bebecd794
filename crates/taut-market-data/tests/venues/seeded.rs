//! A venue with one book and two connections to it, and everything that happens to frames: what is
//! told to be sound is a state that the venue's book had, and in the end it is the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use taut_market_data::deribit::DeribitFeed;
use taut_market_data::{ChainConfig, FeedHandler, Soundness, Source};
use taut_testkit::Random;
use taut_types::{InstrumentId, Nanos, Side};

use crate::replay::{Told, listed};

const NAME: &str = "BTC-PERPETUAL";
const LINES: [Source; 2] = [Source::LINE_A, Source::LINE_B];

/// How often a venue may begin again.
const RUNS_MAX: u64 = 256;

/// Amounts by side and price.
type Levels = BTreeMap<(bool, u64), u64>;

/// The venue's book.
#[derive(Default)]
struct Venue {
    id: u64,
    run: u64,
    levels: Levels,
    /// Every state that it had.
    states: BTreeSet<Levels>,
}

impl Venue {
    fn step(&mut self, random: &mut Random) {
        for _ in 0..=random.usize(..3) {
            let is_bid = random.usize(..2) == 0;
            let price = if is_bid { 90 } else { 101 } + random.usize(..9) as u64;
            match random.usize(..4) as u64 {
                0 => drop(self.levels.remove(&(is_bid, price))),
                amount => drop(self.levels.insert((is_bid, price), amount)),
            }
        }
        self.id += RUNS_MAX * (1 + random.usize(..5) as u64);
        self.states.insert(self.levels.clone());
    }
}

/// What a connection has been told; nothing when it is to be told everything.
#[derive(Clone, Default)]
struct Line {
    told: Option<(u64, Levels)>,
}

impl Line {
    /// The frame that brings it up to the venue's book.
    fn frame(&mut self, venue: &Venue) -> String {
        let (previous, before) = match self.told.take() {
            Some((id, levels)) => (Some(id), levels),
            None => (None, Levels::new()),
        };
        self.told = Some((venue.id, venue.levels.clone()));
        let mut sides = [String::new(), String::new()];
        let prices: BTreeSet<_> = before.keys().chain(venue.levels.keys()).copied().collect();
        for (is_bid, price) in prices {
            let [old, new] = [&before, &venue.levels].map(|of| of.get(&(is_bid, price)).copied());
            let action = match (old, new) {
                (None, Some(_)) => "new",
                (Some(_), None) => "delete",
                (old, new) if old != new => "change",
                _ => continue,
            };
            let side = &mut sides[usize::from(!is_bid)];
            let comma = if side.is_empty() { "" } else { "," };
            write!(side, "{comma}[\"{action}\",{price}.0,{}.0]", new.unwrap_or(0)).unwrap();
        }
        let chain = match previous {
            Some(id) => format!("\"type\":\"change\",\"prev_change_id\":{id}"),
            None => "\"type\":\"snapshot\"".to_owned(),
        };
        let [bids, asks] = sides;
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"subscription\",\"params\":{{\
             \"channel\":\"book.{NAME}.100ms\",\"data\":{{{chain},\"change_id\":{},\
             \"bids\":[{bids}],\"asks\":[{asks}]}}}}}}",
            venue.id
        )
    }
}

fn levels(feed: &impl FeedHandler) -> Levels {
    let book = feed.book(InstrumentId(0)).unwrap();
    let of = |side: Side| {
        let key = move |price: i64| (side == Side::Buy, (price / 1_000_000_000) as u64);
        book.iter(side).map(move |level| (key(level.price.0), level.lots.0 as u64))
    };
    of(Side::Buy).chain(of(Side::Sell)).collect()
}

/// One schedule; how many frames were told of.
fn run(seed: u64) -> Told {
    let mut random = Random::with_seed(seed);
    let names = [NAME.to_owned()];
    let instruments = listed(&names, 0);
    let mut now = Nanos::from_secs(1);
    let mut feed = DeribitFeed::new(&ChainConfig::new(&instruments), now).unwrap();
    let (mut venue, mut lines) = (Venue::default(), [Line::default(), Line::default()]);
    let mut told = Told::default();
    let line_count = 1 + random.usize(..2);
    let steps = 200;
    for step in 0..steps + 20 {
        let is_calm = step >= steps;
        now = now + Nanos::from_millis(300);
        venue.step(&mut random);
        if !is_calm && random.usize(..60) == 0 {
            // The venue's ids begin again, and whoever is connected is not told. No id is one of
            // another run.
            venue.run += 1;
            venue.id = RUNS_MAX * random.usize(..20) as u64 + venue.run;
        }
        for at in 0..line_count {
            let (line, source) = (&mut lines[at], LINES[at]);
            // Changes of some steps are folded into one.
            if !is_calm && random.usize(..3) == 0 {
                continue;
            }
            let event = if is_calm { 99 } else { random.usize(..40) };
            if event == 0 {
                feed.handle_disconnect(now, source);
                *line = Line::default();
            }
            let frame = line.frame(&venue);
            if event == 1 {
                continue; // Lost.
            }
            for _ in 0..=usize::from(event == 2) {
                told.take(&mut feed, now, source, frame.as_bytes());
            }
            if feed.soundness(InstrumentId(0)) == Soundness::Sound {
                let has_been = venue.states.contains(&levels(&feed));
                assert!(has_been, "seed {seed}, step {step}: no state of the venue");
            }
        }
        feed.handle_timeout(now);
        while feed.poll_request().is_some() {
            // Subscribed anew, on every connection.
            lines = [Line::default(), Line::default()];
        }
    }
    // Nothing happened for longer than a request takes to be repeated.
    assert_eq!(feed.soundness(InstrumentId(0)), Soundness::Sound, "seed {seed}");
    assert_eq!(levels(&feed), venue.levels, "seed {seed}");
    told
}

#[test]
fn a_book_that_is_sound_is_the_venues_whatever_happens_to_frames() {
    let seeds = if cfg!(debug_assertions) { 400 } else { 20_000 };
    let mut stale = 0;
    for seed in 0..seeds {
        stale += run(seed).stale;
    }
    println!("{seeds} schedules, books stale {stale} times");
    assert!(stale > seeds);
}
