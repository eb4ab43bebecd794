//! What comes in on an open connection: frames, joined to messages (RFC 6455, 5).
//!
//! Bytes are never asked for twice: what arrives of a frame that is cut goes where it belongs, so
//! that a driver keeps nothing. A message that lies whole in one frame in what arrived is handed
//! out from there.

use taut_simd::Level;

use crate::config::{Role, WsConfig};
use crate::counters::WsCounters;
use crate::deflate::inflating::Inflating;
use crate::deflate::settings::DeflateParameters;
use crate::error::Violation;
use crate::frame::{
    CONTROL_BYTES_MAX, FrameHeader, HEADER_BYTES_MAX, Opcode, RESERVED, RESERVED_BESIDE_DEFLATE,
};
use crate::message::Message;
use crate::utf8::Utf8;

/// What a frame completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Text(&'a str),
    Binary(&'a [u8]),
    Ping(&'a [u8]),
    Pong(&'a [u8]),
    Close(&'a [u8]),
}

type Taken<'a> = (usize, Result<Option<Item<'a>>, Violation>);

/// What a fragment of a compressed message may have beside what it says: the end of a block.
const BLOCK_END_BYTES: u64 = 64;

/// The usual frame: a message that is whole, of less than 64 KiB.
#[derive(Clone, Copy, Debug)]
pub struct Usual {
    opcode: Opcode,
    /// A client's.
    key: [u8; 4],
    /// Where its payload lies.
    start: usize,
    pub end: usize,
}

/// A frame under way.
#[derive(Clone, Copy, Debug)]
struct Frame {
    header: FrameHeader,
    payload_done: u64,
}

#[derive(Debug)]
pub struct Incoming {
    role: Role,
    level: Level,
    message_bytes_max: u64,
    fragments_max: u32,
    /// A header that was cut.
    header: [u8; HEADER_BYTES_MAX],
    header_bytes: usize,
    frame: Option<Frame>,
    /// The message under way, from its first frame to its last: text or binary.
    opcode: Option<Opcode>,
    fragments: u32,
    /// The payload of its frames so far, the one under way whole.
    payload_bytes: u64,
    is_compressed: bool,
    message: Message,
    /// Compression was agreed on.
    inflating: Option<Inflating>,
    /// Bits that no frame may have.
    reserved: u8,
    utf8: Utf8,
    control: [u8; CONTROL_BYTES_MAX],
    control_bytes: usize,
    pub counters: WsCounters,
}

impl Incoming {
    /// `spare_bytes` is how large the message's buffer is at the least: the handshake's head lies
    /// there first.
    pub fn new(role: Role, config: &WsConfig, spare_bytes: usize) -> Self {
        Self {
            role,
            level: Level::best(),
            message_bytes_max: config.message_bytes_max as u64,
            fragments_max: config.fragments_max,
            header: [0; HEADER_BYTES_MAX],
            header_bytes: 0,
            frame: None,
            opcode: None,
            fragments: 0,
            payload_bytes: 0,
            is_compressed: false,
            message: Message::new(config.message_bytes_max, spare_bytes),
            inflating: None,
            reserved: RESERVED,
            utf8: Utf8::default(),
            control: [0; CONTROL_BYTES_MAX],
            control_bytes: 0,
            counters: WsCounters::default(),
        }
    }

    /// Compressed messages may come.
    pub fn agree(&mut self, agreed: &DeflateParameters) {
        self.inflating = Some(Inflating::new(match self.role {
            Role::Client => agreed.server_no_context_takeover,
            Role::Server => agreed.client_no_context_takeover,
        }));
        self.reserved = RESERVED_BESIDE_DEFLATE;
    }

    /// Gives a large message's memory back, once it is handed out.
    pub fn give_back(&mut self) {
        if self.is_between_messages() {
            self.message.give_back();
        }
    }

    /// The memory that messages have now.
    pub const fn memory_bytes(&self) -> usize {
        let inflating = match &self.inflating {
            Some(inflating) => inflating.memory_bytes(),
            None => 0,
        };
        self.message.memory_bytes() + inflating
    }

    /// The buffer of messages, before there are any.
    pub fn buffer(&mut self) -> &mut [u8] {
        self.message.buffer()
    }

    /// Between two messages, and between two frames.
    #[inline]
    const fn is_between_messages(&self) -> bool {
        self.frame.is_none() && self.header_bytes == 0 && self.opcode.is_none()
    }

    /// Takes bytes up to the end of a frame, any frame, or a piece of one: how many, and what is
    /// complete with them.
    pub fn take<'a>(&'a mut self, bytes: &'a [u8]) -> Taken<'a> {
        if self.frame.is_some() || self.header_bytes > 0 {
            return self.take_cut(bytes);
        }
        match FrameHeader::parse(bytes, self.role, self.reserved) {
            Err(violation) => (bytes.len(), Err(violation)),
            Ok(None) => (self.keep_header(bytes), Ok(None)),
            Ok(Some((header, header_bytes))) => {
                let rest = bytes.get(header_bytes..).unwrap_or(&[]);
                if let Err(violation) = self.check(&header) {
                    return (bytes.len(), Err(violation));
                }
                if header.key.is_none()
                    && self.is_whole(&header)
                    && let Some(payload) = rest.get(..header.payload_bytes as usize)
                {
                    self.count_borrowed(header.opcode, payload.len());
                    return (header_bytes + payload.len(), item(header.opcode, payload).map(Some));
                }
                self.begin(header);
                let (taken, made) = self.take_payload(rest);
                (header_bytes + taken, made)
            }
        }
    }

    /// The usual frame of a server, if that is what these bytes begin with. What is anything else,
    /// or wrong in any way, is for [`Incoming::take`] to judge.
    #[inline(always)]
    pub fn usual(&self, bytes: &[u8]) -> Option<Usual> {
        // With a payload of two bytes it has so many.
        let &[first, second, a, b] = bytes.first_chunk()?;
        let (length, start) = match second {
            short @ 0..=125 => (usize::from(short), 2),
            126 => (usize::from(u16::from_be_bytes([a, b])), 4),
            _ => return None,
        };
        let usual = Usual { opcode: usual_opcode(first)?, key: [0; 4], start, end: start + length };
        self.is_usual(Role::Client, &usual, start == 2, bytes).then_some(usual)
    }

    /// As [`Incoming::usual`], of a client.
    #[inline(always)]
    pub fn usual_masked(&self, bytes: &[u8]) -> Option<Usual> {
        let &[first, second, a, b, c, d, e, f] = bytes.first_chunk()?;
        let (length, start, key) = match second {
            short @ 0x80..=0xfd => (usize::from(short & 0x7f), 6, [a, b, c, d]),
            0xfe => (usize::from(u16::from_be_bytes([a, b])), 8, [c, d, e, f]),
            _ => return None,
        };
        let usual = Usual { opcode: usual_opcode(first)?, key, start, end: start + length };
        self.is_usual(Role::Server, &usual, start == 6, bytes).then_some(usual)
    }

    /// Whether such a frame may come here, is whole, and has its length in the shortest form.
    #[inline(always)]
    fn is_usual(&self, reader: Role, usual: &Usual, is_short: bool, bytes: &[u8]) -> bool {
        let length = usual.end - usual.start;
        self.role == reader
            && self.is_between_messages()
            && (is_short || length > 125)
            && usual.end <= bytes.len()
            && length as u64 <= self.message_bytes_max
    }

    /// What a usual frame of a server says.
    ///
    /// # Errors
    /// A text that is not UTF-8.
    #[inline(always)]
    pub fn take_usual<'a>(&mut self, usual: Usual, bytes: &'a [u8]) -> Result<Item<'a>, Violation> {
        /// A longer text is looked at once, whatever it is.
        const SHORT_BYTES_MAX: usize = 512;
        let Usual { opcode, start, end, .. } = usual;
        let payload = bytes.get(start..end).unwrap_or(&[]);
        self.count_borrowed(opcode, payload.len());
        if opcode == Opcode::Binary {
            return Ok(Item::Binary(payload));
        }
        if payload.len() <= SHORT_BYTES_MAX
            && let Ok(text) = self.level.ascii(payload)
        {
            return Ok(Item::Text(text));
        }
        item(opcode, payload)
    }

    /// What a usual frame of a client says, unmasked in place.
    ///
    /// # Errors
    /// As [`Incoming::take_usual`].
    #[inline(always)]
    pub fn take_usual_masked<'a>(
        &mut self,
        usual: Usual,
        bytes: &'a mut [u8],
    ) -> Result<Item<'a>, Violation> {
        let Usual { opcode, key, start, end } = usual;
        let payload = bytes.get_mut(start..end).unwrap_or(&mut []);
        self.count_borrowed(opcode, payload.len());
        match self.level.mask_text(payload, key) {
            Ok(text) if opcode == Opcode::Text => Ok(Item::Text(text)),
            Ok(text) => Ok(Item::Binary(text.as_bytes())),
            Err(payload) => item(opcode, payload),
        }
    }

    /// What a usual frame of a client says, unmasked on the way to the message's buffer.
    ///
    /// # Errors
    /// As [`Incoming::take_usual`].
    #[inline(always)]
    pub fn take_usual_copied<'a>(
        &'a mut self,
        usual: Usual,
        bytes: &[u8],
    ) -> Result<Item<'a>, Violation> {
        let Usual { opcode, key, start, end } = usual;
        let payload = bytes.get(start..end).unwrap_or(&[]);
        self.counters.data_frames_in += 1;
        self.counters.messages_in += 1;
        self.counters.message_bytes_in += payload.len() as u64;
        self.message.clear();
        let place = self.message.claim(payload.len());
        match self.level.mask_text_into(place, payload, key) {
            Ok(text) if opcode == Opcode::Text => Ok(Item::Text(text)),
            Ok(text) => Ok(Item::Binary(text.as_bytes())),
            Err(payload) => item(opcode, payload),
        }
    }

    /// As [`Incoming::take`], and unmasks in place what lies whole in these bytes.
    pub fn take_mut<'a>(&'a mut self, bytes: &'a mut [u8]) -> Taken<'a> {
        if self.role == Role::Server
            && self.frame.is_none()
            && self.header_bytes == 0
            && let Ok(Some((header, header_bytes))) =
                FrameHeader::parse(bytes, self.role, self.reserved)
            && let Some(key) = header.key
            && self.is_whole(&header)
            && self.check(&header).is_ok()
            && let end = (header_bytes as u64).saturating_add(header.payload_bytes)
            && end <= bytes.len() as u64
        {
            let payload = bytes.get_mut(header_bytes..end as usize).unwrap_or(&mut []);
            self.level.mask(payload, key);
            self.count_borrowed(header.opcode, payload.len());
            return (end as usize, item(header.opcode, payload).map(Some));
        }
        self.take(bytes)
    }

    /// Whether the frame is all of what it belongs to, as it is.
    #[inline]
    fn is_whole(&self, header: &FrameHeader) -> bool {
        let is_message = header.is_final && header.opcode != Opcode::Continuation;
        header.opcode.is_control() || (is_message && !header.is_compressed)
    }

    /// Whether the frame has its place here, and its payload room.
    #[inline]
    fn check(&self, header: &FrameHeader) -> Result<(), Violation> {
        if header.opcode.is_control() {
            return Ok(());
        }
        match (header.opcode, self.opcode) {
            (Opcode::Continuation, None) => return Err(Violation::UnexpectedContinuation),
            (Opcode::Text | Opcode::Binary, Some(_)) => return Err(Violation::InterleavedMessage),
            _ => {}
        }
        let (before, fragments, is_compressed) = match self.opcode {
            Some(_) => (self.payload_bytes, self.fragments, self.is_compressed),
            None => (0, 0, header.is_compressed),
        };
        let mut payload_bytes_max = self.message_bytes_max;
        if is_compressed {
            // What cannot be compressed becomes a little longer; what can is looked at again as it
            // is inflated.
            let ends = BLOCK_END_BYTES.saturating_mul(u64::from(fragments) + 1);
            payload_bytes_max =
                payload_bytes_max.saturating_add(payload_bytes_max / 8).saturating_add(ends);
        }
        if before.saturating_add(header.payload_bytes) > payload_bytes_max {
            return Err(Violation::MessageBytes);
        }
        if fragments >= self.fragments_max {
            return Err(Violation::FragmentCount);
        }
        Ok(())
    }

    fn begin(&mut self, header: FrameHeader) {
        match header.opcode {
            Opcode::Text | Opcode::Binary => {
                self.opcode = Some(header.opcode);
                self.is_compressed = header.is_compressed;
                self.message.clear();
                self.payload_bytes = header.payload_bytes;
                self.fragments = 1;
                self.utf8 = Utf8::default();
                self.counters.data_frames_in += 1;
            }
            Opcode::Continuation => {
                self.fragments += 1;
                self.payload_bytes += header.payload_bytes;
                self.counters.data_frames_in += 1;
            }
            Opcode::Close | Opcode::Ping | Opcode::Pong => self.control_bytes = 0,
        }
        self.frame = Some(Frame { header, payload_done: 0 });
    }

    fn keep_header(&mut self, bytes: &[u8]) -> usize {
        if let Some(place) = self.header.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            self.header_bytes = bytes.len();
        }
        bytes.len()
    }

    /// The rest of a frame that was cut.
    fn take_cut<'a>(&'a mut self, bytes: &'a [u8]) -> Taken<'a> {
        let mut header_bytes = 0;
        let mut rest = bytes;
        while self.frame.is_none() {
            let Some((byte, after)) = rest.split_first() else { return (bytes.len(), Ok(None)) };
            if let Some(place) = self.header.get_mut(self.header_bytes) {
                *place = *byte;
                self.header_bytes += 1;
            }
            (rest, header_bytes) = (after, header_bytes + 1);
            let kept = self.header.get(..self.header_bytes).unwrap_or(&[]);
            match FrameHeader::parse(kept, self.role, self.reserved) {
                Ok(None) => {}
                Err(violation) => return (bytes.len(), Err(violation)),
                Ok(Some((header, _))) => {
                    self.header_bytes = 0;
                    if let Err(violation) = self.check(&header) {
                        return (bytes.len(), Err(violation));
                    }
                    self.begin(header);
                }
            }
        }
        let (taken, made) = self.take_payload(rest);
        (header_bytes + taken, made)
    }

    /// Payload of the frame under way, to where it is collected.
    fn take_payload(&mut self, bytes: &[u8]) -> Taken<'_> {
        let Some(Frame { header, payload_done }) = self.frame else { return (0, Ok(None)) };
        let left = header.payload_bytes - payload_done;
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let bytes = bytes.get(..taken).unwrap_or(&[]);
        let is_done = taken as u64 == left;
        let start = if header.opcode.is_control() { 0 } else { self.message.filled_bytes() };
        if self.is_compressed && !header.opcode.is_control() {
            if let Err(violation) = self.inflate(&header, payload_done, bytes, is_done) {
                return (taken, Err(violation));
            }
        } else {
            self.copy(&header, payload_done, bytes);
        }
        if is_done {
            self.frame = None;
        } else if let Some(frame) = &mut self.frame {
            frame.payload_done += taken as u64;
        }
        (taken, self.finish(&header, start, is_done))
    }

    /// Payload as it is.
    fn copy(&mut self, header: &FrameHeader, payload_done: u64, bytes: &[u8]) {
        // `check` has found room for the whole frame.
        let place = if header.opcode.is_control() {
            let start = self.control_bytes;
            self.control_bytes += bytes.len();
            self.control.get_mut(start..start + bytes.len()).unwrap_or(&mut [])
        } else {
            self.message.claim(bytes.len())
        };
        match header.key {
            None => place.copy_from_slice(bytes),
            Some(mut key) => {
                key.rotate_left((payload_done & 3) as usize);
                self.level.mask_into(place, bytes, key);
            }
        }
    }

    /// Payload of a compressed message.
    #[inline(never)]
    fn inflate(
        &mut self,
        header: &FrameHeader,
        payload_done: u64,
        bytes: &[u8],
        is_done: bool,
    ) -> Result<(), Violation> {
        let Self { inflating, message, level, counters, .. } = self;
        let inflating = inflating.as_mut().ok_or(Violation::ReservedBits)?;
        match header.key {
            None => inflating.take(bytes, message)?,
            Some(key) => inflating.take_masked(*level, bytes, key, payload_done, message)?,
        }
        counters.compressed_bytes_in += bytes.len() as u64;
        if is_done && header.is_final {
            inflating.finish(message)?;
            counters.compressed_messages_in += 1;
        }
        Ok(())
    }

    /// What is complete with the bytes from `start` on.
    fn finish(
        &mut self,
        header: &FrameHeader,
        start: usize,
        is_done: bool,
    ) -> Result<Option<Item<'_>>, Violation> {
        if header.opcode.is_control() {
            if !is_done {
                return Ok(None);
            }
            self.count_control(header.opcode);
            let payload = self.control.get(..self.control_bytes).unwrap_or(&[]);
            return item(header.opcode, payload).map(Some);
        }
        let message = self.message.filled();
        if !(is_done && header.is_final) {
            // What cannot become UTF-8 any more is refused before the rest comes.
            if self.opcode == Some(Opcode::Text) {
                self.utf8.push(message.get(start..).unwrap_or(&[]))?;
            }
            return Ok(None);
        }
        let Some(opcode) = self.opcode.take() else { return Ok(None) };
        self.counters.messages_in += 1;
        self.counters.message_bytes_in += message.len() as u64;
        item(opcode, message).map(Some)
    }

    #[inline]
    const fn count_borrowed(&mut self, opcode: Opcode, payload_bytes: usize) {
        if opcode.is_control() {
            return self.count_control(opcode);
        }
        self.counters.data_frames_in += 1;
        self.counters.messages_in += 1;
        self.counters.borrowed_messages += 1;
        self.counters.message_bytes_in += payload_bytes as u64;
    }

    const fn count_control(&mut self, opcode: Opcode) {
        match opcode {
            Opcode::Ping => self.counters.pings_in += 1,
            Opcode::Pong => self.counters.pongs_in += 1,
            _ => {}
        }
    }
}

/// Of a message that is whole and not compressed.
#[inline(always)]
const fn usual_opcode(first: u8) -> Option<Opcode> {
    match first {
        0x81 => Some(Opcode::Text),
        0x82 => Some(Opcode::Binary),
        _ => None,
    }
}

#[inline(never)]
fn item(opcode: Opcode, payload: &[u8]) -> Result<Item<'_>, Violation> {
    Ok(match opcode {
        Opcode::Text => {
            Item::Text(simdutf8::basic::from_utf8(payload).map_err(|_| Violation::Utf8)?)
        }
        Opcode::Binary | Opcode::Continuation => Item::Binary(payload),
        Opcode::Ping => Item::Ping(payload),
        Opcode::Pong => Item::Pong(payload),
        Opcode::Close => Item::Close(payload),
    })
}
