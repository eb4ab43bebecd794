//! `--format binance`: a book built from depth frames against the bookTicker frames beside them.
//!
//! The book begins with the REST snapshot of the capture; updates that came before it are kept and
//! joined by Binance's rules ("How to manage a local order book correctly", for the spot and for
//! the USD-margined futures streams). After each depth frame with `u` above the snapshot's
//! `lastUpdateId` the newest bookTicker with an id of at most `u` must show the book's top.

mod depth;
mod frame;

use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::verdict::{Mismatch, UNEXPLAINED, Verdict, Within};
use crate::exit::Failure;
use depth::{DepthBook, Joined};
use frame::{Frame, Ticker, Update};

/// The stream lost a frame, so that the book is another market's.
const GAP: &str = "gap_in_the_depth_stream";

/// The book's top after a depth frame.
struct Top {
    line: usize,
    first_id: u64,
    last_id: u64,
    ticker: Ticker,
    after_gap: bool,
}

/// Rebuilds the book and compares it.
///
/// # Errors
/// [`Failure::Usage`] for a file that cannot be read, is malformed, or has no snapshot.
pub fn verify(capture: &Path) -> Result<Verdict, Failure> {
    let text = read(capture)?;
    compare(&capture.display().to_string(), &text)
}

fn compare(file: &str, text: &str) -> Result<Verdict, Failure> {
    let wrong = |line: usize, what: &str| Failure::Usage(format!("{file}:{line}: {what}"));
    let mut book = DepthBook::new();
    let (mut tickers, mut tops, mut after_gap) = (Vec::new(), Vec::new(), false);
    for (line, row) in (1..).zip(text.lines()) {
        let mut visit = |line, update: &Update, joined, ticker| {
            after_gap |= joined == Joined::AfterGap;
            let (first_id, last_id) = (update.first_id, update.last_id);
            tops.push(Top { line, first_id, last_id, ticker, after_gap });
        };
        let joined = match frame::parse(row).map_err(|what| wrong(line, &what))? {
            Frame::Ticker(id, ticker) => {
                tickers.push((id, ticker));
                Ok(())
            }
            Frame::Other => Ok(()),
            Frame::Snapshot(snapshot) => book.start(&snapshot, &mut visit),
            Frame::Update(update) => book.update(line, update, &mut visit),
        };
        joined.map_err(|what| wrong(line, what))?;
    }
    if !book.has_started() {
        return Err(Failure::Usage(format!(
            "{file}: it has no snapshot (a line whose JSON has lastUpdateId, bids and asks)"
        )));
    }
    // Later frames can carry an older id only within one update; stable, so that the last one wins.
    tickers.sort_by_key(|&(id, _)| id);
    Ok(judge(&tickers, &tops))
}

fn judge(tickers: &[(u64, Ticker)], tops: &[Top]) -> Verdict {
    let mut verdict = Verdict::new("tops after depth frames");
    let mut within = Within::default();
    for top in tops {
        let known = tickers.partition_point(|&(id, _)| id <= top.last_id);
        let Some(&(id, truth)) = known.checked_sub(1).and_then(|at| tickers.get(at)) else {
            continue;
        };
        let equal = truth == top.ticker;
        if id >= top.first_id {
            within.states += 1;
            within.equal += u64::from(equal);
        }
        if equal {
            verdict.equal();
        } else {
            let reason = if top.after_gap { GAP } else { UNEXPLAINED };
            let (truth, book) = (truth.to_string(), top.ticker.to_string());
            verdict.mismatch(Mismatch { line: top.line, reason, truth, book });
        }
    }
    verdict.within_update = Some(within);
    verdict
}

/// The text of a file, unpacked if it is gzip.
fn read(path: &Path) -> Result<String, Failure> {
    let wrong = |what: String| Failure::Usage(format!("{}: {what}", path.display()));
    let bytes = std::fs::read(path).map_err(|e| wrong(format!("cannot read it ({e})")))?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        let unpacked = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text);
        let at = text.len();
        unpacked.map_err(|e| wrong(format!("its gzip breaks after {at} bytes of text ({e})")))?;
        text
    } else {
        bytes
    };
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        wrong(format!("offset {at}: it is not text"))
    })
}

#[cfg(test)]
mod tests;
