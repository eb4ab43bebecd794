//! A loop on a kernel whose answers are written down, and the same loop on the tape.
#![forbid(unsafe_code)]

use std::net::{Ipv4Addr, SocketAddr};

use taut_io::{
    Admission, Completion, EpollKernel, EventLoop, Handle, Io, IoError, Kernel, LoopConfig,
    SimConfig, SimKernel, TapedKernel,
};
use taut_sys::tape::{self, Difference};
use taut_sys::{Address, DatagramOptions, StreamOptions, monotonic};
use taut_types::Nanos;

/// A listener that answers in capitals, a client that asks, and a datagram to itself, in one loop.
struct World<K: Kernel> {
    events: EventLoop<K>,
    peers: Peers,
}

#[derive(Default)]
struct Peers {
    client: Option<Handle>,
    datagrams: Option<Handle>,
    asked: u32,
    heard: Vec<String>,
}

const ROUNDS: u32 = 20;

impl<K: Kernel> World<K> {
    fn new(kernel: K) -> Self {
        let mut events = EventLoop::new(kernel, LoopConfig::default()).expect("a loop");
        let io = events.io();
        let at = Address::Inet(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let options = StreamOptions::default();
        let listener = io.listen(&at, &options, &Admission::OPEN).expect("a listener");
        let at_listener = io.local_address(listener).expect("its address");
        let deadline = Some(io.now() + Nanos::from_secs(5));
        let client = io.connect(&at_listener, &options, deadline).expect("a connection");
        let datagrams = io.datagram(&at, &DatagramOptions::default()).expect("a socket");
        io.receive(datagrams).expect("receiving");
        let to = io.local_address(datagrams).expect("its address").inet();
        io.send_to(datagrams, b"to myself", to.as_ref()).expect("sent");
        let peers = Peers { client: Some(client), datagrams: Some(datagrams), ..Peers::default() };
        Self { events, peers }
    }

    /// One turn; whether anything completed.
    fn turn(&mut self) -> bool {
        let Self { events, peers } = self;
        let mut handler = |io: &mut Io<K>, completion: Completion<'_>| peers.take(io, completion);
        events.poll(&mut handler).unwrap_or(0) > 0
    }

    fn is_over(&self) -> bool {
        self.peers.asked > ROUNDS && self.peers.heard.iter().any(|what| what.starts_with("myself"))
    }
}

impl Peers {
    /// A refused call is told, as a completion is.
    fn note(&mut self, called: Result<(), IoError>) {
        if let Err(error) = called {
            self.heard.push(format!("{error:?}"));
        }
    }

    fn ask<K: Kernel>(&mut self, io: &mut Io<K>, stream: Handle) {
        self.asked += 1;
        let question = format!("question {} at {}", self.asked, io.now().0 % 1_000);
        self.note(io.write(stream, question.as_bytes(), None));
    }

    fn take<K: Kernel>(&mut self, io: &mut Io<K>, completion: Completion<'_>) {
        match completion {
            Completion::Accepted { stream, .. } => self.note(io.receive(stream)),
            Completion::Connected { stream } => {
                self.note(io.receive(stream));
                self.ask(io, stream);
            }
            Completion::Received { stream, bytes } if self.client == Some(stream) => {
                self.heard.push(String::from_utf8_lossy(bytes).into_owned());
                self.ask(io, stream);
            }
            Completion::Received { stream, bytes } => {
                self.note(io.write(stream, &bytes.to_ascii_uppercase(), None));
            }
            Completion::Datagram { socket, bytes, info } => {
                let is_own = self.datagrams == Some(socket);
                self.heard.push(format!("myself: {is_own} {} {:?}", bytes.len(), info.from));
            }
            other => self.heard.push(format!("{other:?}")),
        }
    }
}

/// Runs a loop, and keeps its turns that did something.
fn written<K: Kernel>(kernel: K) -> (Vec<Vec<u8>>, Vec<String>) {
    let mut turns = Vec::new();
    tape::begin_writing(true);
    let mut world = World::new(TapedKernel::live(kernel));
    tape::end_writing(|heard, _| turns.push(heard.to_vec()));
    // The first turn that does nothing leaves the loop as those find it that do nothing behind it.
    let mut keeps = true;
    let deadline = monotonic() + Nanos::from_secs(60);
    while !world.is_over() {
        assert!(monotonic() < deadline, "all was not answered: {:?}", world.peers.heard);
        tape::begin_writing(keeps);
        let worked = world.turn();
        tape::end_writing(|heard, has_effect| {
            if keeps || worked || has_effect {
                turns.push(heard.to_vec());
            }
            keeps = worked || has_effect;
        });
    }
    (turns, world.peers.heard)
}

/// The same from the tape.
fn given(turns: &[Vec<u8>]) -> Result<Vec<String>, Difference> {
    let mut turns = turns.iter();
    tape::begin_reading(turns.next().expect("a turn"));
    let mut world = World::new(TapedKernel::<EpollKernel>::given());
    tape::end_reading()?;
    for turn in turns {
        tape::begin_reading(turn);
        world.turn();
        tape::end_reading()?;
    }
    Ok(world.peers.heard)
}

#[test]
fn a_loop_on_the_kernels_of_linux_and_of_the_simulation_is_done_again_from_the_tape() {
    for kernel in 0..3 {
        let (turns, heard) = match kernel {
            0 => written(EpollKernel::new(16).expect("a kernel")),
            _ => written(SimKernel::new(16, SimConfig { seed: kernel, ..SimConfig::default() })),
        };
        assert!(heard.len() as u32 >= ROUNDS, "{heard:?}");
        assert_eq!(given(&turns), Ok(heard), "kernel {kernel}");
    }
}

#[test]
fn a_cut_turn_is_a_difference_and_no_byte_of_one_is_a_panic() {
    let (turns, _) = written(SimKernel::new(16, SimConfig::default()));
    for turn in 1..turns.len() {
        let mut wrong = turns[..=turn].to_vec();
        wrong[turn].pop();
        assert!(given(&wrong).is_err(), "turn {turn} cut");
        for at in 0..turns[turn].len() {
            let mut wrong = turns[..=turn].to_vec();
            wrong[turn][at] ^= 0x55;
            // What arrived may be anything.
            let _ = given(&wrong);
        }
    }
}

#[test]
fn what_a_loop_sends_otherwise_is_the_difference() {
    let (mut turns, _) = written(SimKernel::new(16, SimConfig::default()));
    let asked = b"question 7";
    let sent = turns.iter_mut().find_map(|turn| {
        let at = turn.windows(asked.len()).position(|bytes| bytes == asked)?;
        turn.get_mut(at)
    });
    *sent.expect("the seventh question") = b'Q';
    let difference = given(&turns).expect_err("it is sent as it was");
    assert!(difference.recorded.contains("Question 7"), "{difference}");
    assert!(difference.now.contains("question 7"), "{difference}");
}
