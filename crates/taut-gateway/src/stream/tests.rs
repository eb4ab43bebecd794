//! Venues that bring no data, or end every connection, on virtual time.

use std::net::SocketAddr;

use taut_io::{
    Admission, Completion, EventLoop, Handle, Io, LoopConfig, SimConfig, SimKernel, WaitStrategy,
};
use taut_market_data::{FeedRequest, Source};
use taut_net::{Proxy, WsEvent, WsStream};
use taut_sys::{Address, StreamOptions};
use taut_types::{InstrumentId, Nanos};
use taut_ws::{Connection, Event, KeepAlive, WsConfig};

use super::{FeedStreams, SnapshotLimits, StreamAddress, Streams, SymbolStreams};
use crate::through::Through;

const SILENCE: Nanos = Nanos::from_secs(20);
/// From one look at what is due to the next.
const LOOK: Nanos = Nanos::from_millis(10);

/// Where a client says who it is.
const KEY: &str = "X-MBX-APIKEY";

/// A venue and its client on one loop.
struct World {
    listener: Handle,
    /// Whether the venue ends each connection at once, and how many it has accepted.
    hangs_up: bool,
    accepted: u32,
    /// What a proxy on the way answers, where there is one; what it was asked for; the streams on
    /// which it was not asked yet, with a part of the question.
    proxy_answer: Option<&'static str>,
    tunnels: Vec<String>,
    unasked: Vec<(Handle, String)>,
    /// The venue's ends. It says a word on its first one, and pings on all.
    served: Vec<WsStream>,
    words: u32,
    pongs: u32,
    /// Who may be served, where not everybody may.
    key: Option<&'static str>,
    /// What was asked for by URLs, and what was said then.
    requested: Vec<String>,
    said: Vec<String>,
    /// Whether it answers what was said.
    answers: bool,
    client: Streams,
    /// What was given up, and when.
    given_up: Vec<(Source, Nanos)>,
}

impl World {
    fn handle(&mut self, io: &mut Io<SimKernel>, completion: &Completion<'_>) {
        if let Completion::Timer { .. } = completion {
            let given_up = self.client.handle_timeout(io);
            self.given_up.extend(given_up.map(|source| (source, io.now())));
        }
        if let Completion::Accepted { stream, listener, .. } = *completion
            && listener == self.listener
        {
            self.accepted += 1;
            if self.hangs_up {
                return io.close(stream).expect("closed");
            }
            if self.proxy_answer.is_some() {
                self.unasked.push((stream, String::new()));
                return io.receive(stream).expect("a stream");
            }
            return self.serve(io, stream);
        }
        if let Completion::Received { stream, bytes } = *completion
            && let Some(at) = self.unasked.iter().position(|(it, _)| *it == stream)
        {
            let (_, asked) = &mut self.unasked[at];
            asked.push_str(std::str::from_utf8(bytes).expect("text"));
            if !asked.ends_with("\r\n\r\n") {
                return;
            }
            let (_, asked) = self.unasked.swap_remove(at);
            self.tunnels.push(asked);
            let answer = self.proxy_answer.unwrap_or_default();
            io.write(stream, answer.as_bytes(), None).expect("room");
            if answer.contains(" 200 ") {
                self.serve(io, stream);
            }
            return;
        }
        let (words, pongs, answers, key) =
            (&mut self.words, &mut self.pongs, self.answers, self.key);
        let (requested, said) = (&mut self.requested, &mut self.said);
        let mut hear = |outbox: &mut taut_ws::Outbox, event: WsEvent<'_>| match event {
            WsEvent::Session(Event::Requested(it)) if key.is_some() && it.header(KEY) != key => {
                outbox.refuse(401, &[], "{\"code\":-2015}").expect("an answer");
            }
            WsEvent::Session(Event::Requested(request)) => {
                requested.push(request.path().to_owned());
                outbox.accept(None, &[]).expect("an answer");
                if *words == 0 {
                    outbox.text("{}").expect("a frame");
                    *words += 1;
                }
            }
            WsEvent::Session(Event::Pong(_)) => *pongs += 1,
            WsEvent::Session(Event::Text(text)) => {
                said.push(text.to_owned());
                if answers {
                    outbox.text("{\"result\":null,\"id\":1}").expect("a frame");
                }
            }
            _ => {}
        };
        for served in &mut self.served {
            if served.handle(io, completion, &mut hear) {
                return;
            }
        }
        self.client.handle(io, completion, Nanos::ZERO);
        for (_, frame) in self.client.frames() {
            assert!(!frame.starts_with(b"{\"result\""), "an answer is no data");
        }
    }

    fn serve(&mut self, io: &mut Io<SimKernel>, stream: Handle) {
        let often = KeepAlive { interval: Nanos::from_secs(1), timeout: Nanos::from_secs(90) };
        let config = WsConfig { keep_alive: Some(often), ..WsConfig::default() };
        let connection = Connection::server(&config, io.now()).expect("a connection");
        let served = WsStream::server(io, stream, None, connection).expect("a server");
        self.served.push(served);
    }
}

/// A venue and its client for so long; when it began.
fn run(hangs_up: bool, span: Nanos) -> (World, Nanos) {
    run_at(hangs_up, span, |address| (address, Vec::new()))
}

/// The same, where the venue's host has these addresses.
fn run_at(
    hangs_up: bool,
    span: Nanos,
    addresses: impl FnOnce(SocketAddr) -> (SocketAddr, Vec<SocketAddr>),
) -> (World, Nanos) {
    let kernel = SimKernel::new(16, SimConfig::default());
    let config = LoopConfig { sources_max: 16, ..LoopConfig::default() };
    let mut events = EventLoop::new(kernel, config).expect("a loop");
    let (mut world, start, _) = open(events.io(), hangs_up, addresses);
    let mut handler =
        |io: &mut Io<SimKernel>, completion: Completion<'_>| world.handle(io, &completion);
    events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");
    (world, start)
}

/// A listening venue, where it is, and its client, who believes it at these addresses.
fn open(
    io: &mut Io<SimKernel>,
    hangs_up: bool,
    addresses: impl FnOnce(SocketAddr) -> (SocketAddr, Vec<SocketAddr>),
) -> (World, Nanos, SocketAddr) {
    let any = Address::Inet(([127, 0, 0, 1], 0).into());
    let options = StreamOptions::default();
    let listener = io.listen(&any, &options, &Admission::OPEN).expect("a listener");
    let Ok(Address::Inet(address)) = io.local_address(listener) else { panic!("an address") };
    let url = format!("ws://{address}/");
    let (first, others) = addresses(address);
    let at = StreamAddress { others, ..StreamAddress::new(first, url) };
    let streams = FeedStreams {
        stream: at.clone(),
        snapshot: at,
        figures: None,
        snapshot_requests: Vec::new(),
        books: vec!["btcusdt@depth".to_owned()],
        snapshot_limits: SnapshotLimits::of_levels(100),
        symbols: Some(SymbolStreams {
            streams: vec!["{name}@depth".to_owned(), "{name}@trade".to_owned()],
            snapshot_request: "{\"id\":{id},\"symbol\":\"{name}\"}".to_owned(),
        }),
        silence: SILENCE,
        renewed_after: FeedStreams::RENEWED_AFTER,
        tls: None,
    };
    let start = io.now();
    io.timer_every(start + LOOK, LOOK, 0).expect("a timer");
    let world = World {
        listener,
        hangs_up,
        accepted: 0,
        proxy_answer: None,
        tunnels: Vec::new(),
        unasked: Vec::new(),
        served: Vec::new(),
        words: 0,
        pongs: 0,
        key: None,
        requested: Vec::new(),
        said: Vec::new(),
        answers: true,
        client: Streams::new(streams, false),
        given_up: Vec::new(),
    };
    (world, start, address)
}

#[test]
fn a_stream_without_data_is_given_up_though_the_venue_pings_and_the_one_for_answers_is_not() {
    let (world, start) = run(false, Nanos::from_secs(50));
    assert!(world.pongs > 40, "the client lives: {} pongs", world.pongs);
    // The first time, and the connection after it; the one for answers has none to bring.
    let sources: Vec<Source> = world.given_up.iter().map(|(source, _)| *source).collect();
    assert_eq!(sources, [Source::LINE_A; 2]);
    assert_eq!(world.accepted, 4, "two connections, and one anew after each silence");
    let mut since = start;
    for (_, at) in &world.given_up {
        let silent = at.since(since);
        assert!(silent >= SILENCE && silent < SILENCE + Nanos::from_secs(3), "{silent:?}");
        since = *at;
    }
}

#[test]
fn figures_have_a_connection_of_their_own_that_may_be_silent_for_longer() {
    let kernel = SimKernel::new(16, SimConfig::default());
    let config = LoopConfig { sources_max: 16, ..LoopConfig::default() };
    let mut events = EventLoop::new(kernel, config).expect("a loop");
    let (mut world, ..) = open(events.io(), false, |address| (address, Vec::new()));
    let mut streams = world.client.config.clone();
    let at = streams.stream.clone();
    streams.figures = Some(StreamAddress { url: format!("{}figures", at.url), ..at });
    world.client = Streams::new(streams, false);
    let mut handler =
        |io: &mut Io<SimKernel>, completion: Completion<'_>| world.handle(io, &completion);
    let span = Nanos::from_secs(35);
    events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");
    let sources: Vec<Source> = world.given_up.iter().map(|(source, _)| *source).collect();
    assert_eq!(sources, [Source::LINE_A, Source::FIGURES]);
    assert_eq!(world.accepted, 5, "three connections, and two anew");
}

/// A venue behind a proxy that answers so, for three seconds.
fn run_through(proxy_answer: &'static str) -> World {
    let kernel = SimKernel::new(16, SimConfig::default());
    let config = LoopConfig { sources_max: 16, ..LoopConfig::default() };
    let mut events = EventLoop::new(kernel, config).expect("a loop");
    let (mut world, ..) = open(events.io(), false, |address| (address, Vec::new()));
    let mut streams = world.client.config.clone();
    let proxy = Proxy::parse("http://proxy.test").and_then(|it| it.with_user("me", "word"));
    let (host, port) = ("venue.test".to_owned(), 443);
    let through = Some(Through { proxy: proxy.expect("a proxy"), host, port });
    (streams.stream.through, streams.snapshot.through) = (through.clone(), through);
    (world.client, world.proxy_answer) = (Streams::new(streams, false), Some(proxy_answer));
    let mut handler =
        |io: &mut Io<SimKernel>, completion: Completion<'_>| world.handle(io, &completion);
    let span = Nanos::from_secs(3);
    events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");
    world
}

#[test]
fn every_connection_goes_through_the_proxy_which_is_asked_for_the_venue() {
    let world = run_through("HTTP/1.1 200 Connection established\r\n\r\n");
    assert_eq!((world.requested.len(), world.tunnels.len()), (2, 2), "the stream and its answers");
    for asked in &world.tunnels {
        assert!(asked.starts_with("CONNECT venue.test:443 HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains("\r\nProxy-Authorization: Basic bWU6d29yZA==\r\n"), "{asked}");
    }
    assert_eq!(world.client.last_refusal(), "");
}

#[test]
fn a_proxy_that_leads_nowhere_is_named_with_what_it_says() {
    let world = run_through("HTTP/1.1 407 Who are you?\r\n\r\n");
    assert!(world.requested.is_empty() && world.tunnels.len() > 2, "tried again");
    let said = world.client.last_refusal();
    assert!(said.starts_with("no way through the proxy: ") && said.contains("407"), "{said}");
}

#[test]
fn a_venue_that_ends_every_connection_is_called_ever_more_rarely() {
    let (world, _) = run(true, Nanos::from_secs(300));
    let accepted = world.accepted;
    assert!((40..=120).contains(&accepted), "of 300 in five minutes: {accepted}");
}

#[test]
fn each_attempt_goes_to_the_next_address_of_the_host() {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let (world, _) = run_at(false, Nanos::from_secs(10), |address| (nobody, vec![address, nobody]));
    assert_eq!(world.accepted, 2, "both connections, at the second address");
    assert_eq!(world.given_up, []);
}

#[test]
fn a_host_that_moved_is_tried_where_it_is_now() {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let (world, _) = run_moving(Nanos::from_secs(10), nobody);
    assert_eq!(world.accepted, 2, "both connections, once the address is known");
}

/// A venue whose client believes it elsewhere, and hears of its address after a second.
fn run_moving(span: Nanos, elsewhere: SocketAddr) -> (World, Nanos) {
    let kernel = SimKernel::new(16, SimConfig::default());
    let config = LoopConfig { sources_max: 16, ..LoopConfig::default() };
    let mut events = EventLoop::new(kernel, config).expect("a loop");
    let (mut world, start, address) = open(events.io(), false, |_| (elsewhere, Vec::new()));
    let mut handler =
        |io: &mut Io<SimKernel>, completion: Completion<'_>| world.handle(io, &completion);
    let second = Nanos::from_secs(1);
    events.run_for(&mut handler, WaitStrategy::Block, second).expect("virtual time passes");
    assert_eq!(world.accepted, 0);
    for source in [Source::LINE_A, Source::SNAPSHOT] {
        world.client.set_addresses(source, &[address]);
    }
    let mut handler =
        |io: &mut Io<SimKernel>, completion: Completion<'_>| world.handle(io, &completion);
    events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");
    (world, start)
}

#[test]
fn a_venue_that_wants_a_key_is_shown_it_in_the_handshake() {
    for (headers, serves) in [
        (vec![(KEY.to_owned(), "mine".to_owned())], true),
        (vec![(KEY.to_owned(), "another".to_owned())], false),
        (Vec::new(), false),
    ] {
        let kernel = SimKernel::new(16, SimConfig::default());
        let config = LoopConfig { sources_max: 16, ..LoopConfig::default() };
        let mut events = EventLoop::new(kernel, config).expect("a loop");
        let (mut world, ..) = open(events.io(), false, |address| (address, Vec::new()));
        world.key = Some("mine");
        world.client.config.stream.headers.clone_from(&headers);
        world.client.config.snapshot.headers.clone_from(&headers);
        let mut handler =
            |io: &mut Io<SimKernel>, completion: Completion<'_>| world.handle(io, &completion);
        let span = Nanos::from_secs(10);
        events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");
        let said = if serves { "" } else { "HTTP 401 Unauthorized {\"code\":-2015}" };
        assert_eq!((world.words > 0, world.client.last_refusal()), (serves, said), "{headers:?}");
        assert_eq!(world.client.disconnects() == 0, serves);
    }
}

#[test]
fn a_symbol_that_is_added_is_asked_for_on_the_stream_that_stands_and_in_the_next_ones_url() {
    for answers in [true, false] {
        let kernel = SimKernel::new(16, SimConfig::default());
        let config = LoopConfig { sources_max: 16, ..LoopConfig::default() };
        let mut events = EventLoop::new(kernel, config).expect("a loop");
        let (mut world, ..) = open(events.io(), false, |address| (address, Vec::new()));
        world.answers = answers;
        let pass = |events: &mut EventLoop<SimKernel>, world: &mut World, span| {
            let mut handler =
                |io: &mut Io<SimKernel>, completion: Completion<'_>| world.handle(io, &completion);
            events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");
        };
        pass(&mut events, &mut world, Nanos::from_secs(1));
        assert!(world.client.takes_instruments());
        assert!(!world.client.add_instrument(events.io(), "ETHUSDT"));
        pass(&mut events, &mut world, Nanos::from_secs(9));
        let params = r#""params":["ethusdt@depth","ethusdt@trade"]"#;
        assert_eq!(world.said, [format!(r#"{{"method":"SUBSCRIBE",{params},"id":1}}"#)]);
        assert_eq!((world.accepted, world.given_up.len()), (2, 0));
        // One that does not answer is left sooner than one that brings no data.
        pass(&mut events, &mut world, Nanos::from_secs(5));
        assert_eq!(world.given_up.len(), usize::from(!answers));
        if answers {
            // The books of both are quiet; of a third nobody knows.
            for at in 0..3 {
                let request = FeedRequest::Channel(InstrumentId(at));
                assert!(world.client.ask(events.io(), request));
            }
            pass(&mut events, &mut world, Nanos::from_secs(5));
            let method = |text: &String| text.split('"').nth(3).map(str::to_owned);
            let methods: Vec<_> = world.said.drain(1..).filter_map(|it| method(&it)).collect();
            assert_eq!(methods, ["UNSUBSCRIBE", "SUBSCRIBE", "UNSUBSCRIBE", "SUBSCRIBE"]);
            assert_eq!(world.client.counters().resubscribed, 2);
        }
        pass(&mut events, &mut world, Nanos::from_secs(25));
        let (_, later) = world.requested.split_at(2);
        assert!(!later.is_empty() && later.iter().all(|it| it.ends_with("/ethusdt@trade")));
        assert_eq!(world.said.len(), 1, "it is in the URL");
        assert_eq!(world.client.counters().refused, 0);
    }
}
