//! `taut relay`: from one channel into another.

use clap::Args;
use serde_json::json;
use taut_channel::{OfferError, Opening, Publication, Relay, Subscription, Unheard, Waiter};
use taut_sys::{monotonic, stop_requests};
use taut_types::Nanos;

use crate::channel::arguments::{Thread, Wait, channel};
use crate::channel::counted::{Counted, Subscriber};
use crate::channel::failure;
use crate::exit::{Failure, catch_stop_signals};
use crate::terminal;

/// Pass messages on from one channel to another, until interrupted.
///
/// Nothing is changed, topics included. A message that finds no room at the far end waits at the
/// near one, which holds its publisher up where that channel does so. After a second in which
/// nothing moved it sleeps until something does, unless `--wait` is `spin` or `pause`. It ends at
/// Ctrl-C, and when it prints into a pipe whose reader is gone.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// The channel to take messages from
    #[arg(long, value_name = "URI")]
    from: String,
    /// The channel to offer them to
    #[arg(long, value_name = "URI")]
    to: String,
    /// Drop messages while nobody listens at the far end, and count them
    #[arg(long)]
    no_wait: bool,
    /// Leave topics out, for a far end that has none
    #[arg(long)]
    drop_topics: bool,
    /// End when the stream of the near end does
    #[arg(long)]
    once: bool,
    /// Seconds to wait at the end for slow subscribers
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    linger: f64,
    #[command(flatten)]
    thread: Thread,
    /// Report everything that both ends counted
    #[arg(long)]
    counters: bool,
    /// Print one line of JSON at the end
    #[arg(long)]
    json: bool,
}

/// Relays.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (from, to) = (channel(Some(&arguments.from))?, channel(Some(&arguments.to))?);
    if !(0.0..=86_400.0).contains(&arguments.linger) {
        let text = format!("--linger {}: must be 0 to 86400 seconds", arguments.linger);
        return Err(Failure::Usage(text));
    }
    catch_stop_signals()?;
    arguments.thread.apply()?;
    let opening = Opening { now: monotonic(), ..Opening::default() };
    let near = Subscription::open(&from, &opening);
    let near = near.map_err(|error| failure::opening(&from, &error))?;
    let far = Publication::open(&to, &opening);
    let far = far.map_err(|error| failure::opening(&to, &error))?;
    let unheard = if arguments.no_wait { Unheard::Drop } else { Unheard::Wait };
    let relay = Relay::new(near, far, unheard);
    let mut relay = if arguments.drop_topics { relay.without_topics() } else { relay };
    let begun = monotonic();
    pass_on(arguments, &mut relay)?;
    let (relayed, dropped) = (relay.relayed(), relay.dropped());
    let lost = relay.from().counters().lost;
    let back_pressured = relay.to().counters().back_pressured;
    let counted = [Counted(relay.from().counters()), Counted(relay.to().counters())];
    let subscribers = Subscriber::all(relay.to());
    let has_everything = relay.close(Nanos((arguments.linger * 1e9) as i64));
    let seconds = (monotonic() - begun).0 as f64 / 1e9;
    let line = if arguments.json {
        let mut report = json!({
            "from": from.to_string(), "to": to.to_string(), "relayed": relayed,
            "dropped": dropped, "lost": lost, "back_pressured": back_pressured,
            "seconds": seconds,
        });
        if arguments.counters {
            report["counters"] = json!({ "from": counted[0], "to": counted[1] });
            report["subscribers"] = json!(subscribers);
        }
        report.to_string()
    } else {
        let mut text = format!(
            "{from} to {to}: {relayed} relayed, {dropped} unheard, {lost} lost on the way in"
        );
        if arguments.counters {
            let [near, far] = counted;
            text = format!("{text}\n{from}:{near}\n{to}:{far}");
            subscribers.iter().for_each(|subscriber| text = format!("{text}\n{subscriber}"));
        }
        text
    };
    terminal::print(line)?;
    if has_everything {
        return Ok(());
    }
    Err(Failure::Run(format!("{to}: not everything arrived within --linger")))
}

/// After so long without a message a CPU is worth more than a few microseconds.
const QUIET: Nanos = Nanos::from_secs(1);
/// The sleep of a quiet relay, at most.
const NAP: Nanos = Nanos::from_millis(5);

/// Sleeps until something arrives, or in steps while a message waits for somebody to hear it.
fn nap(relay: &mut Relay) {
    if relay.is_waiting() {
        // PACE: a publication tells nobody that a subscriber has come.
        taut_sys::sleep(NAP);
    } else {
        relay.block(NAP);
    }
}

/// A message that can never be passed on.
fn failed(error: OfferError) -> Failure {
    let remedy = if error == OfferError::NoTopics { " with --drop-topics" } else { "" };
    Failure::Run(format!("{error}{remedy}"))
}

fn pass_on(arguments: &Arguments, relay: &mut Relay) -> Result<(), Failure> {
    let mut waiter = Waiter::new(arguments.thread.wait.strategy());
    let may_sleep = !matches!(arguments.thread.wait, Wait::Spin | Wait::Pause);
    let mut had_image = false;
    let mut moved = monotonic();
    let mut look_at = moved + QUIET;
    while stop_requests() == 0 {
        let now = monotonic();
        if relay.work(now).map_err(failed)? > 0 {
            waiter.worked();
            moved = now;
            continue;
        }
        if now >= look_at {
            look_at = now + QUIET;
            if terminal::is_abandoned() {
                break;
            }
        }
        while relay.from().poll_event().is_some() {}
        while relay.to().poll_event().is_some() {}
        let has_image = relay.from().image_count() > 0;
        if arguments.once && had_image && !has_image {
            break;
        }
        had_image |= has_image;
        if now - moved > QUIET && may_sleep {
            nap(relay);
        } else {
            waiter.idle(now, relay.next_timeout(), |span| relay.block(span));
        }
    }
    Ok(())
}
