//! A venue that pings and brings no data, on virtual time.

use taut_io::{
    Admission, Completion, EventLoop, Handle, Io, LoopConfig, SimConfig, SimKernel, WaitStrategy,
};
use taut_market_data::Source;
use taut_net::{WsEvent, WsStream};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;
use taut_ws::{Connection, Event, KeepAlive, WsConfig};

use super::{FeedStreams, StreamAddress, Streams};

const SILENCE: Nanos = Nanos::from_secs(20);
/// From one look at what is due to the next.
const LOOK: Nanos = Nanos::from_millis(10);

/// A venue and its client on one loop.
struct World {
    listener: Handle,
    /// The venue's ends. It says a word on its first one, and pings on all.
    served: Vec<WsStream>,
    words: u32,
    pongs: u32,
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
            let often = KeepAlive { interval: Nanos::from_secs(1), timeout: Nanos::from_secs(90) };
            let config = WsConfig { keep_alive: Some(often), ..WsConfig::default() };
            let connection = Connection::server(&config, io.now()).expect("a connection");
            let served = WsStream::server(io, stream, None, connection).expect("a server");
            return self.served.push(served);
        }
        let (words, pongs) = (&mut self.words, &mut self.pongs);
        let mut hear = |outbox: &mut taut_ws::Outbox, event: WsEvent<'_>| match event {
            WsEvent::Session(Event::Requested(_)) => {
                outbox.accept(None, &[]).expect("an answer");
                if *words == 0 {
                    outbox.text("{}").expect("a frame");
                    *words += 1;
                }
            }
            WsEvent::Session(Event::Pong(_)) => *pongs += 1,
            _ => {}
        };
        for served in &mut self.served {
            if served.handle(io, completion, &mut hear) {
                return;
            }
        }
        self.client.handle(io, completion);
    }
}

#[test]
fn a_stream_without_data_is_given_up_though_the_venue_pings_and_the_one_for_answers_is_not() {
    let kernel = SimKernel::new(16, SimConfig::default());
    let config = LoopConfig { sources_max: 16, ..LoopConfig::default() };
    let mut events = EventLoop::new(kernel, config).expect("a loop");
    let io = events.io();
    let any = Address::Inet(([127, 0, 0, 1], 0).into());
    let options = StreamOptions::default();
    let listener = io.listen(&any, &options, &Admission::OPEN).expect("a listener");
    let Ok(Address::Inet(address)) = io.local_address(listener) else { panic!("an address") };
    let at = StreamAddress { address, url: format!("ws://{address}/") };
    let streams = FeedStreams {
        stream: at.clone(),
        snapshot: at,
        snapshot_requests: Vec::new(),
        silence: SILENCE,
        tls: None,
    };
    let start = io.now();
    io.timer_every(start + LOOK, LOOK, 0).expect("a timer");
    let client = Streams::new(streams, false);
    let (served, given_up) = (Vec::new(), Vec::new());
    let mut world = World { listener, served, words: 0, pongs: 0, client, given_up };
    let mut handler =
        |io: &mut Io<SimKernel>, completion: Completion<'_>| world.handle(io, &completion);
    let span = Nanos::from_secs(50);
    events.run_for(&mut handler, WaitStrategy::Block, span).expect("virtual time passes");

    assert!(world.pongs > 40, "the client lives: {} pongs", world.pongs);
    // The first time, and the connection after it; the one for answers has none to bring.
    let sources: Vec<Source> = world.given_up.iter().map(|(source, _)| *source).collect();
    assert_eq!(sources, [Source::LINE_A; 2]);
    assert_eq!(world.served.len(), 4, "two connections, and one anew after each silence");
    let mut since = start;
    for (_, at) in &world.given_up {
        let silent = at.since(since);
        assert!(silent >= SILENCE && silent < SILENCE + Nanos::from_secs(3), "{silent:?}");
        since = *at;
    }
}
