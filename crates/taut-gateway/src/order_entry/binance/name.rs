//! Clients' names of orders and cancels.

use taut_types::RequestId;

/// The longest name that the venue takes.
const BYTES: usize = 36;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// A name of an order or of a cancel: that of the request, and what a later process has to know of
/// it.
///
/// | name | is |
/// |---|---|
/// | `REQUEST` | an order, or a cancel that was asked for |
/// | `REQUEST-2faf080` | an order for the rest of one of which 0.5 had traded, at eight decimals |
/// | `REQUEST-R` | the end of an order that `order.cancelReplace` replaced |
/// | `REQUEST-W` | the end of an order that made way for its rest |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    bytes: [u8; BYTES],
    len: u8,
}

/// Why an order ended that is not over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LegEnd {
    /// Another one took its place in the same step.
    Replaced,
    /// The rest of it follows.
    MadeWay,
}

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// An order of which so much had traded before, at eight decimals; or a cancel.
    Plain { request: RequestId, before: i64 },
    /// The end of an order, by a request.
    End(RequestId, LegEnd),
}

impl Name {
    /// An order of which so much had traded before.
    #[inline]
    pub(super) fn of(request: RequestId, before: i64) -> Self {
        let mut name = Self::begin(request);
        if before > 0 {
            name.push(b'-');
            let digits = 16 - before.unsigned_abs().leading_zeros() / 4;
            for place in (0..digits).rev() {
                name.push(DIGITS[(before >> (4 * place)) as usize & 15]);
            }
        }
        name
    }

    /// The end of an order.
    pub(super) fn ending(request: RequestId, end: LegEnd) -> Self {
        let mut name = Self::begin(request);
        name.push(b'-');
        name.push(match end {
            LegEnd::Replaced => b'R',
            LegEnd::MadeWay => b'W',
        });
        name
    }

    #[inline]
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    #[inline]
    fn begin(request: RequestId) -> Self {
        let mut bytes = [0; BYTES];
        bytes[..RequestId::TEXT_BYTES].copy_from_slice(&request.to_text());
        Self { bytes, len: RequestId::TEXT_BYTES as u8 }
    }

    fn push(&mut self, byte: u8) {
        if let Some(room) = self.bytes.get_mut(usize::from(self.len)) {
            *room = byte;
            self.len += 1;
        }
    }
}

/// What a name says; nothing of one that is not ours.
pub(super) fn read(name: &[u8]) -> Option<Named> {
    let (request, rest) = name.split_at_checked(RequestId::TEXT_BYTES)?;
    let request = RequestId::from_text(request)?;
    match rest {
        [] => Some(Named::Plain { request, before: 0 }),
        b"-R" => Some(Named::End(request, LegEnd::Replaced)),
        b"-W" => Some(Named::End(request, LegEnd::MadeWay)),
        [b'-', digits @ ..] => {
            let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let text = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(is_digit))?;
            let before = i64::from_str_radix(text, 16).ok()?;
            Some(Named::Plain { request, before })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taut_types::ClientOrderId;

    #[test]
    fn a_name_says_what_it_was_made_of() {
        let request = RequestId { order: ClientOrderId(u64::MAX), version: u16::MAX };
        for before in [0, 1, 15, 16, 50_000_000, i64::MAX] {
            let name = Name::of(request, before);
            assert_eq!(read(name.as_bytes()), Some(Named::Plain { request, before }));
            assert!(name.as_bytes().len() <= BYTES);
        }
        for end in [LegEnd::Replaced, LegEnd::MadeWay] {
            let name = Name::ending(request, end);
            assert_eq!(read(name.as_bytes()), Some(Named::End(request, end)));
        }
        assert_eq!(Name::of(request, 50_000_000).as_bytes()[16..], *b"-2faf080");
    }

    #[test]
    fn names_of_others_say_nothing() {
        for name in [
            "",
            "web_0123456789abcdef",
            "4d96324ff9d44481926157",
            "0000000000000001-",
            "0000000000000001-g",
            "0000000000000001-+1",
            "0000000000000001_2",
            "0000000000000001-ffffffffffffffff",
        ] {
            assert_eq!(read(name.as_bytes()), None, "{name}");
        }
    }
}
