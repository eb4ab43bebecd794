//! Publishes quotes on any channel.
//!
//! usage: `publisher [URI [COUNT]]`

use std::error::Error;
use std::process::ExitCode;

use taut::channel::OfferError;
use taut::market_data::native::{Message, PACKET_BYTES_MAX, PacketHeader, PacketWriter};
use taut::market_data::{EventKind, LevelPlace, LevelUpdate};
use taut::prelude::*;
use taut::sys::monotonic;
use taut_examples::told;

/// How often a quote leaves.
const INTERVAL: Nanos = Nanos::from_millis(1);
/// How long subscribers may take to get the last of it.
const LINGER: Nanos = Nanos::from_secs(5);

fn main() -> ExitCode {
    told(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let uri: ChannelUri = arguments.next().as_deref().unwrap_or("ipc:quotes").parse()?;
    let count: u64 = arguments.next().as_deref().unwrap_or("1000").parse()?;

    let opening = Opening { now: monotonic(), ..Opening::default() };
    let mut publication = Publication::open(&uri, &opening)?;
    eprintln!("publishing on {uri}, waiting for a subscriber");
    let mut waiter = Waiter::new(WaitStrategy::Yield);
    while !publication.is_connected() {
        turn(&mut publication, &mut waiter);
    }

    let mut writer = PacketWriter::new([0; PACKET_BYTES_MAX]);
    let mut due = monotonic();
    let mut sent = 0;
    while sent < count {
        if monotonic() >= due {
            let bytes = quote(&mut writer, sent + 1)?;
            match publication.offer(monotonic(), bytes) {
                Ok(_position) => (sent, due) = (sent + 1, due + INTERVAL),
                // The message is still ours; `work` below makes room.
                Err(OfferError::BackPressured) => {}
                Err(error) => return Err(error.into()),
            }
        }
        turn(&mut publication, &mut waiter);
    }

    publication.close(monotonic());
    let until = monotonic() + LINGER;
    while publication.closing() != Closing::Closed && monotonic() < until {
        turn(&mut publication, &mut waiter);
    }
    println!("sent {sent} quotes, {:?}", publication.closing());
    Ok(())
}

/// What a program's own loop does whenever it comes round.
fn turn(publication: &mut Publication, waiter: &mut Waiter) {
    match publication.work(monotonic()) {
        0 => waiter.idle(monotonic(), publication.next_timeout(), |span| publication.block(span)),
        _ => waiter.worked(),
    }
}

/// A packet with one price level, encoded by the codec that is generated from taut's SBE schema.
fn quote(
    writer: &mut PacketWriter<[u8; PACKET_BYTES_MAX]>,
    number: u64,
) -> Result<&[u8], Box<dyn Error>> {
    let cents = 10_000 + (number % 100).cast_signed();
    let level = LevelUpdate {
        side: Side::Buy,
        price: Price(cents * (Price::SCALE / 100)),
        lots: Lots(5),
        order_count: 1,
        place: LevelPlace::ByPrice,
    };
    writer.begin(PacketHeader { sequence: SequenceNumber(number), ..PacketHeader::default() })?;
    writer.push(&Message::Event(InstrumentId(1), EventKind::Level(level)))?;
    Ok(writer.finish())
}
