//! Follows a book that `taut feed replay --publish` plays.
//!
//! usage: `follower [URI]`

use std::error::Error;
use std::process::ExitCode;

use taut::channel::Event;
use taut::market_data::native::Book;
use taut::prelude::*;
use taut::sys::monotonic;
use taut_examples::told;

/// Levels on each side: a recording's updates add levels far from the touch for ever.
const LEVELS: usize = 1 << 16;

fn main() -> ExitCode {
    told(run())
}

fn run() -> Result<(), Box<dyn Error>> {
    let uri: ChannelUri = std::env::args().nth(1).as_deref().unwrap_or("ipc:book").parse()?;
    let opening = Opening { now: monotonic(), ..Opening::default() };
    let mut subscription = Subscription::open(&uri, &opening)?;
    eprintln!("listening on {uri}");

    let mut book = Book::with_capacity(LEVELS);
    let mut waiter = Waiter::new(WaitStrategy::Block);
    let (mut packets, mut changes, mut malformed) = (0_u64, 0_u64, 0_u64);
    'feed: loop {
        let polled = subscription.poll(monotonic(), 64, |message| {
            packets += 1;
            match book.follow(message.payload) {
                // Here a strategy would look at the book, which is whole.
                Ok(has_changed) => changes += u64::from(has_changed),
                // It waits for the next snapshot.
                Err(_) => malformed += 1,
            }
        });
        while let Some(event) = subscription.poll_event() {
            if let Event::ImageUnavailable { .. } = event {
                break 'feed;
            }
        }
        match polled {
            0 => waiter.idle(monotonic(), subscription.next_timeout(), |span| {
                subscription.block(span);
            }),
            _ => waiter.worked(),
        }
    }
    let top = book.levels().top();
    let price = |level: Option<taut::book::Level>| {
        level.map_or_else(|| "nobody".to_owned(), |level| level.price.to_string())
    };
    let state = if book.is_sound() { "sound" } else { "not sound" };
    println!(
        "{packets} packets, {changes} changes, {} gaps, {malformed} malformed; the book is \
         {state}: bid {}, ask {}",
        book.gaps(),
        price(top.bid),
        price(top.ask)
    );
    Ok(())
}
