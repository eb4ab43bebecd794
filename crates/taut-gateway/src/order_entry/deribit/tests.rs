//! Deribit's dialect on bytes, and a session that speaks it.

use std::path::Path;

use taut_fix::{CompId, LongText};
use taut_fix_engine::Credentials;
use taut_fix_engine::auth::check_deribit;
use taut_ipc::Segment;
use taut_oms::{ExecId, OrderEvent, OrderState, RequestKind, VenueReject};
use taut_order_entry::deribit::TickSteps;
use taut_types::{
    Instrument, InstrumentId, Lots, OrderFlags, OrderTerms, Price, Qty, Side, Symbol, TimeInForce,
};

use super::*;
use crate::config::SessionSettings;
use crate::order_entry::handler::{ChangeRefused, OfAll};
use crate::order_entry::hostile::World;
use crate::regions::Regions;

const NOW: Now = Now { mono: Nanos(1), utc: Nanos::from_secs(1_340_285_400) };
const ORDER: ClientOrderId = ClientOrderId(7);

fn config() -> GatewayConfig {
    let secret = ("me".to_owned(), "secret".to_owned());
    GatewayConfig {
        instruments: vec![perpetual()],
        order_address: "127.0.0.1:9881".parse().unwrap(),
        sender_comp_id: CompId::new(b"ME").unwrap(),
        target_comp_id: CompId::new(b"DERIBITSERVER").unwrap(),
        heartbeat_interval: Nanos::from_secs(30),
        session: SessionSettings {
            credentials: Some(Credentials::Deribit { client_id: secret.0, secret: secret.1 }),
            ..SessionSettings::default()
        },
        order_capacity: 4,
        risk: GatewayConfig::default_risk().into(),
        hot: false,
        keeps_warm: false,
    }
}

fn settings(cancels_on_disconnect: bool) -> DeribitOrderSettings {
    DeribitOrderSettings { cancels_on_disconnect, ..DeribitOrderSettings::default() }
}

/// A lot is ten dollars, which is a contract, too.
fn perpetual() -> Instrument {
    let (symbol, tick) = (Symbol::new(b"BTC-PERPETUAL").unwrap(), Price(500_000_000));
    Instrument::new(InstrumentId(0), symbol, tick, Qty::whole(10)).unwrap()
}

fn name(order: ClientOrderId) -> String {
    String::from_utf8(RequestId::create(order).to_text().to_vec()).unwrap()
}

/// A handler, and the venue's side of its connection.
struct Line {
    handler: DeribitFix,
    /// The number of the venue's next message.
    next: u64,
    logon: String,
}

impl Line {
    /// A session that is up.
    fn up() -> Self {
        let mut handler = DeribitFix::new(&config(), &settings(true)).unwrap();
        handler.connected(NOW, [7; 32], 0);
        let logon = readable(handler.poll_transmit(NOW));
        handler.clear_unsent();
        let mut line = Self { handler, next: 1, logon };
        assert_eq!(line.hear("35=A|98=0|108=30|141=Y"), [VenueEvent::LoggedOn]);
        assert!(line.handler.is_up());
        line
    }

    /// What the handler makes of a message. `{7}` is our name of order 7.
    fn hear(&mut self, text: &str) -> Vec<VenueEvent> {
        let message = self.message(text);
        let mut bytes = &message[..];
        let mut events = Vec::new();
        while let Some(event) = self.handler.handle_bytes(NOW, &mut bytes) {
            events.push(event);
        }
        events
    }

    fn message(&mut self, text: &str) -> Vec<u8> {
        let text = text.replace("{7}", &name(ORDER));
        let (kind, rest) = text.split_once('|').unwrap();
        let head = format!("{kind}|34={}|49=DERIBITSERVER|52=20120621-13:30:00|56=ME", self.next);
        self.next += 1;
        let body = format!("{head}|{rest}|").replace('|', "\x01");
        let mut message = format!("8=FIX.4.4\x019={}\x01{body}", body.len()).into_bytes();
        let sum = message.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        message.extend_from_slice(format!("10={sum:03}\x01").as_bytes());
        message
    }

    /// The only report that the handler makes of a message.
    fn report(&mut self, text: &str) -> VenueReport {
        match self.hear(text)[..] {
            [VenueEvent::Report(report)] => report,
            ref other => panic!("{other:?}"),
        }
    }

    /// The body of what a request left in the outbox, from its type on.
    fn sent(
        &mut self,
        request: impl FnOnce(&mut DeribitFix, &OrderMessage<'_>) -> Result<(), NotSent>,
    ) -> String {
        self.sent_of(&terms(), request)
    }

    fn sent_of(
        &mut self,
        terms: &OrderTerms,
        request: impl FnOnce(&mut DeribitFix, &OrderMessage<'_>) -> Result<(), NotSent>,
    ) -> String {
        let instrument = perpetual();
        let (request_id, account) = (RequestId::create(ORDER), None);
        let order = OrderMessage { request: request_id, instrument: &instrument, account, terms };
        assert_eq!(request(&mut self.handler, &order), Ok(()));
        let text = readable(self.handler.unsent());
        self.handler.clear_unsent();
        let (_, from_type) = text.split_once("|35=").unwrap();
        let (kind, rest) = from_type.split_once('|').unwrap();
        let (_, body) = rest.split_once("|56=DERIBITSERVER|").unwrap();
        let (body, _) = body.rsplit_once("10=").unwrap();
        format!("35={kind}|{body}").replace(&name(ORDER), "{7}")
    }

    fn create(&mut self) -> String {
        self.sent(|handler, order| handler.create(NOW, order, false))
    }

    fn modify(&mut self) -> String {
        self.sent(|handler, order| handler.modify(NOW, RequestId::create(ORDER), order))
    }

    fn cancel(&mut self) -> String {
        self.sent(|handler, order| handler.cancel(NOW, RequestId::create(ORDER), order))
    }
}

fn readable(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap().replace('\x01', "|")
}

/// Thirty dollars' worth.
fn terms() -> OrderTerms {
    OrderTerms::limit(InstrumentId(0), Side::Buy, Price(43_000_500_000_000), Lots(3))
}

/// A report as the venue sends it, of an order of three contracts.
/// The order as an earlier process left it.
fn adopted() -> Order {
    Order::recovered(ORDER, &terms(), 0, (1, 1), (Lots::ZERO, 0))
}

fn working(text: &str) -> String {
    format!("35=8|11=USDC-1|41={{7}}|150=I|39=0|54=1|38=3|14=0|151=3|44=43000.5|231=10|58={text}")
}

#[test]
fn a_logon_is_signed_and_asks_for_one_queue_trades_and_the_end_of_orders() {
    let line = Line::up();
    let value = |tag: &str| line.logon.split('|').find_map(|field| field.strip_prefix(tag));
    let (raw, password) = (value("96=").unwrap(), value("554=").unwrap());
    assert!(check_deribit(raw.as_bytes(), password.as_bytes(), b"secret"), "{}", line.logon);
    assert_eq!((value("553="), value("108="), value("34=")), (Some("me"), Some("30"), Some("1")));
    assert!(line.logon.contains("|9001=Y|9007=Y|9015=Y|"), "{}", line.logon);
    let mut without = DeribitFix::new(&config(), &settings(false)).unwrap();
    without.connected(NOW, [7; 32], 0);
    assert!(!readable(without.poll_transmit(NOW)).contains("|9001="));
}

#[test]
fn a_logon_of_the_next_connection_has_another_time_and_the_first_number() {
    let mut line = Line::up();
    line.create();
    line.handler.disconnected(NOW);
    assert!(!line.handler.is_up());
    line.handler.connected(NOW, [7; 32], 0);
    let logon = readable(line.handler.poll_transmit(NOW));
    assert!(logon.contains("|34=1|"), "{logon}");
    let stamp = |logon: &str| {
        let raw = logon.split('|').find_map(|field| field.strip_prefix("96=")).unwrap();
        raw.split('.').next().unwrap().parse::<u64>().unwrap()
    };
    assert!(stamp(&logon) > stamp(&line.logon));
}

#[test]
fn an_order_is_in_units_and_its_flags_are_deribits() {
    let mut line = Line::up();
    let limit = "35=D|11={7}|38=30|40=2|44=43000.5|54=1|55=BTC-PERPETUAL|59=1|854=0|";
    assert_eq!(line.create(), limit);
    let terms = OrderTerms {
        flags: OrderFlags::POST_ONLY | OrderFlags::REDUCE_ONLY,
        time_in_force: TimeInForce::Day,
        lots_shown: Lots(1),
        ..terms()
    };
    let sent = line.sent_of(&terms, |handler, order| handler.create(NOW, order, false));
    let hidden =
        "35=D|11={7}|18=6A E|38=30|40=2|44=43000.5|54=1|55=BTC-PERPETUAL|59=0|854=0|1138=10|";
    assert_eq!(sent, hidden);
    let market = OrderTerms::market(InstrumentId(0), Side::Sell, Lots(1));
    let stop = OrderTerms { stop_price: Some(Price(40_000_000_000_000)), ..market };
    let sent = line.sent_of(&stop, |handler, order| handler.create(NOW, order, false));
    assert!(sent.starts_with("35=D|11={7}|38=10|40=S|54=2|55=BTC-PERPETUAL|"), "{sent}");
    assert!(sent.contains("|99=40000|854=0|"), "{sent}");
}

#[test]
fn a_rehearsal_leaves_nothing_behind() {
    let mut line = Line::up();
    let (instrument, terms) = (perpetual(), terms());
    let (request, account) = (RequestId::create(ORDER), None);
    let order = OrderMessage { request, instrument: &instrument, account, terms: &terms };
    let before = line.handler.last_message();
    assert_eq!(line.handler.create(NOW, &order, true), Ok(()));
    assert!(line.handler.unsent().is_empty());
    assert_eq!(line.handler.last_message(), before);
    // Nothing is waited for: this is no answer.
    assert_eq!(
        line.report(&working("success")).event,
        Some(OrderEvent::Status(OrderState::Working))
    );
}

#[test]
fn a_report_is_of_the_order_that_41_names_and_an_order_is_found_by_the_name_in_11() {
    let mut line = Line::up();
    line.create();
    // Not known yet: by our own name.
    assert_eq!(line.cancel(), "35=F|11={7}|55=BTC-PERPETUAL|");
    let report = line.report(&working("success"));
    assert_eq!(report.request, Some(RequestId { order: ORDER, version: 0 }));
    assert_eq!(report.venue_id, LongText::new(b"USDC-1"));
    assert_eq!((report.event, report.is_strange), (Some(OrderEvent::Accepted), false));
    assert_eq!(line.cancel(), "35=F|41=USDC-1|");
    let asked = line.sent(|handler, order| handler.ask(NOW, order));
    assert_eq!(asked, "35=AF|584=USDC-1|585=1|");
    // When it is over it is forgotten, and found by our name again. What comes late of it, or is of
    // others, is not remembered.
    let end = "35=8|11=USDC-1|41={7}|150=4|39=4|58=success";
    assert!(line.report(end).told.is_some());
    line.handler.over(ORDER);
    assert!(line.report(end).told.is_some());
    let trade = "35=8|527=9|11=USDC-1|150=F|39=1|32=1|14=1|854=0";
    assert_eq!(line.report(trade).request, None);
    let asked = line.sent(|handler, order| handler.ask(NOW, order));
    assert_eq!(asked, "35=AF|55=BTC-PERPETUAL|584={7}|585=7|9014=1|");
}

#[test]
fn an_order_out_of_the_journal_is_found_by_the_venues_name() {
    let mut line = Line::up();
    line.handler.adopt(&adopted(), b"USDC-9");
    assert_eq!(line.cancel(), "35=F|41=USDC-9|");
    // A report that names it by nothing else is its own, too.
    let report = line.report("35=8|11=USDC-9|150=I|39=1|14=1|231=10|58=notification");
    assert_eq!(report.request.map(|request| request.order), Some(ORDER));
}

#[test]
fn answers_come_in_the_order_of_the_requests_and_notifications_answer_none() {
    let mut line = Line::up();
    line.create();
    assert!(line.modify().starts_with("35=G|11={7}|38=30|40=2|44="));
    let mut events = Vec::new();
    for text in ["notification", "success", "notification", "success", "success"] {
        let report = line.report(&working(text));
        // None of them answers the question where it stands.
        assert!(!report.is_answer);
        events.push((report.event, report.answers_oldest));
    }
    let stands = (Some(OrderEvent::Status(OrderState::Working)), false);
    let accepted = (Some(OrderEvent::Accepted), false);
    let replaced = (Some(OrderEvent::Replaced), true);
    assert_eq!(events, [stands, accepted, stands, replaced, stands]);
    let modify = line.modify();
    assert_eq!(modify, "35=G|38=30|40=2|41=USDC-1|44=43000.5|54=1|55=BTC-PERPETUAL|59=1|854=0|");
    // What was under way on a connection that is gone is answered by nothing.
    line.handler.disconnected(NOW);
    line.handler.connected(NOW, [7; 32], 0);
    line.handler.poll_transmit(NOW);
    line.handler.clear_unsent();
    line.next = 1;
    line.hear("35=A|98=0|108=30|141=Y");
    assert_eq!(line.report(&working("success")).event, stands.0);
}

#[test]
fn quantities_in_contracts_become_units() {
    let mut line = Line::up();
    line.create();
    line.report(&working("success"));
    let trade = "35=8|527=77|11=USDC-1|41={7}|150=F|39=1|54=1|38=3|32=2|31=43000.5|14=2|151=1";
    let report = line.report(&format!("{trade}|231=10"));
    let units = |units| Some(Qty::whole(units));
    assert_eq!(
        (report.event, report.price),
        (Some(OrderEvent::Traded), Some(Price(43_000_500_000_000)))
    );
    assert_eq!(
        (report.last, report.total, report.order_qty),
        (Qty::whole(20), units(20), units(30))
    );
    assert_eq!(report.exec_id, ExecId::new(b"77"));
    // In units already.
    assert_eq!(line.report(&format!("{trade}|231=10|854=0")).last, Qty::whole(2));
    // A contract of a thousandth.
    let small = line.report(&format!("{trade}|231=0.001"));
    assert_eq!(small.last, Qty { mantissa: 2, decimals: 3 });
    // What does not fit is not read, and its order is known.
    let huge = line.hear(&format!("{trade}|231=9000000000000000000"));
    let named = RequestId { order: ORDER, version: 0 };
    assert_eq!(huge, [VenueEvent::Unreadable(Some(named))]);
    // Contracts of who knows how much; of nothing it does not matter.
    assert_eq!(line.hear(trade), [VenueEvent::Unreadable(Some(named))]);
    assert_eq!(line.report(&format!("{trade}|854=0")).last, Qty::whole(2));
    let nothing = line.report("35=8|11=USDC-1|41={7}|150=4|39=4|14=0|58=success");
    assert_eq!(nothing.total, Some(Qty::ZERO));
}

#[test]
fn refusals_name_the_order_and_what_was_refused() {
    let mut line = Line::up();
    line.create();
    let report = line.report("35=8|11=0|41={7}|150=8|39=8|103=99|58=not_enough_funds");
    assert_eq!((report.event, report.told), (Some(OrderEvent::Rejected), None));
    assert_eq!(report.reject, VenueReject::Balance);
    line.create();
    line.report(&working("success"));
    line.modify();
    // By the venue's name alone, or by both.
    for (text, kind, is_over, reject) in [
        (
            "35=9|41=USDC-1|39=0|434=2|58=price_too_high",
            Some(RequestKind::Modify),
            false,
            VenueReject::Price,
        ),
        (
            "35=9|11=USDC-1|41={7}|39=2|434=1|102=0|58=already_closed",
            Some(RequestKind::Cancel),
            true,
            VenueReject::TooLate,
        ),
        ("35=9|41={7}|58=not_open_order", None, false, VenueReject::TooLate),
    ] {
        let [VenueEvent::ChangeRefused(refused)] = line.hear(text)[..] else { panic!("{text}") };
        let request = Some(RequestId { order: ORDER, version: 0 });
        let expected = ChangeRefused { request, kind, is_over, reject, ..refused };
        assert_eq!(refused, expected, "{text}");
    }
    // The modify has its answer: the next report is a notification, whatever it says.
    let report = line.report(&working("success"));
    assert_eq!(report.event, Some(OrderEvent::Status(OrderState::Working)));
    let rejected = line.hear("35=3|45=12|372=D|373=5");
    assert_eq!(
        rejected,
        [VenueEvent::Refused { message: 12, named: None, reject: VenueReject::Other }]
    );
}

/// The report of the end comes first, and the refusal names the order as the venue does.
#[test]
fn a_refusal_of_a_cancel_that_crossed_the_end_of_its_order_is_its_answer() {
    let mut line = Line::up();
    line.create();
    line.report(&working("success"));
    assert_eq!(line.cancel(), "35=F|41=USDC-1|");
    line.report("35=8|527=9|11=USDC-1|41={7}|150=F|39=2|32=2|14=2|231=10");
    line.handler.over(ORDER);
    let heard = line.hear("35=9|41=USDC-1|39=2|102=0|434=1|58=already_closed");
    let [VenueEvent::ChangeRefused(refused)] = heard[..] else { panic!("{heard:?}") };
    assert_eq!(refused.request, Some(RequestId { order: ORDER, version: 0 }));
    assert_eq!((refused.kind, refused.is_over), (Some(RequestKind::Cancel), true));
}

#[test]
fn a_refused_replacement_is_no_refused_order() {
    let mut line = Line::up();
    line.create();
    line.report(&working("success"));
    line.modify();
    let refused = line.hear("35=8|11=0|41={7}|150=8|39=8|103=99|58=price_too_high");
    let request = Some(RequestId { order: ORDER, version: 0 });
    let (kind, told) = (Some(RequestKind::Modify), Some(OrderState::Rejected));
    let reject = VenueReject::Price;
    let expected = ChangeRefused { request, kind, told, is_over: true, venue_id: None, reject };
    assert_eq!(refused, [VenueEvent::ChangeRefused(expected)]);
    // It is still called what it was.
    assert_eq!(line.cancel(), "35=F|41=USDC-1|");
}

#[test]
fn the_question_about_all_ends_with_its_last_answer() {
    let mut line = Line::up();
    let asked = line.sent(|handler, _| handler.ask_all(NOW));
    assert_eq!(asked, "35=AF|584=1|585=7|");
    let answer = |rest: &str| format!("{}|584=1|{rest}", working("success"));
    let first = line.report(&answer("585=7|911=2"));
    assert_eq!(
        (first.of_all, first.event),
        (OfAll::One, Some(OrderEvent::Status(OrderState::Working)))
    );
    let [VenueEvent::Report(_), VenueEvent::AllTold] = line.hear(&answer("911=2"))[..] else {
        panic!("the last answer")
    };
    // There are none.
    line.sent(|handler, _| handler.ask_all(NOW));
    let nothing = line.hear("35=8|150=8|39=8|584=2|911=0");
    let [VenueEvent::Report(report), VenueEvent::AllTold] = nothing[..] else {
        panic!("{nothing:?}")
    };
    assert_eq!((report.request, report.of_all), (None, OfAll::Nothing));
    // An order that the venue does not know.
    for names in ["41={7}|584={7}", "584={7}"] {
        let report = line.report(&format!("35=8|{names}|150=8|39=8|58=order_not_found"));
        assert_eq!(report.event, Some(OrderEvent::NotFound));
        assert_eq!(report.request.map(|request| request.order), Some(ORDER));
    }
}

/// The whole session, over the simulated network: what it makes of orders is what FIX 4.4 makes.
#[test]
fn a_session_takes_an_order_through_its_life() {
    let segment = Segment::create("deribit", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = World::speaking(
        &segment,
        |_| {},
        folder.path(),
        |config| DeribitFix::new(config, &settings(true)).unwrap(),
    );
    world.pass(Nanos::from_millis(50));
    assert!(world.ends.orders.is_active());
    let id = ClientOrderId(1);
    let state = |world: &World<'_, DeribitFix>| {
        let order = world.ends.orders.table().get(id).unwrap();
        (order.state, order.terms.lots, order.version_accepted, order.pending().count())
    };
    let report = "|11=USDC-1|41={1}|54=1|55=AAPL|44=10|231=1|";
    let raw = |rest: &str| format!("raw 35=8{report}{rest}");
    world.step("order");
    assert_eq!(state(&world), (OrderState::Sent, Lots(10), 0, 1));
    world.step(&raw("150=I|39=0|38=10|14=0|151=10|58=success"));
    assert_eq!(state(&world), (OrderState::Working, Lots(10), 1, 0));
    world.step("modify 12");
    assert!(world.ends.venue.first_of("G").unwrap().contains("|41=USDC-1|"));
    world.step(&raw("150=I|39=0|38=12|14=0|151=12|58=success"));
    assert_eq!(state(&world), (OrderState::Working, Lots(12), 2, 0));
    world.step(&raw("150=F|39=1|38=12|32=4|31=10|14=4|151=8|527=E1"));
    world.step(&raw("150=I|39=1|38=12|14=4|6=10|151=8|58=notification"));
    assert_eq!(world.position(), 4);
    // Too high a price.
    world.step("modify 20");
    world.step("raw 35=9|11=USDC-1|41={1}|39=1|434=2|58=price_too_high");
    assert_eq!(state(&world), (OrderState::Working, Lots(12), 2, 0));
    world.step("cancel");
    assert!(world.ends.venue.first_of("F").unwrap().contains("|41=USDC-1|"));
    world.step("raw 35=8|11=USDC-1|41={1}|150=4|39=4|58=success");
    assert_eq!(state(&world), (OrderState::Cancelled, Lots(12), 2, 0));
    assert_eq!(world.ends.orders.table().answers().unanswered(), 0);
    assert!(world.ends.orders.handler.known.is_empty(), "it is over");
    let told = ["Accepted", "Replaced", "Filled", "ModifyRejected", "Cancelled"];
    assert_eq!(world.told(), told);
}

/// A session that is up with an order of ten lots, which the venue calls USDC-1.
fn world_with_an_order<'m>(segment: &'m Segment, folder: &Path) -> World<'m, DeribitFix> {
    let speaks = |config: &GatewayConfig| DeribitFix::new(config, &settings(true)).unwrap();
    let mut world = World::speaking(segment, |_| {}, folder, speaks);
    world.pass(Nanos::from_millis(50));
    world.step("order");
    world.step("raw 35=8|11=USDC-1|41={1}|150=I|39=0|38=10|14=0|151=10|231=1|58=success");
    world.step("mass silent");
    world
}

#[test]
fn a_notification_settles_no_request_that_was_lost() {
    let segment = Segment::create("deribit", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = world_with_an_order(&segment, folder.path());
    let exposure = |world: &World<'_, DeribitFix>| {
        world.ends.orders.table().get(ClientOrderId(1)).unwrap().lots_open_max()
    };
    world.step("modify 100");
    world.step("pass 3000");
    assert!(world.told().contains(&"Unknown".to_owned()), "{:?}", world.told());
    assert_eq!(exposure(&world), Lots(100));
    let stands = "35=8|11=USDC-1|41={1}|150=I|39=0|38=10|14=0|151=10|231=1";
    // It was under way before the venue saw the modify, which it may still grant.
    world.step(&format!("raw {stands}|58=notification"));
    assert_eq!(exposure(&world), Lots(100));
    assert_eq!(world.ends.orders.reports().statuses(), 0);
    world.step(&format!("raw {stands}|584=USDC-1|585=1"));
    assert_eq!((exposure(&world), world.ends.orders.reports().statuses()), (Lots(10), 1));
}

#[test]
fn a_refused_replacement_leaves_its_order_working_and_is_asked_about() {
    let segment = Segment::create("deribit", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = world_with_an_order(&segment, folder.path());
    world.step("modify 12");
    let questions = world.ends.venue.all_of("AF").count();
    world.step("raw 35=8|11=0|41={1}|150=8|39=8|103=99|58=price_too_high");
    let order = world.ends.orders.table().get(ClientOrderId(1)).unwrap();
    assert_eq!(
        (order.state, order.terms.lots, order.pending().count()),
        (OrderState::Working, Lots(10), 0)
    );
    assert_eq!(world.ends.venue.all_of("AF").count(), questions + 1);
    assert_eq!(world.told(), ["Accepted", "ModifyRejected"]);
}

#[test]
fn an_order_that_could_not_be_asked_about_is_asked_about_later() {
    let segment = Segment::create("deribit", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut world = world_with_an_order(&segment, folder.path());
    let orders = &mut world.ends.orders;
    assert!(orders.reconcile.is_over());
    // There is no session that takes the question.
    orders.handler.disconnected(NOW);
    orders.reconcile.want(ClientOrderId(1));
    world.pass(Nanos::from_millis(50));
    assert!(!world.ends.orders.reconcile.is_over());
}

#[test]
fn after_a_reconnect_the_venue_is_asked_by_its_own_name() {
    let segment = Segment::create("deribit", &Regions::LAYOUT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let speaks = |config: &GatewayConfig| DeribitFix::new(config, &settings(false)).unwrap();
    let mut world = World::speaking(&segment, |_| {}, folder.path(), speaks);
    world.pass(Nanos::from_millis(50));
    world.step("order");
    world.step("raw 35=8|11=USDC-1|41={1}|150=I|39=0|38=10|14=0|151=10|58=success");
    // The process is started again.
    drop(world);
    let mut world = World::speaking(&segment, |_| {}, folder.path(), speaks);
    world.step("mass er I 1 - 0 3 11=USDC-1|41={1}|584={id}|911=1|38=10|6=10|231=1");
    world.pass(Nanos::from_millis(50));
    assert!(world.ends.orders.is_active());
    assert_eq!(world.position(), 3);
    world.step("cancel");
    assert!(world.ends.venue.first_of("F").unwrap().contains("|41=USDC-1|"));
}

/// What a handler that is up says to a request about this instrument, and what it sent.
fn asked(
    handler: &mut DeribitFix,
    (instrument, seconds): (&Instrument, i64),
    request: impl FnOnce(&mut DeribitFix, Now, &OrderMessage<'_>) -> Result<(), NotSent>,
) -> (Result<(), NotSent>, String) {
    let now = Now { mono: NOW.mono + Nanos::from_secs(seconds), ..NOW };
    let (request_id, terms) = (RequestId::create(ORDER), terms());
    let order = OrderMessage { request: request_id, instrument, account: None, terms: &terms };
    let answer = request(handler, now, &order);
    let sent = readable(handler.unsent());
    handler.clear_unsent();
    (answer, sent)
}

#[test]
fn no_request_leaves_without_credits_and_some_of_them_are_kept_for_cancels() {
    let mut line = Line::up();
    let perpetual = perpetual();
    let at = |seconds| (&perpetual, seconds);
    let create =
        |it: &mut DeribitFix, now: Now, order: &OrderMessage<'_>| it.create(now, order, false);
    let cancel = |it: &mut DeribitFix, now: Now, order: &OrderMessage<'_>| {
        it.cancel(now, order.request, order)
    };
    let modify = |it: &mut DeribitFix, now: Now, order: &OrderMessage<'_>| {
        it.modify(now, order.request, order)
    };
    // Five a second, twenty at once, five of these for cancels.
    for _ in 0..15 {
        assert_eq!(asked(&mut line.handler, at(0), create).0, Ok(()));
    }
    for request in [create, modify] {
        let (answer, sent) = asked(&mut line.handler, at(0), request);
        assert!(matches!(answer, Err(NotSent::Throttled(_))), "{answer:?}");
        assert_eq!(sent, "");
    }
    for _ in 0..5 {
        assert_eq!(asked(&mut line.handler, at(0), cancel).0, Ok(()));
    }
    let Err(NotSent::Throttled(due)) = asked(&mut line.handler, at(0), cancel).0 else { panic!() };
    assert_eq!(due, NOW.mono + Nanos::from_millis(200));
    // A rehearsal takes none, and a question is paid otherwise.
    let rehearse =
        |it: &mut DeribitFix, now: Now, order: &OrderMessage<'_>| it.create(now, order, true);
    assert_eq!(asked(&mut line.handler, at(0), rehearse).0, Ok(()));
    assert_eq!(asked(&mut line.handler, at(0), DeribitFix::ask).0, Ok(()));
    assert_eq!(asked(&mut line.handler, at(4), create).0, Ok(()));
    // The venue has counted more than we have.
    let mut line = Line::up();
    line.hear("35=3|45=9|58=too_many_requests");
    for request in [create, DeribitFix::ask] {
        let (answer, _) = asked(&mut line.handler, at(0), request);
        assert!(matches!(answer, Err(NotSent::Throttled(_))), "{answer:?}");
    }
}

#[test]
fn a_price_that_is_on_no_step_of_the_venues_does_not_leave() {
    let mut steps = TickSteps::default();
    assert!(steps.push(Price(100_000_000_000), Price(2_500_000_000)));
    let told = VenueTerms { tick: Price(500_000_000), steps, lot: Qty::whole(10), is_open: true };
    let mut line = Line::up();
    line.handler.set_terms(InstrumentId(0), &told);
    let instrument = perpetual();
    let dollars = |tenths: i64| Price(tenths * 100_000_000);
    for (tenths, expected) in
        [(995, Ok(())), (1_000, Ok(())), (1_005, Err(NotSent::Filtered)), (1_025, Ok(()))]
    {
        let terms = OrderTerms { price: dollars(tenths), ..terms() };
        let request = RequestId::create(ORDER);
        let order = OrderMessage { request, instrument: &instrument, account: None, terms: &terms };
        assert_eq!(line.handler.create(NOW, &order, false), expected, "{tenths}");
        line.handler.clear_unsent();
        assert_eq!(line.handler.modify(NOW, request, &order), expected, "{tenths}");
        line.handler.clear_unsent();
    }
}

#[test]
fn an_option_is_traded_by_the_name_that_the_venue_has_for_it() {
    const NAME: &str = "BTC-25DEC26-100000-C";
    let settings = DeribitOrderSettings { names: vec![NAME.to_owned()], ..settings(true) };
    let symbol = Symbol::new(b"BTC-CALL").unwrap();
    let lot = Qty { mantissa: 1, decimals: 1 };
    let option = Instrument::new(InstrumentId(0), symbol, Price(100_000), lot).unwrap();
    let config = GatewayConfig { instruments: vec![option], ..config() };
    let mut line = Line::up();
    line.handler = DeribitFix::new(&config, &settings).unwrap();
    line.handler.connected(NOW, [7; 32], 0);
    line.handler.poll_transmit(NOW);
    line.handler.clear_unsent();
    line.next = 1;
    line.hear("35=A|98=0|108=30|141=Y");
    type Ask = fn(&mut DeribitFix, Now, &OrderMessage<'_>) -> Result<(), NotSent>;
    let requests: [Ask; 4] = [
        |it, now, order| it.create(now, order, false),
        |it, now, order| it.modify(now, order.request, order),
        |it, now, order| it.cancel(now, order.request, order),
        |it, now, order| it.ask(now, order),
    ];
    for request in requests {
        let (answer, sent) = asked(&mut line.handler, (&option, 0), request);
        assert_eq!(answer, Ok(()));
        assert!(sent.contains(&format!("|55={NAME}|")), "{sent}");
    }
    let names = vec!["N".repeat(40)];
    let refused = DeribitFix::new(&config, &DeribitOrderSettings { names, ..settings });
    assert_eq!(refused.err(), Some(GatewayError::InstrumentName));
}

#[test]
fn an_order_its_report_and_its_cancel_allocate_nothing() {
    let mut line = Line::up();
    let (instrument, terms, account) = (perpetual(), terms(), None);
    let request = RequestId::create(ORDER);
    let order = OrderMessage { request, instrument: &instrument, account, terms: &terms };
    let report = line.message("35=8|11=USDC-1|41={7}|150=I|39=0|38=10|14=0|151=10|58=success");
    let mut heard = 0;
    let measured = allocation_counter::measure(|| {
        line.handler.create(NOW, &order, false).unwrap();
        line.handler.clear_unsent();
        let mut bytes = &report[..];
        while line.handler.handle_bytes(NOW, &mut bytes).is_some() {
            heard += 1;
        }
        line.handler.cancel(NOW, request, &order).unwrap();
        line.handler.clear_unsent();
        line.handler.over(ORDER);
    });
    assert!(heard > 0);
    assert_eq!(measured.count_total, 0);
}
