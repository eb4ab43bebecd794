//! The echo application: what comes in goes out again, its body sorted by tag.

use std::collections::HashSet;
use std::ops::Range;

use taut_fix::{
    BeginString, Event, Extras, FieldIndex, MemoryStore, Now, Route, Session, Slot, Writer,
    is_header_tag,
};

/// Room for one message that is sent.
pub const MESSAGE_BYTES: usize = 64 * 1024;

/// Tags that are the frame's.
const TRAILER: [i32; 3] = [89, 93, 10];

/// Echoes NewOrderSingle (D), SecurityDefinition (d) and Email (C); refuses what is neither.
#[derive(Debug, Default)]
pub struct Echo {
    /// ClOrdIDs (11) that were seen since the last Logon.
    seen: HashSet<Vec<u8>>,
}

impl Echo {
    /// Acts on what a session reports of `message`, which is indexed; what is to be sent is
    /// appended to `output`.
    pub fn handle(
        &mut self,
        now: Now,
        session: &mut Session<MemoryStore>,
        event: Event,
        (message, index): (&[u8], &FieldIndex),
        output: &mut Vec<u8>,
    ) {
        match event {
            Event::Application { sequence, poss_resend, .. } => {
                let msg_type = index.find(35).map_or(&[][..], |slot| slot.value(message));
                if !is_echoed(msg_type, session.config().begin) {
                    session.refuse_type(sequence, msg_type);
                } else if self.is_new(msg_type, poss_resend, (message, index)) {
                    echo(now, session, msg_type, poss_resend, (message, index), output);
                }
            }
            Event::LoggedOut | Event::Disconnect(_) => self.seen.clear(),
            _ => {}
        }
    }

    /// The other side is gone without a word.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Whether an order was not seen before, as far as its sender thinks that it may have been.
    fn is_new(
        &mut self,
        msg_type: &[u8],
        poss_resend: bool,
        (message, index): (&[u8], &FieldIndex),
    ) -> bool {
        let id = index.find(11).map(|slot| slot.value(message).to_vec());
        let Some(id) = id.filter(|_| msg_type == b"D") else { return true };
        self.seen.insert(id) || !poss_resend
    }
}

fn is_echoed(msg_type: &[u8], begin: BeginString) -> bool {
    match msg_type {
        b"D" | b"C" => true,
        b"d" => begin >= BeginString::Fix42,
        _ => false,
    }
}

fn echo(
    now: Now,
    session: &mut Session<MemoryStore>,
    msg_type: &[u8],
    poss_resend: bool,
    (message, index): (&[u8], &FieldIndex),
    output: &mut Vec<u8>,
) {
    let slots = index.slots();
    let mut parts = parts(session, msg_type, slots);
    parts.sort_by_key(|part| slots.get(part.start).map(|slot| slot.tag));
    let body = |writer: &mut Writer<'_>| {
        for slot in parts.iter().filter_map(|part| slots.get(part.clone())).flatten() {
            writer.field(slot.tag, slot.value(message));
        }
    };
    let extras = Extras { poss_resend, route: Route::back(message, slots) };
    let mut out = vec![0; MESSAGE_BYTES];
    if let Ok(range) = session.send(now, msg_type, extras, &mut out, body) {
        output.extend_from_slice(out.get(range).unwrap_or_default());
    }
}

/// The body's fields, each group with its count as one part.
fn parts(session: &Session<MemoryStore>, msg_type: &[u8], slots: &[Slot]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(slot) = slots.get(at) {
        let is_header = u32::try_from(slot.tag).is_ok_and(is_header_tag);
        let dictionaries = session.config().dictionaries.as_ref();
        let group_end = dictionaries
            .and_then(|dictionaries| dictionaries.application.group_end(msg_type, slots, at));
        let end = group_end.unwrap_or(at + 1);
        if !is_header && !TRAILER.contains(&slot.tag) {
            parts.push(at..end);
        }
        at = end;
    }
    parts
}
