//! What comes in on an open connection: frames, joined to messages (RFC 6455, 5).
//!
//! Bytes are never asked for twice: what arrives of a frame that is cut goes where it belongs, so
//! that a driver keeps nothing. A message that lies whole in one frame in what arrived is handed
//! out from there.

use alloc::vec::Vec;

use taut_simd::Level;

use crate::config::{Role, WsConfig};
use crate::counters::WsCounters;
use crate::error::Violation;
use crate::frame::{CONTROL_BYTES_MAX, FrameHeader, HEADER_BYTES_MAX, Opcode};
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

/// What is kept of the message's buffer while nothing large comes.
const KEPT_BYTES: usize = 64 << 10;

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
    /// It grows with what comes, up to the longest message.
    message: Vec<u8>,
    message_bytes: usize,
    spare_bytes: usize,
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
            message: alloc::vec![0; spare_bytes],
            message_bytes: 0,
            spare_bytes,
            utf8: Utf8::default(),
            control: [0; CONTROL_BYTES_MAX],
            control_bytes: 0,
            counters: WsCounters::default(),
        }
    }

    /// Gives a large message's memory back, once it is handed out.
    pub fn give_back(&mut self) {
        if self.is_between_messages() && self.message.len() > KEPT_BYTES.max(self.spare_bytes) {
            self.message = alloc::vec![0; self.spare_bytes];
            self.message_bytes = 0;
        }
    }

    /// The memory that messages have now.
    pub const fn memory_bytes(&self) -> usize {
        self.message.capacity()
    }

    /// Room for this much of the message, which `check` found to be within its limit: twice as much
    /// each time, as it fills.
    #[cold]
    fn grow(&mut self, bytes: usize) {
        let most = usize::try_from(self.message_bytes_max).unwrap_or(usize::MAX);
        let bytes = bytes.max(self.message.len().saturating_mul(2).min(most));
        self.message.reserve_exact(bytes.saturating_sub(self.message.len()));
        self.message.resize(bytes, 0);
    }

    /// The buffer of messages, before there are any.
    pub fn buffer(&mut self) -> &mut [u8] {
        &mut self.message
    }

    /// Takes bytes up to the end of a frame: how many, and what is complete with them.
    #[inline]
    pub fn take<'a>(&'a mut self, bytes: &'a [u8]) -> Taken<'a> {
        if self.is_between_messages()
            && let Some((taken, opcode, payload)) = self.whole_message(bytes)
        {
            self.count_borrowed(opcode, payload.len());
            return (taken, item(opcode, payload).map(Some));
        }
        self.take_any(bytes)
    }

    /// Between two messages, and between two frames.
    #[inline]
    const fn is_between_messages(&self) -> bool {
        self.frame.is_none() && self.header_bytes == 0 && self.opcode.is_none()
    }

    /// The usual frame, at once: a message that is whole and not masked, of less than 64 KiB. What
    /// is anything else, or wrong in any way, is for the others to judge.
    #[inline]
    fn whole_message<'a>(&self, bytes: &'a [u8]) -> Option<(usize, Opcode, &'a [u8])> {
        let opcode = match bytes.first()? {
            0x81 => Opcode::Text,
            0x82 => Opcode::Binary,
            _ => return None,
        };
        let (length, header_bytes) = match *bytes.get(1)? {
            short @ 0..=125 => (usize::from(short), 2),
            126 => {
                let length = u16::from_be_bytes(*bytes.get(2..4)?.first_chunk()?);
                (usize::from(length), 4)
            }
            _ => return None,
        };
        let is_shortest = header_bytes == 2 || length > 125;
        let is_fine = self.role == Role::Client && is_shortest;
        let payload = bytes.get(header_bytes..header_bytes + length)?;
        (is_fine && length as u64 <= self.message_bytes_max).then_some((
            header_bytes + length,
            opcode,
            payload,
        ))
    }

    /// Any frame, or a piece of one.
    fn take_any<'a>(&'a mut self, bytes: &'a [u8]) -> Taken<'a> {
        if self.frame.is_some() || self.header_bytes > 0 {
            return self.take_cut(bytes);
        }
        match FrameHeader::parse(bytes, self.role) {
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

    /// As [`Incoming::take`], and unmasks in place what lies whole in these bytes.
    pub fn take_mut<'a>(&'a mut self, bytes: &'a mut [u8]) -> Taken<'a> {
        if self.role == Role::Server
            && self.frame.is_none()
            && self.header_bytes == 0
            && let Ok(Some((header, header_bytes))) = FrameHeader::parse(bytes, self.role)
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

    /// Whether the frame is all of what it belongs to.
    #[inline]
    fn is_whole(&self, header: &FrameHeader) -> bool {
        header.opcode.is_control() || (header.is_final && header.opcode != Opcode::Continuation)
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
        let (before, fragments) = match self.opcode {
            Some(_) => (self.message_bytes as u64, self.fragments),
            None => (0, 0),
        };
        if before.saturating_add(header.payload_bytes) > self.message_bytes_max {
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
                self.message_bytes = 0;
                self.fragments = 1;
                self.utf8 = Utf8::default();
                self.counters.data_frames_in += 1;
            }
            Opcode::Continuation => {
                self.fragments += 1;
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
            match FrameHeader::parse(kept, self.role) {
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
        let is_control = header.opcode.is_control();
        if !is_control && self.message.len() - self.message_bytes < taken {
            self.grow(self.message_bytes + taken);
        }
        let (buffer, filled) = if is_control {
            (&mut self.control[..], &mut self.control_bytes)
        } else {
            (&mut self.message[..], &mut self.message_bytes)
        };
        let start = *filled;
        // `check` has found room for the whole frame.
        let place = buffer.get_mut(start..start + taken).unwrap_or(&mut []);
        let bytes = bytes.get(..taken).unwrap_or(&[]);
        match header.key {
            None => place.copy_from_slice(bytes),
            Some(mut key) => {
                key.rotate_left((payload_done & 3) as usize);
                self.level.mask_into(place, bytes, key);
            }
        }
        *filled += taken;
        let is_done = taken as u64 == left;
        if is_done {
            self.frame = None;
        } else if let Some(frame) = &mut self.frame {
            frame.payload_done += taken as u64;
        }
        (taken, self.finish(&header, start, is_done))
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
        let message = self.message.get(..self.message_bytes).unwrap_or(&[]);
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

#[inline]
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
