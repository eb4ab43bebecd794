//! Receives quotes from any channel.
//!
//! usage: `subscriber [URI]`

use std::error::Error;
use std::process::ExitCode;

use taut::channel::{Decoder, Event};
use taut::market_data::EventKind;
use taut::market_data::native::{Message, PacketReader};
use taut::prelude::*;
use taut::sys::monotonic;
use taut_examples::told;

/// Reads a packet; what is none is counted as malformed by the subscription.
struct Packets;

impl Decoder for Packets {
    type Message<'a> = PacketReader<'a>;

    fn decode<'a>(&self, bytes: &'a [u8]) -> Option<PacketReader<'a>> {
        PacketReader::new(bytes).ok()
    }
}

fn main() -> ExitCode {
    told(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let uri: ChannelUri = std::env::args().nth(1).as_deref().unwrap_or("ipc:quotes").parse()?;
    let opening = Opening { now: monotonic(), ..Opening::default() };
    let mut subscription = Subscription::open(&uri, &opening)?;
    eprintln!("listening on {uri}");

    let mut waiter = Waiter::new(WaitStrategy::Block);
    let (mut quotes, mut last_sequence, mut best) = (0_u64, SequenceNumber(0), None);
    'stream: loop {
        let polled = subscription.poll_typed(monotonic(), 64, &Packets, |packet, _message| {
            last_sequence = packet.header().sequence;
            for message in packet.messages() {
                if let Ok(Message::Event(_, EventKind::Level(level))) = message {
                    best = best.max(Some(level.price));
                    quotes += 1;
                }
            }
        });
        while let Some(event) = subscription.poll_event() {
            eprintln!("{event:?}");
            if let Event::ImageUnavailable { .. } = event {
                break 'stream;
            }
        }
        match polled {
            0 => waiter.idle(monotonic(), subscription.next_timeout(), |span| {
                subscription.block(span);
            }),
            _ => waiter.worked(),
        }
    }
    let best = best.map_or_else(String::new, |price| format!(", best bid {price}"));
    println!("received {quotes} quotes up to number {}{best}", last_sequence.0);
    Ok(())
}
