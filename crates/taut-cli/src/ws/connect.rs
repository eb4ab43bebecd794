//! `taut ws connect`: a client that prints what it hears, and how fast it comes.

use clap::Args;
use serde::Serialize;
use taut_io::{Completion, EpollKernel, Io, WaitStrategy};
use taut_net::WsClient;
use taut_types::Nanos;
use taut_ws::{CloseCode, Closed, Event, Outbox};

use crate::event_loop;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::terminal::{print, print_json, tell};
use crate::ws::dial::{Asked, Dial, Options, SOURCES};
use crate::ws::words;
use taut_report::{Latency, Spread};

/// How long the server may take to answer our close frame.
const PATIENCE: Nanos = Nanos::from_secs(2);

/// The arguments of `taut ws connect`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// ws://HOST[:PORT][/PATH], or wss://.
    url: String,
    /// A header of the request, as 'Name: value'; several times for several.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    /// A subprotocol to offer, the best first; several times for several.
    #[arg(long, value_name = "NAME")]
    protocol: Vec<String>,
    /// Follow so many redirections (301, 302, 307, 308); none leads from wss:// to ws://, and
    /// headers do not go along to another host.
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(..=20))]
    redirects: u8,
    /// A text to send once it is open, such as a subscription; several times for several.
    #[arg(long, value_name = "TEXT")]
    subscribe: Vec<String>,
    /// End after so many messages.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// End after so many seconds.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: Option<u32>,
    /// Print one JSON object at the end, and no messages.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    options: Options,
}

/// What was heard.
#[derive(Debug, Serialize)]
struct Report<'a> {
    url: &'a str,
    messages: u64,
    bytes: u64,
    text_messages: u64,
    pings: u64,
    /// The subprotocol that the server chose.
    protocol: Option<&'a str>,
    /// Whether both sides agreed on compression.
    compression: bool,
    /// Of the messages that came compressed: how many, and their bytes on the way.
    compressed_messages: u64,
    compressed_bytes: u64,
    /// From the first message to the last.
    seconds: f64,
    msgs_per_s: f64,
    bytes_per_s: f64,
    /// Between two messages that arrived one after the other, by the loop's clock.
    gap_ns: Option<Spread>,
    end: &'a str,
}

/// Connects, listens, closes.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let asked = Asked {
        headers: &arguments.header,
        protocols: &arguments.protocol,
        redirects_max: arguments.redirects,
    };
    let dial = Dial::new(&arguments.url, &asked, &arguments.options)?;
    let mut events = event_loop::open(SOURCES)?;
    let mut client = dial.start(events.io())?;
    let mut run = Run::new(arguments);
    let mut failure = None;
    let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
        let now = io.now();
        let mut hear = |outbox: &mut Outbox, event: Event<'_>| run.hear(now, outbox, &event);
        if let Err(fault) = client.handle(io, &completion, &mut hear) {
            failure.get_or_insert(dial.failure(fault));
        }
        run.look(&mut client);
        if failure.is_some() || client.is_over() || run.is_done(io, &mut client) {
            io.stop();
        }
    };
    event_loop::run(&mut events, &mut handler, WaitStrategy::Block)?;
    run.finish(client.url(), failure)
}

struct Run<'a> {
    arguments: &'a Arguments,
    progress: Progress,
    heard: Heard,
    /// When the time that was asked for is over.
    until: Option<Nanos>,
    /// We have closed; the run ends then in any case.
    leaves: Option<Nanos>,
    is_open: bool,
    end: Option<Result<String, String>>,
    /// The stream ended without a word: why it did says more.
    is_cut: bool,
    cannot: Option<String>,
}

#[derive(Default)]
struct Heard {
    messages: u64,
    bytes: u64,
    texts: u64,
    pings: u64,
    protocol: Option<String>,
    is_compressed: bool,
    compressed_messages: u64,
    compressed_bytes: u64,
    first: Option<Nanos>,
    last: Option<Nanos>,
    gaps: Option<Latency>,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a Arguments) -> Self {
        let heard = Heard { gaps: Some(Latency::new()), ..Heard::default() };
        let progress = Progress::start();
        Self {
            arguments,
            progress,
            heard,
            until: None,
            leaves: None,
            is_open: false,
            end: None,
            is_cut: false,
            cannot: None,
        }
    }

    fn hear(&mut self, now: Nanos, outbox: &mut Outbox, event: &Event<'_>) {
        match *event {
            Event::Opened(response) => {
                self.heard.protocol = response.protocol().map(str::to_owned);
                self.heard.is_compressed = response.deflate().is_some();
                self.open(now, outbox);
            }
            Event::Text(text) => self.message(now, text.as_bytes(), Some(text)),
            Event::Binary(bytes) => self.message(now, bytes, None),
            Event::Ping(_) => self.heard.pings += 1,
            Event::Closed(Closed::Cut) if !self.is_open => {
                self.is_cut = true;
                let remedy = "is the scheme (ws or wss) the right one?";
                let words = format!("the stream ended within the opening handshake; {remedy}");
                self.end = Some(Err(words));
            }
            Event::Closed(Closed::HandshakeTimeout) => {
                let words = "no answer to the opening handshake in time; raise --patience";
                self.end = Some(Err(words.to_owned()));
            }
            Event::Closed(closed) => {
                self.is_cut = matches!(closed, Closed::Cut);
                let is_ours = self.leaves.is_some() && matches!(closed, Closed::Agreed(_));
                let end = words::end(&closed);
                self.end = Some(if is_ours { Ok(end.unwrap_or_else(|words| words)) } else { end });
            }
            _ => {}
        }
    }

    fn open(&mut self, now: Nanos, outbox: &mut Outbox) {
        self.is_open = true;
        let seconds = self.arguments.seconds;
        self.until = seconds.map(|seconds| now + Nanos::from_secs(i64::from(seconds)));
        for text in &self.arguments.subscribe {
            if let Err(error) = outbox.text(text) {
                self.cannot.get_or_insert(format!("--subscribe {text:?}: {error}"));
            }
        }
    }

    /// What the connection counts by itself.
    fn look(&mut self, client: &mut WsClient) {
        if let Some(ws) = client.ws() {
            let counters = ws.counters();
            self.heard.compressed_messages = counters.compressed_messages_in;
            self.heard.compressed_bytes = counters.compressed_bytes_in;
        }
    }

    fn message(&mut self, now: Nanos, bytes: &[u8], text: Option<&str>) {
        let heard = &mut self.heard;
        if self.arguments.count.is_some_and(|count| heard.messages >= count) {
            return;
        }
        heard.messages += 1;
        heard.bytes += bytes.len() as u64;
        heard.texts += u64::from(text.is_some());
        heard.first.get_or_insert(now);
        if let (Some(last), Some(gaps)) = (heard.last.replace(now), &mut heard.gaps) {
            gaps.record((now - last).0.unsigned_abs());
        }
        if self.arguments.json {
            return self.progress.tell_at(now, &format!("{} messages", heard.messages));
        }
        let printed = match text {
            Some(text) => print(text),
            None => print(format_args!("{} bytes: {}", bytes.len(), bytes.escape_ascii())),
        };
        if let Err(error) = printed {
            self.cannot.get_or_insert(format!("{error}"));
        }
    }

    /// Closes when it has heard enough; true when there is nothing more to wait for.
    fn is_done(&mut self, io: &mut Io<EpollKernel>, client: &mut WsClient) -> bool {
        let is_stopped = taut_sys::stop_requests() > 0;
        if self.end.is_some() && !self.is_open {
            // No WebSocket came about, and nothing of its end is waited for.
            return true;
        }
        let Some(ws) = client.ws() else { return is_stopped };
        let has_all = self.arguments.count.is_some_and(|count| self.heard.messages >= count);
        let is_late = self.until.is_some_and(|until| io.now() >= until);
        if self.leaves.is_none() && (has_all || is_late || is_stopped || self.cannot.is_some()) {
            self.leaves = Some(io.now() + PATIENCE);
            if ws.close(io, CloseCode::NORMAL, "").is_err() && self.end.is_none() {
                return true;
            }
        }
        self.leaves.is_some_and(|until| io.now() >= until)
    }

    fn finish(mut self, url: &str, failure: Option<Failure>) -> Result<(), Failure> {
        let heard = &mut self.heard;
        let span = match (heard.first, heard.last) {
            (Some(first), Some(last)) => (last - first).0 as f64 / 1e9,
            _ => 0.0,
        };
        let rate = |count: u64| if span > 0.0 { (count as f64 / span).round() } else { 0.0 };
        let end = match &self.end {
            Some(Ok(words) | Err(words)) => words,
            None => "not answered",
        };
        let report = Report {
            url,
            messages: heard.messages,
            bytes: heard.bytes,
            text_messages: heard.texts,
            pings: heard.pings,
            protocol: heard.protocol.as_deref(),
            compression: heard.is_compressed,
            compressed_messages: heard.compressed_messages,
            compressed_bytes: heard.compressed_bytes,
            seconds: span,
            msgs_per_s: rate(heard.messages.saturating_sub(1)),
            bytes_per_s: rate(heard.bytes),
            gap_ns: heard.gaps.as_mut().and_then(Latency::spread),
            end,
        };
        if self.arguments.json {
            print_json(&report)?;
        } else if self.is_open {
            tell_people(&report);
        }
        // What the server said of the end says more than how its stream went down.
        let end = self.end.filter(|_| failure.is_none() || !self.is_cut);
        let words = match (self.cannot, end, failure) {
            (Some(words), ..) | (None, Some(Err(words)), _) => words,
            (None, Some(Ok(_)), _) => return Ok(()),
            (None, None, Some(failure)) => return Err(failure),
            (None, None, None) if self.leaves.is_some() => return Ok(()),
            (None, None, None) if taut_sys::stop_requests() > 0 => return Ok(()),
            (None, None, None) => String::from("the stream ended"),
        };
        Err(Failure::Run(format!("{url}: {words}")))
    }
}

fn tell_people(report: &Report<'_>) {
    let Report { messages, bytes, seconds, msgs_per_s: rate, end, .. } = report;
    tell(format_args!(
        "{messages} messages, {bytes} bytes in {seconds:.3} s, {rate} a second; {end}"
    ));
    if report.compressed_messages > 0 {
        let Report { compressed_messages, compressed_bytes, .. } = report;
        tell(format_args!(
            "{compressed_messages} of them came compressed, in {compressed_bytes} bytes"
        ));
    }
    if let Some(gaps) = &report.gap_ns {
        tell(format_args!("gaps: {}", gaps.line()));
    }
}
