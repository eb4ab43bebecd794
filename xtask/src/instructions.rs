//! `cargo xtask instructions`: what the hot paths cost in instructions, held against
//! `xtask/instructions.txt`.
//!
//! Each path is a verb of the program `hot-paths` (tests/src/bin) that does one thing COUNT times.
//! Callgrind runs it with two counts; the difference, divided, is the operation's own cost. No
//! clock is in it, so that a busy machine gives the same figure.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The figures to hold.
const GOLDEN: &str = "xtask/instructions.txt";
const HEAD: &str = "\
# Instructions per operation, by callgrind, release build, x86-64 with AVX2 (see xtask/src/\
instructions.rs).
# `cargo xtask instructions` holds the code against them, `--bless` writes them anew.
";
/// How much slower a path may be, in percent: other compilers and C libraries, alignments.
const TOLERANCE_PERCENT: f64 = 3.0;
/// The program.
const PROGRAM: &str = "hot-paths";
/// Where the count stands in a path's words.
const COUNT: &str = "COUNT";

/// One hot path.
struct HotPath {
    name: &'static str,
    /// What the program is called with.
    words: &'static [&'static str],
    /// What is run twice: with this count and with the double of it.
    count: u64,
    /// Operations that one of the count stands for.
    operations: u64,
}

const fn path(name: &'static str, words: &'static [&'static str], count: u64) -> HotPath {
    HotPath { name, words, count, operations: 1 }
}

/// A path that takes rounds of 4,096 messages.
const fn fix(name: &'static str, words: &'static [&'static str]) -> HotPath {
    HotPath { operations: 4_096, ..path(name, words, 1) }
}

const PATHS: &[HotPath] = &[
    path("market event, venue and fused gateway", &["tick", COUNT], 10_000),
    path("the same with an order journal", &["tick", COUNT, "journal"], 10_000),
    path("the same, recorded", &["tick", COUNT, "record"], 10_000),
    path("engine, command", &["engine", COUNT], 50_000),
    path("risk, order of 24 checks", &["risk", "check", COUNT], 50_000),
    path("risk, order, fill and end", &["risk", "fill", COUNT], 50_000),
    fix("FIX, order, index", &["fix", "index", COUNT, "order"]),
    fix("FIX, order, index and check", &["fix", "check", COUNT, "order"]),
    fix("FIX, order, encode", &["fix", "encode", COUNT, "order"]),
    fix("FIX, order, encode and keep", &["fix", "keep", COUNT, "order"]),
    fix("FIX, report, index", &["fix", "index", COUNT, "report"]),
    fix("FIX, report, index and check", &["fix", "check", COUNT, "report"]),
    fix("FIX, report, encode", &["fix", "encode", COUNT, "report"]),
    path("native feed, packet of 5 messages", &["feed", COUNT], 10_000),
    path("JSON, depth of 20 levels", &["binance", "depth", COUNT], 2_000),
    path("JSON, top of book", &["binance", "top", COUNT], 10_000),
    path("JSON, trade", &["binance", "trade", COUNT], 10_000),
    path("Deribit, decode a book of 20 levels", &["deribit", "decode", COUNT], 2_000),
    path("Deribit, book of 20 levels moved", &["deribit", "book", COUNT], 2_000),
    path("journal, append an order", &["journal", COUNT], 20_000),
    path("log, a message", &["log", "say", COUNT], 20_000),
    path("log, a message held back", &["log", "hold-back", COUNT], 20_000),
    path("channel ipc, 100 bytes", &["channel", "ipc", COUNT], 20_000),
    path("channel inproc, 100 bytes", &["channel", "inproc", COUNT], 20_000),
    path("channel aeron, 100 bytes", &["channel", "aeron", COUNT], 20_000),
    path("channel lease, 100 bytes", &["channel", "lease", COUNT], 20_000),
    path("channel zmtp, 100 bytes", &["channel", "zmtp", COUNT], 20_000),
    path("Aeron, 100 bytes", &["aeron", COUNT], 10_000),
    path("ZMTP, send 70 bytes", &["zmtp", "send", COUNT], 20_000),
    path("ZMTP, receive 70 bytes", &["zmtp", "receive", COUNT], 20_000),
    path("WebSocket, parse 128 bytes", &["websocket", "parse", "128", COUNT], 10_000),
    path(
        "WebSocket, parse 128 bytes, masked",
        &["websocket", "parse-masked", "128", COUNT],
        10_000,
    ),
    path("WebSocket, encode 128 bytes", &["websocket", "encode", "128", COUNT], 10_000),
];

/// Measures every path whose name contains `part`; returns a table for people. With `bless` the
/// figures become those to hold.
///
/// # Errors
/// The table, when a path is slower than it may be; else what could not be done.
pub fn run(root: &Path, target: &Path, part: &str, bless: bool) -> Result<String, String> {
    let chosen: Vec<&HotPath> = PATHS.iter().filter(|path| path.name.contains(part)).collect();
    let golden = fs::read_to_string(root.join(GOLDEN)).unwrap_or_default();
    let mut held = parse(&golden)?;
    build(root, target)?;
    let program = target.join("release").join(PROGRAM);
    let mut rows = Vec::new();
    for path in &chosen {
        eprint!("\rinstructions: {} of {}", rows.len() + 1, chosen.len());
        // Instructions are the same whatever runs beside: two at a time.
        let [once, twice] = std::thread::scope(|scope| {
            let counts = [path.count, path.count * 2];
            let runs = counts.map(|count| {
                scope.spawn({
                    let program = &program;
                    move || measure(program, path, count)
                })
            });
            runs.map(|run| run.join().unwrap_or_else(|_| Err("a measurement panicked".into())))
        });
        let own = twice?.saturating_sub(once?) as f64 / (path.count * path.operations) as f64;
        rows.push((path.name, held.get(path.name).copied(), own));
    }
    eprintln!();
    if bless {
        held.retain(|name, _| PATHS.iter().any(|path| path.name == name));
        held.extend(rows.iter().map(|(name, _, own)| ((*name).to_owned(), *own)));
        fs::write(root.join(GOLDEN), written(&held)).map_err(|error| error.to_string())?;
    }
    let (table, is_well) = table(&rows);
    if is_well || bless { Ok(table) } else { Err(table) }
}

/// Builds the program.
fn build(root: &Path, target: &Path) -> Result<(), String> {
    // Without a package: the same features as when all of the default members are built, so that
    // nothing is compiled for this program alone.
    let status = crate::cargo()
        .args(["build", "--release", "--locked", "--quiet", "--bin", PROGRAM, "--target-dir"])
        .arg(target)
        .current_dir(root)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{PROGRAM} does not build")) }
}

/// All instructions of a run with this count.
fn measure(program: &Path, path: &HotPath, count: u64) -> Result<u64, String> {
    let count = count.to_string();
    let word = |word: &&'static str| match *word {
        COUNT => count.clone(),
        other => other.to_owned(),
    };
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(path.words.iter().map(word))
        .output()
        .map_err(|error| format!("valgrind: {error}; install it"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    let collected = collected.and_then(|(_, number)| number.trim().parse().ok());
    collected.filter(|_| output.status.success()).ok_or_else(|| format!("{}:\n{said}", path.name))
}

/// The figures in a golden file: `name | instructions`.
fn parse(golden: &str) -> Result<BTreeMap<String, f64>, String> {
    let lines = golden.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let figure = |line: &str| {
        let (name, figure) = line.split_once('|')?;
        Some((name.trim().to_owned(), figure.trim().parse().ok()?))
    };
    lines.map(|line| figure(line).ok_or_else(|| format!("{GOLDEN}: {line}"))).collect()
}

/// The golden file with these figures, in the order of the paths.
fn written(held: &BTreeMap<String, f64>) -> String {
    let mut text = HEAD.to_owned();
    for path in PATHS {
        if let Some(figure) = held.get(path.name) {
            let _ = writeln!(text, "{:<40} | {figure:>9.1}", path.name);
        }
    }
    text
}

/// Name, what was to hold, what is, and the difference; and whether all of it is well.
fn table(rows: &[(&str, Option<f64>, f64)]) -> (String, bool) {
    let mut text = format!("{:<40} {:>10} {:>10}  change", "instructions of one", "held", "now");
    let mut is_well = true;
    for (name, held, now) in rows {
        let Some(held) = held else {
            is_well = false;
            let _ = write!(text, "\n{name:<40} {:>10} {now:>10.1}  new: bless it", "");
            continue;
        };
        let change = (now / held - 1.0) * 100.0;
        let verdict = match change {
            change if change > TOLERANCE_PERCENT => "  SLOWER",
            change if change < -TOLERANCE_PERCENT => "  faster: bless it",
            _ => "",
        };
        is_well &= change <= TOLERANCE_PERCENT;
        let _ = write!(text, "\n{name:<40} {held:>10.1} {now:>10.1} {change:>+6.1}%{verdict}");
    }
    (text, is_well)
}

#[cfg(test)]
mod tests {
    use super::{PATHS, parse, table, written};

    #[test]
    fn what_is_written_is_read_again() {
        let held = PATHS.iter().map(|path| (path.name.to_owned(), 12.5)).collect();
        assert_eq!(parse(&written(&held)), Ok(held));
        assert!(parse("a | b").is_err());
    }

    #[test]
    fn a_path_may_be_three_percent_slower_and_any_faster() {
        assert!(table(&[("a", Some(100.0), 102.9), ("b", Some(100.0), 50.0)]).1);
        let (text, is_well) = table(&[("a", Some(100.0), 103.1)]);
        assert!(!is_well && text.contains("+3.1%  SLOWER"), "{text}");
        assert!(!table(&[("a", None, 1.0)]).1, "nothing holds it");
    }
}
