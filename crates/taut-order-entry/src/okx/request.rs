//! Requests as text: over the WebSocket, and questions over HTTP.

use taut_types::{OrderFlags, OrderType, Price, Qty, Side, TimeInForce};

use crate::deribit::Secret;
use crate::json::{Object, key};
use crate::sign::{HMAC_BASE64_BYTES, HmacKey};
use crate::text::{NUMBER_BYTES_MAX, Text, decimal};

/// What an order is paid with: `tdMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TradeMode {
    /// What the account has.
    #[default]
    Cash,
    /// Margin that all positions share.
    Cross,
    /// Margin of the position alone.
    Isolated,
}

/// What happens where an order would trade with another one of the account: `stpMode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelfTrade {
    /// The resting order ends: the account's own default.
    #[default]
    CancelMaker,
    /// What is left of the incoming order ends.
    CancelTaker,
    /// Both end.
    CancelBoth,
}

/// How the venue finds an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which<'a> {
    /// By the client's name of it.
    Name(&'a [u8]),
    /// By the venue's.
    Id(&'a [u8]),
}

/// An order to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder<'a> {
    /// The venue's name of the instrument.
    pub instrument: &'a [u8],
    /// The client's name of the order: at most 32 letters and digits.
    pub name: &'a [u8],
    /// Buy or sell.
    pub side: Side,
    /// Coins on the spot market, contracts elsewhere.
    pub qty: Qty,
    /// Limit or market.
    pub order_type: OrderType,
    /// The limit price; not looked at for a market order.
    pub price: Price,
    /// How long it lives; the venue has no orders for a day.
    pub time_in_force: TimeInForce,
    /// What it must not do.
    pub flags: OrderFlags,
    /// What it is paid with.
    pub mode: TradeMode,
    /// Against its own account.
    pub self_trade: SelfTrade,
}

/// Who logs in.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    /// The key's name.
    pub api_key: &'a [u8],
    /// The key's passphrase.
    pub passphrase: Secret<'a>,
    /// The key's secret.
    pub key: &'a HmacKey,
    /// Seconds of UTC.
    pub time_s: u64,
}

/// What is asked for over the WebSocket.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// `login`.
    Login(Login<'a>),
    /// `subscribe` to the channel `orders`, of all instruments.
    Orders,
    /// `order`.
    Place(NewOrder<'a>),
    /// `amend-order`.
    Amend {
        /// The venue's name of the instrument.
        instrument: &'a [u8],
        /// The order.
        which: Which<'a>,
        /// The client's name of this request, which the venue repeats.
        request: &'a [u8],
        /// The new total, what has traded included.
        qty: Qty,
        /// The new price.
        price: Price,
    },
    /// `cancel-order`.
    Cancel {
        /// The venue's name of the instrument.
        instrument: &'a [u8],
        /// The order.
        which: Which<'a>,
    },
}

impl Request<'_> {
    /// Writes the request with this id; nothing when there is no room for it, or the venue has no
    /// such order. Cost: one pass over what is written.
    #[inline]
    pub fn write<'o>(&self, id: u64, room: &'o mut [u8]) -> Option<&'o [u8]> {
        let mut out = Object::begin(room, b"{");
        match self {
            Self::Login(Login { api_key, passphrase, key, time_s }) => {
                out.word(key!("op"), b"login");
                out.nest(b",\"args\":[{");
                out.text(key!("apiKey"), api_key);
                out.text(key!("passphrase"), passphrase.0);
                out.decimal_text(key!("timestamp"), whole(*time_s)?);
                out.text(key!("sign"), &login_signature(key, *time_s));
            }
            Self::Orders => {
                out.word(key!("op"), b"subscribe");
                out.nest(b",\"args\":[{");
                out.word(key!("channel"), b"orders");
                out.word(key!("instType"), b"ANY");
            }
            Self::Place(order) => {
                out.decimal_text(key!("id"), whole(id)?);
                out.word(key!("op"), b"order");
                out.nest(b",\"args\":[{");
                order.write(&mut out)?;
            }
            Self::Amend { instrument, which, request, qty, price } => {
                out.decimal_text(key!("id"), whole(id)?);
                out.word(key!("op"), b"amend-order");
                out.nest(b",\"args\":[{");
                out.text(key!("instId"), instrument);
                which.write(&mut out);
                out.text(key!("reqId"), request);
                out.decimal_text(key!("newSz"), *qty);
                out.decimal_text(key!("newPx"), of_price(*price));
            }
            Self::Cancel { instrument, which } => {
                out.decimal_text(key!("id"), whole(id)?);
                out.word(key!("op"), b"cancel-order");
                out.nest(b",\"args\":[{");
                out.text(key!("instId"), instrument);
                which.write(&mut out);
            }
        }
        out.finish(b"}]}")
    }
}

impl NewOrder<'_> {
    #[inline]
    fn write(&self, out: &mut Object<'_>) -> Option<()> {
        let is_post_only = self.flags.contains(OrderFlags::POST_ONLY);
        let order_type: &[u8] = match (self.order_type, self.time_in_force, is_post_only) {
            (OrderType::Limit, TimeInForce::GoodTillCancel, false) => b"limit",
            (OrderType::Limit, TimeInForce::GoodTillCancel, true) => b"post_only",
            (OrderType::Limit, TimeInForce::ImmediateOrCancel, false) => b"ioc",
            (OrderType::Limit, TimeInForce::FillOrKill, false) => b"fok",
            (OrderType::Market, TimeInForce::ImmediateOrCancel, false) => b"market",
            _ => return None,
        };
        out.text(key!("instId"), self.instrument);
        out.text(key!("clOrdId"), self.name);
        out.word(
            key!("side"),
            match self.side {
                Side::Buy => b"buy",
                Side::Sell => b"sell",
            },
        );
        out.word(
            key!("tdMode"),
            match self.mode {
                TradeMode::Cash => b"cash",
                TradeMode::Cross => b"cross",
                TradeMode::Isolated => b"isolated",
            },
        );
        out.text(key!("ordType"), order_type);
        out.decimal_text(key!("sz"), self.qty);
        match self.order_type {
            OrderType::Limit => out.decimal_text(key!("px"), of_price(self.price)),
            // Else the size of a spot market order to buy would be what it may cost.
            OrderType::Market => out.word(key!("tgtCcy"), b"base_ccy"),
        }
        if self.flags.contains(OrderFlags::REDUCE_ONLY) {
            out.flag(key!("reduceOnly"), true);
        }
        out.word(
            key!("stpMode"),
            match self.self_trade {
                SelfTrade::CancelMaker => b"cancel_maker",
                SelfTrade::CancelTaker => b"cancel_taker",
                SelfTrade::CancelBoth => b"cancel_both",
            },
        );
        Some(())
    }
}

impl Which<'_> {
    #[inline]
    fn write(&self, out: &mut Object<'_>) {
        match self {
            Self::Name(name) => out.text(key!("clOrdId"), name),
            Self::Id(id) => out.text(key!("ordId"), id),
        }
    }
}

/// A public channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel<'a> {
    /// One of an instrument: `books`, `trades`.
    Of {
        /// Its name.
        channel: &'a [u8],
        /// The venue's name of the instrument.
        instrument: &'a [u8],
    },
    /// What the instruments of a kind are: `SPOT`, `SWAP`, `FUTURES`.
    Instruments(&'static [u8]),
}

/// Writes a request for public channels, or for the end of them; nothing when there is no room.
pub fn write_subscription<'o, 'c>(
    ends: bool,
    channels: impl Iterator<Item = Channel<'c>>,
    room: &'o mut [u8],
) -> Option<&'o [u8]> {
    let mut out = Object::begin(room, b"{");
    out.word(key!("op"), if ends { b"unsubscribe" } else { b"subscribe" });
    for (at, channel) in channels.enumerate() {
        out.nest(if at == 0 { b",\"args\":[{" } else { b"},{" });
        match channel {
            Channel::Of { channel, instrument } => {
                out.text(key!("channel"), channel);
                out.text(key!("instId"), instrument);
            }
            Channel::Instruments(kind) => {
                out.word(key!("channel"), b"instruments");
                out.word(key!("instType"), kind);
            }
        }
    }
    out.finish(b"}]}")
}

/// What is asked over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// `GET /api/v5/public/time`, which nobody signs.
    Time,
    /// `GET /api/v5/trade/order`.
    Order {
        /// The venue's name of the instrument.
        instrument: &'a [u8],
        /// The order.
        which: Which<'a>,
    },
    /// `GET /api/v5/trade/orders-pending`: at most a hundred, the newest first.
    Open {
        /// Those that are older than this one; the newest when it is empty.
        after: &'a [u8],
    },
    /// `GET /api/v5/account/positions`: all of them.
    Positions,
}

/// Who asks over HTTP, and where.
#[derive(Clone, Copy, Debug)]
pub struct Questioner<'a> {
    /// The venue's host.
    pub host: &'a [u8],
    /// Who asks; its time is not looked at.
    pub login: Login<'a>,
    /// Milliseconds of UTC.
    pub time_ms: u64,
    /// Whether it is about the demonstration account.
    pub is_demo: bool,
}

impl Question<'_> {
    /// Writes the request, all of it; nothing when there is no room for it.
    pub fn write<'o>(&self, asker: &Questioner<'_>, room: &'o mut [u8]) -> Option<&'o [u8]> {
        let mut path = [0; 256];
        let path = self.path(&mut path)?;
        let Questioner { host, login: Login { api_key, passphrase, key, .. }, time_ms, is_demo } =
            asker;
        let time = &iso_time(*time_ms);
        let mut text = Text::new(room);
        for part in [b"GET ", path, b" HTTP/1.1\r\nHost: ", host, b"\r\nAccept: application/json"] {
            text.put(part);
        }
        if *self != Self::Time {
            let signature = http_signature(key, time, path);
            for (name, value) in [
                (&b"KEY: "[..], *api_key),
                (b"SIGN: ", &signature),
                (b"TIMESTAMP: ", time),
                (b"PASSPHRASE: ", passphrase.0),
            ] {
                [b"\r\nOK-ACCESS-", name, value].into_iter().for_each(|part| text.put(part));
            }
        }
        if *is_demo {
            text.put(b"\r\nx-simulated-trading: 1");
        }
        text.put(b"\r\n\r\n");
        text.finish()
    }

    /// The path and its query: names of instruments and orders have nothing to encode.
    fn path<'o>(&self, room: &'o mut [u8]) -> Option<&'o [u8]> {
        let mut text = Text::new(room);
        match self {
            Self::Time => text.put(b"/api/v5/public/time"),
            Self::Order { instrument, which } => {
                text.put(b"/api/v5/trade/order?instId=");
                text.put(instrument);
                let (name, value) = match which {
                    Which::Name(name) => (&b"&clOrdId="[..], *name),
                    Which::Id(id) => (&b"&ordId="[..], *id),
                };
                text.put(name);
                text.put(value);
            }
            Self::Open { after } => {
                text.put(b"/api/v5/trade/orders-pending");
                if !after.is_empty() {
                    text.put(b"?after=");
                    text.put(after);
                }
            }
            Self::Positions => text.put(b"/api/v5/account/positions"),
        }
        text.finish()
    }
}

/// The signature of `login`, good for half a minute.
#[must_use]
pub fn login_signature(key: &HmacKey, time_s: u64) -> [u8; HMAC_BASE64_BYTES] {
    let mut digits = [0; NUMBER_BYTES_MAX];
    key.sign_base64(&[decimal(time_s, &mut digits), b"GET", b"/users/self/verify"])
}

/// The signature of a GET request, `OK-ACCESS-SIGN`: of its time, method, path and query.
#[must_use]
pub fn http_signature(key: &HmacKey, time: &[u8], path: &[u8]) -> [u8; HMAC_BASE64_BYTES] {
    key.sign_base64(&[time, b"GET", path])
}

/// UTC in ISO 8601 with milliseconds, as `OK-ACCESS-TIMESTAMP` has it.
fn iso_time(ms: u64) -> [u8; 24] {
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let mut put = |at: usize, digits: usize, mut value: u64| {
        for place in text.iter_mut().skip(at).take(digits).rev() {
            *place = b'0' + (value % 10) as u8;
            value /= 10;
        }
    };
    let (mut days, of_day) = (ms / 86_400_000, ms % 86_400_000);
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1_970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        (days, month) = (days - length, month + 1);
    }
    let fields = [(0, 4, year), (5, 2, month), (8, 2, days + 1), (11, 2, of_day / 3_600_000)];
    let of_hour = of_day % 3_600_000;
    let small = [(14, 2, of_hour / 60_000), (17, 2, of_hour / 1_000 % 60), (20, 3, of_day % 1_000)];
    fields.into_iter().chain(small).for_each(|(at, digits, value)| put(at, digits, value));
    text
}

const fn of_price(price: Price) -> Qty {
    Qty { mantissa: price.0, decimals: Price::DECIMALS }
}

fn whole(number: u64) -> Option<Qty> {
    Some(Qty { mantissa: i64::try_from(number).ok()?, decimals: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deribit::Secret;
    use std::string::String;

    fn written(request: &Request<'_>) -> Option<String> {
        let mut room = [0; 512];
        let text = request.write(7, &mut room)?;
        Some(String::from_utf8(text.to_vec()).unwrap())
    }

    const ORDER: NewOrder<'static> = NewOrder {
        instrument: b"BTC-USDT",
        name: b"a1",
        side: Side::Buy,
        qty: Qty { mantissa: 150, decimals: 2 },
        order_type: OrderType::Limit,
        price: Price(43_000_500_000_000),
        time_in_force: TimeInForce::GoodTillCancel,
        flags: OrderFlags::NONE,
        mode: TradeMode::Cash,
        self_trade: SelfTrade::CancelMaker,
    };

    #[test]
    fn orders_are_written_as_the_document_has_them() {
        let limit = concat!(
            r#"{"id":"7","op":"order","args":[{"instId":"BTC-USDT","clOrdId":"a1","side":"buy","#,
            r#""tdMode":"cash","ordType":"limit","sz":"1.5","px":"43000.5","#,
            r#""stpMode":"cancel_maker"}]}"#
        );
        assert_eq!(written(&Request::Place(ORDER)).as_deref(), Some(limit));
        let ioc = NewOrder { time_in_force: TimeInForce::ImmediateOrCancel, ..ORDER };
        let market = NewOrder { order_type: OrderType::Market, ..ioc };
        let market = written(&Request::Place(market)).unwrap();
        assert!(market.contains(r#""market","sz":"1.5","tgtCcy":"base_ccy""#), "{market}");
        let post = NewOrder { flags: OrderFlags::POST_ONLY, ..ORDER };
        assert!(written(&Request::Place(post)).unwrap().contains(r#""post_only""#));
        // What the venue does not have.
        let day = NewOrder { time_in_force: TimeInForce::Day, ..ORDER };
        assert_eq!(written(&Request::Place(day)), None);
        let both = NewOrder { flags: OrderFlags::POST_ONLY, ..ioc };
        assert_eq!(written(&Request::Place(both)), None);
        let (instrument, qty, price) = (ORDER.instrument, ORDER.qty, ORDER.price);
        let which = Which::Id(b"312");
        let amend = Request::Amend { instrument, which, request: b"a2", qty, price };
        let text = concat!(
            r#"{"id":"7","op":"amend-order","args":[{"instId":"BTC-USDT","ordId":"312","#,
            r#""reqId":"a2","newSz":"1.5","newPx":"43000.5"}]}"#
        );
        assert_eq!(written(&amend).as_deref(), Some(text));
        let which = Which::Name(b"a1");
        let text =
            r#"{"id":"7","op":"cancel-order","args":[{"instId":"BTC-USDT","clOrdId":"a1"}]}"#;
        assert_eq!(written(&Request::Cancel { instrument, which }).as_deref(), Some(text));
    }

    #[test]
    fn a_question_is_one_http_request_whose_path_is_signed() {
        let key = HmacKey::new(b"secret");
        let passphrase = Secret(b"words");
        let login = Login { api_key: b"k", passphrase, key: &key, time_s: 0 };
        let time_ms = 1_607_418_537_715;
        let asker = Questioner { host: b"www.okx.com", login, time_ms, is_demo: true };
        let mut room = [0; 1_024];
        let which = Which::Name(b"a1");
        let question = Question::Order { instrument: b"BTC-USDT", which };
        let text = String::from_utf8(question.write(&asker, &mut room).unwrap().to_vec()).unwrap();
        let path = "/api/v5/trade/order?instId=BTC-USDT&clOrdId=a1";
        let head = std::format!("GET {path} HTTP/1.1\r\nHost: www.okx.com\r\n");
        assert!(text.starts_with(&head) && text.ends_with("trading: 1\r\n\r\n"), "{text}");
        let signed = key.sign_base64(&[b"2020-12-08T09:08:57.715ZGET", path.as_bytes()]);
        let signed = std::format!("OK-ACCESS-SIGN: {}\r\n", str::from_utf8(&signed).unwrap());
        assert!(text.contains(&signed) && text.contains("OK-ACCESS-PASSPHRASE: words\r\n"));
        // Nobody signs the question for the time.
        let mut room = [0; 256];
        let time = Question::Time.write(&asker, &mut room).unwrap();
        assert!(!time.windows(9).any(|part| part == b"OK-ACCESS"));
        assert_eq!(Question::Open { after: b"9" }.write(&asker, &mut [0; 64]), None);
    }

    #[test]
    fn channels_are_asked_for_together() {
        let channels = [
            Channel::Of { channel: b"books", instrument: b"BTC-USDT" },
            Channel::Instruments(b"SPOT"),
        ];
        let text = concat!(
            r#"{"op":"subscribe","args":[{"channel":"books","instId":"BTC-USDT"},"#,
            r#"{"channel":"instruments","instType":"SPOT"}]}"#
        );
        let mut room = [0; 256];
        let written = write_subscription(false, channels.into_iter(), &mut room).unwrap();
        assert_eq!(str::from_utf8(written), Ok(text));
    }

    #[test]
    fn a_time_is_a_date() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (1_740_787_200_000, "2025-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(str::from_utf8(&iso_time(ms)), Ok(text));
        }
    }

    #[test]
    fn a_login_signs_its_time() {
        let key = HmacKey::new(b"secret");
        let login =
            Login { api_key: b"k", passphrase: Secret(b"p"), key: &key, time_s: 1_538_054_050 };
        let text = written(&Request::Login(login)).unwrap();
        let signed = key.sign_base64(&[b"1538054050GET/users/self/verify"]);
        assert!(text.contains(str::from_utf8(&signed).unwrap()), "{text}");
        assert!(text.contains(r#""timestamp":"1538054050""#));
        // Of RFC 4231, 4.3, in base64.
        let jefe = HmacKey::new(b"Jefe").sign_base64(&[b"what do ya want for nothing?"]);
        assert_eq!(&jefe, b"W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=");
    }
}
