//! The public matching-engine benchmark (arXiv 2606.01183): its five scenarios, whose report
//! streams have known SHA-256 hashes. The messages come from an independent generator; a smaller
//! flow, and any other seed, is compared with the report text of that generator's own matcher.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use sha2::{Digest, Sha256};
use taut_engine::{Command, Engine, EngineConfig, Event, NewOrder, ReplaceMode};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

/// New orders in a flow; a debug build takes a sample.
const COUNT: u32 = if cfg!(debug_assertions) { 6_000 } else { 1_000_000 };

const SCENARIOS: [(&str, &str); 5] = [
    ("static", "9803843ee404fc29c9a0aa5614f8f0d5a58b5c44fcac9ef89067886fcaaa30d1"),
    ("normal", "e9b2e3926854410b01a035aeb25dd05f1e597c233be8263de9eb49b6713d367e"),
    ("swing-25", "61a84be9469661bd039e00dbc9a7c011e70b6ace37aadfe60045ea083b05f4df"),
    ("swing-40", "3cb0175e7982ff09ea220d1feaee3844cf9116a5ce455757879dea1d880b9b9f"),
    ("flash-crash", "cff8d3f94b709fc64a8b2058a6ca4fb6920364904796e46906895e362d2bb16b"),
];

/// Generates a flow and its reports; nothing when the generator or Python is missing.
fn generate(scenario: &str, count: u32, seed: u32) -> Option<(Vec<u8>, String)> {
    let script =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/workloads/neutral/neutral.py");
    let name = format!("{scenario}-{count}-{seed}-{}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let files: [PathBuf; 2] = ["bin", "txt"].map(|kind| path.with_extension(kind));
    let made = Path::new(script).exists()
        && Process::new("python3")
            .args([script, scenario, &count.to_string(), &seed.to_string(), "--bin"])
            .arg(&files[0])
            .arg("--txt")
            .arg(&files[1])
            .output()
            .is_ok_and(|output| output.status.success());
    if !made {
        eprintln!("skipped: {script} or Python is missing");
        return None;
    }
    let messages = std::fs::read(&files[0]).expect("the flow");
    let reports = std::fs::read_to_string(&files[1]).expect("the reports");
    files.iter().for_each(|file| std::fs::remove_file(file).expect("what was made"));
    Some((messages, reports))
}

/// The command of a record: `u8 type (0 new, 1 cancel, 2 modify), u8 side, u8 ioc, u8 0,
/// u32 quantity, u64 sequence, u64 id, i64 price, i64 0`.
fn command(record: &[u8]) -> Command {
    let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight"));
    let order_id = OrderId(word(16));
    let side = Side::from_index(record[1]).expect("a side");
    let lots = u32::from_le_bytes(record[4..8].try_into().expect("four"));
    let price = HalfTicks(2 * word(24).cast_signed());
    let order = NewOrder::limit(order_id, 0, side, price, Lots(lots.into()));
    match (record[0], record[2]) {
        (0, 0) => Command::New(order),
        (0, _) => Command::New(order.force(TimeInForce::ImmediateOrCancel)),
        (1, _) => Command::Cancel { order_id },
        _ => Command::Replace { order, mode: ReplaceMode::Requeue },
    }
}

fn report(text: &mut String, sequence: usize, event: &Event) {
    let start = text.len();
    let written = match *event {
        Event::Accepted { order_id, side, price, lots, .. } => {
            write!(text, "0,{sequence},{},{},{},{}", side as u8, order_id.0, price.0 / 2, lots.0)
        }
        Event::Trade { maker, taker, price, lots, .. } => {
            write!(text, "1,{sequence},{},{},{},{}", price.0 / 2, lots.0, maker.0, taker.0)
        }
        Event::Cancelled { order_id, side, price, .. } => {
            write!(text, "2,{sequence},{},{},{}", side as u8, order_id.0, price.0 / 2)
        }
        Event::Replaced { order_id, side, price, lots, .. } => {
            write!(text, "3,{sequence},{},{},{},{}", side as u8, order_id.0, price.0 / 2, lots.0)
        }
        Event::CancelRejected { order_id, .. } => write!(text, "4,{sequence},{}", order_id.0),
        Event::ReplaceRejected { order_id, .. } => write!(text, "5,{sequence},{}", order_id.0),
        Event::Rejected { reason, .. } => panic!("message {sequence} was rejected: {reason:?}"),
        _ => return,
    };
    written.expect("memory");
    if start > 0 {
        text.insert(start, '\n');
    }
}

fn reports(messages: &[u8]) -> String {
    let config = EngineConfig { order_capacity: 65_536, level_capacity: 8_192 };
    let mut engine = Engine::new(config);
    let mut text = String::new();
    for (sequence, record) in messages[16..].chunks_exact(40).enumerate() {
        engine.execute(command(record), &mut |event| report(&mut text, sequence, &event));
    }
    text
}

fn check(scenario: &str, known: &str) {
    let Some((messages, expected)) = generate(scenario, COUNT, 23) else { return };
    let text = reports(&messages);
    let differs = text.lines().zip(expected.lines()).position(|(ours, theirs)| ours != theirs);
    assert_eq!(differs, None, "the first report that differs");
    assert_eq!(text.len(), expected.len());
    let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{scenario}: {} reports, {hash}", text.lines().count());
    if COUNT == 1_000_000 {
        assert_eq!(hash, known);
    }
}

#[test]
fn reports_of_a_still_market_are_the_referees() {
    check(SCENARIOS[0].0, SCENARIOS[0].1);
}

#[test]
fn reports_of_a_normal_market_are_the_referees() {
    check(SCENARIOS[1].0, SCENARIOS[1].1);
}

#[test]
fn reports_of_a_market_that_swings_by_a_quarter_are_the_referees() {
    check(SCENARIOS[2].0, SCENARIOS[2].1);
}

#[test]
fn reports_of_a_market_that_swings_by_two_fifths_are_the_referees() {
    check(SCENARIOS[3].0, SCENARIOS[3].1);
}

#[test]
fn reports_of_a_flash_crash_are_the_referees() {
    check(SCENARIOS[4].0, SCENARIOS[4].1);
}

#[test]
fn another_seed_is_as_good() {
    let Some((messages, expected)) = generate("swing-40", 5_000, 4_711) else { return };
    assert_eq!(reports(&messages), expected);
}
