//! What goes out: the handshake's answer, messages, pings and close frames, in order.

use taut_simd::Level;
use taut_types::Nanos;

use crate::accept::ACCEPT_BYTES;
use crate::close::CloseCode;
use crate::config::{Role, WsConfig};
use crate::connection::outgoing::Outgoing;
use crate::connection::table::{Action, Input, State, step};
use crate::counters::WsCounters;
use crate::deflate::deflating::Deflating;
use crate::deflate::extension::{HEADER, Written};
use crate::deflate::settings::DeflateParameters;
use crate::error::{HandshakeFault, Limit, Misuse, WsError};
use crate::frame::{CONTROL_BYTES_MAX, FrameHeader, HEADER_BYTES_MAX, Opcode};
use crate::head::{is_token, is_value};
use crate::random::{Keys, Seed};
use crate::response::reason;

/// A close reason beside its code.
const REASON_BYTES_MAX: usize = CONTROL_BYTES_MAX - 2;
/// The longest control frame.
const CONTROL_FRAME_BYTES: usize = HEADER_BYTES_MAX + CONTROL_BYTES_MAX;
/// Room that pings and pongs leave: our close frame always fits.
const CLOSE_RESERVE: usize = CONTROL_FRAME_BYTES;
/// Room that messages leave, for a pong besides.
pub const RESERVE: usize = 2 * CONTROL_FRAME_BYTES;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

/// The sending half of a connection. What it takes waits in one run of bytes, so that many frames
/// leave in one write.
#[derive(Debug)]
pub struct Outbox {
    role: Role,
    pub(crate) state: State,
    config: WsConfig,
    level: Level,
    keys: Keys,
    out: Outgoing,
    /// The payload of a pong that had no room. A newer ping takes its place.
    pong: [u8; CONTROL_BYTES_MAX],
    pong_waits: Option<usize>,
    /// Between the parts of a message.
    inside: Option<MessageKind>,
    /// The compression that was agreed on, and a server's answer that says so.
    pub(crate) deflate: Option<DeflateParameters>,
    deflate_answer: Option<Written>,
    deflating: Option<Deflating>,
    /// What a server answers to the client's key, and what a client expects.
    pub(crate) answer: [u8; ACCEPT_BYTES],
    /// The status with which our side refused; it is yet to be reported.
    pub(crate) refused: Option<u16>,
    last_received: Nanos,
    next_ping: Nanos,
    deadline: Nanos,
    pub(crate) counters: WsCounters,
}

impl Outbox {
    pub(crate) fn new(role: Role, config: &WsConfig, seed: Seed, now: Nanos) -> Self {
        Self {
            role,
            state: State::Opening,
            config: *config,
            level: Level::best(),
            keys: Keys::new(seed),
            out: Outgoing::new(config.send_bytes_max + RESERVE),
            pong: [0; CONTROL_BYTES_MAX],
            pong_waits: None,
            inside: None,
            deflate: None,
            deflate_answer: None,
            deflating: None,
            answer: [0; ACCEPT_BYTES],
            refused: None,
            last_received: now,
            next_ping: Nanos::MAX,
            deadline: now + config.handshake_timeout,
            counters: WsCounters::default(),
        }
    }

    /// Whether messages can be sent.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// How many bytes of a message have room now, its header included.
    #[must_use]
    pub const fn free_bytes(&self) -> usize {
        self.out.free().saturating_sub(RESERVE)
    }

    /// Sends a text message.
    ///
    /// # Errors
    /// [`Limit::SendBytes`] while the peer reads too slowly: nothing was taken. Misuse when the
    /// connection is not open, or between the parts of a message.
    #[inline]
    pub fn text(&mut self, text: &str) -> Result<(), WsError> {
        self.message(MessageKind::Text, text.as_bytes())
    }

    /// Sends a binary message.
    ///
    /// # Errors
    /// As [`Outbox::text`].
    #[inline]
    pub fn binary(&mut self, bytes: &[u8]) -> Result<(), WsError> {
        self.message(MessageKind::Binary, bytes)
    }

    #[inline]
    fn message(&mut self, kind: MessageKind, bytes: &[u8]) -> Result<(), WsError> {
        if self.inside.is_some() {
            return Err(WsError::Misuse(Misuse::InsideMessage));
        }
        self.part(kind, bytes, true)
    }

    /// Sends a part of a message, as a frame of its own. Parts of a text may cut its characters;
    /// the caller answers for the whole.
    ///
    /// # Errors
    /// As [`Outbox::text`]; misuse when the kind changes within a message.
    #[inline]
    pub fn part(&mut self, kind: MessageKind, bytes: &[u8], is_last: bool) -> Result<(), WsError> {
        let opcode = match (self.inside, kind) {
            (Some(inside), kind) if inside != kind => {
                return Err(WsError::Misuse(Misuse::InsideMessage));
            }
            (Some(_), _) => Opcode::Continuation,
            (None, MessageKind::Text) => Opcode::Text,
            (None, MessageKind::Binary) => Opcode::Binary,
        };
        if !self.is_open() {
            return Err(WsError::Misuse(Misuse::NotOpen));
        }
        if self.deflating.is_none() || !self.deflated(opcode, is_last, bytes)? {
            self.frame(opcode, is_last, bytes, RESERVE)?;
        }
        self.inside = (!is_last).then_some(kind);
        self.counters.messages_out += u64::from(is_last);
        self.counters.message_bytes_out += bytes.len() as u64;
        Ok(())
    }

    /// Sends a part compressed, where that is agreed on; false when it is to be sent as it is: it
    /// is short, or there is room for it only so.
    fn deflated(&mut self, opcode: Opcode, is_last: bool, bytes: &[u8]) -> Result<bool, WsError> {
        let is_first = opcode != Opcode::Continuation;
        let Some(deflating) = &mut self.deflating else { return Ok(false) };
        if is_first {
            deflating.is_inside = deflating.wants(bytes.len());
        }
        if !deflating.is_inside {
            return Ok(false);
        }
        let full = WsError::Limit(Limit::SendBytes);
        let is_whole = is_first && is_last;
        let most = Deflating::bytes_max(bytes.len()).ok_or(full)?.saturating_add(HEADER_BYTES_MAX);
        if self.out.free().saturating_sub(RESERVE) < most {
            deflating.is_inside &= !is_whole;
            return if is_whole { Ok(false) } else { Err(full) };
        }
        let place = self.out.claim(most).ok_or(full)?;
        let (_, body) = place.split_at_mut_checked(HEADER_BYTES_MAX).ok_or(full)?;
        let made = deflating.compress(bytes, is_first, is_last, body);
        // One that stands by itself and did not become shorter is not worth the peer's time.
        let made = made.filter(|made| !is_whole || !deflating.resets() || *made < bytes.len());
        let Some(made) = made else {
            self.out.unclaim(most);
            return if is_whole { Ok(false) } else { Err(WsError::Misuse(Misuse::Deflate)) };
        };
        let key = match self.role {
            Role::Client => Some(self.keys.mask()),
            Role::Server => None,
        };
        let payload_bytes = made as u64;
        let header =
            FrameHeader { opcode, is_final: is_last, is_compressed: is_first, payload_bytes, key };
        let (header, header_bytes) = header.encode();
        // The header is as long as its payload makes it: what was compressed moves up to it.
        place.copy_within(HEADER_BYTES_MAX..HEADER_BYTES_MAX + made, header_bytes);
        let (head, body) = place.split_at_mut_checked(header_bytes).ok_or(full)?;
        head.copy_from_slice(header.get(..header_bytes).unwrap_or(&[]));
        if let Some(key) = key {
            self.level.mask(body.get_mut(..made).unwrap_or(&mut []), key);
        }
        self.out.unclaim(most - header_bytes - made);
        self.counters.compressed_messages_out += u64::from(is_last);
        self.counters.compressed_bytes_out += payload_bytes;
        Ok(true)
    }

    /// Sends a ping; the peer's pong brings the same bytes back.
    ///
    /// # Errors
    /// As [`Outbox::text`]; more than 125 bytes.
    pub fn ping(&mut self, bytes: &[u8]) -> Result<(), WsError> {
        self.control(Opcode::Ping, bytes)?;
        self.counters.pings_out += 1;
        Ok(())
    }

    /// Sends a pong that nobody asked for (5.5.3). Those that are asked for leave by themselves.
    ///
    /// # Errors
    /// As [`Outbox::ping`].
    pub fn pong(&mut self, bytes: &[u8]) -> Result<(), WsError> {
        self.control(Opcode::Pong, bytes)
    }

    fn control(&mut self, opcode: Opcode, bytes: &[u8]) -> Result<(), WsError> {
        if bytes.len() > CONTROL_BYTES_MAX {
            return Err(WsError::Limit(Limit::ControlBytes));
        }
        if !self.is_open() {
            return Err(WsError::Misuse(Misuse::NotOpen));
        }
        self.frame(opcode, true, bytes, CLOSE_RESERVE)
    }

    /// Closes: what was sent before leaves before; the connection is over when the peer has
    /// answered, or has not for `close_timeout`. Without a code the frame is empty, and the reason
    /// does not count.
    ///
    /// # Errors
    /// Misuse when it is not open; a reason of more than 123 bytes.
    pub fn close(
        &mut self,
        now: Nanos,
        code: Option<CloseCode>,
        reason: &str,
    ) -> Result<(), WsError> {
        if reason.len() > REASON_BYTES_MAX {
            return Err(WsError::Limit(Limit::ControlBytes));
        }
        let misuse = WsError::Misuse(Misuse::NotOpen);
        let (next, _) = step(self.state, Input::LocalClose).ok_or(misuse)?;
        self.state = next;
        self.deadline = now + self.config.close_timeout;
        self.close_frame(code, reason);
        Ok(())
    }

    /// Accepts the client's request: messages pass from now on. The subprotocol is one that it
    /// offered, if any.
    ///
    /// # Errors
    /// Misuse without a request, and of a header's characters; [`Limit::SendBytes`].
    pub fn accept(
        &mut self,
        protocol: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Result<(), WsError> {
        if self.state != State::Deciding {
            return Err(WsError::Misuse(Misuse::NoRequest));
        }
        let headers_are_good =
            headers.iter().all(|(name, value)| is_token(name) && is_value(value));
        if !headers_are_good || !protocol.is_none_or(is_token) {
            return Err(WsError::Misuse(Misuse::HeaderText));
        }
        let answer = self.answer;
        let start = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                     Connection: Upgrade\r\nSec-WebSocket-Accept: ";
        let protocol = protocol.map(|name| ("Sec-WebSocket-Protocol", name));
        let lines = protocol.iter().chain(headers);
        let lines = lines.flat_map(|(name, value)| [*name, ": ", *value, "\r\n"]);
        let deflate = self.deflate_answer.map(|answer| answer.parts());
        let deflate = deflate.iter().flat_map(|parts| {
            [HEADER, ": "].into_iter().chain(parts.iter().copied()).chain(["\r\n"])
        });
        let accept = core::str::from_utf8(&answer).unwrap_or("");
        let start = [start, accept, "\r\n"].into_iter().chain(deflate);
        self.write(start.chain(lines).chain(["\r\n"]))?;
        self.open();
        Ok(())
    }

    /// Refuses the client's request, with a status of 300 to 599 and a text for its user.
    ///
    /// # Errors
    /// As [`Outbox::accept`]; another status.
    pub fn refuse(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<(), WsError> {
        if self.state != State::Deciding {
            return Err(WsError::Misuse(Misuse::NoRequest));
        }
        if !(300..600).contains(&status) {
            return Err(WsError::Misuse(Misuse::Status));
        }
        if !headers.iter().all(|(name, value)| is_token(name) && is_value(value)) {
            return Err(WsError::Misuse(Misuse::HeaderText));
        }
        self.refusal(status, headers, body)?;
        self.apply(Input::Refusal);
        self.refused = Some(status);
        Ok(())
    }

    /// What a client whose request breaks a rule is told; when there is no room, nothing.
    pub(crate) fn refuse_fault(&mut self, fault: HandshakeFault) {
        let headers: &[(&str, &str)] = match fault {
            HandshakeFault::Version | HandshakeFault::Upgrade => {
                &[("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
            }
            HandshakeFault::Method => &[("Allow", "GET")],
            _ => &[],
        };
        let _ = self.refusal(fault.status(), headers, fault.as_str());
    }

    fn refusal(
        &mut self,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<(), WsError> {
        let (mut digits, mut length) = ([0; 20], [0; 20]);
        let start = ["HTTP/1.1 ", decimal(usize::from(status), &mut digits), " ", reason(status)];
        let fixed = [
            "\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ",
            decimal(body.len(), &mut length),
            "\r\n",
        ];
        let lines = headers.iter().flat_map(|(name, value)| [*name, ": ", *value, "\r\n"]);
        self.write(start.into_iter().chain(fixed).chain(lines).chain(["\r\n", body]))
    }

    /// What the handshake's key stands for. It goes out in the clear: the masks are drawn behind
    /// it, not from the same numbers (5.3).
    pub(crate) fn nonce(&mut self) -> [u8; 16] {
        self.keys.nonce()
    }

    /// Writes all of it, or nothing.
    pub(crate) fn write<'p>(
        &mut self,
        parts: impl Iterator<Item = &'p str> + Clone,
    ) -> Result<(), WsError> {
        let total = parts.clone().map(str::len).sum();
        let mut place = self.out.claim(total).ok_or(WsError::Limit(Limit::SendBytes))?;
        for part in parts {
            let (here, after) = place.split_at_mut_checked(part.len()).unwrap_or_default();
            here.copy_from_slice(part.as_bytes().get(..here.len()).unwrap_or(&[]));
            place = after;
        }
        Ok(())
    }

    /// What a server agrees on at the most.
    pub(crate) fn deflate_limits(&self) -> Option<DeflateParameters> {
        self.config.deflate.map(|deflate| deflate.parameters)
    }

    /// Compression was agreed on, and a server is to answer so.
    pub(crate) fn agree(&mut self, agreed: &DeflateParameters, answer: Option<Written>) {
        let (bits, resets) = match self.role {
            Role::Client => (agreed.client_max_window_bits, agreed.client_no_context_takeover),
            Role::Server => (agreed.server_max_window_bits, agreed.server_no_context_takeover),
        };
        let settings = self.config.deflate;
        self.deflating = settings.map(|settings| Deflating::new(settings, bits, resets));
        (self.deflate, self.deflate_answer) = (Some(*agreed), answer);
    }

    /// Messages pass from now on.
    pub(crate) fn open(&mut self) {
        self.apply(Input::Agreement);
        if let Some(keep_alive) = self.config.keep_alive {
            self.next_ping = self.last_received + keep_alive.interval;
        }
    }

    /// The table's answer to an input, with the state moved.
    pub(crate) fn apply(&mut self, input: Input) -> Action {
        let Some((next, action)) = step(self.state, input) else { return Action::None };
        self.state = next;
        action
    }

    pub(crate) const fn close_timeout(&self) -> Nanos {
        self.config.close_timeout
    }

    pub(crate) const fn received(&mut self, now: Nanos) {
        self.last_received = now;
    }

    /// When something is due.
    pub(crate) fn due(&self) -> Option<(Nanos, Input)> {
        match (self.state, self.config.keep_alive) {
            (State::Closed, _) | (State::Open, None) => None,
            (State::Open, Some(keep_alive)) => {
                let silent = self.last_received + keep_alive.timeout;
                let silence = (silent, Input::Silence);
                Some(if silent <= self.next_ping {
                    silence
                } else {
                    (self.next_ping, Input::PingDue)
                })
            }
            _ => Some((self.deadline, Input::Deadline)),
        }
    }

    /// Asks whether the peer is there. One that does not read is not asked.
    pub(crate) fn keep_alive_ping(&mut self, now: Nanos) {
        if let Some(keep_alive) = self.config.keep_alive {
            self.next_ping = now + keep_alive.interval;
            let _ = self.ping(b"");
        }
    }

    /// The answer to a ping, now or as soon as there is room.
    pub(crate) fn answer_ping(&mut self, payload: &[u8]) {
        if !self.is_open() {
            return;
        }
        let must_wait = self.pong_waits.is_some() || self.pong(payload).is_err();
        if must_wait && let Some(place) = self.pong.get_mut(..payload.len()) {
            place.copy_from_slice(payload);
            let older = self.pong_waits.replace(payload.len());
            self.counters.pongs_skipped += u64::from(older.is_some());
        }
    }

    /// Our close frame. There is always room for it: everything else leaves some.
    pub(crate) fn close_frame(&mut self, code: Option<CloseCode>, reason: &str) {
        let mut payload = [0; CONTROL_BYTES_MAX];
        let mut length = 0;
        if let Some(code) = code {
            let bytes = code.number().to_be_bytes();
            let text = reason.as_bytes().iter().take(REASON_BYTES_MAX);
            for (place, byte) in payload.iter_mut().zip(bytes.iter().chain(text)) {
                *place = *byte;
                length += 1;
            }
        }
        self.pong_waits = None;
        let _ = self.frame(Opcode::Close, true, payload.get(..length).unwrap_or(&[]), 0);
    }

    pub(crate) fn give_back(&mut self) {
        self.out.give_back();
    }

    pub(crate) const fn memory_bytes(&self) -> usize {
        let deflating = match &self.deflating {
            Some(deflating) => deflating.memory_bytes(),
            None => 0,
        };
        self.out.memory_bytes() + deflating
    }

    pub(crate) fn pending(&self) -> &[u8] {
        self.out.pending()
    }

    #[inline]
    pub(crate) fn transmitted(&mut self, count: usize) {
        self.out.consume(count);
        if let Some(length) = self.pong_waits
            && self.is_open()
        {
            let payload = self.pong;
            if self.pong(payload.get(..length).unwrap_or(&[])).is_ok() {
                self.pong_waits = None;
            }
        }
    }

    #[inline]
    fn frame(
        &mut self,
        opcode: Opcode,
        is_final: bool,
        payload: &[u8],
        reserve: usize,
    ) -> Result<(), WsError> {
        let key = match self.role {
            Role::Client => Some(self.keys.mask()),
            Role::Server => None,
        };
        let payload_bytes = payload.len() as u64;
        let header = FrameHeader { opcode, is_final, is_compressed: false, payload_bytes, key };
        let (header, header_bytes) = header.encode();
        let full = WsError::Limit(Limit::SendBytes);
        let total = header_bytes.checked_add(payload.len()).ok_or(full)?;
        if self.out.free().saturating_sub(reserve) < total {
            return Err(full);
        }
        let place = self.out.claim(total).ok_or(full)?;
        let (head, body) = place.split_at_mut_checked(header_bytes).ok_or(full)?;
        head.copy_from_slice(header.get(..header_bytes).unwrap_or(&[]));
        match key {
            Some(key) => self.level.mask_into(body, payload, key),
            None => body.copy_from_slice(payload),
        }
        Ok(())
    }
}

/// A number in digits.
fn decimal(number: usize, place: &mut [u8; 20]) -> &str {
    let mut left = number;
    let mut at = place.len();
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
        at -= 1;
        if left == 0 {
            break;
        }
    }
    core::str::from_utf8(place.get(at..).unwrap_or(&[])).unwrap_or("")
}
