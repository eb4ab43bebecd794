//! Sending: what waits, what is sent again, and the application's messages.

use core::ops::Range;

use crate::codec::begin::BeginString;
use crate::codec::fields::Fields;
use crate::codec::frame::{Framed, frame};
use crate::codec::tag;
use crate::codec::text::{CompId, InlineText};
use crate::codec::timestamp::{StampCache, TIMESTAMP_BYTES_MAX};
use crate::codec::writer::Writer;
use crate::error::{FixError, Misuse, RejectReason};
use crate::messages::reject::BusinessMessageReject;
use crate::session::machine::Session;
use crate::session::now::Now;
use crate::session::outgoing::HeaderFields;
use crate::session::route::Route;
use crate::session::send_queue::{LogoutText, QueuedMessage, Refusal};
use crate::session::table::State;
use crate::store::Store;

/// TestReqID (112) of our TestRequests.
const TEST_REQ_ID: &[u8] = b"TEST";

/// What an application adds to the header of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// PossResend (97): the content may have been sent before.
    pub poss_resend: bool,
    /// Where it goes beyond the session.
    pub route: Route,
}

/// What a Logon that is about to be written is made of, for who must sign it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogonContext {
    /// MsgSeqNum (34).
    pub sequence: u64,
    /// The two clocks.
    pub now: Now,
    /// SendingTime (52): `now.utc` at the session's precision.
    pub sending_time: InlineText<TIMESTAMP_BYTES_MAX>,
    /// SenderCompID (49).
    pub sender: CompId,
    /// TargetCompID (56).
    pub target: CompId,
}

impl<S: Store> Session<S> {
    /// Writes the next queued message and says where in `out` it stands; `None` when there is none.
    ///
    /// `out` holds the largest message that was sent; in a smaller one the message stays queued.
    #[inline]
    pub fn poll_transmit(&mut self, now: Now, out: &mut [u8]) -> Option<Range<usize>> {
        self.poll_transmit_with(now, out, |_, _| {})
    }

    /// As [`Session::poll_transmit`], with a say in Logons: credentials are written behind the
    /// session's own fields.
    #[inline]
    pub fn poll_transmit_with(
        &mut self,
        now: Now,
        out: &mut [u8],
        logon: impl FnMut(LogonContext, &mut Writer<'_>),
    ) -> Option<Range<usize>> {
        let queued = *self.send_queue.front()?;
        self.transmit(now, queued, out, logon)
    }

    /// Writes an application message under the next number, and keeps it.
    ///
    /// # Errors
    /// [`FixError::Misuse`] when the session is not up, [`FixError::Limit`] when `out` is too
    /// small, [`FixError::Store`] when it cannot be kept: it must not be sent then.
    #[inline]
    pub fn send(
        &mut self,
        now: Now,
        msg_type: &[u8],
        extras: Extras,
        out: &mut [u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Result<Range<usize>, FixError> {
        self.must_be_up()?;
        self.write(now, msg_type, extras, out, body)
    }
}

impl<S: Store> Session<S> {
    /// Whether an application may send.
    #[inline]
    pub(super) const fn must_be_up(&self) -> Result<(), FixError> {
        if !self.state.is_active() {
            return Err(FixError::Misuse(Misuse::NotLoggedOn));
        }
        if self.logon_queued {
            return Err(FixError::Misuse(Misuse::LogonNotSent));
        }
        Ok(())
    }

    /// Writes an application message under the next number, whatever the state, and keeps it.
    #[inline]
    pub(super) fn write(
        &mut self,
        now: Now,
        msg_type: &[u8],
        extras: Extras,
        out: &mut [u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Result<Range<usize>, FixError> {
        let range = self.compose(now, msg_type, extras, out, body)?;
        self.keep(now, out.get(range.clone()).unwrap_or(&[]))?;
        Ok(range)
    }

    /// The message that [`Session::write`] would write, which is not kept: its number stays the
    /// next one.
    #[inline]
    pub(super) fn compose(
        &mut self,
        now: Now,
        msg_type: &[u8],
        extras: Extras,
        out: &mut [u8],
        body: impl FnOnce(&mut Writer<'_>),
    ) -> Result<Range<usize>, FixError> {
        let sequence = self.store.next_outgoing();
        let header = HeaderFields {
            poss_resend: extras.poss_resend,
            route: (!extras.route.is_empty()).then_some(&extras.route),
            ..self.header(now, sequence)
        };
        let mut writer = self.outgoing.begin(out, msg_type, &header);
        body(&mut writer);
        writer.finish()
    }

    /// Keeps a message that was composed, and uses its number.
    #[inline]
    pub(super) fn keep(&mut self, now: Now, message: &[u8]) -> Result<(), FixError> {
        let kept = self.store.keep(self.store.next_outgoing(), message);
        self.sent(now, kept)
    }

    #[inline]
    fn header<'a>(&self, now: Now, sequence: u64) -> HeaderFields<'a> {
        let processed = || self.last_processed();
        HeaderFields {
            sequence,
            sending_time: now.utc,
            last_processed: self.config.last_processed.then(processed),
            ..HeaderFields::default()
        }
    }

    #[inline]
    fn sent(
        &mut self,
        now: Now,
        kept: Result<(), crate::store::StoreError>,
    ) -> Result<(), FixError> {
        if kept.is_err() {
            self.store_failed = true;
            return Err(FixError::Store);
        }
        self.counters.sent += 1;
        self.outgoing.touch(now.mono);
        Ok(())
    }

    fn transmit(
        &mut self,
        now: Now,
        queued: QueuedMessage,
        out: &mut [u8],
        mut logon: impl FnMut(LogonContext, &mut Writer<'_>),
    ) -> Option<Range<usize>> {
        if let QueuedMessage::Resend { next, last } = queued {
            return self.resend(now, next, last, out);
        }
        let sequence = self.store.next_outgoing();
        let mut header = self.header(now, sequence);
        if let QueuedMessage::Reject(Refusal { route, .. }) = &queued {
            header.route = Some(route);
        }
        let terms = LogonTerms {
            heartbeat_seconds: u64::try_from(self.heartbeat_interval.0 / 1_000_000_000)
                .unwrap_or(0),
            next_expected: self.config.next_expected.then(|| self.last_processed() + 1),
            application_version: self.outgoing.application_version(),
        };
        let begin = self.outgoing.begin;
        let mut writer = self.outgoing.begin(out, msg_type(&queued, begin), &header);
        write_body(&mut writer, begin, &queued, &terms);
        match (queued, terms.application_version) {
            (QueuedMessage::LongHeartbeat, _) => {
                writer.bytes::<{ tag::TEST_REQ_ID }>(self.send_queue.long_id());
            }
            (QueuedMessage::BusinessReject { .. }, Some(version))
                if self.config.quickfix_compatible && begin == BeginString::Fixt11 =>
            {
                writer.byte::<{ tag::DEFAULT_APPL_VER_ID }>(version);
            }
            _ => {}
        }
        if matches!(queued, QueuedMessage::Logon { .. }) {
            let sending_time = StampCache::new(self.config.precision).text(now.utc);
            let (sender, target) = (self.config.sender_comp_id, self.config.target_comp_id);
            logon(LogonContext { sequence, now, sending_time, sender, target }, &mut writer);
        }
        let range = writer.finish().ok()?;
        let kept = self.store.set_next_outgoing(sequence.saturating_add(1));
        self.sent(now, kept).ok()?;
        self.send_queue.pop();
        match queued {
            QueuedMessage::Logon { .. } => self.logon_queued = false,
            QueuedMessage::Logout(_)
                if self.config.reset_on_logout && self.state == State::Closed =>
            {
                self.reset_numbers();
            }
            _ => {}
        }
        Some(range)
    }

    /// The next message of a resend: a kept one again, or one gap fill for a run of others.
    #[cold]
    fn resend(&mut self, now: Now, next: u64, last: u64, out: &mut [u8]) -> Option<Range<usize>> {
        let first_kept = (next..=last).find(|sequence| self.store.read(*sequence).is_some());
        let again = match first_kept {
            Some(kept) if kept == next => self.send_again(now, next, out),
            _ => Err(Unsent::NotKept),
        };
        let (range, done) = match again {
            Ok(range) => (range, next),
            Err(Unsent::NoRoom) => return None,
            // What the store kept wrongly is lost, but the rest is not.
            Err(Unsent::NotKept) => {
                let until = match first_kept {
                    Some(kept) if kept > next => kept,
                    Some(kept) => kept.saturating_add(1),
                    None => last.saturating_add(1),
                };
                let header = HeaderFields { is_gap_fill: true, ..self.header(now, next) };
                let mut writer = self.outgoing.begin(out, b"4", &header);
                writer.number::<{ tag::NEW_SEQ_NO }>(until);
                writer.flag::<{ tag::GAP_FILL_FLAG }>(true);
                (writer.finish().ok()?, until.saturating_sub(1))
            }
        };
        self.outgoing.touch(now.mono);
        if done >= last {
            self.send_queue.pop();
        } else {
            self.send_queue
                .replace_front(QueuedMessage::Resend { next: done.saturating_add(1), last });
        }
        Some(range)
    }

    /// A kept message with PossDupFlag (43), a new SendingTime (52) and the old one as
    /// OrigSendingTime (122).
    fn send_again(
        &mut self,
        now: Now,
        sequence: u64,
        out: &mut [u8],
    ) -> Result<Range<usize>, Unsent> {
        let message = self.store.read(sequence).ok_or(Unsent::NotKept)?;
        let Ok(Framed::Message(frame)) = frame(message, usize::MAX) else {
            return Err(Unsent::NotKept);
        };
        let mut fields = frame.fields();
        let Some(Ok(msg_type)) = fields.next() else { return Err(Unsent::NotKept) };
        let mut writer = self.outgoing.begin_again(out, msg_type.value);
        copy_header(&mut writer, frame.bytes(), &mut fields, now);
        let body = frame.bytes().get(fields.offset()..frame.body_range().end);
        writer.part(body.unwrap_or(&[]));
        writer.finish().map_err(|_| Unsent::NoRoom)
    }
}

/// Why a message is not sent again.
enum Unsent {
    /// The caller's buffer is too small: it stays queued.
    NoRoom,
    /// The store has no message there, or none that can be read.
    NotKept,
}

/// Copies a header with its tags ascending, and leaves the fields at the body.
fn copy_header(writer: &mut Writer<'_>, message: &[u8], fields: &mut Fields<'_>, now: Now) {
    let mut original: &[u8] = &[];
    let (mut is_marked, mut is_timed) = (false, false);
    loop {
        let mut ahead = fields.clone();
        let field = match ahead.next() {
            Some(Ok(field)) if tag::is_header(field.tag) => Some(field),
            _ => None,
        };
        let next_tag = field.map_or(u32::MAX, |field| field.tag);
        if !is_marked && next_tag > tag::POSS_DUP_FLAG {
            writer.flag::<{ tag::POSS_DUP_FLAG }>(true);
            is_marked = true;
        }
        if !is_timed && next_tag > tag::ORIG_SENDING_TIME {
            writer.bytes::<{ tag::ORIG_SENDING_TIME }>(original);
            is_timed = true;
        }
        let Some(field) = field else { return };
        match field.tag {
            tag::SENDING_TIME => {
                original = field.value;
                writer.timestamp::<{ tag::SENDING_TIME }>(now.utc);
            }
            // A data field (XmlData) may hold delimiters.
            _ => writer.part(message.get(field.offset..ahead.offset()).unwrap_or(&[])),
        }
        *fields = ahead;
    }
}

/// What a Logon says beyond its header.
struct LogonTerms {
    heartbeat_seconds: u64,
    next_expected: Option<u64>,
    application_version: Option<u8>,
}

const fn msg_type(queued: &QueuedMessage, begin: BeginString) -> &'static [u8] {
    match queued {
        QueuedMessage::Logon { .. } => b"A",
        QueuedMessage::Heartbeat(_) | QueuedMessage::LongHeartbeat => b"0",
        QueuedMessage::TestRequest => b"1",
        QueuedMessage::ResendRequest { .. } => b"2",
        QueuedMessage::Reject(_) => b"3",
        QueuedMessage::BusinessReject { .. } if (begin as u8) < BeginString::Fix42 as u8 => b"3",
        QueuedMessage::BusinessReject { .. } => b"j",
        QueuedMessage::Resend { .. } => b"4",
        QueuedMessage::Logout(_) => b"5",
    }
}

/// Writes the body of a queued, tags ascending.
fn write_body(
    writer: &mut Writer<'_>,
    begin: BeginString,
    queued: &QueuedMessage,
    terms: &LogonTerms,
) {
    match queued {
        QueuedMessage::Logon { reset } => write_logon(writer, *reset, terms),
        QueuedMessage::Heartbeat(None)
        | QueuedMessage::LongHeartbeat
        | QueuedMessage::Resend { .. } => {}
        QueuedMessage::Heartbeat(Some(id)) => writer.short::<{ tag::TEST_REQ_ID }, 63>(id),
        QueuedMessage::TestRequest => writer.bytes::<{ tag::TEST_REQ_ID }>(TEST_REQ_ID),
        QueuedMessage::ResendRequest { begin, end } => {
            writer.number::<{ tag::BEGIN_SEQ_NO }>(*begin);
            writer.number::<{ tag::END_SEQ_NO }>(*end);
        }
        QueuedMessage::Reject(refusal) => write_refusal(writer, begin, refusal),
        QueuedMessage::BusinessReject { ref_sequence, .. } if begin < BeginString::Fix42 => {
            writer.number::<{ tag::REF_SEQ_NUM }>(*ref_sequence);
            writer.bytes::<{ tag::TEXT }>(b"Unsupported message type");
        }
        QueuedMessage::BusinessReject { ref_sequence, ref_msg_type, reason } => {
            let text = reason.as_str().as_bytes();
            let (ref_sequence, ref_msg_type) = (*ref_sequence, *ref_msg_type);
            let ref_id = None;
            BusinessMessageReject { ref_sequence, ref_msg_type, ref_id, reason: *reason, text }
                .encode_body(writer);
        }
        QueuedMessage::Logout(words) => write_logout(writer, *words),
    }
}

fn write_logon(writer: &mut Writer<'_>, reset: bool, terms: &LogonTerms) {
    writer.number::<{ tag::ENCRYPT_METHOD }>(0);
    writer.number::<{ tag::HEART_BT_INT }>(terms.heartbeat_seconds);
    if reset {
        writer.flag::<{ tag::RESET_SEQ_NUM_FLAG }>(true);
    }
    if let Some(next) = terms.next_expected {
        writer.number::<{ tag::NEXT_EXPECTED_MSG_SEQ_NUM }>(next);
    }
    if let Some(version) = terms.application_version {
        writer.byte::<{ tag::DEFAULT_APPL_VER_ID }>(version);
    }
}

/// A Reject (3). Before FIX 4.2 the tag at fault stands in the text; FIX 4.2 knows the reasons up
/// to 11.
fn write_refusal(writer: &mut Writer<'_>, begin: BeginString, refusal: &Refusal) {
    let Refusal { ref_sequence, ref_tag, ref_msg_type, reason, .. } = refusal;
    let text = reason.as_str().as_bytes();
    writer.number::<{ tag::REF_SEQ_NUM }>(*ref_sequence);
    if begin < BeginString::Fix42 {
        writer.open::<{ tag::TEXT }>();
        writer.part(text);
        if let Some(ref_tag) = ref_tag {
            writer.part(b" (");
            writer.part_integer(i64::from(*ref_tag));
            writer.part(b")");
        }
        writer.close();
        return;
    }
    writer.bytes::<{ tag::TEXT }>(text);
    if let Some(ref_tag) = ref_tag {
        writer.signed::<{ tag::REF_TAG_ID }>(i64::from(*ref_tag));
    }
    if let Some(ref_msg_type) = ref_msg_type {
        writer.short::<{ tag::REF_MSG_TYPE }, 23>(ref_msg_type);
    }
    if begin > BeginString::Fix42 || reason.code() <= RejectReason::InvalidMsgType.code() {
        writer.number::<{ tag::SESSION_REJECT_REASON }>(u64::from(reason.code()));
    }
}

fn write_logout(writer: &mut Writer<'_>, words: LogoutText) {
    match words {
        LogoutText::Empty => {}
        // Words that would forge a field are left out rather than left unsent.
        LogoutText::Fixed(words) if words.bytes().any(|byte| byte == 1) => {}
        LogoutText::Fixed(words) => writer.text::<{ tag::TEXT }>(words.as_bytes()),
        LogoutText::SequenceTooLow { expected, received } => {
            writer.open::<{ tag::TEXT }>();
            writer.part(b"MsgSeqNum too low, expecting ");
            writer.part_number(expected);
            writer.part(b" but received ");
            writer.part_number(received);
            writer.close();
        }
    }
}
