//! What is said to a connection that gets no session.

use taut_fix::{CompId, Now, Precision, StampCache, Writer, tag};

/// The longest of them: two CompIDs are in it twice.
const MESSAGE_BYTES: usize = 512;

/// A Logout (5) for a client that is no member: it names the CompID.
pub fn unknown_member(now: Now, venue: CompId, client: CompId) -> Vec<u8> {
    let (mut bytes, mut stamps) = (vec![0; MESSAGE_BYTES], StampCache::new(Precision::Millis));
    let text = format!("CompID {client} is not a member here");
    let mut writer = Writer::begin(&mut bytes, &mut stamps, b"5");
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
