//! A standby is what the venue is behind every input, and takes its place without a loss.

use std::collections::BTreeMap;

use taut_fix::{MemoryStore, Session};
use taut_testkit::{Draw, for_each_seed};
use taut_types::{InstrumentId, Nanos};

use crate::journal::Put;
use crate::tests::client::{Answer, Client};
use crate::tests::journaled::{START, ask, executions, image, lasting};
use crate::tests::many::{Listener, compare, crowd, many};
use crate::tests::rig::{Rig, drain};
use crate::{Flow, FolderLock, Followed, Standby, VenueConfig};

fn image_of(standby: &Standby) -> Vec<u8> {
    let mut put = Put::default();
    standby.put_exchange(&mut put);
    put.0
}

/// Two clients trade while their venue is killed again and again.
#[test]
fn a_standby_takes_the_place_of_a_venue_that_is_killed() {
    for_each_seed(0..2, |_, mut random| {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let (mut rig, _) = Rig::journaled(&lasting(), Flow::None, folder, START);
        let mut sessions: Vec<Option<Session<MemoryStore>>> =
            ["ALPHA", "BETA"].iter().map(|name| Some(Client::session(name, false))).collect();
        let (mut id, mut told) = (1, BTreeMap::<u64, Answer>::new());
        for takes in 1..=4 {
            let mut standby = rig.standby(&lasting(), Flow::None, folder);
            let mut clients: Vec<Client> = sessions
                .iter_mut()
                .map(|session| {
                    let session = session.take().expect("a session");
                    let mut client = Client::resume(rig.orders_at, session, rig.now);
                    rig.advance(Nanos::from_millis(2));
                    rig.until(&mut client, Client::is_logged_on);
                    client
                })
                .collect();
            for _ in 0..5 + random.below(120) {
                let which = random.below(2) as usize;
                ask(&mut random, &mut clients[which], rig.now, &mut id);
                if random.below(20) == 0 {
                    let is_halted = random.below(2) == 0;
                    let halted = rig.venue.set_halted(rig.now, InstrumentId(1), is_halted);
                    halted.expect("it is listed");
                }
                rig.advance(Nanos::from_micros(100));
                if random.below(3) == 0 {
                    rig.poll();
                }
                if random.below(4) == 0 {
                    let inputs_max = 1 + random.below(20);
                    let _ = standby.follow(rig.now, inputs_max).expect("right inputs");
                }
                if random.below(10) == 0 {
                    while standby.follow(rig.now, 64).expect("right inputs") != Followed::Level {}
                    assert!(image_of(&standby) == image(&mut rig.venue), "they differ");
                }
            }
            (0..3).for_each(|_| _ = rig.poll());
            clients.iter_mut().for_each(|client| client.pump(rig.now));
            let last = image(&mut rig.venue);
            for (client, session) in clients.into_iter().zip(&mut sessions) {
                for (exec_id, answer) in executions(&client) {
                    if let Some(before) = told.insert(exec_id, answer) {
                        assert_eq!(before, answer, "an execution is told as another one");
                    }
                }
                *session = Some(client.break_off(rig.now));
            }
            let (next, recovered) = rig.killed(standby, folder);
            rig = next;
            assert_eq!((recovered.starts, recovered.was_stopped), (takes, false));
            assert!(image(&mut rig.venue) == last, "what was taken over is something else");
        }
    });
}

#[test]
fn a_feed_goes_on_without_a_gap_when_a_standby_takes_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let config = VenueConfig { reset_on_logon: false, ..many(3) };
    let instruments = config.instruments.clone();
    let flow = |seed| crowd(seed, &[1, 2, 3], 10_000);
    let (mut rig, _) = Rig::journaled(&config, flow(1), folder, START);
    let mut listener = Listener::new(&rig, &instruments);
    for seed in 2..4 {
        let mut standby = rig.standby(&config, flow(seed), folder);
        rig.venue.start_flow(rig.now.mono);
        for _ in 0..300 {
            rig.tick();
            listener.listen(&rig);
            let _ = standby.follow(rig.now, 100).expect("right inputs");
        }
        assert_eq!(compare(&rig, &listener, &instruments), 3);
        // What is executed once more leaves nobody.
        let mut packets = 0;
        while standby.follow(rig.now, 100).expect("right inputs") != Followed::Level {}
        drain(&rig.incremental, |_| packets += 1);
        assert_eq!(packets, 0);
        assert!(standby.inputs() > 300);
        let (next, _) = rig.killed(standby, folder);
        rig = next;
        listener.ask_at(&rig);
    }
    rig.venue.start_flow(rig.now.mono);
    for _ in 0..300 {
        rig.tick();
        listener.listen(&rig);
    }
    assert_eq!(compare(&rig, &listener, &instruments), 3);
    let sequencer = listener.feed.arbiter().sequencer();
    assert_eq!(sequencer.lost(sequencer.last()), 0, "the feed has a hole");
}

#[test]
fn a_standby_does_not_take_the_place_of_a_venue_that_runs_or_was_started_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (rig, _) = Rig::journaled(&lasting(), Flow::None, folder, START);
    let standby = rig.standby(&lasting(), Flow::None, folder);
    FolderLock::take(folder).expect_err("the venue has it");
    assert!(!standby.is_left_behind().expect("a folder"));
    let (rig, _) = Rig::journaled_again(&lasting(), Flow::None, folder, rig);
    assert!(standby.is_left_behind().expect("a folder"), "its journal is another one");
    // What the first standby had made ahead is its own, while it is there.
    drop(standby);
    let next = rig.standby(&lasting(), Flow::None, folder);
    let (mut rig, recovered) = rig.killed(next, folder);
    assert_eq!(recovered.starts, 2);
    rig.poll();
}
