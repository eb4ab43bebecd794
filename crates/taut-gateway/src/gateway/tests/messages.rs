//! A third venue: orders as messages of a WebSocket, in a language of a few words that nobody else
//! speaks. It is written here alone, as a venue's handler would be.

use std::collections::VecDeque;

use taut_fix::{LongText, Now};
use taut_io::Admission;
use taut_net::{WsEvent, WsStream};
use taut_oms::{ExecId, OrderEvent, OrderState, VenueReject};
use taut_sys::StreamOptions;
use taut_types::RequestId;
use taut_ws::{CloseCode, Connection, Event as WsSaid, WsConfig};

use super::*;
use crate::config::Transport;
use crate::order_entry::handler::{
    Capabilities, Framing, NotSent, OrderHandler, OrderMessage, VenueEvent, VenueReport,
};

/// What the venue understands and says, all of it words with spaces between them:
///
/// | ours | the venue's |
/// |---|---|
/// | hello | welcome |
/// | new MESSAGE REQUEST QTY | has REQUEST, refused MESSAGE |
/// | cancel MESSAGE REQUEST BASE | ended REQUEST |
/// | where MESSAGE REQUEST | stands REQUEST TOTAL |
/// | | traded REQUEST EXECUTION QTY TOTAL |
#[derive(Debug, Default)]
struct Words {
    waiting: VecDeque<String>,
    messages: u64,
    is_up: bool,
}

impl Words {
    fn say(&mut self, verb: &str, names: &str) -> Result<(), NotSent> {
        if !self.is_up {
            return Err(NotSent::NotUp);
        }
        self.messages += 1;
        self.waiting.push_back(format!("{verb} {} {names}", self.messages));
        Ok(())
    }
}

fn name(request: RequestId) -> String {
    String::from_utf8(request.to_text().to_vec()).unwrap()
}

impl OrderHandler for Words {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            framing: Framing::Messages,
            tells_all: false,
            tells_positions: false,
            name_bytes_max: 16,
        }
    }

    fn connected(&mut self, _: Now, _: [u8; 32], _: u32) {
        self.waiting.push_back("hello".to_owned());
    }

    fn disconnected(&mut self, _: Now) {
        self.waiting.clear();
        self.is_up = false;
    }

    fn log_out(&mut self, _: Now) {}

    fn is_up(&self) -> bool {
        self.is_up
    }

    fn create(
        &mut self,
        _: Now,
        order: &OrderMessage<'_>,
        is_rehearsal: bool,
    ) -> Result<(), NotSent> {
        let qty = order.instrument.qty(order.terms.lots).map_err(|_| NotSent::NotUp)?;
        if is_rehearsal {
            Ok(())
        } else {
            self.say("new", &format!("{} {qty}", name(order.request)))
        }
    }

    fn modify(&mut self, _: Now, _: RequestId, _: &OrderMessage<'_>) -> Result<(), NotSent> {
        Err(NotSent::NotUp)
    }

    fn cancel(&mut self, _: Now, base: RequestId, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.say("cancel", &format!("{} {}", name(order.request), name(base)))
    }

    fn ask(&mut self, _: Now, order: &OrderMessage<'_>) -> Result<(), NotSent> {
        self.say("where", &name(order.request))
    }

    fn ask_all(&mut self, _: Now) -> Result<(), NotSent> {
        Err(NotSent::NotUp)
    }

    fn last_message(&self) -> u64 {
        self.messages
    }

    fn handle_bytes(&mut self, _: Now, bytes: &mut &[u8]) -> Option<VenueEvent> {
        let message = std::str::from_utf8(std::mem::take(bytes)).ok()?;
        let words: Vec<_> = message.split(' ').collect();
        let qty = |text: &str| Qty::parse(text.as_bytes()).ok();
        let of = |request: &str, event| VenueReport {
            request: RequestId::from_text(request.as_bytes()),
            event: Some(event),
            venue_id: LongText::new(b"V1"),
            ..VenueReport::NOTHING
        };
        let report = match words[..] {
            ["welcome"] => {
                self.is_up = true;
                return Some(VenueEvent::LoggedOn);
            }
            ["refused", message] => {
                let message = message.parse().ok()?;
                return Some(VenueEvent::Refused {
                    message,
                    named: None,
                    reject: VenueReject::Limit,
                });
            }
            ["has", request] => of(request, OrderEvent::Accepted),
            ["ended", request] => of(request, OrderEvent::Cancelled),
            ["stands", request, total] => VenueReport {
                is_answer: true,
                total: qty(total),
                average: Some(PRICE),
                ..of(request, OrderEvent::Status(OrderState::Working))
            },
            ["traded", request, execution, last, total] => VenueReport {
                last: qty(last)?,
                price: Some(PRICE),
                total: qty(total),
                exec_id: ExecId::new(execution.as_bytes()),
                ..of(request, OrderEvent::Traded)
            },
            _ => return None,
        };
        Some(VenueEvent::Report(report))
    }

    fn handle_timeout(&mut self, _: Now) -> Option<VenueEvent> {
        None
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        None
    }

    fn poll_transmit(&mut self, _: Now) -> &[u8] {
        self.unsent()
    }

    fn unsent(&self) -> &[u8] {
        self.waiting.front().map_or(&[], String::as_bytes)
    }

    fn clear_unsent(&mut self) {
        self.waiting.pop_front();
    }
}

/// The venue, at the gateway's own loop. It answers an order with `has`, a question with `stands`.
#[derive(Default)]
struct Server {
    listener: Option<Handle>,
    ws: Option<WsStream>,
    heard: Vec<String>,
    /// What has traded of the order.
    total: u64,
    /// Connections that were made.
    accepted: u32,
    /// The status that a handshake is refused with, and its `Retry-After`.
    refuses: Option<(u16, Option<&'static str>)>,
}

impl Server {
    fn say(&mut self, io: &mut Io<impl Kernel>, text: &str) {
        let ws = self.ws.as_mut().unwrap();
        ws.outbox().text(text).unwrap();
        ws.flush(io);
    }

    fn all_of(&self, verb: &str) -> Vec<&String> {
        self.heard.iter().filter(|text| text.starts_with(verb)).collect()
    }
}

impl Observer for Server {
    fn on_start(&mut self, io: &mut Io<impl Kernel>, _: &Clock) -> Result<(), GatewayError> {
        let address = Address::Inet(ADDRESS.parse().unwrap());
        self.listener = io.listen(&address, &StreamOptions::default(), &Admission::OPEN).ok();
        Ok(())
    }

    fn on_completion(
        &mut self,
        io: &mut Io<impl Kernel>,
        completion: &Completion<'_>,
    ) -> Result<(), GatewayError> {
        if let Completion::Accepted { listener, stream, .. } = *completion
            && self.listener == Some(listener)
        {
            let connection = Connection::server(&WsConfig::default(), io.now()).unwrap();
            self.ws = WsStream::server(io, stream, None, connection).ok();
            self.accepted += 1;
            return Ok(());
        }
        let Self { ws: Some(ws), heard, total, refuses, .. } = self else { return Ok(()) };
        let mut is_gone = false;
        ws.handle(io, completion, &mut |outbox, event| match event {
            WsEvent::Session(WsSaid::Requested(_)) => match *refuses {
                Some((status, after)) => {
                    let headers = after.map(|seconds| ("Retry-After", seconds));
                    outbox.refuse(status, headers.as_slice(), "later").unwrap();
                }
                None => outbox.accept(None, &[]).unwrap(),
            },
            WsEvent::Session(WsSaid::Text(text)) => {
                heard.push(text.to_owned());
                let words: Vec<_> = text.split(' ').collect();
                let answer = match words[..] {
                    ["hello"] => "welcome".to_owned(),
                    ["new", _, request, _] => format!("has {request}"),
                    ["where", _, request] => format!("stands {request} {total}"),
                    _ => return,
                };
                outbox.text(&answer).unwrap();
            }
            WsEvent::Session(_) => {}
            WsEvent::Gone(_) => is_gone = true,
        });
        if is_gone {
            self.ws = None;
        }
        Ok(())
    }
}

struct World<'m> {
    gateway: Gateway<'m, Hub<'m>, Standing, SimKernel, Server, Words>,
    runner: StrategyRunner<'m, Once>,
}

impl World<'_> {
    fn pass(&mut self, span: Nanos) {
        let end = self.gateway.events.io().now() + span;
        while self.gateway.events.io().now() < end {
            let Gateway { events, core, .. } = &mut self.gateway;
            events.wait(core, Nanos::from_millis(1)).unwrap();
            let now = events.io().now();
            core.clock = clock_at(now);
            self.gateway.poll().unwrap();
            self.gateway.housekeeping().unwrap();
            while self.runner.poll(&clock_at(now)) {}
        }
    }

    fn say(&mut self, text: &str) {
        let Gateway { events, core, .. } = &mut self.gateway;
        core.observer.say(events.io(), text);
        self.pass(Nanos::from_millis(5));
    }

    fn state(&self) -> (OrderState, i64, u64) {
        let order = self.gateway.order_table().get(self.runner.strategy().sent.unwrap()).unwrap();
        let answers = self.gateway.order_table().answers();
        (order.state, order.traded.lots.0, answers.unanswered())
    }
}

/// A gateway at this venue, some time after its start.
fn with_world(server: Server, act: impl FnOnce(&mut World<'_>)) {
    let segment = Segment::create("taut-test", &Regions::LAYOUT).unwrap();
    let own = Segment::create("taut-test", &StrategyRegions::LAYOUT).unwrap();
    let (regions, own) = (Regions::of(&segment).unwrap(), StrategyRegions::of(&own).unwrap());
    let mut hub = Hub::new(&regions).unwrap();
    let slot = hub.add_slot(&own, None).unwrap();
    assert!(hub.attach(slot, Owner::default()));
    let runner = StrategyRunner::new(&regions, &own, None, Once::default()).unwrap();
    let url = format!("ws://{ADDRESS}/orders");
    let mut config = config();
    config.session.transport = Transport::WebSocket { url, tls: None };
    let sim = SimConfig { is_partial: false, window_bytes: 1 << 20, ..SimConfig::default() };
    let (kernel, clock) = (SimKernel::new(16, sim), clock_at(Nanos::ZERO));
    let (input, handlers) = (FeedInput::HandedOver, (Standing::default(), Words::default()));
    let gateway =
        Gateway::with_handlers(kernel, &config, clock, input, handlers, hub, &regions).unwrap();
    let gateway = gateway.with_observer(server).unwrap();
    let mut world = World { gateway, runner };
    world.pass(Nanos::from_millis(50));
    act(&mut world);
}

/// The venue is not called again before so many seconds are over, and then it is.
fn assert_is_left_alone(world: &mut World<'_>, seconds: i64, why: &str) {
    let accepted = world.gateway.core.observer.accepted;
    world.pass(Nanos::from_secs(seconds) - Nanos::from_millis(100));
    assert_eq!(world.gateway.core.observer.accepted, accepted, "{why}: called too early");
    world.pass(Nanos::from_secs(3));
    assert!(world.gateway.core.observer.accepted > accepted, "{why}: not called again");
}

#[test]
fn a_venue_that_refuses_the_handshake_is_left_alone_for_as_long_as_it_says() {
    for (status, after, seconds) in [(429, Some("30"), 30), (503, Some("5"), 5), (503, None, 10)] {
        let server = Server { refuses: Some((status, after)), ..Server::default() };
        with_world(server, |world| {
            let why = format!("{status} {after:?}");
            assert_is_left_alone(world, seconds, &why);
            // Once it takes connections again the session is up.
            world.gateway.core.observer.refuses = None;
            world.pass(Nanos::from_secs(seconds + 3));
            assert!(world.gateway.core.orders.is_active(), "{why}");
        });
    }
}

#[test]
fn a_venue_that_ends_the_session_until_later_is_left_alone() {
    with_world(Server::default(), |world| {
        assert!(world.gateway.core.orders.is_active());
        let Gateway { events, core, .. } = &mut world.gateway;
        let (io, ws) = (events.io(), core.observer.ws.as_mut().unwrap());
        ws.outbox().close(io.now(), Some(CloseCode::TRY_LATER), "maintenance").unwrap();
        ws.flush(io);
        assert_is_left_alone(world, 10, "1013");
        assert!(world.gateway.core.orders.is_active());
    });
}

#[test]
fn a_venue_of_messages_over_a_websocket_needs_nothing_but_its_handler() {
    with_world(Server::default(), one_order_and_its_end);
}

fn one_order_and_its_end(world: &mut World<'_>) {
    assert!(world.gateway.core.orders.is_active());
    let id = world.runner.strategy().sent.unwrap();
    let request = name(RequestId::create(id));
    assert_eq!(
        world.gateway.core.observer.heard,
        ["hello".to_owned(), format!("new 1 {request} 10")]
    );
    assert_eq!(world.state(), (OrderState::Working, 0, 0));
    world.say(&format!("traded {request} E1 4 4"));
    assert_eq!(world.state(), (OrderState::Working, 4, 0));
    // A request that is refused by its number.
    world.gateway.cancel_all(&Default::default()).unwrap();
    world.pass(Nanos::from_millis(5));
    assert_eq!(world.gateway.core.observer.all_of("cancel").len(), 1);
    world.say("refused 2");
    assert_eq!(world.gateway.counters().rejected_limit, 1);
    assert_eq!(world.state(), (OrderState::Working, 4, 0));
    // The connection breaks while a cancel is under way, and three more trade meanwhile.
    world.gateway.cancel_all(&Default::default()).unwrap();
    world.pass(Nanos::from_millis(5));
    let Gateway { events, core, .. } = &mut world.gateway;
    core.observer.total = 7;
    core.observer.ws.take().unwrap().abort(events.io());
    world.pass(Nanos::from_secs(3));
    assert!(world.gateway.core.orders.is_active());
    assert_eq!(world.gateway.core.orders.disconnects(), 1);
    // It was asked about the order alone, as it cannot be about all; nothing was sent twice.
    let server = &world.gateway.core.observer;
    assert_eq!((server.all_of("where").len(), server.all_of("new").len()), (1, 1));
    assert_eq!(world.state(), (OrderState::Working, 7, 0));
    assert_eq!(world.gateway.position(InstrumentId(0)), Lots(7));
    world.say(&format!("ended {request}"));
    assert_eq!(world.state(), (OrderState::Cancelled, 7, 0));
}
