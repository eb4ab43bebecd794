//! One client's connection: bytes in, requests out, reports back.

use std::os::fd::{AsFd, BorrowedFd};

use taut_fix::{
    ADMIN_BYTES_MAX, BusinessMessageReject, BusinessRejectReason, Event, ExecutionReport, FixError,
    MESSAGE_BYTES_MAX, NewOrderSingle, Now, OrderCancelReject, OrderCancelRequest, Session,
    SessionConfig, ShortText,
};
use taut_sys::TcpStream;
use taut_types::Nanos;

/// Room for received bytes: some whole messages of the largest size.
const INPUT_BYTES: usize = 4 * MESSAGE_BYTES_MAX;
/// Room for one message that is sent; the longest report has about 500 bytes.
const MESSAGE_BYTES: usize = 1_024;
const _: () = assert!(MESSAGE_BYTES >= ADMIN_BYTES_MAX);

/// What a client wants.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    /// To be let in under this CompID. Nothing is answered before the next call.
    LogOn(ShortText),
    NewOrder(NewOrderSingle),
    Cancel(OrderCancelRequest),
    /// To leave, or it is gone.
    Leave,
}

/// A TCP connection and its FIX session.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    fix: Session,
    input: Box<[u8]>,
    /// What of the input is handled, and what is there.
    read: usize,
    filled: usize,
    /// Bytes that the kernel has not taken yet start at `sent`.
    output: Vec<u8>,
    sent: usize,
    output_bytes_max: usize,
    is_broken: bool,
    /// The CompID under which it was let in.
    comp_id: Option<ShortText>,
}

impl Connection {
    pub fn new(
        stream: TcpStream,
        config: SessionConfig,
        output_bytes_max: usize,
        now: Now,
    ) -> Result<Self, FixError> {
        let mut fix = Session::new(config)?;
        fix.connect(now);
        Ok(Self {
            stream,
            fix,
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            read: 0,
            filled: 0,
            output: Vec::with_capacity(INPUT_BYTES),
            sent: 0,
            output_bytes_max,
            is_broken: false,
            comp_id: None,
        })
    }

    /// The CompID under which it was let in.
    pub const fn comp_id(&self) -> Option<ShortText> {
        self.comp_id
    }

    /// Lets it in.
    pub const fn let_in(&mut self, comp_id: ShortText) {
        self.comp_id = Some(comp_id);
    }

    /// Takes what has arrived, once. Cost: one system call.
    pub fn receive(&mut self) -> bool {
        if self.read > 0 {
            self.input.copy_within(self.read..self.filled, 0);
            self.filled -= self.read;
            self.read = 0;
        }
        let room = self.input.get_mut(self.filled..).unwrap_or_default();
        if room.is_empty() {
            // No message is that long: the session would have consumed it or closed.
            self.is_broken = true;
            return true;
        }
        match self.stream.recv(room) {
            Ok(None) => false,
            Ok(Some(0)) | Err(_) => {
                self.is_broken = true;
                true
            }
            Ok(Some(bytes)) => {
                self.filled += bytes;
                true
            }
        }
    }

    /// The next thing that the client wants, out of what was received.
    pub fn next_request(&mut self, now: Now) -> Option<Request> {
        self.transmit(now);
        loop {
            let bytes = self.input.get(self.read..self.filled).unwrap_or_default();
            let handled = self.fix.handle_bytes(now, bytes);
            let consumed = handled.consumed;
            let sequence = handled.info.map_or(0, |info| info.sequence);
            let mut refused = None;
            let request = match handled.event {
                Some(Event::LoggedOn { peer_comp_id, .. }) => Some(Request::LogOn(peer_comp_id)),
                Some(Event::NewOrderSingle(order)) => Some(Request::NewOrder(order)),
                Some(Event::OrderCancelRequest(cancel)) => Some(Request::Cancel(cancel)),
                Some(Event::LoggedOut { .. } | Event::Disconnect(_)) => Some(Request::Leave),
                Some(Event::ExecutionReport(_)) => {
                    refused = Some(b"8");
                    None
                }
                Some(Event::OrderCancelReject(_)) => {
                    refused = Some(b"9");
                    None
                }
                _ => None,
            };
            self.read += consumed;
            if request.is_some() {
                return request;
            }
            if let Some(msg_type) = refused {
                self.refuse_message(now, sequence, msg_type);
            }
            self.transmit(now);
            if consumed == 0 {
                return self.is_over().then_some(Request::Leave);
            }
        }
    }

    /// Whether there is nothing more to expect from it.
    pub fn is_over(&self) -> bool {
        self.is_broken || self.fix.is_closed()
    }

    /// Does what the session's clock asks for.
    pub fn handle_timeout(&mut self, now: Now) {
        if self.fix.poll_timeout().is_some_and(|due| due <= now.mono) {
            self.fix.handle_timeout(now);
            self.transmit(now);
            self.flush();
        }
    }

    /// When [`Connection::handle_timeout`] is due.
    pub fn timeout(&self) -> Option<Nanos> {
        self.fix.poll_timeout()
    }

    /// Adds a report to the output.
    pub fn report(&mut self, now: Now, report: &ExecutionReport<'_>) -> bool {
        self.append(|fix, out| fix.encode_execution_report(now, report, out))
    }

    /// Adds a refused cancel to the output.
    pub fn cancel_reject(&mut self, now: Now, reject: &OrderCancelReject<'_>) -> bool {
        self.append(|fix, out| fix.encode_cancel_reject(now, reject, out))
    }

    /// Moves what the session wants to send to the output.
    pub fn transmit(&mut self, now: Now) {
        let mut out = [0; MESSAGE_BYTES];
        while let Some(range) = self.fix.poll_transmit(now, &mut out) {
            self.output.extend_from_slice(out.get(range).unwrap_or_default());
        }
    }

    /// Whether the kernel has not taken all of the output.
    pub const fn has_output(&self) -> bool {
        self.sent < self.output.len()
    }

    /// Offers the output to the kernel.
    pub fn flush(&mut self) {
        while self.has_output() && !self.is_broken {
            let rest = self.output.get(self.sent..).unwrap_or_default();
            match self.stream.send(rest) {
                Ok(0) => break,
                Ok(bytes) => self.sent += bytes,
                Err(_) => self.is_broken = true,
            }
        }
        if !self.has_output() {
            self.output.clear();
            self.sent = 0;
        } else if self.output.len() - self.sent > self.output_bytes_max {
            self.is_broken = true;
        } else if self.sent > self.output.len() / 2 {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
    }

    fn refuse_message(&mut self, now: Now, ref_sequence: u64, msg_type: &[u8; 1]) {
        let Some(ref_msg_type) = ShortText::new(msg_type) else { return };
        let reject = BusinessMessageReject {
            ref_sequence,
            ref_msg_type,
            ref_id: None,
            reason: BusinessRejectReason::UnsupportedMessageType,
            text: b"a venue takes orders and cancel requests",
        };
        self.append(|fix, out| fix.encode_business_reject(now, &reject, out));
    }

    fn append(
        &mut self,
        encode: impl FnOnce(&mut Session, &mut [u8]) -> Result<std::ops::Range<usize>, FixError>,
    ) -> bool {
        let mut out = [0; MESSAGE_BYTES];
        match encode(&mut self.fix, &mut out) {
            Ok(range) => {
                self.output.extend_from_slice(out.get(range).unwrap_or_default());
                true
            }
            // A session that is logging out takes no reports any more.
            Err(_) => false,
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
