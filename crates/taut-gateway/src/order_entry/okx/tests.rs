//! OKX's JSON on messages and HTTP bodies, and a session that speaks it.

mod added;
mod faults;
mod mutated;
mod positions;

use taut_fix::CompId;
use taut_oms::{ExecId, OrderEvent, OrderState, Rate, VenueReject};
use taut_types::{InstrumentId, OrderFlags, OrderTerms, Price, Qty, Side, Symbol};

use super::*;
use crate::config::SessionSettings;
use crate::order_entry::handler::{OfAll, VenueReport};

const ORDER: ClientOrderId = ClientOrderId(7);
const START: Now = Now { mono: Nanos(1), utc: Nanos::from_secs(1_554_883_365) };
/// An open order of three lots, as pushes and answers have it.
const OPEN: &str = concat!(
    r#"{"instType":"SPOT","instId":"BTC-USDT","ordId":"312","clOrdId":"{7}","side":"buy","#,
    r#""px":"43000.5","sz":"0.3","ordType":"limit","state":"live","accFillSz":"0","avgPx":"0","#,
    r#""tradeId":"","fillSz":"0","fillPx":"","fillFee":"0","fillFeeCcy":"","execType":"","#,
    r#""reqId":"","amendResult":"","code":"0","msg":"","uTime":"1554883365123"}"#
);

fn config() -> GatewayConfig {
    let (symbol, tick) = (Symbol::new(b"BTC-USDT").unwrap(), Price(100_000_000));
    let lot = Qty { mantissa: 1, decimals: 1 };
    GatewayConfig {
        instruments: vec![Instrument::new(InstrumentId(0), symbol, tick, lot).unwrap()],
        order_address: "127.0.0.1:8443".parse().unwrap(),
        sender_comp_id: CompId::new(b"ME").unwrap(),
        target_comp_id: CompId::new(b"OKX").unwrap(),
        heartbeat_interval: Nanos::from_secs(20),
        session: SessionSettings::default(),
        order_capacity: 4,
        risk: GatewayConfig::default_risk().into(),
        hot: false,
        keeps_warm: false,
    }
}

fn settings() -> OkxOrderSettings {
    OkxOrderSettings {
        api_key: "key".to_owned(),
        secret: OkxSecret("secret".to_owned()),
        passphrase: OkxSecret("hunter2".to_owned()),
        ..OkxOrderSettings::default()
    }
}

fn terms() -> OrderTerms {
    OrderTerms::limit(InstrumentId(0), Side::Buy, Price(43_000_500_000_000), Lots(3))
}

fn name(version: u16) -> String {
    let name = RequestId { order: ORDER, version }.to_text();
    String::from_utf8(name.to_vec()).unwrap()
}

/// A handler, and the venue's side of both connections.
struct Line {
    handler: OkxWs,
    now: Now,
}

impl Line {
    fn new(settings: OkxOrderSettings) -> Self {
        Self::with(&config(), settings)
    }

    fn with(config: &GatewayConfig, settings: OkxOrderSettings) -> Self {
        let mut handler = OkxWs::new(config, settings).unwrap();
        handler.connected(START, [7; 32], 0);
        Self { handler, now: START }
    }

    /// A session that is up.
    fn up() -> Self {
        let mut line = Self::new(settings());
        line.log_on();
        line
    }

    fn log_on(&mut self) {
        assert_eq!(self.next(), "", "nothing is signed before the time is known");
        assert!(self.asks().starts_with("GET /api/v5/public/time HTTP/1.1\r\nHost: www.okx.com"));
        assert_eq!(self.asks(), "", "one question at a time");
        assert_eq!(self.body(r#"{"code":"0","data":[{"ts":"1554883485000"}],"msg":""}"#), []);
        // What is signed has the venue's time: here two minutes ahead.
        let login = self.next();
        assert!(login.contains(r#""op":"login""#) && login.contains(r#""1554883485""#), "{login}");
        assert_eq!(self.next(), "");
        assert_eq!(self.hear(r#"{"event":"login","code":"0","msg":"","connId":"a"}"#), []);
        assert!(self.next().contains(r#""channel":"orders","instType":"ANY""#));
        assert!(!self.handler.is_up());
        let granted = r#"{"event":"subscribe","arg":{"channel":"orders","instType":"ANY"}}"#;
        assert_eq!(self.hear(granted), [VenueEvent::LoggedOn]);
        assert!(self.handler.is_up());
    }

    /// Time goes by; what became due.
    fn pass(&mut self, span: Nanos) -> Option<VenueEvent> {
        self.now = Now { mono: self.now.mono + span, utc: self.now.utc + span };
        self.handler.handle_timeout(self.now)
    }

    /// What is sent next.
    fn next(&mut self) -> String {
        let text = String::from_utf8(self.handler.poll_transmit(self.now).to_vec()).unwrap();
        self.handler.clear_unsent();
        text.replace(&name(1), "{7}").replace(&name(2), "{8}")
    }

    /// What is asked next.
    fn asks(&mut self) -> String {
        let text = self.handler.poll_transmit_beside(self.now).to_vec();
        self.handler.clear_unsent_beside();
        String::from_utf8(text).unwrap().replace(&name(1), "{7}")
    }

    fn events(&mut self, mut bytes: &[u8]) -> Vec<VenueEvent> {
        std::iter::from_fn(|| self.handler.handle_bytes(self.now, &mut bytes)).collect()
    }

    fn hear(&mut self, text: &str) -> Vec<VenueEvent> {
        self.events(text.replace("{7}", &name(1)).replace("{8}", &name(2)).as_bytes())
    }

    fn push(&mut self, order: &str) -> Vec<VenueEvent> {
        let arg = r#"{"channel":"orders","instType":"ANY","uid":"1"}"#;
        self.hear(&format!(r#"{{"arg":{arg},"data":[{order}]}}"#))
    }

    /// The answer to a question.
    fn body(&mut self, text: &str) -> Vec<VenueEvent> {
        self.handler.handle_beside(self.now, text.replace("{7}", &name(1)).as_bytes());
        self.events(b"")
    }

    /// The answer to the last request.
    fn answer(&mut self, code: u32) -> Vec<VenueEvent> {
        let (id, all) = (self.handler.last_message(), u32::from(code != 0));
        let one = format!(r#"{{"ordId":"312","sCode":"{code}","sMsg":"so"}}"#);
        self.hear(&format!(
            r#"{{"id":"{id}","op":"order","code":"{all}","msg":"","data":[{one}]}}"#
        ))
    }

    /// Sends a request; whether it is in the outbox.
    fn send(&mut self, kind: RequestKind, version: u16) -> Result<(), NotSent> {
        let config = config();
        let request = RequestId { order: ORDER, version };
        let (instrument, terms) = (&config.instruments[0], &terms());
        let message = OrderMessage { request, instrument, account: None, terms };
        let base = RequestId::create(ORDER);
        match kind {
            RequestKind::Create => self.handler.create(self.now, &message, false),
            RequestKind::Modify => self.handler.modify(self.now, base, &message),
            RequestKind::Cancel => self.handler.cancel(self.now, base, &message),
        }
    }

    fn ask(&mut self) -> Result<(), NotSent> {
        let config = config();
        let (instrument, terms) = (&config.instruments[0], &terms());
        let request = RequestId::create(ORDER);
        let message = OrderMessage { request, instrument, account: None, terms };
        self.handler.ask(self.now, &message)
    }
}

/// What an event says happened, to which version of the order.
fn happened(event: &VenueEvent) -> (Option<u16>, Option<OrderEvent>) {
    match event {
        VenueEvent::Report(report) => (report.request.map(|it| it.version), report.event),
        other => panic!("{other:?}"),
    }
}

fn report(event: &VenueEvent) -> VenueReport {
    match event {
        VenueEvent::Report(report) => *report,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_order_lives_and_ends_whichever_word_comes_first() {
    for answer_first in [true, false] {
        let mut line = Line::up();
        assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
        let sent = line.next();
        assert!(sent.contains(r#""op":"order""#) && sent.contains(r#""clOrdId":"{7}""#), "{sent}");
        assert!(sent.contains(r#""sz":"0.3","px":"43000.5""#), "{sent}");
        let accepted = (Some(1), Some(OrderEvent::Accepted));
        let stands = (Some(0), Some(OrderEvent::Status(OrderState::Working)));
        if answer_first {
            let events = line.answer(0);
            assert_eq!(events.iter().map(happened).collect::<Vec<_>>(), [accepted]);
            let events = line.push(OPEN);
            assert_eq!(events.iter().map(happened).collect::<Vec<_>>(), [stands]);
        } else {
            let events = line.push(OPEN);
            assert_eq!(events.iter().map(happened).collect::<Vec<_>>(), [accepted, stands]);
            assert_eq!(line.answer(0), []);
        }
        // A trade, told with what it cost and what has traded in all.
        let traded = OPEN
            .replace(
                r#""state":"live","accFillSz":"0""#,
                r#""state":"partially_filled","accFillSz":"0.1""#,
            )
            .replace(
                r#""tradeId":"","fillSz":"0","fillPx":"""#,
                r#""tradeId":"9","fillSz":"0.1","fillPx":"43000.5""#,
            )
            .replace(
                r#""fillFee":"0","fillFeeCcy":"","execType":"""#,
                r#""fillFee":"-0.0001","fillFeeCcy":"BTC","execType":"T""#,
            );
        let events = line.push(&traded);
        let trade = report(&events[0]);
        assert_eq!((trade.event, trade.exec_id), (Some(OrderEvent::Traded), ExecId::new(b"9")));
        assert_eq!((trade.last, trade.total), (Qty { mantissa: 1, decimals: 1 }, Some(trade.last)));
        assert_eq!(trade.charges.commission, Some(Price(100_000)));
        assert_eq!(happened(&events[1]), stands);
        // An amendment: the answer says nothing, the push does, once.
        assert_eq!(line.send(RequestKind::Modify, 2), Ok(()));
        assert!(line.next().contains(r#""ordId":"312","reqId":"{8}""#));
        assert_eq!(line.answer(0), []);
        let amended =
            OPEN.replace(r#""reqId":"","amendResult":"""#, r#""reqId":"{8}","amendResult":"0""#);
        let events = line.push(&amended);
        assert_eq!(happened(&events[0]), (Some(2), Some(OrderEvent::Replaced)));
        assert_eq!(line.push(&amended).iter().map(happened).collect::<Vec<_>>(), [stands]);
        // Its end, by whomever.
        assert_eq!(line.send(RequestKind::Cancel, 3), Ok(()));
        assert!(
            line.next()
                .contains(r#""op":"cancel-order","args":[{"instId":"BTC-USDT","ordId":"312""#)
        );
        assert_eq!(line.answer(0), []);
        let events = line.push(&OPEN.replace(r#""live""#, r#""canceled""#));
        let ended = (Some(0), Some(OrderEvent::Status(OrderState::Cancelled)));
        assert_eq!(events.iter().map(happened).collect::<Vec<_>>(), [ended]);
        line.handler.over(ORDER);
    }
}

#[test]
fn what_the_venue_refused_is_refused_and_what_nobody_knows_is_asked_about() {
    let mut line = Line::up();
    assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
    let (named, message) = (Some(RequestId::create(ORDER)), line.handler.last_message());
    let reject = VenueReject::Balance;
    assert_eq!(line.answer(51_008), [VenueEvent::Refused { message, named, reject }]);
    for unknown in [50_004, 51_016, 99_999] {
        assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
        assert_eq!(line.answer(unknown), [], "{unknown}");
    }
    for (kind, code, is_over, reject) in [
        (RequestKind::Modify, 51_503, true, VenueReject::UnknownOrder),
        (RequestKind::Modify, 51_121, false, VenueReject::Quantity),
        (RequestKind::Cancel, 51_400, true, VenueReject::TooLate),
    ] {
        assert_eq!(line.send(kind, 2), Ok(()));
        let request = RequestId { order: ORDER, version: 2 };
        assert_eq!(line.answer(code), [change_refused(request, kind, (is_over, reject))]);
    }
    // An amendment that was taken and then refused.
    let events = line.push(
        &OPEN
            .replace(r#""reqId":"","amendResult":"""#, r#""reqId":"{8}","amendResult":"-1""#)
            .replace(r#""code":"0""#, r#""code":"51006""#),
    );
    assert!(events.iter().any(|event| matches!(event, VenueEvent::ChangeRefused(refused)
        if refused.request == Some(RequestId { order: ORDER, version: 2 })
            && refused.reject == VenueReject::Price
            && !refused.is_over)));
    // Its credits are spent, says the venue; and then, that the connection is not who it was.
    assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
    assert_eq!(line.answer(50_011).len(), 1);
    assert!(matches!(line.send(RequestKind::Create, 1), Err(NotSent::Throttled(_))));
    assert_eq!(line.send(RequestKind::Cancel, 2), Ok(()), "cancels have credits of their own");
    assert_eq!(line.answer(60_011).last(), Some(&VenueEvent::Broken));
    assert!(line.handler.last_refusal().starts_with("60011"));
}

#[test]
fn where_an_order_stands_is_asked_over_http_and_asked_again_when_nobody_answers() {
    let mut line = Line::up();
    assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
    line.next();
    assert_eq!(line.ask(), Ok(()));
    let asked = line.asks();
    let path = "GET /api/v5/trade/order?instId=BTC-USDT&clOrdId={7} HTTP/1.1\r\n";
    assert!(asked.starts_with(path) && asked.contains("OK-ACCESS-SIGN: "), "{asked}");
    // The server ended its connection, or was restarting: asked again a second later.
    for nothing in ["", "-", "<html>502</html>"] {
        assert_eq!(line.body(nothing), []);
        assert_eq!(line.asks(), "");
        assert_eq!(line.pass(Nanos::from_secs(1)), None);
        assert!(line.asks().starts_with(path), "{nothing}");
    }
    let events = line.body(&format!(r#"{{"code":"0","msg":"","data":[{OPEN}]}}"#));
    assert_eq!(happened(&events[0]), (Some(1), Some(OrderEvent::Accepted)));
    let stands = report(&events[1]);
    assert!(stands.is_answer && stands.event == Some(OrderEvent::Status(OrderState::Working)));
    assert_eq!(stands.total, Some(Qty::parse(b"0").unwrap()));
    // From now on by the venue's name. It does not know it: a while ago, so that is the truth.
    assert_eq!(line.ask(), Ok(()));
    assert!(line.asks().contains("&ordId=312 "));
    let unknown = r#"{"code":"51603","msg":"Order does not exist","data":[]}"#;
    let events = line.body(unknown);
    assert_eq!(happened(&events[0]), (Some(0), Some(OrderEvent::NotFound)));
    // One that has just left may not be there yet.
    assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
    assert_eq!(line.ask(), Ok(()));
    assert!(!line.asks().is_empty());
    assert_eq!(line.body(unknown), []);
    assert_eq!((line.pass(SETTLE), line.asks().is_empty()), (None, false));
    assert_eq!(line.body(unknown).len(), 1);
    // No answer at all ends the session.
    assert_eq!(line.ask(), Ok(()));
    assert!(!line.asks().is_empty());
    assert_eq!(line.pass(Nanos::from_secs(5)), Some(VenueEvent::Broken));
}

#[test]
fn all_open_orders_come_page_by_page() {
    let mut line = Line::up();
    assert_eq!(line.handler.ask_all(line.now), Ok(()));
    assert!(line.asks().starts_with("GET /api/v5/trade/orders-pending HTTP"));
    let foreign = OPEN.replace("{7}", "web");
    let page: Vec<_> =
        (0..100).map(|at| foreign.replace("312", &(1_000 - at).to_string())).collect();
    let events = line.body(&format!(r#"{{"code":"0","data":[{}]}}"#, page.join(",")));
    assert_eq!(events.len(), 100);
    assert!(events.iter().all(|event| report(event).of_all == OfAll::One));
    assert!(line.asks().starts_with("GET /api/v5/trade/orders-pending?after=901 HTTP"));
    assert_eq!(line.body(r#"{"code":"0","data":[]}"#), [VenueEvent::AllTold]);
    assert_eq!(line.handler.ask_all(line.now), Ok(()));
    line.asks();
    let events = line.body(r#"{"code":"0","data":[]}"#);
    assert_eq!((report(&events[0]).of_all, events[1]), (OfAll::Nothing, VenueEvent::AllTold));
}

#[test]
fn a_silent_venue_is_pinged_and_given_up_and_a_login_that_fails_says_why() {
    let mut line = Line::up();
    let interval = Nanos::from_secs(20);
    assert_eq!(line.pass(interval), None);
    assert_eq!(line.next(), "ping");
    assert_eq!(line.hear("pong"), []);
    for _ in 0..2 {
        // The time is asked again meanwhile, and answered: that is no sign of the order session.
        assert!(line.asks().contains("/public/time"));
        line.body(r#"{"code":"0","data":[{"ts":"1554883485000"}]}"#);
        assert_eq!(line.pass(interval), None);
        assert_eq!(line.next(), "ping");
    }
    assert!(line.asks().contains("/public/time"));
    line.body(r#"{"code":"0","data":[{"ts":"1554883485000"}]}"#);
    assert_eq!(line.pass(interval), Some(VenueEvent::Broken));
    let mut line = Line::new(settings());
    line.asks();
    line.body(r#"{"code":"0","data":[{"ts":"1554883485000"}]}"#);
    line.next();
    let events = line.hear(r#"{"event":"error","code":"60009","msg":"Login failed."}"#);
    assert_eq!(events, [VenueEvent::Broken]);
    assert_eq!(line.handler.last_refusal(), "60009 Login failed.");
    // An upgrade is announced: the connection is left before the venue ends it.
    let mut line = Line::up();
    let notice = r#"{"event":"notice","code":"64008","msg":"closing soon","connId":"a"}"#;
    assert_eq!(line.hear(notice), [VenueEvent::Broken]);
}

#[test]
fn what_the_venue_does_not_have_is_not_sent_and_no_more_than_it_takes() {
    let orders = Rate { per_second: 1, burst: 2 };
    let mut line = Line::up();
    line.handler.orders = Credits::new(orders);
    for _ in 0..2 {
        assert_eq!(line.send(RequestKind::Create, 1), Ok(()));
    }
    assert!(matches!(line.send(RequestKind::Modify, 2), Err(NotSent::Throttled(_))));
    line.pass(Nanos::from_secs(5));
    let config = config();
    let stop = OrderTerms { stop_price: Some(Price(1)), ..terms() };
    let shown = OrderTerms { lots_shown: Lots(1), ..terms() };
    let both = OrderTerms {
        flags: OrderFlags::POST_ONLY,
        time_in_force: taut_types::TimeInForce::FillOrKill,
        ..terms()
    };
    for terms in [stop, shown, both] {
        let (request, instrument) = (RequestId::create(ORDER), &config.instruments[0]);
        let message = OrderMessage { request, instrument, account: None, terms: &terms };
        let sent = line.handler.create(line.now, &message, false);
        assert_eq!(sent, Err(NotSent::Unsupported), "{terms:?}");
    }
    let nobody = OkxWs::new(&config, OkxOrderSettings::default());
    assert!(matches!(nobody, Err(GatewayError::Credentials)));
    assert!(!format!("{:?} {:?}", line.handler, settings()).contains("hunter2"));
}

#[test]
fn nothing_allocates_between_an_order_and_its_trade() {
    let mut line = Line::up();
    let config = config();
    let (request, terms) = (RequestId::create(ORDER), terms());
    let instrument = &config.instruments[0];
    let message = OrderMessage { request, instrument, account: None, terms: &terms };
    let order = OPEN.replace("{7}", &name(1));
    let arg = r#"{"channel":"orders","instType":"ANY","uid":"1"}"#;
    let push = format!(r#"{{"arg":{arg},"data":[{order}]}}"#);
    let info = allocation_counter::measure(|| {
        assert_eq!(line.handler.create(line.now, &message, false), Ok(()));
        line.handler.clear_unsent();
        let mut bytes = push.as_bytes();
        while line.handler.handle_bytes(line.now, &mut bytes).is_some() {}
    });
    assert_eq!(info.count_total, 0);
}
