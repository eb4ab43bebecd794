//! Round trips: a message there, and the same one back.

use taut_channel::{ChannelUri, Opening, Subscription};
use taut_sys::stop_requests;
use taut_types::Nanos;

use super::arguments::Rate;
use super::finish;
use super::pace::Pace;
use super::report::Report;
use super::sender::{Attempt, Sender};
use crate::channel::failure;
use crate::channel::stamp::{Stamped, read};
use crate::exit::Failure;
use taut_report::Latency;

/// How long an answer may take before it counts as lost.
const PATIENCE: Nanos = Nanos::from_secs(1);

/// Pings, one at a time.
pub fn run(
    sender: &mut Sender<'_>,
    reply: &ChannelUri,
    opening: &Opening,
) -> Result<Report, Failure> {
    let opened = Subscription::open(reply, opening);
    let mut replies = opened.map_err(|error| failure::opening(reply, &error))?;
    sender.await_subscriber()?;
    while replies.image_count() == 0 && stop_requests() == 0 {
        replies.poll(sender.clock.now(), 1, |_| {});
        sender.duty();
        sender.progress.tell("waiting for the answering end");
    }
    let start = sender.clock.now();
    let pace = Pace::new(start, sender.arguments.rate);
    let (mut latency, mut unanswered, mut sequence) = (Latency::new(), 0, 0);
    while sequence < sender.arguments.count.unwrap_or(u64::MAX) && stop_requests() == 0 {
        let mut now = sender.clock.now();
        if pace.intended(sequence).is_some_and(|intended| now < intended) {
            wait(sender, &mut replies, now);
            continue;
        }
        let intended = match sender.arguments.rate {
            Rate::Max => now,
            Rate::Hz(_) => pace.intended(sequence).unwrap_or(now),
        };
        if sender.attempt(now, intended, sequence)? == Attempt::Full {
            sender.duty();
            continue;
        }
        sender.publication.work(now);
        let begun = now;
        let answered = loop {
            if poll(&mut replies, now, sequence) {
                break true;
            }
            if now - begun > PATIENCE || stop_requests() > 0 {
                break false;
            }
            wait(sender, &mut replies, now);
            now = sender.clock.now();
        };
        if answered {
            latency.record((sender.clock.now() - begun).0.unsigned_abs());
        } else {
            unanswered += 1;
        }
        sequence += 1;
        sender.progress.tell("pinging");
    }
    let seconds = (sender.clock.now() - start).0 as f64 / 1e9;
    finish::run(sender, sequence)?;
    replies.close(sender.clock.now());
    let report = Report::new(sender, sequence, seconds);
    Ok(Report { round_trip_ns: latency.spread(), unanswered: Some(unanswered), ..report })
}

/// Whether the answer to this ping came.
fn poll(replies: &mut Subscription, now: Nanos, sequence: u64) -> bool {
    let mut came = false;
    replies.poll(now, 16, |message| {
        let stamped = read(message.payload);
        came |= matches!(stamped, Some(Stamped::Message(stamp)) if stamp.sequence == sequence);
    });
    came
}

/// A round without an answer: the duty, and a wait on the replies.
fn wait(sender: &mut Sender<'_>, replies: &mut Subscription, now: Nanos) {
    if sender.publication.work(now) > 0 {
        sender.waiter.worked();
        return;
    }
    let next = [sender.publication.next_timeout(), replies.next_timeout()];
    let next = next.into_iter().flatten().min();
    sender.waiter.idle(now, next, |span| replies.block(span));
}
