//! What Binance says on its streams that is no data.

/// What is said on a stream that the venue is about to end.
const SHUTDOWN: &[u8] = b"serverShutdown";
/// That message is no longer; those with data mostly are.
const SHUTDOWN_BYTES_MAX: usize = 128;

/// Whether a frame says that the venue is about to end the stream. That is said in JSON, also where
/// data are not.
pub(super) fn announces_end(frame: &[u8]) -> bool {
    frame.starts_with(b"{")
        && frame.len() <= SHUTDOWN_BYTES_MAX
        && frame.windows(SHUTDOWN.len()).any(|it| it == SHUTDOWN)
}

#[cfg(test)]
mod tests {
    use super::announces_end;

    #[test]
    fn an_announced_end_is_told_from_data() {
        assert!(announces_end(br#"{"e":"serverShutdown","E":1770123456789}"#));
        let combined = br#"{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":177}}"#;
        assert!(announces_end(combined));
        assert!(!announces_end(br#"{"stream":"btcusdt@trade","data":{"e":"trade"}}"#));
        assert!(!announces_end(b"\x12\0\x10'\x01\0\0\0serverShutdown"), "a message of SBE");
    }
}
