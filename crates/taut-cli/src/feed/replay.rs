//! `taut feed replay`: frames through the decoder and the book, at their pace or at full speed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use taut_book::Level;
use taut_channel::ChannelUri;
use taut_market_data::binance::{BinanceJson, DepthBook, FrameKind};
use taut_market_data::{Context, Event};
use taut_recording::capture::{Capture, Frame};
use taut_sys::{monotonic, stop_requests};
use taut_types::{DECIMAL_BYTES_MAX, Nanos, format_decimal};

use super::pace::{Pace, Speed, parse_speed};
use super::publish::{Published, Publisher};
use crate::exit::{Failure, catch_stop_signals};
use crate::progress::Progress;
use crate::terminal;
use taut_report::{Conditions, Latency, Watch};

/// The arguments of `taut feed replay`.
#[derive(Args, Debug)]
pub struct Replay {
    /// Whose frames they are
    #[arg(long)]
    format: Format,
    /// A capture: one frame a line after its receive time in nanoseconds; gzip or plain
    #[arg(long)]
    capture: PathBuf,
    /// How fast: 1 as it was received, 2 twice as fast, or max for as fast as it goes
    #[arg(long, default_value = "max", value_parser = parse_speed)]
    speed: Speed,
    /// Publish the book's levels and the trades as taut's own market data on this channel, for
    /// example ipc:NAME: one datagram a message, each a packet of SBE messages with a number, and
    /// every second of the recording a snapshot in packets of its own numbers. A follower that
    /// applies all of it has the book (`taut::market_data::native::Book`). Given twice, the same
    /// packets go out on both channels: line A, then line B, for a subscriber that arbitrates
    #[arg(long, value_name = "CHANNEL")]
    publish: Vec<ChannelUri>,
    /// With --publish: begin when every channel has a subscriber
    #[arg(long, requires = "publish")]
    await_subscriber: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Binance,
}

/// Levels a side: updates add levels far from the touch for ever.
const LEVELS_MAX: usize = 1 << 16;
/// Updates that can wait for a snapshot.
const UPDATES_KEPT_MAX: usize = 1 << 14;

const KINDS: [(FrameKind, &str); 7] = [
    (FrameKind::Depth, "depth"),
    (FrameKind::BestLevels, "best_levels"),
    (FrameKind::Snapshot, "snapshot"),
    (FrameKind::BookTicker, "book_ticker"),
    (FrameKind::Trade, "trade"),
    (FrameKind::Status, "status"),
    (FrameKind::Other, "other"),
];

/// A replay: what it has, and what it counts.
struct Player {
    decoder: BinanceJson,
    book: DepthBook,
    publisher: Option<Publisher>,
    frames: u64,
    events: u64,
    kinds: [u64; KINDS.len()],
    /// From the frame to the updated book, of the frames that update it.
    frame_to_book: Latency,
}

/// Plays a recording.
///
/// # Errors
/// [`Failure`]: a capture or a channel that cannot be used, or a publication that broke.
pub fn run(replay: &Replay) -> Result<(), Failure> {
    let Format::Binance = replay.format;
    let capture = Capture::read(&replay.capture).map_err(Failure::usage)?;
    catch_stop_signals()?;
    let publisher = match &replay.publish[..] {
        [] => None,
        channels => Some(Publisher::open(channels, replay.await_subscriber, LEVELS_MAX)?),
    };
    let mut player = Player {
        decoder: BinanceJson::default(),
        book: DepthBook::new(LEVELS_MAX, UPDATES_KEPT_MAX),
        publisher,
        frames: 0,
        events: 0,
        kinds: [0; KINDS.len()],
        frame_to_book: Latency::new(),
    };
    let watch = Watch::start();
    let start = monotonic();
    player.play(&capture, replay.speed)?;
    let span = monotonic().since(start);
    let published = player.publisher.take().map(Publisher::finish);
    player.tell(span, published, &watch.finish(), replay.json)
}

impl Player {
    fn play(&mut self, capture: &Capture, speed: Speed) -> Result<(), Failure> {
        let mut progress = Progress::start();
        let mut pace = Pace::new(speed);
        for frame in capture.frames() {
            let Frame { line, received, bytes } = frame.map_err(Failure::usage)?;
            if !pace.wait_for(received) {
                break;
            }
            self.frame(received, bytes).map_err(|error| match error {
                Failed::Frame(error) => Failure::usage(capture.error(line, error)),
                Failed::Publication(failure) => failure,
            })?;
            if self.frames.is_multiple_of(1_024) {
                progress.tell(&format!("{} frames", self.frames));
                if stop_requests() > 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    fn frame(&mut self, received: Nanos, frame: &[u8]) -> Result<(), Failed> {
        let Self { decoder, book, publisher, events, .. } = self;
        let mut is_updated = false;
        let mut published = Ok(());
        let start = monotonic();
        let mut sink = |context: &Context<'_>, event: &Event| {
            *events += 1;
            if let Some(publisher) = publisher {
                publisher.before(event, book);
            }
            book.on_event(context, event, &mut |_| is_updated = true);
            if let Some(publisher) = publisher
                && published.is_ok()
            {
                published = publisher.on_event(context, event, book);
            }
        };
        let kind = decoder.decode(received, frame, &mut sink).map_err(Failed::Frame)?;
        let span = monotonic().since(start);
        published.map_err(Failed::Publication)?;
        if is_updated && publisher.is_none() {
            self.frame_to_book.record(span.0.unsigned_abs());
        }
        if let Some(publisher) = publisher
            && !book.is_stale()
        {
            publisher.snapshot_if_due(received).map_err(Failed::Publication)?;
        }
        self.frames += 1;
        for ((of, _), count) in KINDS.iter().zip(&mut self.kinds) {
            *count += u64::from(*of == kind);
        }
        Ok(())
    }

    fn tell(
        &mut self,
        span: Nanos,
        published: Option<Published>,
        conditions: &Conditions,
        json: bool,
    ) -> Result<(), Failure> {
        if json {
            let mut told = self.json(span, published);
            told["conditions"] = json!(conditions);
            return terminal::print(told);
        }
        let counters = self.book.counters();
        let state = if self.book.is_stale() { "stale" } else { "sound" };
        terminal::print(format_args!(
            "{} frames, {} events in {:.3} s; {} book updates, {} gaps, the book is {state}",
            self.frames,
            self.events,
            seconds(span),
            counters.applied,
            counters.gaps,
        ))?;
        for ((_, name), count) in KINDS.iter().zip(self.kinds).filter(|(_, count)| *count > 0) {
            terminal::print(format_args!("{count:>10} {name}"))?;
        }
        let top = self.book.book().top();
        let show = |level: Option<Level>| {
            level.map_or("nobody".to_owned(), |l| format!("{} x {}", l.price, lots(l.lots.0)))
        };
        terminal::print(format_args!("bid {}, ask {}", show(top.bid), show(top.ask)))?;
        if let Some(Published { packets, snapshots, unheard }) = published {
            terminal::print(format_args!(
                "published {packets} packets, {snapshots} snapshots among them; {unheard} unheard"
            ))?;
        } else {
            let spread = self.frame_to_book.spread().unwrap_or_default();
            terminal::print(format_args!("frame to book: {}", spread.line()))?;
        }
        terminal::print(format_args!("conditions: {conditions}"))
    }

    fn json(&mut self, span: Nanos, published: Option<Published>) -> Value {
        let counters = self.book.counters();
        let book = self.book.book();
        let side = |level: Option<Level>| {
            level.map(|level| json!([level.price.to_string(), lots(level.lots.0)]))
        };
        let kinds = KINDS.iter().zip(self.kinds).map(|((_, name), n)| (*name, json!(n)));
        json!({
            "format": "binance",
            "frames": self.frames,
            "kinds": kinds.collect::<std::collections::BTreeMap<_, _>>(),
            "events": self.events,
            "seconds": seconds(span),
            "interrupted": stop_requests() > 0,
            "book": {
                "is_stale": self.book.is_stale(),
                "updates": counters.applied,
                "outdated": counters.outdated,
                "gaps": counters.gaps,
                "snapshots": counters.snapshots,
                "bid": side(book.top().bid),
                "ask": side(book.top().ask),
                "levels": taut_types::Side::BOTH.map(|of| book.level_count(of)),
            },
            "frame_to_book_ns": self.frame_to_book.spread(),
            "published": published.map(|published| json!({
                "packets": published.packets,
                "snapshots": published.snapshots,
                "unheard": published.unheard,
            })),
        })
    }
}

/// What went wrong with a frame.
enum Failed {
    Frame(taut_market_data::MarketDataError),
    Publication(Failure),
}

fn seconds(span: Nanos) -> f64 {
    span.0 as f64 / 1e9
}

fn lots(mantissa: i64) -> String {
    let mut text = [0; DECIMAL_BYTES_MAX];
    let len = format_decimal(mantissa, BinanceJson::SIZE_DECIMALS, &mut text);
    String::from_utf8_lossy(&text[..len]).into_owned()
}
