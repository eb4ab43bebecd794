//! The venue follows a recording: its top of the book, after each step, beside the exchange's own.
#![forbid(unsafe_code)]

use std::path::Path;

use taut_tests::alignment::{TopState, align, distinct, parse_orderbook};
use taut_tests::data::{self, shared};
use taut_tests::setup::{feed, open_venue, venue_config};
use taut_types::{Nanos, TimeInForce};
use taut_venue::flow::{FlowCommand, FlowEvent, LobsterFlow};
use taut_venue::{Flow, Now, Speed, VenueConfig};

fn replay(recording: &LobsterFlow) -> Vec<(usize, TopState)> {
    // Nobody listens to the feed, but the sockets stay open.
    let (output, _sockets) = feed();
    let config = VenueConfig { flow_commands_per_poll: 1, ..venue_config() };
    let flow = Flow::recorded(recording.clone(), Speed::Max);
    let (mut venue, _) = open_venue(&config, flow, output);
    let now = Now { mono: Nanos::from_secs(1), utc: Nanos::from_secs(1) };
    venue.start_flow(now.mono);
    let mut tops: Vec<(usize, TopState)> = Vec::new();
    for event in recording.events() {
        let before = venue.counters();
        venue.poll(now).expect("the venue goes on");
        let after = venue.counters();
        if let FlowEvent::Command(command) = event.event {
            assert_eq!(after.flow_commands, before.flow_commands + 1);
            let taker = matches!(
                command,
                FlowCommand::New { time_in_force: TimeInForce::ImmediateOrCancel, .. }
            );
            // One execution, one trade: the taker hit the order that the row names, in full.
            assert_eq!(after.trades - before.trades, u64::from(taker), "line {}", event.line);
        }
        if let Some(state) = TopState::of(&venue.book().top()) {
            match tops.last_mut() {
                Some((line, last)) if *line == event.line => *last = state,
                _ => tops.push((event.line, state)),
            }
        }
    }
    assert!(venue.flow_finished());
    assert_eq!(venue.counters().flow_rejects, 0);
    tops
}

fn truth(path: &Path) -> Vec<TopState> {
    parse_orderbook(&std::fs::read_to_string(path).expect("a readable file"))
}

#[test]
fn the_first_hour_of_apple_follows_the_recording() {
    let (Some(messages), Some(orderbook)) = (shared(data::MESSAGES), shared(data::ORDERBOOK))
    else {
        return;
    };
    let recording = LobsterFlow::read(&messages).expect("a right file");
    let tops = replay(&recording);
    let ours = distinct(tops.iter().map(|&(_, s)| s));
    let truth = distinct(truth(&orderbook));
    let alignment = align(&ours, &truth);
    println!("{} {} {}", ours.len(), alignment.matched.len(), alignment.truth_only.len());
    for &i in &alignment.ours_only {
        println!("ours {i} {:?} prev {:?}", ours[i], ours[i - 1]);
    }
    for &i in &alignment.truth_only {
        println!("truth {i} {:?} ", truth[i]);
    }
}
