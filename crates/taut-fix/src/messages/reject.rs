//! What a peer refuses: Reject and BusinessMessageReject.

use crate::codec::body::Body;
use crate::codec::fields::{Field, required};
use crate::codec::tag;
use crate::codec::text::ShortText;
use crate::codec::writer::Writer;
use crate::error::{FixError, RejectReason};

/// Reject (3): a message of ours broke a session rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject<'a> {
    /// RefSeqNum (45): the number of the message.
    pub ref_sequence: u64,
    /// RefTagID (371): the field at fault.
    pub ref_tag: Option<u32>,
    /// RefMsgType (372).
    pub ref_msg_type: Option<ShortText>,
    /// SessionRejectReason (373).
    pub reason: Option<RejectReason>,
    /// Text (58); empty when there is none.
    pub text: &'a [u8],
}

impl<'a> Reject<'a> {
    /// Reads a body. 45 is required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'a, '_>) -> Result<Self, FixError> {
        let (mut ref_sequence, mut ref_tag, mut ref_msg_type) = (None, None, None);
        let (mut reason, mut text) = (None, None);
        for field in &mut body {
            let field = field?;
            match field.tag {
                tag::REF_SEQ_NUM => field.once(&mut ref_sequence, field.number()?)?,
                tag::REF_TAG_ID => field.once(&mut ref_tag, field.number_u32()?)?,
                tag::REF_MSG_TYPE => field.once(&mut ref_msg_type, field.short()?)?,
                tag::SESSION_REJECT_REASON => {
                    field.once(&mut reason, RejectReason::from_code(field.number()?))?;
                }
                tag::TEXT => field.once(&mut text, field.value)?,
                _ => field.ignored()?,
            }
        }
        Ok(Self {
            ref_sequence: required(ref_sequence, tag::REF_SEQ_NUM, body.end())?,
            ref_tag,
            ref_msg_type,
            reason,
            text: text.unwrap_or(&[]),
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        writer.number::<{ tag::REF_SEQ_NUM }>(self.ref_sequence);
        writer.text::<{ tag::TEXT }>(self.text);
        if let Some(ref_tag) = self.ref_tag {
            writer.number::<{ tag::REF_TAG_ID }>(u64::from(ref_tag));
        }
        if let Some(ref_msg_type) = &self.ref_msg_type {
            writer.short::<{ tag::REF_MSG_TYPE }, 23>(ref_msg_type);
        }
        if let Some(reason) = self.reason {
            writer.number::<{ tag::SESSION_REJECT_REASON }>(u64::from(reason.code()));
        }
    }
}

/// BusinessRejectReason (380).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum BusinessRejectReason {
    /// 0, and every value that has no name here.
    Other = 0,
    /// 1
    UnknownId = 1,
    /// 2
    UnknownSecurity = 2,
    /// 3
    UnsupportedMessageType = 3,
    /// 4
    ApplicationNotAvailable = 4,
    /// 5
    ConditionallyRequiredFieldMissing = 5,
    /// 6
    NotAuthorized = 6,
}

impl BusinessRejectReason {
    /// Its value on the wire.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The reason with this value.
    #[must_use]
    pub const fn from_code(code: u64) -> Self {
        match code {
            1 => Self::UnknownId,
            2 => Self::UnknownSecurity,
            3 => Self::UnsupportedMessageType,
            4 => Self::ApplicationNotAvailable,
            5 => Self::ConditionallyRequiredFieldMissing,
            6 => Self::NotAuthorized,
            _ => Self::Other,
        }
    }

    /// The reason in words, as Text (58) carries it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Other => "Other",
            Self::UnknownId => "Unknown ID",
            Self::UnknownSecurity => "Unknown Security",
            Self::UnsupportedMessageType => "Unsupported Message Type",
            Self::ApplicationNotAvailable => "Application not available",
            Self::ConditionallyRequiredFieldMissing => "Conditionally Required Field Missing",
            Self::NotAuthorized => "Not Authorized",
        }
    }
}

/// BusinessMessageReject (j): the session is fine, the application cannot do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusinessMessageReject<'a> {
    /// RefSeqNum (45): the number of the message; 0 when the peer does not say.
    pub ref_sequence: u64,
    /// RefMsgType (372).
    pub ref_msg_type: ShortText,
    /// BusinessRejectRefID (379): the application's id of the message, such as its ClOrdID.
    pub ref_id: Option<ShortText>,
    /// BusinessRejectReason (380).
    pub reason: BusinessRejectReason,
    /// Text (58); empty when there is none.
    pub text: &'a [u8],
}

impl<'a> BusinessMessageReject<'a> {
    /// Reads a body. 372 and 380 are required.
    ///
    /// # Errors
    /// [`FixError::Malformed`] or [`FixError::PeerViolation`].
    pub fn decode(mut body: Body<'a, '_>) -> Result<Self, FixError> {
        let (mut ref_sequence, mut ref_msg_type, mut ref_id) = (None, None, None);
        let (mut reason, mut text) = (None, None);
        for field in &mut body {
            let field: Field<'a> = field?;
            match field.tag {
                tag::REF_SEQ_NUM => field.once(&mut ref_sequence, field.number()?)?,
                tag::REF_MSG_TYPE => field.once(&mut ref_msg_type, field.short()?)?,
                tag::BUSINESS_REJECT_REF_ID => field.once(&mut ref_id, field.short()?)?,
                tag::BUSINESS_REJECT_REASON => {
                    field.once(&mut reason, BusinessRejectReason::from_code(field.number()?))?;
                }
                tag::TEXT => field.once(&mut text, field.value)?,
                _ => field.ignored()?,
            }
        }
        let end = body.end();
        Ok(Self {
            ref_sequence: ref_sequence.unwrap_or(0),
            ref_msg_type: required(ref_msg_type, tag::REF_MSG_TYPE, end)?,
            ref_id,
            reason: required(reason, tag::BUSINESS_REJECT_REASON, end)?,
            text: text.unwrap_or(&[]),
        })
    }

    /// Writes the body, tags ascending.
    pub fn encode_body(&self, writer: &mut Writer<'_>) {
        if self.ref_sequence > 0 {
            writer.number::<{ tag::REF_SEQ_NUM }>(self.ref_sequence);
        }
        writer.text::<{ tag::TEXT }>(self.text);
        writer.short::<{ tag::REF_MSG_TYPE }, 23>(&self.ref_msg_type);
        if let Some(ref_id) = &self.ref_id {
            writer.short::<{ tag::BUSINESS_REJECT_REF_ID }, 23>(ref_id);
        }
        writer.number::<{ tag::BUSINESS_REJECT_REASON }>(u64::from(self.reason.code()));
    }
}
