//! What a recording is.

use std::fmt;

use taut_recording::capture::Capture;

/// What a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayFormat {
    /// A LOBSTER message file.
    Lobster,
    /// A capture of Binance's frames.
    Binance,
    /// A capture of Deribit's frames.
    Deribit,
}

impl fmt::Display for ReplayFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lobster => "LOBSTER messages",
            Self::Binance => "Binance's frames",
            Self::Deribit => "Deribit's frames",
        })
    }
}

impl ReplayFormat {
    /// Only LOBSTER's rows are numbers alone, and only Deribit's frames are JSON-RPC.
    pub(super) fn of(capture: &Capture) -> Self {
        let row = capture.text().split(|&byte| byte == b'\n').next().unwrap_or_default();
        if row.first().is_some_and(u8::is_ascii_digit)
            && row.contains(&b',')
            && !row.contains(&b'{')
        {
            return Self::Lobster;
        }
        let is_rpc = |frame: &[u8]| frame.windows(9).any(|text| text == b"\"jsonrpc\"");
        match capture.frames().next() {
            Some(Ok(frame)) if is_rpc(frame.bytes) => Self::Deribit,
            _ => Self::Binance,
        }
    }
}
