//! A small recording that is made: a capture of Binance's frames, which says everything that levels
//! and trades can say.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use taut_recording::{Source, Target};

use crate::{conversion, run};

/// 2024-08-08, in milliseconds.
pub const START_MS: i64 = 1_723_075_200_000;
/// How far the clock of who recorded is behind the exchange's.
pub const BEHIND_NS: i64 = 1_200_000_000;

/// Writes a capture of futures frames: a snapshot, updates and trades, some told late.
pub fn capture(folder: &Path, updates: i64) -> PathBuf {
    let mut text = String::new();
    let mut line = |time_ms: i64, latency_us: i64, json: &str| {
        let received = time_ms * 1_000_000 + latency_us * 1_000 - BEHIND_NS;
        writeln!(text, "{received} {json}").expect("text");
    };
    let levels = |from: i64, step: i64| {
        let levels =
            (0..20).map(|at| format!("[\"{}.{}\",\"{}.5\"]", from + at * step, at, at + 1));
        levels.collect::<Vec<_>>().join(",")
    };
    let (bids, asks) = (levels(61_800, -1), levels(61_801, 1));
    line(
        START_MS,
        900,
        &format!(
            r#"{{"lastUpdateId":10,"E":{START_MS},"T":{START_MS},"bids":[{bids}],"asks":[{asks}]}}"#
        ),
    );
    for at in 1..=updates {
        let time = START_MS + at * 7;
        let (first, last, qty) = (10 + at, 10 + at, at % 9);
        let (bid, ask) = (61_790 + at % 10, 61_803 + at % 7);
        // One level is deleted that never was.
        let more = if at == 1 { r#",["70000","0"]"# } else { "" };
        let levels = format!(r#""b":[["{bid}.1","0.0{qty}"]],"a":[["{ask}.2","{qty}.25"]{more}]"#);
        let update = format!(r#""U":{first},"u":{last},"pu":{},{levels}"#, last - 1);
        line(time, 400 + (at * 37 % 11) * 900, &frame("depthUpdate", time, &update));
        if at % 5 == 0 {
            let (time, is_sell) = (time - 3, at % 2 == 0);
            let trade =
                format!(r#""t":{at},"p":"61800.10","q":"0.003","X":"MARKET","m":{is_sell}"#);
            line(time, 30_000, &frame("trade", time, &trade));
        }
    }
    let path = folder.join("capture.txt");
    std::fs::write(&path, text).expect("a file");
    path
}

/// A frame of a combined stream.
fn frame(event: &str, time_ms: i64, more: &str) -> String {
    let head = format!(r#""e":"{event}","E":{time_ms},"T":{time_ms},"s":"BTCUSDT""#);
    format!(r#"{{"stream":"btcusdt@{event}","data":{{{head},{more}}}}}"#)
}

/// The same as an npz file.
pub fn npz(folder: &Path, updates: i64) -> PathBuf {
    let path = folder.join("made.npz");
    let what = conversion(Source::Binance, &[&capture(folder, updates)], Target::Npz);
    run(&what, &path).expect("an npz file");
    path
}
