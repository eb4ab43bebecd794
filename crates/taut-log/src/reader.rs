//! The end that listens.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use taut_ring::spsc::Consumer;
use taut_types::{InstrumentId, Nanos};

use crate::entry::{Entry, Value};
use crate::field::{Kind, address};
use crate::record::{Head, text_bytes};
use crate::table::by_number;

/// Takes messages out of the ring, and makes entries of them.
#[derive(Debug)]
pub struct LogReader<'m> {
    ring: Consumer<'m>,
}

impl<'m> LogReader<'m> {
    pub(crate) const fn new(ring: Consumer<'m>) -> Self {
        Self { ring }
    }

    /// The next entry, if there is one. `utc` tells the UTC of a time of the writer's clock, and
    /// `symbol` the name of an instrument.
    pub fn poll(
        &mut self,
        utc: impl FnOnce(Nanos) -> Nanos,
        symbol: impl Fn(InstrumentId) -> Option<String>,
    ) -> Option<Entry> {
        let head = Head::from_payload(&self.ring.pop()?);
        let length = usize::from(head.text_bytes);
        let mut text = Vec::new();
        while text.len() < length {
            // Head and text are published at once.
            let Some(slot) = self.ring.pop() else { break };
            text.extend_from_slice(&text_bytes(&slot));
        }
        text.truncate(length);
        let code = by_number(head.number);
        let fields = if head.is_count { &[] } else { code.fields };
        let value = |((name, kind), word): (&(&'static str, Kind), u64)| {
            (*name, value(*kind, word, &symbol))
        };
        Some(Entry {
            code,
            utc: utc(head.at),
            message: code.summary.into(),
            fields: fields.iter().zip(head.values).map(value).collect(),
            detail: String::from_utf8_lossy(&text).into_owned(),
            repeated: head.repeated,
        })
    }
}

fn value(kind: Kind, word: u64, symbol: &impl Fn(InstrumentId) -> Option<String>) -> Value {
    match kind {
        Kind::Number => Value::Number(word),
        Kind::Address => Value::Text(address(word).to_string()),
        Kind::Instrument => {
            let id = InstrumentId(word as u32);
            symbol(id).map_or_else(|| Value::Number(word), Value::Text)
        }
    }
}
