//! Orders over FIX, and questions beside them.

use super::*;

/// A handler, and the venue's side of both connections. Names are written `{VERSION}`.
pub(super) struct Lines {
    pub(super) handler: BinanceFix,
    now: Now,
    /// The number of the venue's next FIX message.
    next: u64,
    logon: String,
}

impl Lines {
    fn new(settings: BinanceOrderSettings) -> Self {
        let mut config = config();
        config.sender_comp_id = CompId::new(b"EXAMPLE").unwrap();
        config.target_comp_id = CompId::new(b"SPOT").unwrap();
        let mut handler = BinanceFix::new(&config, settings).unwrap();
        handler.connected(START, [7; 32], 0);
        Self { handler, now: START, next: 1, logon: String::new() }
    }

    pub(super) fn up() -> Self {
        Self::up_with(BinanceOrderSettings::default())
    }

    fn up_with(settings: BinanceOrderSettings) -> Self {
        let mut lines = Self::new(settings);
        lines.log_on();
        lines
    }

    fn log_on(&mut self) {
        self.prepare();
        self.logon = self.sent();
        assert!(!self.handler.is_up());
        let logon = "35=A|98=0|108=30|25037=4392a152-3481-4499-921a-6d42c50702e2";
        assert_eq!(self.hear(logon), [VenueEvent::LoggedOn]);
        assert!(self.handler.is_up());
    }

    /// The session of the WebSocket API.
    fn prepare(&mut self) {
        assert!(self.sent().is_empty(), "no Logon before the time is known");
        assert_eq!(self.asked(), r#"{"id":,"method":"time"}"#);
        let time = VENUE_MS + (self.now.mono - START.mono).0 as u64 / 1_000_000;
        self.answer(&format!(r#"{{"serverTime":{time}}}"#));
        assert!(self.asked().contains("session.logon"));
        self.answer(r#"{"apiKey":"key"}"#);
        // Reports come over FIX: the account's events are not asked for.
        assert!(self.asked().contains("exchangeInfo"));
        assert!(self.sent().is_empty(), "no Logon before the symbols are known");
        assert_eq!(self.answer(SYMBOLS), []);
    }

    /// What is sent over FIX, readable.
    pub(super) fn sent(&mut self) -> String {
        let text = readable(self.handler.poll_transmit(self.now));
        self.handler.clear_unsent();
        text
    }

    /// What is asked over the WebSocket API, without its id.
    fn asked(&mut self) -> String {
        let text = String::from_utf8(self.handler.poll_transmit_beside(self.now).to_vec()).unwrap();
        self.handler.clear_unsent_beside();
        let id = text.split(&[':', ','][..]).nth(1).unwrap_or_default().to_owned();
        let text = text.replacen(&id, "", usize::from(!id.is_empty()));
        unnamed(text)
    }

    fn events(&mut self, bytes: &[u8]) -> Vec<VenueEvent> {
        let mut bytes = bytes;
        let mut events = Vec::new();
        while let Some(event) = self.handler.handle_bytes(self.now, &mut bytes) {
            events.push(event);
        }
        events
    }

    /// A FIX message of the venue.
    pub(super) fn hear(&mut self, text: &str) -> Vec<VenueEvent> {
        let message = self.message(text);
        self.events(&message)
    }

    fn message(&mut self, text: &str) -> Vec<u8> {
        let text =
            (1..9).fold(text.to_owned(), |text, it| text.replace(&format!("{{{it}}}"), &named(it)));
        let (kind, rest) = text.split_once('|').unwrap();
        let head =
            format!("{kind}|34={}|49=SPOT|52=20231114-22:13:20.000001|56=EXAMPLE", self.next);
        self.next += 1;
        let body = format!("{head}|{rest}|").replace('|', "\x01");
        let mut message = format!("8=FIX.4.4\x019={}\x01{body}", body.len()).into_bytes();
        let sum = message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        message.extend_from_slice(format!("10={sum:03}\x01").as_bytes());
        message
    }

    /// The answer to the last question.
    fn answer(&mut self, result: &str) -> Vec<VenueEvent> {
        self.frame(&format!(r#""status":200,"result":{result}"#))
    }

    fn frame(&mut self, rest: &str) -> Vec<VenueEvent> {
        let id = self.handler.web.sent.last();
        let text = format!(r#"{{"id":{id},{rest}}}"#);
        let text = (1..9).fold(text, |text, it| text.replace(&format!("{{{it}}}"), &named(it)));
        self.handler.handle_beside(self.now, text.as_bytes());
        self.events(b"")
    }

    /// A report: what happened (150), of which order (11, 41), and where it is (39).
    pub(super) fn report(
        &mut self,
        what: &str,
        [c, original]: [&str; 2],
        status: &str,
    ) -> Vec<VenueEvent> {
        self.report_with(what, [c, original], status, "14=0.00000000|32=0.00000000|")
    }

    fn report_with(
        &mut self,
        what: &str,
        [c, original]: [&str; 2],
        status: &str,
        more: &str,
    ) -> Vec<VenueEvent> {
        let original = match original {
            "" => String::new(),
            original => format!("41={original}|"),
        };
        self.hear(&format!(
            "35=8|11={c}|17=144|37=42|38=0.00300000|39={status}|40=2|{original}{more}\
             44=43000.50000000|54=1|55=BTCUSDT|59=1|\
             60=20231114-22:13:19.999000|150={what}|636=Y|25001=1"
        ))
    }

    /// A trade of so much, after which so much has traded.
    fn trade(&mut self, name: &str, last: &str, total: &str, status: &str) -> Vec<VenueEvent> {
        let more = format!(
            "14={total}|31=43000.25000000|32={last}|136=1|137=0.00000120|138=BNB|139=4|\
             1003=9|1057=N|"
        );
        self.report_with("F", [name, ""], status, &more)
    }

    fn request(
        &mut self,
        request: impl FnOnce(&mut BinanceFix, Now, &OrderMessage<'_>) -> Result<(), NotSent>,
        version: u16,
        terms: &OrderTerms,
    ) -> Result<String, NotSent> {
        let (instrument, account) = (bitcoin(), None);
        let named = RequestId { order: ORDER, version };
        let order = OrderMessage { request: named, instrument: &instrument, account, terms };
        request(&mut self.handler, self.now, &order)?;
        Ok(body(&self.sent()))
    }

    pub(super) fn create(&mut self, terms: &OrderTerms) -> Result<String, NotSent> {
        self.request(|handler, now, order| handler.create(now, order, false), 1, terms)
    }

    pub(super) fn modify(
        &mut self,
        base: u16,
        version: u16,
        to: &OrderTerms,
    ) -> Result<String, NotSent> {
        let base = RequestId { order: ORDER, version: base };
        self.request(|handler, now, order| handler.modify(now, base, order), version, to)
    }

    pub(super) fn cancel(&mut self, base: u16, version: u16) -> Result<String, NotSent> {
        let base = RequestId { order: ORDER, version: base };
        self.request(|handler, now, order| handler.cancel(now, base, order), version, &terms())
    }

    /// An order that rests, of which something may have traded.
    fn resting(traded: Option<&str>) -> Self {
        let mut lines = Self::up();
        lines.create(&terms()).unwrap();
        lines.report("0", ["{1}", ""], "0");
        if let Some(traded) = traded {
            lines.trade("{1}", traded, traded, "1");
        }
        lines
    }
}

fn readable(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap().replace('\x01', "|")
}

fn unnamed(text: String) -> String {
    (1..9).fold(text, |text, it| text.replace(&named(it), &format!("{{{it}}}")))
}

/// A message without its header and trailer.
fn body(text: &str) -> String {
    let (_, from_type) = text.split_once("|35=").unwrap();
    let (kind, rest) = from_type.split_once('|').unwrap();
    let (_, body) = rest.split_once("|56=SPOT|").unwrap();
    let (body, _) = body.rsplit_once("10=").unwrap();
    unnamed(format!("35={kind}|{body}"))
}

fn value<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    text.split('|').find_map(|field| field.strip_prefix(tag))
}

/// The venue's published vector: the same names, number and time, signed by its key.
#[test]
fn a_logon_has_the_signature_that_the_venue_publishes() {
    let pem = b"-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEIIJEYWtGBrhACmb9Dvy+qa8WEf0lQOl1s4CLIAB9m89u\n\
        -----END PRIVATE KEY-----\n";
    let seed = taut_fix_engine::auth::seed_from_pem(pem).unwrap();
    let mut config = config();
    config.sender_comp_id = CompId::new(b"EXAMPLE").unwrap();
    config.target_comp_id = CompId::new(b"SPOT").unwrap();
    let credentials = Credentials::Binance { api_key: "key".to_owned(), seed };
    config.session.credentials = Some(credentials);
    let mut handler = BinanceFix::new(&config, BinanceOrderSettings::default()).unwrap();
    handler.connected(START, [7; 32], 0);
    let mut lines = Lines { handler, now: START, next: 1, logon: String::new() };
    lines.asked();
    // 20240627-11:17:25.223
    lines.answer(r#"{"serverTime":1719487045223}"#);
    for answer in [r#"{"apiKey":"key"}"#, SYMBOLS] {
        lines.asked();
        lines.answer(answer);
    }
    let logon = lines.sent();
    assert_eq!(value(&logon, "52="), Some("20240627-11:17:25.223"), "{logon}");
    let signature = "4MHXelVVcpkdwuLbl6n73HQUXUf1dse2PCgT1DYqW9w8AVZ1RACFGM+5UdlGPrQHrgtS\
                     3CvsRURC1oj73j8gCA==";
    assert!(logon.contains(&format!("|95=88|96={signature}|553=key|")), "{logon}");
}

#[test]
fn a_logon_leaves_when_the_session_beside_it_is_up_and_asks_for_all_reports_in_order() {
    let mut lines = Lines::up();
    let logon = lines.logon.clone();
    for field in ["34=1", "98=0", "108=30", "141=Y", "553=key", "25035=2", "25036=1"] {
        assert!(logon.contains(&format!("|{field}|")), "{field} in {logon}");
    }
    // The venue's clock, not ours.
    assert_eq!(value(&logon, "52="), Some("20231114-22:13:20.000"));
    // The next connection begins with the first number again.
    lines.create(&terms()).unwrap();
    lines.handler.disconnected(lines.now);
    assert!(!lines.handler.is_up());
    lines.handler.connected(lines.now, [8; 32], 0);
    lines.next = 1;
    lines.log_on();
    assert!(lines.logon.contains("|34=1|"), "{}", lines.logon);
}

#[test]
fn every_kind_of_order_has_the_venues_fields() {
    let mut lines = Lines::up();
    let limit = "35=D|25000=2000|11={1}|38=0.003|40=2|44=43000.5|54=1|55=BTCUSDT|59=1|";
    assert_eq!(lines.create(&terms()).unwrap(), limit);
    let of = |terms: OrderTerms| {
        let settings = BinanceOrderSettings {
            self_trade: SelfTrade::ExpireMaker,
            ..BinanceOrderSettings::default()
        };
        Lines::up_with(settings).create(&terms)
    };
    let (post_only, sell) = (OrderFlags::POST_ONLY, Side::Sell);
    assert_eq!(
        of(OrderTerms { flags: post_only, lots_shown: Lots(1), ..terms() }).unwrap(),
        "35=D|25000=2000|11={1}|18=6|38=0.003|40=2|44=43000.5|54=1|55=BTCUSDT|111=0.001|25001=3|"
    );
    assert_eq!(
        of(OrderTerms { order_type: OrderType::Market, ..terms() }).unwrap(),
        "35=D|25000=2000|11={1}|38=0.003|40=1|54=1|55=BTCUSDT|25001=3|"
    );
    let ioc = TimeInForce::ImmediateOrCancel;
    let stop_price = Some(Price(42_000_000_000_000));
    assert_eq!(
        of(OrderTerms { stop_price, side: sell, time_in_force: ioc, ..terms() }).unwrap(),
        "35=D|25000=2000|11={1}|38=0.003|40=4|44=43000.5|54=2|55=BTCUSDT|59=3|1100=4|1101=1|\
         1102=42000|1107=2|1109=D|25001=3|"
    );
    assert_eq!(
        of(OrderTerms { stop_price, order_type: OrderType::Market, ..terms() }).unwrap(),
        "35=D|25000=2000|11={1}|38=0.003|40=3|54=1|55=BTCUSDT|1100=4|1101=1|1102=42000|1107=2|\
         1109=U|25001=3|"
    );
    let day = TimeInForce::Day;
    assert_eq!(of(OrderTerms { time_in_force: day, ..terms() }), Err(NotSent::Unsupported));
    // The filters are those that the session beside it has read.
    assert_eq!(of(OrderTerms { lots: Lots(20_000), ..terms() }), Err(NotSent::Filtered));
}

#[test]
fn an_order_lives_by_its_reports() {
    let mut lines = Lines::up();
    lines.create(&terms()).unwrap();
    let new = lines.report("0", ["{1}", ""], "0");
    assert_eq!(
        said(&new),
        [Some(OrderEvent::Accepted), Some(OrderEvent::Status(OrderState::Working))]
    );
    let trade = only(lines.trade("{1}", "0.00100000", "0.00100000", "1"));
    assert_eq!(
        (trade.event, trade.last),
        (Some(OrderEvent::Traded), Qty { mantissa: 1, decimals: 3 })
    );
    assert_eq!(trade.price, Some(Price(43_000_250_000_000)));
    assert_eq!((trade.total, trade.exec_id), (qty(100_000), ExecId::new(b"BTCUSDT-9")));
    assert_eq!(trade.charges.commission, Some(Price(1_200)));
    assert_eq!(trade.charges.liquidity, Some(taut_fix::Liquidity::Maker));
    assert_eq!(trade.exchange_time, Nanos(1_699_999_999_999_000_000));
    assert_eq!(trade.venue_id.unwrap().as_bytes(), b"42");
    let cancel = "35=F|25000=2000|11={2}|37=42|55=BTCUSDT|";
    assert_eq!(lines.cancel(1, 2).unwrap(), cancel);
    let more = "14=0.00100000|32=0.00000000|";
    let cancelled = only(lines.report_with("4", ["{2}", "{1}"], "4", more));
    assert_eq!(
        (cancelled.request, cancelled.event),
        (Some(request(2)), Some(OrderEvent::Cancelled))
    );
    assert_eq!(cancelled.total, qty(100_000));
    // By its own terms, and one that somebody else cancelled.
    let mut lines = Lines::resting(None);
    let expired = only(lines.report("C", ["{1}", ""], "C"));
    assert_eq!(expired.event, Some(OrderEvent::Expired));
    let mut lines = Lines::resting(None);
    let cancelled = only(lines.report("4", ["web_1", "{1}"], "4"));
    assert_eq!(
        (cancelled.request, cancelled.event),
        (Some(request(0)), Some(OrderEvent::Cancelled))
    );
}

#[test]
fn a_refused_order_is_named_by_its_name_or_by_its_message() {
    let refused = |lines: &Lines, reject| {
        let (message, named) = (lines.handler.last_message(), Some(request(1)));
        [VenueEvent::Refused { message, named, reject }]
    };
    let rejected = |code: &str, text: &str| {
        let mut lines = Lines::up();
        lines.create(&terms()).unwrap();
        let heard = lines.hear(&format!(
            "35=8|11={{1}}|14=0|32=0|38=0.003|39=8|40=2|44=43000.5|54=1|55=BTCUSDT|58={text}|59=1|\
             60=20231114-22:13:19.999000|150=8|25016={code}"
        ));
        (heard, refused(&lines, VenueReject::Balance))
    };
    let (heard, refusal) = rejected("-2010", "Account has insufficient balance.");
    assert_eq!(heard, refusal);
    // What nobody knows is not said: an earlier one with its name may have been ours.
    for (code, text) in [("-2010", "Duplicate order sent."), ("-1007", "Timeout"), ("-9", "")] {
        assert_eq!(rejected(code, text).0, [], "{code}");
    }
    let mut lines = Lines::up();
    lines.create(&terms()).unwrap();
    let message = lines.handler.last_message();
    let reject = format!("35=3|45={message}|58=Invalid symbol.|371=55|372=D|373=5|25016=-1121");
    assert_eq!(lines.hear(&reject), refused(&lines, VenueReject::UnknownSymbol));
    assert_eq!(lines.hear(&reject), [], "once");
}

#[test]
fn a_smaller_order_is_amended_and_stays_where_it_stands() {
    let mut lines = Lines::resting(None);
    let amend = lines.modify(1, 2, &OrderTerms { lots: Lots(2), ..terms() }).unwrap();
    assert_eq!(amend, "35=XAK|25000=2000|11={2}|37=42|38=0.002|55=BTCUSDT|");
    let heard = lines.report("5", ["{2}", "{1}"], "0");
    assert_eq!(said(&heard)[0], Some(OrderEvent::Replaced));
    // One that is refused leaves the order as it was.
    let mut lines = Lines::resting(None);
    lines.modify(1, 2, &OrderTerms { lots: Lots(2), ..terms() }).unwrap();
    let heard = lines.hear(
        "35=XAR|11={2}|37=42|38=0.002|55=BTCUSDT|58=The requested action would change no state\
         |25016=-2038",
    );
    assert_eq!(refusal(heard), (Some(request(2)), false));
}

#[test]
fn a_replacement_is_one_request_for_an_order_that_has_not_traded() {
    let mut lines = Lines::resting(None);
    let replace = lines.modify(1, 2, &at(43_001, 3)).unwrap();
    assert_eq!(
        replace,
        "35=XCN|25000=2000|11={2}|37=42|38=0.003|40=2|44=43001|54=1|55=BTCUSDT|59=1|25002=1|\
         25033=1|25034={2}-R|"
    );
    assert_eq!(lines.report("4", ["{2}-R", "{1}"], "4"), []);
    let heard =
        lines.hear("35=8|11={2}|37=43|38=0.003|39=0|40=2|44=43001|54=1|55=BTCUSDT|14=0|32=0|150=0");
    assert_eq!(said(&heard)[0], Some(OrderEvent::Replaced));
    // Refused: it had traded. Both halves say so, and it is told once.
    let mut lines = Lines::resting(None);
    lines.modify(1, 2, &at(43_001, 3)).unwrap();
    let heard = lines.hear(
        "35=9|11={2}-R|37=42|55=BTCUSDT|58=Order was not canceled due to cancel restrictions.|\
         434=1|\
         25002=1|25016=-2011",
    );
    assert_eq!(refusal(heard), (Some(request(2)), false));
    let not_placed = "35=8|11={2}|14=0|32=0|39=8|40=2|54=1|55=BTCUSDT|\
                      58=Order cancel-replace failed.|150=8|25016=-2022";
    assert_eq!(lines.hear(not_placed), []);
    // Cancelled, and not placed: it is over.
    let mut lines = Lines::resting(None);
    lines.modify(1, 2, &at(43_001, 3)).unwrap();
    lines.report("4", ["{2}-R", "{1}"], "4");
    let over = only(lines.hear(
        "35=8|11={2}|14=0|32=0|39=8|40=2|54=1|55=BTCUSDT|58=Account has insufficient balance.|\
         150=8|25016=-2010",
    ));
    assert_eq!((over.request, over.event), (Some(request(2)), Some(OrderEvent::Cancelled)));
    // Not placed, and nobody said that the old one ended: that is asked.
    let mut lines = Lines::resting(None);
    lines.modify(1, 2, &at(43_001, 3)).unwrap();
    assert_eq!(lines.hear(not_placed), []);
    // Refused as it is, before either half.
    let heard = lines.hear(
        "35=8|11={2}|14=0|32=0|39=8|40=2|54=1|55=BTCUSDT|58=Server is currently overloaded.|\
         150=8|25016=-1008",
    );
    assert_eq!(refusal(heard), (Some(request(2)), false));
}

#[test]
fn an_order_that_has_traded_makes_way_before_its_rest_is_placed() {
    let mut lines = Lines::resting(Some("0.00100000"));
    let cancel = lines.modify(1, 2, &at(43_001, 3)).unwrap();
    assert_eq!(cancel, "35=F|25000=2000|11={2}-W|37=42|55=BTCUSDT|");
    let more = "14=0.00100000|32=0.00000000|";
    assert_eq!(lines.report_with("4", ["{2}-W", "{1}"], "4", more), []);
    let rest = "35=D|25000=2000|11={2}-186a0|38=0.002|40=2|44=43001|54=1|55=BTCUSDT|59=1|";
    assert_eq!(body(&lines.sent()), rest);
    let heard = lines.hear(
        "35=8|11={2}-186a0|37=43|38=0.002|39=0|40=2|44=43001|54=1|55=BTCUSDT|14=0|32=0|150=0",
    );
    assert_eq!(said(&heard)[0], Some(OrderEvent::Replaced));
    // Its rest is refused: it is over.
    let mut lines = Lines::resting(Some("0.00100000"));
    lines.modify(1, 2, &at(43_001, 3)).unwrap();
    lines.report_with("4", ["{2}-W", "{1}"], "4", more);
    lines.sent();
    let over = only(lines.hear(
        "35=8|11={2}-186a0|14=0|32=0|39=8|40=2|54=1|55=BTCUSDT|58=Filter failure: NOTIONAL|150=8|\
         25016=-1013",
    ));
    assert_eq!(over.event, Some(OrderEvent::Cancelled));
    // Making way is refused: it stays.
    let mut lines = Lines::resting(Some("0.00100000"));
    lines.modify(1, 2, &at(43_001, 3)).unwrap();
    let refused = "35=9|11={2}-W|37=42|55=BTCUSDT|58=Unknown order sent.|434=1|25016=-2011";
    assert_eq!(refusal(lines.hear(refused)), (Some(request(2)), true));
}

#[test]
fn a_refused_cancel_says_whether_its_order_is_over() {
    let mut lines = Lines::resting(None);
    lines.cancel(1, 2).unwrap();
    let refused = "35=9|11={2}|37=42|55=BTCUSDT|58=Unknown order sent.|434=1|25016=-2011";
    let heard = lines.hear(refused);
    let of_cancel = |event: &VenueEvent| {
        matches!(event, VenueEvent::ChangeRefused(ChangeRefused { kind, .. })
            if *kind == Some(RequestKind::Cancel))
    };
    assert!(heard.iter().all(of_cancel), "{heard:?}");
    assert_eq!(refusal(heard), (Some(request(2)), true));
}

#[test]
fn questions_are_asked_beside_and_have_numbers_of_their_own() {
    let mut lines = Lines::resting(None);
    let order_message = lines.handler.last_message();
    let (instrument, terms) = (bitcoin(), terms());
    let order =
        OrderMessage { request: request(1), instrument: &instrument, account: None, terms: &terms };
    lines.handler.ask(lines.now, &order).unwrap();
    assert!(lines.handler.last_message() > QUESTIONS && order_message < QUESTIONS);
    assert!(lines.sent().is_empty());
    let asked = lines.asked();
    assert!(asked.contains(r#""method":"order.status""#), "{asked}");
    let heard = only(lines.answer(
        r#"{"symbol":"BTCUSDT","orderId":42,"clientOrderId":"{1}","price":"43000.5",
        "origQty":"0.003","executedQty":"0.001","cummulativeQuoteQty":"43.0",
        "status":"PARTIALLY_FILLED"}"#,
    ));
    assert_eq!((heard.is_answer, heard.total), (true, qty(100_000)));
    lines.handler.ask_all(lines.now).unwrap();
    let message = lines.handler.last_message();
    assert!(lines.asked().contains("openOrders.status"));
    let heard = lines.frame(r#""status":400,"error":{"code":-1103,"msg":"Too many parameters."}"#);
    assert_eq!(heard, [VenueEvent::Refused { message, named: None, reject: VenueReject::Other }]);
}

/// No message of a FIX session has such a number.
const QUESTIONS: u64 = 1 << 48;

#[test]
fn an_order_whose_outcome_is_unknown_is_asked_about_beside_and_not_sent_again() {
    let mut lines = Lines::up();
    lines.create(&terms()).unwrap();
    lines.handler.disconnected(lines.now);
    lines.handler.connected(lines.now, [8; 32], 0);
    lines.next = 1;
    lines.log_on();
    assert!(lines.sent().is_empty());
    let (instrument, terms) = (bitcoin(), terms());
    let order =
        OrderMessage { request: request(1), instrument: &instrument, account: None, terms: &terms };
    lines.handler.ask(lines.now, &order).unwrap();
    lines.asked();
    let unknown = r#""status":400,"error":{"code":-2013,"msg":"Order does not exist."}"#;
    // It may still come, until its window is over.
    assert_eq!(lines.frame(unknown), []);
    assert!(lines.asked().is_empty());
    let later = Nanos::from_millis(3_001);
    lines.now = Now { mono: lines.now.mono + later, utc: lines.now.utc + later };
    assert!(lines.asked().contains("order.status"));
    assert_eq!(said(&lines.frame(unknown)), [Some(OrderEvent::NotFound)]);
    assert!(lines.sent().is_empty());
}

#[test]
fn news_ends_the_session_by_a_logout_and_words_are_kept() {
    let mut lines = Lines::resting(None);
    let news = "35=B|148=Your connection is about to be closed. Please reconnect.";
    assert_eq!(lines.hear(news), []);
    assert_eq!(value(&lines.sent(), "35="), Some("5"));
    assert!(!lines.handler.is_up());
    assert_eq!(lines.hear("35=5|58=Logout acknowledgment."), [VenueEvent::LoggedOut]);
    // A Logon that is refused says why.
    let mut lines = Lines::new(BinanceOrderSettings::default());
    lines.prepare();
    lines.sent();
    let refused = "35=3|45=1|58=Invalid API-key, IP, or permissions for action.|372=A|373=99|\
                   25016=-2015";
    let heard = lines.hear(refused);
    assert!(lines.handler.last_refusal().starts_with("-2015 Invalid API-key"), "{heard:?}");
    assert!(!lines.handler.is_up());
}

#[test]
fn either_connection_that_breaks_ends_the_session() {
    let mut lines = Lines::up();
    let revoked = r#"{"id":null,"status":401,"error":{"code":-2015,"msg":"Revoked."}}"#;
    lines.handler.handle_beside(lines.now, revoked.as_bytes());
    assert_eq!(lines.events(b""), [VenueEvent::Broken]);
    // A FIX connection that says nothing is asked, and then given up.
    let mut lines = Lines::up();
    let mut heard = None;
    let mut tests = 0;
    for _ in 0..9 {
        let span = Nanos::from_secs(10);
        lines.now = Now { mono: lines.now.mono + span, utc: lines.now.utc + span };
        heard = heard.or(lines.handler.handle_timeout(lines.now));
        tests += usize::from(value(&lines.sent(), "35=") == Some("1"));
        if !lines.asked().is_empty() {
            let ms = (lines.now.mono - START.mono).0 as u64 / 1_000_000;
            lines.answer(&format!(r#"{{"serverTime":{}}}"#, VENUE_MS + ms));
        }
    }
    assert_eq!((heard, tests), (Some(VenueEvent::Broken), 1));
}

/// What a modify costs and a limit that the venue says.
#[test]
fn orders_wait_for_the_budget_and_cancels_do_not() {
    let orders = Rate { per_second: 1, burst: 1 };
    let mut lines =
        Lines::up_with(BinanceOrderSettings { orders, ..BinanceOrderSettings::default() });
    lines.create(&terms()).unwrap();
    lines.report("0", ["{1}", ""], "0");
    assert!(matches!(lines.modify(1, 2, &at(43_001, 3)), Err(NotSent::Throttled(_))));
    assert!(lines.cancel(1, 2).is_ok());
}

#[test]
fn an_order_its_report_and_its_cancel_allocate_nothing() {
    let mut lines = Lines::up();
    let (instrument, terms, account) = (bitcoin(), terms(), None);
    let request = RequestId { order: ORDER, version: 1 };
    let order = OrderMessage { request, instrument: &instrument, account, terms: &terms };
    let cancel = OrderMessage { request: RequestId { order: ORDER, version: 2 }, ..order };
    let report = lines.message(
        "35=8|11={1}|17=144|37=42|38=0.00300000|39=0|40=2|14=0.00000000|32=0.00000000|\
         44=43000.50000000|54=1|55=BTCUSDT|59=1|60=20231114-22:13:19.999000|150=0|636=Y|25001=1",
    );
    let now = lines.now;
    let mut heard = 0;
    let measured = allocation_counter::measure(|| {
        lines.handler.create(now, &order, false).unwrap();
        lines.handler.clear_unsent();
        let mut bytes = &report[..];
        while lines.handler.handle_bytes(now, &mut bytes).is_some() {
            heard += 1;
        }
        lines.handler.cancel(now, request, &cancel).unwrap();
        lines.handler.clear_unsent();
        lines.handler.over(ORDER);
    });
    assert!(heard > 0);
    assert_eq!(measured.count_total, 0);
}
