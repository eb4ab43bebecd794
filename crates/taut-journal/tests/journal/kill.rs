//! `kill -9` of the writer at random moments: every entry that `append` returned from is there,
//! once, and nothing is torn.
//!
//! A child writes orders and says the number of each on its standard output once `append` has
//! returned; this process kills it after a random time, reads the journal, and starts it again on
//! the same folder.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use taut_journal::{Durability, Entry, Journal, Settings, read};
use taut_testkit::{Draw, Random, for_each_seed};
use taut_types::Nanos;

use crate::flow::{Flow, small};

const FOLDER: &str = "TAUT_JOURNAL_FOLDER";
const CHILD: &str = "kill::child";

fn settings() -> Settings {
    // Small segments, so that kills hit rolls too.
    Settings { durability: Durability::Async, segments_kept: 2, ..small() }
}

/// Does nothing, unless it is the child.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let Journal { mut writer, mut housekeeper, recovered, .. } =
        Journal::open(Path::new(&folder), settings()).expect("the journal");
    assert_eq!(writer.next_sequence(), recovered.state.as_of + 1);
    let keep = std::thread::spawn(move || while housekeeper.turn().is_ok() {});
    let mut flow = Flow::new(recovered.state.as_of);
    // What the one before left open is over, or there would be more of it from kill to kill.
    let mut over = recovered.state.orders.into_keys().map(|order| Entry::Expired { order });
    let mut pending = None;
    let mut out = std::io::stdout().lock();
    while !keep.is_finished() {
        let entry = pending.take().or_else(|| over.next()).unwrap_or_else(|| flow.next());
        // No segment is ready: the other thread needs the processor.
        let Ok(sequence) = writer.append(Nanos(entry_time(&entry)), &entry) else {
            pending = Some(entry);
            std::thread::yield_now();
            continue;
        };
        if writeln!(out, "{sequence}").is_err() {
            return;
        }
    }
}

/// Something to tell one entry from another by.
fn entry_time(entry: &Entry) -> i64 {
    format!("{entry:?}")
        .bytes()
        .fold(7, |hash: i64, byte| hash.wrapping_mul(31).wrapping_add(i64::from(byte)))
}

/// Starts the child, kills it after it has said so many entries and a moment more, and returns the
/// last one that it said.
fn write_and_kill(folder: &Path, after: u64, random: &mut Random) -> u64 {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args([CHILD, "--exact", "--nocapture", "--test-threads=1", "--quiet"])
        .env(FOLDER, folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output"));
    let mut last = 0;
    let mut count = 0;
    let mut line = String::new();
    while count < after {
        line.clear();
        assert!(lines.read_line(&mut line).expect("a pipe") > 0, "the child ended by itself");
        // The words of the test's own frame are none.
        if let Ok(number) = line.trim().parse() {
            (last, count) = (number, count + 1);
        }
    }
    // Somewhere in the middle of an append, or of housekeeping.
    (0..random.below(20_000)).for_each(|_| std::hint::spin_loop());
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    loop {
        line.clear();
        if lines.read_line(&mut line).expect("a pipe") == 0 {
            return last;
        }
        // The last line may have no end.
        if let Some(number) = line.strip_suffix('\n').and_then(|text| text.parse().ok()) {
            last = number;
        }
    }
}

fn kill_often(kills: u64, random: &mut Random) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recovered_last = 0;
    for kill in 0..kills {
        let after = random.below(1_500);
        let said = write_and_kill(folder.path(), after, random).max(recovered_last);
        let mut last = None;
        let found = read(folder.path(), small().executions_max, &mut |shown| {
            let entry = shown.entry.expect("a kind that is known");
            assert_eq!(shown.time, Nanos(entry_time(&entry)), "kill {kill}: another entry");
            assert!(last.is_none_or(|last| last + 1 == shown.sequence), "kill {kill}");
            last = Some(shown.sequence);
        })
        .unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        assert!(found.state.as_of >= said, "kill {kill}: {} of {said}", found.state.as_of);
        assert_eq!(found.requests_lost_max(), 0, "kill {kill}: {:?}", found.tails);
        recovered_last = found.state.as_of;
    }
    assert!(recovered_last > kills, "it has written next to nothing");
}

#[test]
fn nothing_is_lost_when_the_writer_is_killed() {
    for_each_seed(0..4, |_, mut random| kill_often(25, &mut random));
}

#[test]
#[ignore = "minutes"]
fn nothing_is_lost_when_the_writer_is_killed_a_thousand_times() {
    for_each_seed(0..20, |_, mut random| kill_often(50, &mut random));
}
