//! What a message costs on the loop once it runs: no allocation, a wait, a receive and a send.

use taut_io::{Completion, EpollKernel, EventLoop, Io, Kernel, UringKernel, WaitStrategy};
use taut_net::{WsEvent, WsStream};
use taut_ws::{Event, Outbox};

use crate::rig::{End, PATIENCE, Rig, config};

/// Plays ping-pong; returns how many rounds were played.
fn play<K: Kernel>(
    events: &mut EventLoop<K>,
    near: &mut WsStream,
    far: &mut WsStream,
    rounds: u32,
) -> u32 {
    let mut played = 0;
    near.outbox().text("go").unwrap();
    near.flush(events.io());
    let mut handler = |io: &mut Io<K>, completion: Completion<'_>| {
        let mut echo = |outbox: &mut Outbox, event: WsEvent<'_>| {
            if let WsEvent::Session(Event::Text(text)) = event {
                outbox.text(text).unwrap();
            }
        };
        if far.handle(io, &completion, &mut echo) {
            return;
        }
        let mut is_over = false;
        near.handle(io, &completion, &mut |outbox, event| {
            if let WsEvent::Session(Event::Text(text)) = event {
                played += 1;
                is_over = played == rounds;
                if !is_over {
                    outbox.text(text).unwrap();
                }
            }
        });
        if is_over {
            io.stop();
        }
    };
    events.run_for(&mut handler, WaitStrategy::Block, PATIENCE).unwrap();
    played
}

fn holds<K: Kernel>(kernel: K) {
    let mut rig = Rig::new(kernel);
    let (End { ws: mut near, .. }, End { ws: mut far, .. }) = rig.pair(&config(), None);
    assert_eq!(play(&mut rig.events, &mut near, &mut far, 100), 100);
    let before = rig.events.io().calls();
    let counted = allocation_counter::measure(|| {
        assert_eq!(play(&mut rig.events, &mut near, &mut far, 1_000), 1_000);
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    let after = rig.events.io().calls();
    let calls = after.io - before.io;
    assert!(calls <= 3 * 2_000 + 10, "a wait, a receive, a send for each message: {calls}");
    // Messages of a server come unmasked: they are lent, not copied.
    let counters = near.counters();
    assert_eq!(counters.borrowed_messages, counters.messages_in);
}

#[test]
fn a_message_on_epoll_allocates_nothing_and_makes_three_calls() {
    match EpollKernel::new(16) {
        Ok(kernel) => holds(kernel),
        Err(error) => println!("skipped: {error}"),
    }
}

#[test]
fn a_message_on_io_uring_allocates_nothing_and_makes_three_calls() {
    match UringKernel::new(16) {
        Ok(kernel) => holds(kernel),
        Err(refused) => println!("skipped: {refused}"),
    }
}
