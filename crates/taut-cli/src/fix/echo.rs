//! The echo application: what comes in goes out again, its body sorted by tag.

use std::collections::HashSet;
use std::ops::Range;

use taut_fix::{BeginString, Event, Extras, Route, Slot, Writer, is_header_tag};
use taut_fix_engine::{Application, Outbox, Received, StoredSession};

use crate::fix::fields::copy;
use crate::terminal::tell;

/// Tags that are the frame's.
const TRAILER: [i32; 3] = [89, 93, 10];

/// What is echoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every message of the application.
    All,
    /// What the acceptance suite expects: NewOrderSingle (D), SecurityDefinition (d) and Email (C);
    /// other types are refused.
    Acceptance,
}

/// Sends back what it gets.
#[derive(Debug)]
pub struct Echo {
    scope: Scope,
    /// Who is there, for the log on standard error; empty for silence.
    name: String,
    /// ClOrdIDs (11) that were seen since the last Logon.
    seen: HashSet<Vec<u8>>,
}

impl Echo {
    /// `name` is told with what happens.
    pub fn new(scope: Scope, name: String) -> Self {
        Self { scope, name, seen: HashSet::new() }
    }

    fn tell(&self, words: std::fmt::Arguments<'_>) {
        if self.scope == Scope::All {
            tell(format_args!("{}: {words}", self.name));
        }
    }

    /// Whether an order was not seen before, as far as its sender thinks that it may have been.
    fn is_new(&mut self, msg_type: &[u8], poss_resend: bool, message: Received<'_>) -> bool {
        let id = message.value(11).filter(|_| msg_type == b"D");
        let Some(id) = id else { return true };
        self.seen.insert(id.to_vec()) || !poss_resend
    }
}

impl Application for Echo {
    fn handle(&mut self, event: Event, message: Received<'_>, outbox: &mut Outbox<'_>) {
        match event {
            Event::Application { sequence, poss_resend, .. } => {
                let msg_type = message.msg_type();
                let begin = outbox.session().config().begin;
                if self.scope == Scope::Acceptance && !is_echoed(msg_type, begin) {
                    outbox.refuse_type(sequence, msg_type);
                } else if self.is_new(msg_type, poss_resend, message) {
                    echo(message, poss_resend, outbox);
                }
            }
            Event::LoggedOn => self.tell(format_args!("logged on")),
            Event::LoggedOut => self.tell(format_args!("logged out")),
            Event::Disconnect(reason) => self.tell(format_args!("ended: {}", reason.as_str())),
            _ => {}
        }
    }

    fn disconnected(&mut self) {
        self.tell(format_args!("disconnected"));
        self.seen.clear();
    }

    fn warn(&mut self, words: &str) {
        tell(format_args!("{}: {words}", self.name));
    }
}

fn is_echoed(msg_type: &[u8], begin: BeginString) -> bool {
    match msg_type {
        b"D" | b"C" => true,
        b"d" => begin >= BeginString::Fix42,
        _ => false,
    }
}

fn echo(message: Received<'_>, poss_resend: bool, outbox: &mut Outbox<'_>) {
    let (msg_type, slots) = (message.msg_type(), message.slots);
    let mut parts = parts(outbox.session(), msg_type, slots);
    parts.sort_by_key(|part| slots.get(part.start).map(|slot| slot.tag));
    let data_tags = outbox.session().data_tags().clone();
    let body = |writer: &mut Writer<'_>| {
        let slots = parts.iter().filter_map(|part| slots.get(part.clone())).flatten();
        copy(writer, slots.map(|slot| (slot.tag, slot.value(message.bytes))), &data_tags);
    };
    let extras = Extras { poss_resend, route: Route::back(message.bytes, slots) };
    // What cannot be sent (by a session that ends, say) stays unsent.
    let _ = outbox.send(msg_type, extras, body);
}

/// The body's fields; each group with its count is one part, and each data field with its length.
fn parts(session: &StoredSession, msg_type: &[u8], slots: &[Slot]) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(slot) = slots.get(at) {
        let is_header = u32::try_from(slot.tag).is_ok_and(is_header_tag);
        let dictionaries = session.config().dictionaries.as_ref();
        let group_end = dictionaries
            .and_then(|dictionaries| dictionaries.application.group_end(msg_type, slots, at));
        let data_tag = u32::try_from(slot.tag).ok().and_then(|it| session.data_tags().data_tag(it));
        let next_tag = slots.get(at + 1).and_then(|next| u32::try_from(next.tag).ok());
        let is_before_data = data_tag.is_some() && data_tag == next_tag;
        let end = group_end.unwrap_or(if is_before_data { at + 2 } else { at + 1 });
        if !is_header && !TRAILER.contains(&slot.tag) {
            parts.push(at..end);
        }
        at = end;
    }
    parts
}
