//! Whose Logon is it? For an acceptor with many sessions on one port.

use crate::codec::begin::BeginString;
use crate::codec::data_tags::DataTags;
use crate::codec::frame::{Framed, frame};
use crate::codec::index::FieldIndex;
use crate::session::head::Head;

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peek<'a> {
    /// Not a whole message yet.
    NeedMore,
    /// A Logon.
    Logon {
        /// BeginString (8).
        begin: BeginString,
        /// SenderCompID (49): the peer.
        sender: &'a [u8],
        /// TargetCompID (56): us.
        target: &'a [u8],
    },
    /// Anything else: close without an answer.
    Other,
}

/// Looks at the first bytes of a connection without consuming them. The data fields are those of
/// every session that it may be for.
#[must_use]
pub fn peek<'a>(
    bytes: &'a [u8],
    message_bytes_max: usize,
    index: &mut FieldIndex,
    data_tags: &DataTags,
) -> Peek<'a> {
    let frame = match frame(bytes, message_bytes_max) {
        Ok(Framed::NeedMore) => return Peek::NeedMore,
        Ok(Framed::Message(frame)) => frame,
        _ => return Peek::Other,
    };
    if index.fill_with(&frame, data_tags).is_err() {
        return Peek::Other;
    }
    let head = Head::read(frame.bytes(), index.slots());
    match (BeginString::from_bytes(frame.begin_string()), head.sender, head.target) {
        (Some(begin), Some(sender), Some(target)) if head.msg_type == b"A" => {
            Peek::Logon { begin, sender, target }
        }
        _ => Peek::Other,
    }
}
