//! The standard header of what is sent.

use taut_simd::Level;
use taut_types::Nanos;

use crate::codec::begin::BeginString;
use crate::codec::tag;
use crate::codec::text::CompId;
use crate::codec::timestamp::StampCache;
use crate::codec::writer::Writer;
use crate::session::config::SessionConfig;
use crate::session::preamble::Preamble;
use crate::session::route::Route;

/// Who sends in which version, and when it did last.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub begin: BeginString,
    sender: CompId,
    target: CompId,
    /// Monotonic time of the last message.
    last_sent: Nanos,
    stamps: StampCache,
    preamble: Option<Preamble>,
    level: Level,
    /// DefaultApplVerID (1137): ours, or what the peer's Logon named.
    application_version: Option<u8>,
}

/// What varies in a header.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeaderFields<'a> {
    /// MsgSeqNum (34).
    pub sequence: u64,
    /// SendingTime (52), UTC.
    pub sending_time: Nanos,
    /// PossDupFlag (43), with OrigSendingTime (122) as SendingTime.
    pub is_gap_fill: bool,
    /// PossResend (97).
    pub poss_resend: bool,
    /// Where it goes beyond the session.
    pub route: Option<&'a Route>,
    /// LastMsgSeqNumProcessed (369).
    pub last_processed: Option<u64>,
}

impl Outgoing {
    pub fn new(config: &SessionConfig) -> Self {
        Self {
            begin: config.begin,
            sender: config.sender_comp_id,
            target: config.target_comp_id,
            last_sent: Nanos::ZERO,
            stamps: StampCache::new(config.precision),
            preamble: Preamble::new(
                &config.sender_comp_id,
                &config.target_comp_id,
                config.precision,
            ),
            level: config.simd.unwrap_or_else(Level::best),
            application_version: config.default_application_version,
        }
    }

    /// Monotonic time of the last message.
    pub const fn last_sent(&self) -> Nanos {
        self.last_sent
    }

    /// Counts as sent now.
    pub const fn touch(&mut self, mono: Nanos) {
        self.last_sent = mono;
    }

    /// The version of application messages, where the session has one.
    pub const fn application_version(&self) -> Option<u8> {
        self.application_version
    }

    /// The peer's Logon names a version.
    pub fn set_application_version(&mut self, named: Option<u8>) {
        if self.begin == BeginString::Fixt11 {
            self.application_version = named.or(self.application_version);
        }
    }

    /// Starts a message: 8, 9, 35, then the header's tags ascending.
    #[inline(always)]
    pub fn begin<'a>(
        &'a mut self,
        out: &'a mut [u8],
        msg_type: &[u8],
        header: &HeaderFields<'_>,
    ) -> Writer<'a> {
        let mut writer = Writer::begin_at(out, &mut self.stamps, self.begin, msg_type, self.level);
        writer.number::<{ tag::MSG_SEQ_NUM }>(header.sequence);
        if header.is_gap_fill {
            writer.flag::<{ tag::POSS_DUP_FLAG }>(true);
        }
        let preamble = self.preamble.as_mut();
        if !preamble.is_some_and(|text| text.write(&mut writer, header.sending_time)) {
            write_preamble(&mut writer, &self.sender, &self.target, header.sending_time);
        }
        if header.poss_resend {
            writer.flag::<{ tag::POSS_RESEND }>(true);
        }
        if header.is_gap_fill || header.route.is_some() {
            write_unusual(&mut writer, self.begin, header);
        }
        if let Some(last) = header.last_processed {
            writer.number::<{ tag::LAST_MSG_SEQ_NUM_PROCESSED }>(last);
        }
        writer
    }

    /// Starts a message that is sent again: type and number only, for the header is the old one.
    pub fn begin_again<'a>(&'a mut self, out: &'a mut [u8], msg_type: &[u8]) -> Writer<'a> {
        Writer::begin_at(out, &mut self.stamps, self.begin, msg_type, self.level)
    }
}

/// The fields of a [`Preamble`], one by one: near the end of the room, and with other times.
#[inline(never)]
fn write_preamble(writer: &mut Writer<'_>, sender: &CompId, target: &CompId, utc: Nanos) {
    writer.short::<{ tag::SENDER_COMP_ID }, 31>(sender);
    writer.timestamp::<{ tag::SENDING_TIME }>(utc);
    writer.short::<{ tag::TARGET_COMP_ID }, 31>(target);
}

/// What most headers do not have.
#[cold]
fn write_unusual(writer: &mut Writer<'_>, begin: BeginString, header: &HeaderFields<'_>) {
    if let Some(route) = header.route {
        route.write_on_behalf_of(writer);
    }
    if header.is_gap_fill {
        writer.timestamp::<{ tag::ORIG_SENDING_TIME }>(header.sending_time);
    }
    if let Some(route) = header.route {
        route.write_deliver_to(writer, begin);
    }
}
