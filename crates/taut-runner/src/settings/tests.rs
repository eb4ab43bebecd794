use std::path::Path;

use super::*;
use crate::arguments::{Asked, from_arguments};

fn parse(text: &str) -> Result<Settings, RunnerError> {
    let settings = Settings::parse(text, Path::new(""))?;
    settings.check().map(|()| settings)
}

fn refused(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn the_sample_holds_every_key_with_its_default() {
    let mut sample = parse(SAMPLE).expect("the sample");
    assert_eq!(sample.simulator.take(), Some(Simulator::default()));
    assert_eq!(sample, Settings::default());
    // What stands behind a `#` is right too.
    let keys = SAMPLE.lines().map(|line| match line.strip_prefix("# ") {
        Some(key) if key.contains(" = ") || ["[venue]", "[[instruments]]"].contains(&key) => key,
        _ => line,
    });
    let whole: String = keys.map(|line| format!("{line}\n")).collect();
    let settings = Settings::parse(&whole, Path::new("/folder")).expect("every key");
    assert_eq!(settings.seconds, Some(10.0));
    assert_eq!(settings.wait, Some(Wait::Spin));
    assert_eq!(settings.cpus.strategy, Some(1));
    assert_eq!(settings.instruments, std::slice::from_ref(&settings.instrument));
    assert_eq!(settings.venue.expect("a venue").stream_id, Some(7));
    let data = settings.simulator.expect("a simulator").data.expect("a file");
    assert_eq!(data, Path::new("/folder/AAPL_message_50.csv"));
}

#[test]
fn an_unknown_key_is_named_with_the_one_that_was_meant() {
    for (text, meant) in [
        ("mod = \"split\"", "did you mean `mode`?"),
        ("[simulator]\ncommands_per_sec = 1", "did you mean `commands_per_second`?"),
        ("[risk]\nlot_max = 1", "did you mean `lots_max`?"),
        ("[cpu]\nvenue = 1", "did you mean `cpus`?"),
    ] {
        assert!(refused(text).contains(meant), "{}", refused(text));
    }
    assert!(!refused("banana = 1").contains("did you mean"));
}

#[test]
fn a_value_that_cannot_be_is_named_with_what_would_be_right() {
    for (text, words) in [
        ("mode = \"both\"", &["both", "split", "fused"][..]),
        ("seconds = 0", &["seconds = 0", "above 0"]),
        ("seconds = nan", &["seconds = NaN", "above 0"]),
        ("wait = \"sleep\"", &["sleep", "spin", "yield", "block"]),
        ("[gateway]\ninstruments_max = 9", &["gateway.instruments_max = 9", "left out here"]),
        ("[instrument]\ntick = \"a\"", &["instrument.tick = a", "0.01"]),
        ("[instrument]\ntick = \"0\"", &["instrument.tick = 0", "above 0"]),
        ("[instrument]\nsymbol = \"A B\"", &["instrument.symbol = A B"]),
        ("[simulator]\nkind = \"nowhere\"", &["nowhere", "taut", "deribit", "binance"]),
        (
            "[simulator]\nkind = \"deribit\"\nfeed = \"unicast\"",
            &["simulator.feed", "kind = \"deribit\"", "left out"],
        ),
        ("[simulator]\norders = \"fix\"", &["simulator.orders", "kind = \"taut\"", "left out"]),
        ("[simulator]\ntls = true", &["simulator.tls", "kind = \"taut\"", "left out"]),
        ("[simulator]\nkind = \"binance\"\norders = \"sbe\"", &["sbe", "json", "fix"]),
        (
            "mode = \"simulated\"\n[simulator]\nkind = \"deribit\"",
            &["simulator.kind = deribit", "taut", "simulated"],
        ),
        ("[simulator]\nlevels = 9", &["simulator.levels = 9", "from 10 to 4000"]),
        ("[simulator]\nspeed = \"fast\"", &["number above 0", "max"]),
        ("[simulator]\nspeed = -1.0", &["simulator.speed = -1", "above 0"]),
        ("[simulator]\nlose_per_mille = [0, 1001]", &["lose_per_mille = 1001", "1000"]),
        ("[simulator]\ndata = \"/nowhere.csv\"", &["simulator.data = /nowhere.csv"]),
        ("[gateway]\norders = 0", &["gateway.orders = 0", "from 1"]),
        ("[venue]\norders = \"localhost:1\"", &["orders", "localhost:1"]),
    ] {
        let said = refused(text);
        for word in words {
            assert!(said.contains(word), "'{word}' is missing in {said}");
        }
    }
}

#[test]
fn there_is_one_venue() {
    let venue = "[venue]\norders = \"10.0.0.1:1\"\nincremental = \"10.0.0.1:2\"\n\
                 snapshot = \"10.0.0.1:3\"\ntarget_comp_id = \"X\"\n";
    assert!(matches!(parse(venue).expect("a venue").market(), Ok(Market::Remote(_))));
    assert!(refused(&format!("{venue}[simulator]\n")).contains("two venues"));
    assert!(refused(&venue.replace(":3", ":0")).contains("venue.snapshot"));
    assert!(refused(&venue.replace("\"X\"", "\"\"")).contains("venue.target_comp_id"));
    assert!(matches!(parse("").expect("nothing").market(), Ok(Market::Simulator(_))));
}

#[test]
fn arguments_stand_over_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.toml");
    std::fs::write(&file, "mode = \"split\"\nseconds = 3\n[simulator]\nseed = 5\n").expect("file");
    let read = |arguments: &[&str]| from_arguments(arguments.iter().map(|a| (*a).to_owned()));
    let file = file.to_str().expect("a name");
    let settings = read(&["--settings", file, "--mode", "fused", "--simulator.levels=20"]);
    let Ok(Asked::Run(settings)) = settings else { panic!("{settings:?}") };
    assert_eq!((settings.mode, settings.seconds), (Mode::Fused, Some(3.0)));
    let simulator = settings.simulator.expect("a simulator");
    assert_eq!((simulator.seed, simulator.levels), (5, 20));
    assert!(matches!(read(&["--help"]), Ok(Asked::Help)));
    let Ok(Asked::Replay(folder)) = read(&["--replay", "run"]) else { panic!("a replay") };
    assert_eq!(folder, Path::new("run"));
    let both = read(&["--replay", "run", "--seconds", "1"]).expect_err("one or the other");
    assert!(both.to_string().contains("no settings"), "{both}");
    for (arguments, words) in [
        (&["--mod", "fused"][..], "did you mean `mode`?"),
        (&["--mode"], "--mode: its value is missing"),
        (&["fused"], "'fused'"),
        (&["--settings", "/nowhere.toml"], "/nowhere.toml"),
        (&["--mode", "fused", "--mode.x", "1"], "--mode.x"),
    ] {
        let said = read(arguments).expect_err("wrong").to_string();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn more_levels_than_there_is_memory_for_are_refused_before_anything_starts() {
    let named = |number: u32| InstrumentSettings {
        symbol: format!("X{number}"),
        ..InstrumentSettings::default()
    };
    let instruments = (0..1_000).map(named).collect();
    let settings = |levels| Settings {
        simulator: Some(Simulator { levels, ..Simulator::default() }),
        instruments,
        ..Settings::default()
    };
    let mut settings = settings(600);
    let said = settings.check().expect_err("600,000 levels").to_string();
    assert!(said.contains("simulator.levels = 600") && said.contains("at most 200"), "{said}");
    settings.simulator = Some(Simulator { levels: 200, ..Simulator::default() });
    assert_eq!(settings.check(), Ok(()));
}

#[test]
fn a_speed_is_max_or_a_positive_number() {
    assert_eq!("max".parse(), Ok(Replay::MAX));
    assert_eq!("2.5".parse(), Ok(Replay::Factor(2.5)));
    for bad in ["0", "-1", "fast", "", "NaN", "inf"] {
        assert!(bad.parse::<Replay>().is_err(), "{bad}");
    }
}

#[test]
fn several_instruments_are_numbered_and_each_mistake_is_named() {
    let two = "[[instruments]]\nsymbol = \"A\"\n[[instruments]]\nsymbol = \"B\"\nweight = 3\n";
    let settings = parse(two).expect("two instruments");
    let built = settings.instruments().expect("two instruments");
    let names: Vec<_> = built.iter().map(|it| (it.id().0, it.symbol().to_string())).collect();
    assert_eq!(names, [(0, "A".to_owned()), (1, "B".to_owned())]);
    assert_eq!(settings.weights(), [1, 3]);
    assert_eq!(parse("").expect("one").instruments().expect("one").len(), 1);
    for (text, words) in [
        ("[instrument]\nsymbol = \"X\"\n", &["[instrument] and [[instruments]]"][..]),
        ("[[instruments]]\nsymbol = \"A\"\n", &["instruments[2].symbol = A", "another symbol"]),
        ("[[instruments]]\nsymbol = \"C\"\ntick = \"0\"\n", &["instruments[2].tick = 0"]),
        ("[[instruments]]\nsymbl = \"C\"\n", &["did you mean `symbol`?"]),
    ] {
        let said = refused(&format!("{two}{text}"));
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}
