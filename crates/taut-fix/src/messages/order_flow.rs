//! The messages of order flow, as one value.

use crate::codec::body::Body;
use crate::codec::index::{FieldIndex, Slot};
use crate::codec::writer::Writer;
use crate::error::FixError;
use crate::messages::execution::{ExecutionReport, OrderCancelReject};
use crate::messages::order::{NewOrderSingle, OrderCancelReplaceRequest, OrderCancelRequest};
use crate::messages::position::{PositionReport, RequestForPositions, RequestForPositionsAck};
use crate::messages::reject::{BusinessMessageReject, Reject};
use crate::messages::status::{
    OrderMassCancelReport, OrderMassCancelRequest, OrderMassStatusRequest, OrderStatusRequest,
};

/// A message that this crate writes.
pub trait TypedMessage {
    /// MsgType (35).
    const MSG_TYPE: &'static [u8];

    /// Writes the body, tags ascending.
    fn encode_body(&self, writer: &mut Writer<'_>);
}

macro_rules! typed {
    ($($message:ty => $msg_type:literal),+ $(,)?) => {$(
        impl TypedMessage for $message {
            const MSG_TYPE: &'static [u8] = $msg_type;

            #[inline]
            fn encode_body(&self, writer: &mut Writer<'_>) {
                self.encode_body(writer);
            }
        }
    )+};
}

typed! {
    Reject<'_> => b"3",
    ExecutionReport<'_> => b"8",
    OrderCancelReject<'_> => b"9",
    NewOrderSingle => b"D",
    OrderCancelRequest => b"F",
    OrderCancelReplaceRequest => b"G",
    OrderStatusRequest => b"H",
    OrderMassStatusRequest => b"AF",
    OrderMassCancelRequest => b"q",
    OrderMassCancelReport<'_> => b"r",
    BusinessMessageReject<'_> => b"j",
    RequestForPositions => b"AN",
    PositionReport => b"AP",
}

/// What a session delivered, when it is order flow. Texts borrow from the message.
#[expect(clippy::large_enum_variant, reason = "the report is what comes, and nothing is kept")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderFlow<'a> {
    /// 3: a message of ours broke a session rule, says the peer.
    Reject(Reject<'a>),
    /// 8
    ExecutionReport(ExecutionReport<'a>),
    /// 9
    OrderCancelReject(OrderCancelReject<'a>),
    /// D
    NewOrderSingle(NewOrderSingle),
    /// F
    OrderCancelRequest(OrderCancelRequest),
    /// G
    OrderCancelReplaceRequest(OrderCancelReplaceRequest),
    /// H
    OrderStatusRequest(OrderStatusRequest),
    /// AF
    OrderMassStatusRequest(OrderMassStatusRequest),
    /// q
    OrderMassCancelRequest(OrderMassCancelRequest),
    /// r
    OrderMassCancelReport(OrderMassCancelReport<'a>),
    /// j: the peer's application cannot do what a message of ours asked.
    BusinessMessageReject(BusinessMessageReject<'a>),
    /// AN
    RequestForPositions(RequestForPositions),
    /// AO
    RequestForPositionsAck(RequestForPositionsAck),
    /// AP
    PositionReport(PositionReport),
    /// Any other type.
    Other,
}

impl<'a> OrderFlow<'a> {
    /// Reads a message that was indexed, by its type.
    ///
    /// # Errors
    /// [`FixError::PeerViolation`]: answer it with [`crate::Session::refuse_content`].
    #[inline]
    pub fn decode(message: &'a [u8], index: &FieldIndex) -> Result<Self, FixError> {
        Self::decode_slots(message, index.slots())
    }

    #[inline]
    pub(crate) fn decode_slots(message: &'a [u8], slots: &[Slot]) -> Result<Self, FixError> {
        let body = Body::of_slots(message, slots);
        let msg_type: &[u8] = slots.first().map_or(&[], |slot| slot.value(message));
        Ok(match msg_type {
            b"8" => Self::ExecutionReport(ExecutionReport::decode(body)?),
            b"D" => Self::NewOrderSingle(NewOrderSingle::decode(body)?),
            b"F" => Self::OrderCancelRequest(OrderCancelRequest::decode(body)?),
            b"9" => Self::OrderCancelReject(OrderCancelReject::decode(body)?),
            b"j" => Self::BusinessMessageReject(BusinessMessageReject::decode(body)?),
            b"3" => Self::Reject(Reject::decode(body)?),
            b"G" => Self::OrderCancelReplaceRequest(OrderCancelReplaceRequest::decode(body)?),
            b"H" => Self::OrderStatusRequest(OrderStatusRequest::decode(body)?),
            b"AF" => Self::OrderMassStatusRequest(OrderMassStatusRequest::decode(body)?),
            b"q" => Self::OrderMassCancelRequest(OrderMassCancelRequest::decode(body)?),
            b"AN" => Self::RequestForPositions(RequestForPositions::decode(body)?),
            b"AO" => Self::RequestForPositionsAck(RequestForPositionsAck::decode(body)?),
            b"AP" => Self::PositionReport(PositionReport::decode(body)?),
            b"r" => Self::OrderMassCancelReport(OrderMassCancelReport::decode(body)?),
            _ => Self::Other,
        })
    }
}

/// MsgType (35) of an indexed message: its first field.
#[inline]
#[must_use]
pub fn msg_type<'a>(message: &'a [u8], index: &FieldIndex) -> &'a [u8] {
    index.slots().first().map_or(&[], |slot| slot.value(message))
}
