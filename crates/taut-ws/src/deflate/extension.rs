//! `Sec-WebSocket-Extensions` (RFC 6455, 9.1; RFC 7692, 5 and 7.1): offers in order, and their
//! answer.

use crate::deflate::settings::DeflateParameters;
use crate::error::HandshakeFault;
use crate::head::{Head, is_token};

/// The header's name, and the extension's.
pub const HEADER: &str = "Sec-WebSocket-Extensions";
const NAME: &str = "permessage-deflate";

const SERVER_NO_CONTEXT: &str = "server_no_context_takeover";
const CLIENT_NO_CONTEXT: &str = "client_no_context_takeover";
const SERVER_BITS: &str = "server_max_window_bits";
const CLIENT_BITS: &str = "client_max_window_bits";

/// What one side wrote of the extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    server_no_context_takeover: bool,
    client_no_context_takeover: bool,
    server_max_window_bits: Option<u8>,
    /// A client may name it without a value: the server may choose one then.
    client_max_window_bits: Option<Option<u8>>,
}

/// Parts of a header's value, in order; those that are empty add nothing.
pub type Parts = [&'static str; 7];

impl Written {
    /// Reads the parameters behind the extension's name: `None` when one is unknown, is there
    /// twice, or has a value that it must not have (7.1).
    fn read<'a>(parameters: impl Iterator<Item = Parameter<'a>>) -> Option<Self> {
        let mut written = Self::default();
        for Parameter { name, value } in parameters {
            let is_new = match (name, value) {
                (SERVER_NO_CONTEXT, None) => {
                    !core::mem::replace(&mut written.server_no_context_takeover, true)
                }
                (CLIENT_NO_CONTEXT, None) => {
                    !core::mem::replace(&mut written.client_no_context_takeover, true)
                }
                (SERVER_BITS, Some(value)) => {
                    written.server_max_window_bits.replace(bits(value)?).is_none()
                }
                (CLIENT_BITS, None) => written.client_max_window_bits.replace(None).is_none(),
                (CLIENT_BITS, Some(value)) => {
                    written.client_max_window_bits.replace(Some(bits(value)?)).is_none()
                }
                _ => false,
            };
            if !is_new {
                return None;
            }
        }
        Some(written)
    }

    /// An offer. The server may bound the client's window in any case.
    pub fn offer(wanted: &DeflateParameters) -> Self {
        let below = |bits: u8| Some(bits).filter(|bits| *bits < 15);
        Self {
            server_no_context_takeover: wanted.server_no_context_takeover,
            client_no_context_takeover: wanted.client_no_context_takeover,
            server_max_window_bits: below(wanted.server_max_window_bits),
            client_max_window_bits: Some(below(wanted.client_max_window_bits)),
        }
    }

    /// A server's answer to this offer, and what holds from then on. There is one to every offer
    /// that is well formed: our own window can be as small as any, and what the client does is its
    /// own to bound where it does not let us.
    fn answer(&self, limits: &DeflateParameters) -> (Self, DeflateParameters) {
        let server_bits = limits.server_max_window_bits;
        let server_bits = server_bits.min(self.server_max_window_bits.unwrap_or(15));
        let names_server_bits = server_bits < 15 || self.server_max_window_bits.is_some();
        let client_bits = self
            .client_max_window_bits
            .map(|offered| offered.unwrap_or(15).min(limits.client_max_window_bits));
        let agreed = DeflateParameters {
            server_no_context_takeover: self.server_no_context_takeover
                || limits.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover
                || limits.client_no_context_takeover,
            server_max_window_bits: server_bits,
            client_max_window_bits: client_bits.unwrap_or(15),
        };
        let answer = Self {
            server_no_context_takeover: agreed.server_no_context_takeover,
            client_no_context_takeover: agreed.client_no_context_takeover,
            server_max_window_bits: Some(server_bits).filter(|_| names_server_bits),
            client_max_window_bits: client_bits.map(Some),
        };
        (answer, agreed)
    }

    /// What a server's answer makes of one of our offers; `None` when it does not answer that one.
    fn answers(&self, offer: &DeflateParameters) -> Option<DeflateParameters> {
        if offer.server_no_context_takeover && !self.server_no_context_takeover {
            return None;
        }
        let server_bits = self.server_max_window_bits.unwrap_or(15);
        let client_bits = match self.client_max_window_bits {
            None => offer.client_max_window_bits,
            Some(bits) => bits?,
        };
        let is_within = server_bits <= offer.server_max_window_bits
            && client_bits <= offer.client_max_window_bits;
        is_within.then_some(DeflateParameters {
            server_no_context_takeover: self.server_no_context_takeover,
            client_no_context_takeover: self.client_no_context_takeover
                || offer.client_no_context_takeover,
            server_max_window_bits: server_bits,
            client_max_window_bits: client_bits,
        })
    }

    /// As text.
    pub fn parts(&self) -> Parts {
        let named = |is_there: bool, text: &'static str| if is_there { text } else { "" };
        let (client_name, client_bits) = match self.client_max_window_bits {
            None => ("", None),
            Some(None) => ("; client_max_window_bits", None),
            Some(bits) => ("; client_max_window_bits=", bits),
        };
        let server_bits = self.server_max_window_bits;
        [
            NAME,
            named(self.server_no_context_takeover, "; server_no_context_takeover"),
            named(self.client_no_context_takeover, "; client_no_context_takeover"),
            named(server_bits.is_some(), "; server_max_window_bits="),
            server_bits.map_or("", digits),
            client_name,
            client_bits.map_or("", digits),
        ]
    }
}

/// What a server makes of a client's offers: its answer to the first one that is well formed, and
/// what holds then; nothing when there is none.
///
/// # Errors
/// A header that is no list of extensions (RFC 6455, 9.1).
pub fn accept(
    head: &Head<'_>,
    limits: &DeflateParameters,
) -> Result<Option<(Written, DeflateParameters)>, HandshakeFault> {
    let mut accepted = None;
    for extension in extensions(head) {
        let (name, parameters) = extension?;
        if name == NAME && accepted.is_none() {
            accepted = Written::read(parameters).map(|offer| offer.answer(limits));
        }
    }
    Ok(accepted)
}

/// What a client makes of the server's answer to its offers, in their order.
///
/// # Errors
/// Another extension, one twice, or parameters that answer none of the offers.
pub fn judge(
    head: &Head<'_>,
    offers: &[DeflateParameters],
) -> Result<Option<DeflateParameters>, HandshakeFault> {
    let mut agreed = None;
    for extension in extensions(head) {
        let (name, parameters) = extension?;
        let answer = Some(parameters).filter(|_| name == NAME && agreed.is_none());
        let answer = answer.and_then(Written::read).ok_or(HandshakeFault::Extension)?;
        agreed = offers.iter().find_map(|offer| answer.answers(offer));
        if agreed.is_none() {
            return Err(HandshakeFault::Extension);
        }
    }
    Ok(agreed)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parameter<'a> {
    name: &'a str,
    value: Option<&'a str>,
}

type Extension<'a, I> = Result<(&'a str, I), HandshakeFault>;

/// Every extension that is named, with its parameters.
fn extensions<'a>(
    head: &Head<'a>,
) -> impl Iterator<Item = Extension<'a, impl Iterator<Item = Parameter<'a>>>> {
    let items = head.all(HEADER).flat_map(|value| split(value, b','));
    // A list may have empty items (RFC 9110, 5.6.1).
    items.filter(|item| !item.is_empty()).map(|item| {
        let mut parts = split(item, b';');
        let name = parts.next().filter(|name| is_token(name)).ok_or(HandshakeFault::Extension)?;
        if parts.clone().any(|part| parameter(part).is_none()) {
            return Err(HandshakeFault::Extension);
        }
        Ok((name, parts.filter_map(parameter)))
    })
}

/// `name`, `name=value` or `name="value"`; a value in quotes is a token, too (9.1).
fn parameter(text: &str) -> Option<Parameter<'_>> {
    let Some((name, value)) = text.split_once('=') else {
        return is_token(text).then_some(Parameter { name: text, value: None });
    };
    let (name, value) = (name.trim_matches(BLANK), value.trim_matches(BLANK));
    let value = value.strip_prefix('"').map_or(Some(value), |rest| rest.strip_suffix('"'))?;
    // A backslash quotes the next character; no value that is known here has one.
    (is_token(name) && is_token(value)).then_some(Parameter { name, value: Some(value) })
}

const BLANK: [char; 2] = [' ', '\t'];

/// The pieces between these bytes, where they are not quoted, without blanks around them.
fn split(text: &str, at: u8) -> impl Iterator<Item = &str> + Clone {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let pieces = text.split(move |letter: char| {
        let was_escaped = core::mem::replace(&mut is_escaped, false);
        match letter {
            '"' if !was_escaped => is_quoted = !is_quoted,
            '\\' if is_quoted && !was_escaped => is_escaped = true,
            _ => {}
        }
        !is_quoted && letter == char::from(at)
    });
    pieces.map(|piece| piece.trim_matches(BLANK))
}

/// A window's bits: 8 to 15, in digits without a zero before them.
fn bits(text: &str) -> Option<u8> {
    (8..=15).find(|bits| digits(*bits) == text)
}

const fn digits(bits: u8) -> &'static str {
    match bits {
        8 => "8",
        9 => "9",
        10 => "10",
        11 => "11",
        12 => "12",
        13 => "13",
        14 => "14",
        _ => "15",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    const PLAIN: DeflateParameters = DeflateParameters {
        server_no_context_takeover: false,
        client_no_context_takeover: false,
        server_max_window_bits: 15,
        client_max_window_bits: 15,
    };

    fn text(written: &Written) -> String {
        written.parts().concat()
    }

    fn with<T>(value: &str, look: impl Fn(&Head<'_>) -> T) -> T {
        let head = format!("GET / HTTP/1.1\r\n{HEADER}: {value}\r\n\r\n");
        look(&Head::parse(head.as_bytes()).unwrap())
    }

    fn accepted(
        offers: &str,
        limits: &DeflateParameters,
    ) -> Result<Option<String>, HandshakeFault> {
        with(offers, |head| accept(head, limits)).map(|made| {
            made.map(|(answer, _)| String::from(text(&answer).trim_start_matches(NAME)))
        })
    }

    #[test]
    fn a_server_answers_the_first_offer_that_is_well_formed() {
        let cases = [
            ("permessage-deflate", Ok(Some(""))),
            ("x-other, permessage-deflate", Ok(Some(""))),
            ("x-other; a=\"1, permessage-deflate\"", Err(HandshakeFault::Extension)),
            ("permessage-deflate; client_max_window_bits", Ok(Some("; client_max_window_bits=15"))),
            (
                "permessage-deflate; client_max_window_bits=\"10\"",
                Ok(Some("; client_max_window_bits=10")),
            ),
            (
                "permessage-deflate; server_max_window_bits=9 ; server_no_context_takeover",
                Ok(Some("; server_no_context_takeover; server_max_window_bits=9")),
            ),
            (
                "permessage-deflate; client_no_context_takeover",
                Ok(Some("; client_no_context_takeover")),
            ),
            // Each of these is declined, and the next one taken.
            ("permessage-deflate; nonsense, permessage-deflate", Ok(Some(""))),
            ("permessage-deflate; server_max_window_bits, permessage-deflate", Ok(Some(""))),
            ("permessage-deflate; server_max_window_bits=16, permessage-deflate", Ok(Some(""))),
            ("permessage-deflate; server_max_window_bits=7", Ok(None)),
            ("permessage-deflate; server_max_window_bits=09", Ok(None)),
            ("permessage-deflate; server_no_context_takeover=1", Ok(None)),
            ("permessage-deflate; client_max_window_bits=x", Ok(None)),
            ("permessage-deflate; client_max_window_bits; client_max_window_bits=9", Ok(None)),
            (
                "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
                Ok(None),
            ),
            ("x-webkit-deflate-frame", Ok(None)),
            ("", Ok(None)),
            ("permessage-deflate; =1", Err(HandshakeFault::Extension)),
            ("permessage-deflate;", Err(HandshakeFault::Extension)),
            ("a b", Err(HandshakeFault::Extension)),
        ];
        for (offers, expected) in cases {
            let expected = expected.map(|made| made.map(String::from));
            assert_eq!(accepted(offers, &PLAIN), expected, "{offers}");
        }
    }

    #[test]
    fn a_server_bounds_itself_and_its_client_where_the_offer_lets_it() {
        let limits = DeflateParameters {
            server_no_context_takeover: true,
            client_no_context_takeover: true,
            server_max_window_bits: 11,
            client_max_window_bits: 12,
        };
        let both = "; server_no_context_takeover; client_no_context_takeover";
        let made = accepted("permessage-deflate", &limits).unwrap().unwrap();
        assert_eq!(made, format!("{both}; server_max_window_bits=11"));
        let offer = "permessage-deflate; server_max_window_bits=14; client_max_window_bits=13";
        let made = accepted(offer, &limits).unwrap().unwrap();
        assert_eq!(made, format!("{both}; server_max_window_bits=11; client_max_window_bits=12"));
    }

    #[test]
    fn a_client_takes_no_answer_that_it_did_not_offer() {
        let narrow = DeflateParameters {
            server_no_context_takeover: true,
            server_max_window_bits: 10,
            client_max_window_bits: 12,
            ..PLAIN
        };
        let judged =
            |answer: &str, offers: &[DeflateParameters]| with(answer, |head| judge(head, offers));
        let bad = Err(HandshakeFault::Extension);
        assert_eq!(judged("permessage-deflate", &[]), bad);
        assert_eq!(judged("permessage-deflate", &[PLAIN]), Ok(Some(PLAIN)));
        assert_eq!(judged("permessage-deflate", &[narrow]), bad, "what was asked for is not there");
        assert_eq!(judged("permessage-deflate", &[narrow, PLAIN]), Ok(Some(PLAIN)), "the fallback");
        assert_eq!(judged("permessage-deflate, permessage-deflate", &[PLAIN]), bad);
        assert_eq!(judged("x-other", &[PLAIN]), bad);
        assert_eq!(judged("permessage-deflate; nonsense", &[PLAIN]), bad);
        assert_eq!(judged("permessage-deflate; client_max_window_bits", &[PLAIN]), bad);
        let keeps = "permessage-deflate; server_no_context_takeover; server_max_window_bits=";
        for (bits, is_good) in [(9, true), (10, true), (11, false)] {
            let made = judged(&format!("{keeps}{bits}"), &[narrow]);
            let agreed = DeflateParameters { server_max_window_bits: bits, ..narrow };
            assert_eq!(made, if is_good { Ok(Some(agreed)) } else { bad }, "{bits}");
        }
        for (bits, is_good) in [(9, true), (12, true), (13, false)] {
            let answer = format!("{keeps}10; client_max_window_bits={bits}");
            assert_eq!(judged(&answer, &[narrow]).is_ok(), is_good, "{bits}");
        }
        assert_eq!(judged("", &[PLAIN]), Ok(None), "declined");
    }

    #[test]
    fn every_offer_is_answered_so_that_its_own_client_takes_it() {
        let all: Vec<DeflateParameters> = (0..4u8)
            .flat_map(|flags| {
                [8, 9, 12, 15].into_iter().flat_map(move |server| {
                    [8, 11, 15].map(|client| DeflateParameters {
                        server_no_context_takeover: flags & 1 != 0,
                        client_no_context_takeover: flags & 2 != 0,
                        server_max_window_bits: server,
                        client_max_window_bits: client,
                    })
                })
            })
            .collect();
        for offer in &all {
            for limits in &all {
                let offers = text(&Written::offer(offer));
                let (answer, agreed) = with(&offers, |head| accept(head, limits)).unwrap().unwrap();
                let judged = with(&text(&answer), |head| judge(head, &[*offer]));
                assert_eq!(judged, Ok(Some(agreed)), "{offer:?} {limits:?}");
            }
        }
    }
}
