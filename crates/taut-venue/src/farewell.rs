//! What is said to a connection that gets no session.

use taut_fix::{BeginString, CompId, Now, Precision, StampCache, Writer, tag};

/// The longest of them: two CompIDs are in it twice.
const MESSAGE_BYTES: usize = 1_024;

/// A Logout (5), in the version of the Logon that it answers.
pub fn refusal(now: Now, begin: BeginString, ids: [CompId; 2], text: &str) -> Vec<u8> {
    let (mut bytes, mut stamps) = (vec![0; MESSAGE_BYTES], StampCache::new(Precision::Millis));
    let [venue, client] = ids;
    let mut writer = Writer::begin_version(&mut bytes, &mut stamps, begin, b"5");
    writer.short::<{ tag::SENDER_COMP_ID }, _>(&venue);
    writer.short::<{ tag::TARGET_COMP_ID }, _>(&client);
    writer.number::<{ tag::MSG_SEQ_NUM }>(1);
    writer.timestamp::<{ tag::SENDING_TIME }>(now.utc);
    writer.text::<{ tag::TEXT }>(text.as_bytes());
    // It fits: CompIDs are short. What does not is not said.
    let written = writer.finish().unwrap_or(0..0);
    bytes.drain(written.end..);
    bytes.drain(..written.start);
    bytes
}
