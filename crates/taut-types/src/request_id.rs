//! The name of a request at the venue: everything that its answer must be routed by.

use crate::ids::ClientOrderId;

const TEXT_BYTES: usize = RequestId::TEXT_BYTES;
/// Digits and capital letters, in the order of their ASCII codes: texts sort as their values do.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";

/// A request of an order: the one that creates it, and each that modifies or cancels it.
///
/// Its [text](Self::to_text) is the ClOrdID that the venue sees. User, strategy, order and version
/// are all in it, so that an answer finds its order after a restart, and without a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The order.
    pub order: ClientOrderId,
    /// 1 for the request that creates the order, and one more for each that follows.
    pub version: u16,
}

impl RequestId {
    /// Letters of a request's text: 80 bits, five in each.
    pub const TEXT_BYTES: usize = 16;

    /// The request that creates an order.
    #[must_use]
    pub const fn create(order: ClientOrderId) -> Self {
        Self { order, version: 1 }
    }

    /// Sixteen digits and capital letters. Cost: sixteen shifts.
    #[must_use]
    #[inline]
    pub fn to_text(self) -> [u8; TEXT_BYTES] {
        let bits = u128::from(self.order.0) << 16 | u128::from(self.version);
        let mut text = [0; TEXT_BYTES];
        let mut shift = 5 * TEXT_BYTES as u32;
        for place in &mut text {
            shift -= 5;
            // Five bits are below 32.
            *place = LETTERS[(bits >> shift) as usize % LETTERS.len()];
        }
        text
    }

    /// The request with this text; nothing when it is not one of a gateway's.
    #[must_use]
    #[inline]
    pub fn from_text(text: &[u8]) -> Option<Self> {
        if text.len() != TEXT_BYTES {
            return None;
        }
        let mut bits = 0_u128;
        for &letter in text {
            let value = match letter {
                b'0'..=b'9' => letter - b'0',
                b'A'..=b'V' => letter - b'A' + 10,
                _ => return None,
            };
            bits = bits << 5 | u128::from(value);
        }
        Some(Self { order: ClientOrderId((bits >> 16) as u64), version: bits as u16 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{StrategyId, UserId};

    #[test]
    fn a_request_is_itself_again() {
        for (user, strategy, number, version) in
            [(0, 0, 0, 0), (255, 255, ClientOrderId::NUMBER_MAX, u16::MAX), (1, 2, 3, 4)]
        {
            let order = ClientOrderId::of(UserId(user), StrategyId(strategy), number);
            assert_eq!((order.user(), order.strategy()), (UserId(user), StrategyId(strategy)));
            assert_eq!(order.number(), number);
            let request = RequestId { order, version };
            assert_eq!(RequestId::from_text(&request.to_text()), Some(request));
        }
    }

    #[test]
    fn texts_sort_as_requests_do() {
        let request = |order, version| RequestId { order: ClientOrderId(order), version };
        let ordered = [request(0, 9), request(1, 0), request(1, 1), request(1 << 60, 0)];
        assert!(ordered.map(RequestId::to_text).is_sorted());
    }

    #[test]
    fn what_no_gateway_wrote_is_no_request() {
        for text in
            ["", "1", "ABC123-4", "000000000000000W", "00000000000000001", "00000000000000a0"]
        {
            assert_eq!(RequestId::from_text(text.as_bytes()), None, "{text}");
        }
    }
}
