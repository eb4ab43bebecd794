//! `taut feed replay` on the recorded data, and a subscriber that follows what it publishes.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use taut_book::LevelBook;
use taut_channel::{ChannelUri, Opening, Subscription};
use taut_market_data::EventKind;
use taut_market_data::native::{Book, Message, PacketFlags, PacketReader};
use taut_sys::{ProcessSignal, monotonic, signal_process};
use taut_testkit::{DEADLINE, Process, Run, odd_json_keys, until};
use taut_types::Nanos;

fn capture(name: &str) -> Option<String> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/binance"));
    let path = path.join(name);
    if path.exists() {
        return path.to_str().map(str::to_owned);
    }
    println!("skipped: {} is not there", path.display());
    None
}

fn replay(capture: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
    command.args(["feed", "replay", "--format", "binance", "--json", "--capture", capture]);
    command
}

fn one_line(output: &std::process::Output) -> Value {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!((text.lines().count(), odd_json_keys(&text)), (1, Vec::new()), "{text}");
    let told: Value = serde_json::from_str(&text).expect("JSON");
    assert!(told["conditions"]["verdict"].is_string(), "{told}");
    told
}

#[test]
fn a_replay_says_what_the_recording_held_and_ends_with_a_sound_book() {
    for (name, frames, updates) in [("usdm", 93_954, 6_547_u64), ("spot", 41_249, 3_449)] {
        let Some(capture) = capture(&format!("{name}_btcusdt_20240808.gz")) else { return };
        let told = one_line(&replay(&capture).run());
        assert_eq!((&told["frames"], &told["book"]["updates"]), (&frames.into(), &updates.into()));
        assert_eq!((&told["book"]["gaps"], &told["book"]["is_stale"]), (&0.into(), &false.into()));
        // The frame of the snapshot lets in all the updates that came before it.
        let timed = told["frame_to_book_ns"]["count"].as_u64().expect("a count");
        assert!(timed > 3_400 && timed <= updates, "{timed}");
        println!("{told}");
    }
}

#[test]
fn a_subscriber_that_follows_the_publication_has_the_same_book() {
    let Some(capture) = capture("spot_btcusdt_20240808.gz") else { return };
    let channel = format!("ipc:taut-feed-replay-{}", std::process::id());
    let uri: ChannelUri = channel.parse().expect("a channel");
    let opening = Opening { now: monotonic(), ..Opening::default() };
    let mut subscription = Subscription::open(&uri, &opening).expect("a subscription");
    let mut replay = replay(&capture);
    let child = Process::start(replay.args(["--await-subscriber", "--publish", &channel]));

    let mut book = LevelBook::with_capacity(1 << 16);
    let (mut next, mut is_sound, mut had_image) = (1, false, false);
    until("the publication ends", DEADLINE, || {
        subscription.poll(monotonic(), 64, |message| {
            let packet = PacketReader::new(message.payload).expect("a packet");
            let header = packet.header();
            if !header.flags.contains(PacketFlags::SNAPSHOT) {
                assert_eq!(header.sequence.0, next, "a packet is missing");
                next += 1;
            }
            for message in packet.messages() {
                match message.expect("a message") {
                    Message::SnapshotBegin(_) if !is_sound => book.clear(),
                    Message::SnapshotLevels(part) if !is_sound => {
                        for l in part.levels.iter() {
                            let _ = book.apply(l.side, l.price, l.lots, l.order_count);
                        }
                    }
                    Message::SnapshotEnd(_) => is_sound = true,
                    Message::Event(_, EventKind::Level(l)) if is_sound => {
                        let _ = book.apply(l.side, l.price, l.lots, l.order_count);
                    }
                    _ => {}
                }
            }
        });
        had_image |= subscription.image_count() > 0;
        had_image && subscription.image_count() == 0
    });
    let told = one_line(&child.finish());
    let top = book.top();
    let price = |level: Option<taut_book::Level>| Value::from(level.unwrap().price.to_string());
    assert_eq!(told["book"]["bid"][0], price(top.bid));
    assert_eq!(told["book"]["ask"][0], price(top.ask));
    let levels = taut_types::Side::BOTH.map(|side| book.level_count(side));
    assert_eq!(told["book"]["levels"], serde_json::json!(levels));
    assert_eq!(told["published"]["unheard"], 0);
    assert!(next > 3_449 && is_sound);
}

/// Whoever hears all of it applies all of it: no update is one that cannot be, and no book of it is
/// crossed, from the first packet on.
#[test]
fn a_follower_that_applies_every_update_is_never_refused_one_nor_shown_a_crossed_book() {
    for name in ["spot", "usdm"] {
        let Some(capture) = capture(&format!("{name}_btcusdt_20240808.gz")) else { return };
        let channel = format!("ipc:taut-feed-follow-{name}-{}", std::process::id());
        let uri: ChannelUri = channel.parse().expect("a channel");
        let opening = Opening { now: monotonic(), ..Opening::default() };
        let mut subscription = Subscription::open(&uri, &opening).expect("a subscription");
        let mut replay = replay(&capture);
        let child = Process::start(replay.args(["--await-subscriber", "--publish", &channel]));
        let mut book = Book::with_capacity(1 << 16);
        let (mut had_image, mut changes) = (false, 0_u64);
        until("the publication ends", DEADLINE, || {
            subscription.poll(monotonic(), 64, |message| {
                let has_changed = book.follow(message.payload).expect("a packet");
                assert_eq!((book.refused(), book.gaps()), (0, 0), "{name}: {}", book.last().0);
                assert!(book.is_sound() || !has_changed);
                changes += u64::from(has_changed);
                if let (true, top) = (has_changed, book.levels().top())
                    && let (Some(bid), Some(ask)) = (top.bid, top.ask)
                {
                    assert!(bid.price < ask.price, "{name}: {}: {top:?}", book.last().0);
                }
            });
            had_image |= subscription.image_count() > 0;
            had_image && subscription.image_count() == 0
        });
        let told = one_line(&child.finish());
        let levels = taut_types::Side::BOTH.map(|side| book.levels().level_count(side));
        assert_eq!(told["book"]["levels"], serde_json::json!(levels), "{name}");
        assert!(changes > 3_000 && book.definition().is_some(), "{name}: {changes}");
    }
}

#[test]
fn two_lines_carry_the_same_packets() {
    let Some(capture) = capture("spot_btcusdt_20240808.gz") else { return };
    let channels =
        ["a", "b"].map(|line| format!("ipc:taut-feed-line-{line}-{}", std::process::id()));
    let mut lines = channels.each_ref().map(|channel| {
        let uri: ChannelUri = channel.parse().expect("a channel");
        let opening = Opening { now: monotonic(), ..Opening::default() };
        Subscription::open(&uri, &opening).expect("a subscription")
    });
    let lines_out = ["--publish", &channels[0], "--publish", &channels[1]];
    let child = Process::start(replay(&capture).arg("--await-subscriber").args(lines_out));
    let mut packets = [Vec::new(), Vec::new()];
    let mut had_image = [false; 2];
    until("both publications end", DEADLINE, || {
        for ((line, packets), had_image) in lines.iter_mut().zip(&mut packets).zip(&mut had_image) {
            line.poll(monotonic(), 64, |message| packets.push(message.payload.to_vec()));
            *had_image |= line.image_count() > 0;
        }
        had_image == [true; 2] && lines.iter().all(|line| line.image_count() == 0)
    });
    let told = one_line(&child.finish());
    assert!(packets[0] == packets[1], "the lines differ");
    assert_eq!(told["published"]["packets"], packets[0].len());
    assert_eq!(told["published"]["unheard"], 0);
}

#[test]
fn a_replay_at_a_speed_takes_its_time_and_ctrl_c_ends_it_with_its_result() {
    let Some(capture) = capture("spot_btcusdt_20240808.gz") else { return };
    let start = monotonic();
    let child = Process::start(replay(&capture).args(["--speed", "1"]));
    // It plays at the speed of the recording: what comes in a second is a small part of it.
    until("a second of it", DEADLINE, || monotonic().since(start) > Nanos::from_secs(1));
    signal_process(child.id(), ProcessSignal::Interrupt).expect("signal");
    let told = one_line(&child.finish());
    assert_eq!(told["interrupted"], true);
    let frames = told["frames"].as_u64().expect("a number");
    assert!(frames > 0 && frames < 20_000, "{told}");
}

#[test]
fn wrong_use_ends_with_code_2_before_anything_starts() {
    for arguments in [
        &["--capture", "/nowhere"][..],
        &["--capture", "/dev/null", "--speed", "0"],
        &["--capture", "/dev/null", "--publish", "nonsense"],
        &["--capture", "/dev/null", "--publish=ipc:a", "--publish=ipc:b", "--publish=ipc:c"],
        &["--capture", "/dev/null", "--publish=ipc:a", "--publish=ipc:a"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.args(["feed", "replay", "--format", "binance"]).args(arguments);
        let output = command.run();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(output.stdout.is_empty() && !told.contains("panicked"), "{told}");
    }
}
