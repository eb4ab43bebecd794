//! The standard header (FIX 4.4 volume 1, "Standard Message Header").

use taut_types::Nanos;

use crate::codec::fields::{Fields, required};
use crate::codec::tag;
use crate::error::FixError;
use crate::messages::msg_type::MsgType;

/// The header's fields that a session needs; routing fields are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// MsgType (35) as it came.
    pub msg_type_code: &'a [u8],
    /// MsgType (35) as this crate knows it.
    pub msg_type: MsgType,
    /// MsgSeqNum (34).
    pub sequence: u64,
    /// SenderCompID (49).
    pub sender_comp_id: &'a [u8],
    /// TargetCompID (56).
    pub target_comp_id: &'a [u8],
    /// SendingTime (52), UTC.
    pub sending_time: Nanos,
    /// OrigSendingTime (122), UTC.
    pub orig_sending_time: Option<Nanos>,
    /// PossDupFlag (43): sent before under this number.
    pub poss_dup: bool,
    /// PossResend (97): perhaps sent before under another number.
    pub poss_resend: bool,
}

impl<'a> Header<'a> {
    /// Reads the header of a frame's fields and returns it with the body's.
    ///
    /// # Errors
    /// [`FixError::Malformed`] and [`FixError::PeerViolation`], see [`Fields`]; 34, 49, 52 and 56
    /// are required.
    pub fn decode(mut fields: Fields<'a>) -> Result<(Self, Fields<'a>), FixError> {
        let (mut msg_type, mut sequence, mut sending_time) = (None, None, None);
        let (mut sender, mut target, mut orig_sending_time) = (None, None, None);
        let (mut poss_dup, mut poss_resend) = (None, None);
        let mut body = fields.clone();
        while let Some(field) = fields.next() {
            let field = field?;
            match field.tag {
                tag::MSG_TYPE => field.once(&mut msg_type, field.value)?,
                tag::MSG_SEQ_NUM => field.once(&mut sequence, field.number()?)?,
                tag::SENDER_COMP_ID => field.once(&mut sender, field.value)?,
                tag::TARGET_COMP_ID => field.once(&mut target, field.value)?,
                tag::SENDING_TIME => field.once(&mut sending_time, field.timestamp()?)?,
                tag::ORIG_SENDING_TIME => field.once(&mut orig_sending_time, field.timestamp()?)?,
                tag::POSS_DUP_FLAG => field.once(&mut poss_dup, field.flag()?)?,
                tag::POSS_RESEND => field.once(&mut poss_resend, field.flag()?)?,
                other if tag::is_header(other) => {}
                _ => break,
            }
            body = fields.clone();
        }
        let end = body.offset();
        let msg_type_code = required(msg_type, tag::MSG_TYPE, end)?;
        let header = Self {
            msg_type_code,
            msg_type: MsgType::from_code(msg_type_code),
            sequence: required(sequence, tag::MSG_SEQ_NUM, end)?,
            sender_comp_id: required(sender, tag::SENDER_COMP_ID, end)?,
            target_comp_id: required(target, tag::TARGET_COMP_ID, end)?,
            sending_time: required(sending_time, tag::SENDING_TIME, end)?,
            orig_sending_time,
            poss_dup: poss_dup.unwrap_or(false),
            poss_resend: poss_resend.unwrap_or(false),
        };
        Ok((header, body))
    }
    /// What a reject can say of a message whose header cannot be read. Cost: a pass over all of it.
    #[cold]
    pub(crate) fn diagnose(fields: Fields<'a>) -> Diagnosis<'a> {
        let mut found =
            Diagnosis { msg_type_code: &[], sequence: None, poss_dup: false, misplaced: None };
        let mut in_body = false;
        for field in fields.map_while(Result::ok) {
            match field.tag {
                tag::MSG_TYPE => found.msg_type_code = field.value,
                tag::MSG_SEQ_NUM => found.sequence = field.number().ok(),
                tag::POSS_DUP_FLAG => found.poss_dup = field.value == b"Y",
                _ => {}
            }
            if !tag::is_header(field.tag) {
                in_body = true;
            } else if in_body && found.misplaced.is_none() {
                found.misplaced = Some(field.tag);
            }
        }
        found
    }
}

/// What can be said of a message whose header cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Diagnosis<'a> {
    /// MsgType (35).
    pub msg_type_code: &'a [u8],
    /// MsgSeqNum (34), wherever it stands.
    pub sequence: Option<u64>,
    /// PossDupFlag (43).
    pub poss_dup: bool,
    /// The first header field behind a body field.
    pub misplaced: Option<u32>,
}
