//! The end that says things.

use core::fmt::{self, Write};

use taut_ring::spsc::Producer;
use taut_types::Nanos;

use crate::code::Message;
use crate::messages::Lost;
use crate::record::{Head, SLOT_BYTES, SLOTS_MAX, TEXT_BYTES_MAX, VALUES_MAX, text_payload};
use crate::sites::Sites;

/// Says things into a ring, at most [so many](crate::LINES_A_SECOND) of each a second.
///
/// A call costs some 3 ns, with 53 bytes of text 20, and a message that is held back 1
/// (BENCHMARKS.md); it waits for nobody.
#[derive(Debug)]
pub struct LogWriter<'m> {
    /// Without one nobody listens.
    ring: Option<Producer<'m>>,
    sites: Sites,
    /// Messages for which the ring had no room, and of which no line has told.
    lost: u64,
}

impl<'m> LogWriter<'m> {
    pub(crate) fn new(ring: Producer<'m>) -> Self {
        Self { ring: Some(ring), sites: Sites::new(), lost: 0 }
    }

    /// One to which nobody listens: of a gateway that is replayed, or whose program does not log.
    #[must_use]
    pub fn silent() -> Self {
        Self { ring: None, sites: Sites::new(), lost: 0 }
    }

    /// Says this.
    #[inline]
    pub fn say<M: Message>(&mut self, now: Nanos, message: &M) {
        self.put(now, M::NUMBER, message.words(), &[]);
    }

    /// Says this with words of somebody else's, such as a venue's reason; of more than
    /// [`TEXT_BYTES_MAX`] bytes the first ones.
    pub fn say_text<M: Message>(&mut self, now: Nanos, message: &M, text: &str) {
        let end = text.floor_char_boundary(TEXT_BYTES_MAX);
        self.put(now, M::NUMBER, message.words(), text.as_bytes().get(..end).unwrap_or_default());
    }

    /// The same with words that are made up here, without an allocation.
    pub fn say_args<M: Message>(&mut self, now: Nanos, message: &M, args: fmt::Arguments<'_>) {
        let mut buffer = Buffer { bytes: [0; TEXT_BYTES_MAX], length: 0 };
        // What has no room is cut off.
        let _ = buffer.write_fmt(args);
        let text = buffer.bytes.get(..buffer.length).unwrap_or_default();
        self.put(now, M::NUMBER, message.words(), text);
    }

    /// Tells what was held back or lost, where nothing more of it was said since: to be called now
    /// and then, off the way of a tick.
    pub fn housekeeping(&mut self, now: Nanos) {
        self.tell_lost(now);
        while let Some((number, repeated)) = self.sites.poll_held_back(now) {
            let count = Head {
                number,
                text_bytes: 0,
                is_count: true,
                repeated,
                at: now,
                values: [0; VALUES_MAX],
            };
            if self.ring.as_mut().is_none_or(|ring| ring.push(&count.to_payload()).is_err()) {
                return;
            }
            self.sites.said(number);
        }
    }

    #[inline]
    fn put(&mut self, now: Nanos, number: u16, values: [u64; VALUES_MAX], text: &[u8]) {
        if self.ring.is_none() {
            return;
        }
        let Some(repeated) = self.sites.may_say(number, now) else { return };
        if self.lost > 0 {
            self.tell_lost(now);
        }
        let Some(ring) = &mut self.ring else { return };
        let text_bytes = text.len().min(TEXT_BYTES_MAX) as u8;
        let head = Head { number, text_bytes, is_count: false, repeated, at: now, values };
        let head = head.to_payload();
        let pushed = if text.is_empty() {
            ring.push(&head)
        } else {
            let mut slots = [head; SLOTS_MAX];
            let mut used = 1;
            for (slot, bytes) in slots.iter_mut().skip(1).zip(text.chunks(SLOT_BYTES)) {
                *slot = text_payload(bytes);
                used += 1;
            }
            ring.push_batch(slots.get(..used).unwrap_or_default())
        };
        match pushed {
            Ok(()) => self.sites.said(number),
            Err(_) => self.lost += 1,
        }
    }

    /// Says how many messages were lost, where there is room again.
    #[cold]
    fn tell_lost(&mut self, now: Nanos) {
        let Some(ring) = self.ring.as_mut().filter(|_| self.lost > 0) else { return };
        let message = Lost { lost: self.lost };
        let head = Head {
            number: Lost::NUMBER,
            text_bytes: 0,
            is_count: false,
            repeated: 0,
            at: now,
            values: message.words(),
        };
        if ring.push(&head.to_payload()).is_ok() {
            self.lost = 0;
        }
    }
}

/// Text that is made up without an allocation.
struct Buffer {
    bytes: [u8; TEXT_BYTES_MAX],
    length: usize,
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        let end = text.floor_char_boundary(room.len());
        let text_bytes = text.as_bytes().get(..end).unwrap_or_default();
        room.iter_mut().zip(text_bytes).for_each(|(to, from)| *to = *from);
        self.length += end;
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
