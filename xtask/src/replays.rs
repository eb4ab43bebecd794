//! `cargo xtask soak replays`: recorded demos of all kinds, each done once more.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::soak::build;

/// How the demos differ: each way in turn.
const WAYS: [&str; 8] = [
    "--mode fused",
    "--mode split",
    "--mode fused --lose 100,100",
    "--mode split --lose 100,100",
    "--mode fused --lose 200,50 --refuse-retransmission --wait block",
    "--mode split --lose 50,200 --wait yield",
    "--mode fused --instruments 40 --levels 50 --wait yield",
    "--mode split --instruments 40 --levels 50 --refuse-retransmission --lose 20,20",
];
/// How often it says how far it has come.
const SHARE: u64 = 20;

/// Records so many demos of half a second and replays each.
///
/// # Errors
/// In words: what does not build, and each demo that failed or whose replay differs; its recording
/// stays then.
pub fn run(root: &Path, target: &Path, count: u64) -> Result<String, String> {
    let taut = build(root, target, true, &[])?.join("taut");
    let folder = target.join("replays");
    let file = |error: std::io::Error| format!("{}: {error}", folder.display());
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(file)?;
    let mut wrong = Vec::new();
    for number in 0..count {
        let way = WAYS[number as usize % WAYS.len()];
        let run = folder.join(number.to_string());
        match replayed(&taut, &run, way, number) {
            Ok(()) => fs::remove_dir_all(&run).map_err(file)?,
            Err(said) => {
                println!("run {number}, {way}: {said}");
                wrong.push(format!("run {number}, {way}: recording in {}", run.display()));
            }
        }
        let done = number + 1;
        if done % (count / SHARE).max(1) == 0 {
            println!("{done} of {count} runs, {} with a difference", wrong.len());
        }
    }
    if wrong.is_empty() {
        return Ok(format!("soak replays: {count} recorded runs, replayed with 0 differences"));
    }
    Err(wrong.join("\n"))
}

fn replayed(taut: &Path, run: &Path, way: &str, seed: u64) -> Result<(), String> {
    let (record, report) = (run.join("recording"), run.join("report"));
    let mut demo = Command::new(taut);
    demo.args(["demo", "--json", "--seconds", "0.5", "--seed", &seed.to_string()]);
    demo.args(way.split(' ')).arg("--record").arg(&record).arg("--out").arg(report);
    done(&mut demo)?;
    done(Command::new(taut).arg("replay").arg(record))
}

fn done(command: &mut Command) -> Result<(), String> {
    let Output { status, stdout, stderr } =
        command.output().map_err(|error| format!("taut: {error}"))?;
    let said = [stdout, stderr].map(|it| String::from_utf8_lossy(&it).into_owned()).concat();
    if status.success() { Ok(()) } else { Err(format!("{status}\n{said}")) }
}
