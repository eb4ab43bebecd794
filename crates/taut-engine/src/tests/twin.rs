//! The engine against its slow twin, and against itself from journals and snapshots.

use std::collections::BTreeSet;
use std::vec::Vec;
use std::{eprintln, format, println};

use taut_types::Side;

use super::random::Commands;
use crate::oracle::NaiveEngine;
use crate::{Command, Engine, EngineConfig, Event, RejectReason, Rules};

/// Ten million commands in a release build, a sample in a debug build.
const EPISODES: u64 = if cfg!(debug_assertions) { 250 } else { 33_334 };
const EPISODE_COMMANDS: usize = 300;

struct Episode {
    config: EngineConfig,
    rules: Rules,
    commands: Vec<Command>,
}

impl Episode {
    fn random(seed: u64) -> Self {
        let mut random = Commands::with_seed(seed);
        let size = |bound| usize::try_from(bound).unwrap_or(0);
        let config = EngineConfig {
            order_capacity: size(4 + random.below(30)),
            level_capacity: size(2 + random.below(10)),
        };
        let rules = random.rules();
        let commands = (0..EPISODE_COMMANDS).map(|_| random.command()).collect();
        Self { config, rules, commands }
    }

    /// Runs both; tells the first difference.
    fn run(&self, seen: &mut Seen) -> Result<(), std::string::String> {
        let mut engine = Engine::with_rules(self.config, self.rules);
        let mut twin = NaiveEngine::new(self.config, self.rules);
        let mut events = Vec::new();
        for (n, &command) in self.commands.iter().enumerate() {
            events.clear();
            let written = Command::from_record(&command.to_record());
            if written != Ok(command) {
                return Err(format!("command {n}, {command:?}, from its record: {written:?}"));
            }
            super::execute(&mut engine, command, |event| events.push(event));
            let expected = twin.execute(command);
            if events != expected {
                return Err(format!("command {n}\nengine {events:?}\ntwin   {expected:?}"));
            }
            seen.note(&events);
            let counts = (engine.undisplayed_counts(), twin.undisplayed_counts());
            if counts.0 != counts.1 {
                return Err(format!("command {n}, {command:?}: undisplayed {counts:?}"));
            }
            for side in Side::BOTH {
                let orders = engine.book().orders(side);
                let queue: Vec<_> = orders.map(|o| (o.id, o.price, o.lots)).collect();
                if queue != twin.queue(side) {
                    return Err(format!("command {n}, {command:?}: {queue:?}"));
                }
            }
            if n % 50 == 49 {
                engine = restored(&engine)?;
            }
        }
        Ok(())
    }
}

fn restored(engine: &Engine) -> Result<Engine, std::string::String> {
    let mut words = Vec::new();
    engine.snapshot(|word| words.push(word));
    let (config, rules) = (engine.config(), *engine.rules());
    let copy = Engine::restore(config, rules, words).map_err(|error| format!("{error:?}"))?;
    if copy.state_hash() == engine.state_hash() {
        Ok(copy)
    } else {
        Err(format!("{copy:#?} is not {engine:#?}"))
    }
}

/// What has happened in all episodes, to prove that everything does.
#[derive(Default)]
struct Seen {
    rejects: BTreeSet<u8>,
    cancels: BTreeSet<u8>,
    events: BTreeSet<std::string::String>,
    trade_count: u64,
}

impl Seen {
    fn note(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Rejected { reason, .. }
                | Event::CancelRejected { reason, .. }
                | Event::ReplaceRejected { reason, .. } => {
                    self.rejects.insert(*reason as u8);
                }
                Event::Cancelled { reason, .. } => {
                    self.cancels.insert(*reason as u8);
                }
                Event::Trade { .. } => self.trade_count += 1,
                _ => {
                    let text = format!("{event:?}");
                    let name = text.split(' ').next().unwrap_or_default();
                    if !self.events.contains(name) {
                        self.events.insert(name.into());
                    }
                }
            }
        }
    }
}

/// Drops commands as long as the two still differ.
fn smallest(mut episode: Episode) -> Episode {
    let mut at = episode.commands.len();
    while at > 0 {
        at -= 1;
        let command = episode.commands.remove(at);
        if episode.run(&mut Seen::default()).is_ok() {
            episode.commands.insert(at, command);
        }
    }
    episode
}

#[test]
fn agrees_with_its_twin_over_random_commands_of_every_kind() {
    let mut seen = Seen::default();
    for seed in 0..EPISODES {
        let episode = Episode::random(seed);
        if episode.run(&mut seen).is_err() {
            let smallest = smallest(episode);
            let difference = smallest.run(&mut Seen::default()).expect_err("still different");
            eprintln!("{:?} {:?}", smallest.config, smallest.rules);
            smallest.commands.iter().for_each(|command| eprintln!("{command:?}"));
            panic!("episode {seed}: {difference}");
        }
    }
    let count = EPISODES * EPISODE_COMMANDS as u64;
    println!("{count} commands, {} trades, {:?}", seen.trade_count, seen.events);
    assert_eq!(seen.rejects.len(), RejectReason::COUNT, "{:?}", seen.rejects);
    assert_eq!(seen.cancels.len(), crate::CancelReason::COUNT, "{:?}", seen.cancels);
    assert_eq!(seen.events.len(), 14, "{:?}", seen.events);
}
