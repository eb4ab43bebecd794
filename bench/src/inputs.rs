//! A recording: what an entry costs the thread whose inputs they are, open loop, beside a
//! copy of the same bytes.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clap::Args;
use taut_journal::{Journal, Settings, TURN};
use taut_lat::{Recorder, View, new_words};
use taut_report::Failure;
use taut_report::terminal::print;
use taut_sys::{Anchoring, Clock, monotonic};
use taut_types::Nanos;

use crate::timing::best;

/// Entries at a steady rate into a new journal, whose segments another thread makes.
#[derive(Args, Debug)]
pub struct Arguments {
    /// The folder of the journal: new, and removed at the end.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Entries a second.
    #[arg(long, default_value_t = 1_000_000)]
    rate: u64,
    /// Bytes of an entry.
    #[arg(long, default_value_t = 128)]
    bytes: usize,
    /// For how long.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { folder, rate, bytes, seconds } = arguments;
    let failed =
        |error: &dyn std::fmt::Display| Failure::Run(format!("{}: {error}", folder.display()));
    let entry: Vec<u8> = (0..*bytes).map(|byte| byte as u8).collect();
    let mut room = vec![0; *bytes];
    let copy = best(10_000, || {
        for _ in 0..10_000 {
            room.copy_from_slice(std::hint::black_box(&entry));
            std::hint::black_box(&room);
        }
    });
    let journal = Journal::begin(folder, Settings::of_recording(), None);
    let Journal { mut writer, housekeeper: mut keeper, .. } =
        journal.map_err(|error| failed(&error))?;
    keeper.turn().map_err(|error| failed(&error))?;
    let (stop, stopped) = mpsc::channel::<()>();
    let keeper = thread::spawn(move || {
        let look = Duration::from_millis(5);
        while stopped.recv_timeout(look) == Err(RecvTimeoutError::Timeout) {
            let _ = keeper.turn();
        }
        keeper
    });
    let clock = Clock::new(Anchoring::start().mapping());
    let words = new_words();
    let mut spans = Recorder::new(&words).ok_or_else(|| failed(&"a histogram's words"))?;
    let mut lost = 0_u64;
    let (start, count) = (clock.now(), rate * seconds);
    let mut done = 0;
    while done < count {
        let due = start + Nanos((done as i128 * 1_000_000_000 / i128::from(*rate)) as i64);
        while clock.now() < due {
            std::hint::spin_loop();
        }
        let before = clock.ticks();
        lost += u64::from(writer.record(TURN, due, &entry).is_err());
        let span = clock.at(clock.ticks()).since(clock.at(before));
        spans.record(span.0.unsigned_abs());
        done += 1;
    }
    let late = clock.now().since(start);
    drop(stop);
    let keeper = keeper.join().map_err(|_| Failure::Run("the keeper panicked".to_owned()))?;
    let before = monotonic();
    drop(writer);
    keeper.finish().map_err(|error| failed(&error))?;
    let ended = monotonic().since(before);
    std::fs::remove_dir_all(folder).map_err(|error| failed(&error))?;
    let found = View::new(&words).ok_or_else(|| failed(&"a histogram's words"))?;
    let at = |ppm| found.value_at_ppm(ppm);
    print(format!(
        "{count} entries of {bytes} bytes in {:.3} s ({seconds} were asked for), {lost} lost\n\
         append: p50 {} ns, p99 {} ns, p99.9 {} ns, max {} ns; both stamps are in it\n\
         a copy of the same bytes: {copy} ns\n\
         end: {} ms",
        late.0 as f64 / 1e9,
        at(500_000),
        at(990_000),
        at(999_000),
        at(1_000_000),
        ended.0 / 1_000_000,
    ))
}
