//! Two sessions over a link that loses messages, splits bytes and breaks, against a model: every
//! order arrives once and in its place, and no number ever goes back.
//!
//! The bytes of `input` are the operations. A fuzz target of `fuzz/` includes this file.

use taut_fix::{
    BeginString, CompId, Event, Extras, FieldIndex, MemoryStore, Now, Role, Session, SessionConfig,
    Store,
};
use taut_types::Nanos;

/// A message of these sessions is shorter.
const MESSAGE_BYTES_MAX: usize = 512;
/// Operations of one run, at the most.
const STEPS_MAX: usize = 200;
/// So often they may answer each other.
const ROUNDS_MAX: usize = 1000;

/// One side, and what the model knows of it.
struct Side {
    session: Session<MemoryStore>,
    index: FieldIndex,
    /// Received and not handled.
    input: Vec<u8>,
    /// On the way to the other side.
    link: Vec<u8>,
    /// The next message gets lost on the way.
    loses_next: bool,
    /// Orders that were given a number here, and that came from the other side.
    sent: u64,
    arrived: u64,
    numbers: (u64, u64),
}

impl Side {
    fn new(role: Role, kind: u8) -> Self {
        let name = |text: &[u8]| CompId::new(text).expect("a name");
        let (us, them) = match role {
            Role::Initiator => (name(b"NEAR"), name(b"FAR")),
            Role::Acceptor => (name(b"FAR"), name(b"NEAR")),
        };
        let mut config = SessionConfig::new(role, BeginString::Fix44, us, them);
        config.message_bytes_max = MESSAGE_BYTES_MAX;
        // As the drivers do it: there is room for one message at least.
        config.held_bytes = MESSAGE_BYTES_MAX << (kind % 8);
        // What is refused for its age counts as received, and a link here may take minutes.
        config.sending_time_tolerance = Nanos::ZERO;
        config.resend_chunk = u64::from(kind >> 3 & 3);
        config.next_expected = kind & 32 != 0;
        config.last_processed = kind & 64 != 0;
        let session = Session::new(config, MemoryStore::new(256, 32 * 1024));
        Self {
            session,
            index: FieldIndex::with_capacity(64),
            input: Vec::new(),
            link: Vec::new(),
            loses_next: false,
            sent: 0,
            arrived: 0,
            numbers: (1, 1),
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        if !core::mem::take(&mut self.loses_next) {
            self.link.extend_from_slice(bytes);
        }
    }

    fn send(&mut self, now: Now) {
        let mut out = [0; MESSAGE_BYTES_MAX];
        let id = self.sent + 1;
        let made = self.session.send(now, b"D", Extras::default(), &mut out, |writer| {
            writer.number::<11>(id);
        });
        if let Ok(range) = made {
            self.sent = id;
            self.put(&out[range]);
        }
        self.settle(now);
    }

    /// Handles what came.
    fn receive(&mut self, now: Now) {
        loop {
            let bytes = core::mem::take(&mut self.input);
            let made = self.session.handle_bytes(now, &bytes, &mut self.index);
            self.act(made.event, &bytes);
            self.input = bytes;
            self.input.drain(..made.consumed);
            self.settle(now);
            let mut held = [0; MESSAGE_BYTES_MAX];
            while let Some(len) = self.session.take_held(&mut held) {
                let made = self.session.handle_bytes(now, &held[..len], &mut self.index);
                self.act(made.event, &held);
                self.settle(now);
            }
            if made.consumed == 0 {
                return;
            }
        }
    }

    fn act(&mut self, event: Option<Event>, message: &[u8]) {
        if let Some(Event::Application { .. }) = event {
            let id = self.index.find(11).and_then(|slot| slot.field(message).number().ok());
            assert_eq!(id, Some(self.arrived + 1), "an order is missing, or came twice");
            self.arrived += 1;
        }
    }

    /// Hands over what the session wants sent, and looks at its numbers.
    fn settle(&mut self, now: Now) {
        let mut out = [0; MESSAGE_BYTES_MAX];
        while let Some(range) = self.session.poll_transmit(now, &mut out) {
            self.put(&out[range]);
        }
        let store = self.session.store();
        let numbers = (store.next_outgoing(), store.next_incoming());
        let before = self.numbers;
        assert!(numbers.0 >= before.0 && numbers.1 >= before.1, "{before:?} to {numbers:?}");
        self.numbers = numbers;
    }

    fn wait(&mut self, now: Now) {
        self.session.handle_timeout(now);
        self.settle(now);
    }

    fn break_link(&mut self, now: Now) {
        self.session.transport_closed(now);
        self.input.clear();
        self.link.clear();
        self.loses_next = false;
    }
}

struct Pair {
    near: Side,
    far: Side,
    now: Now,
}

impl Pair {
    fn connect(&mut self) {
        self.near.break_link(self.now);
        self.far.break_link(self.now);
        self.far.session.connect(self.now);
        self.near.session.connect(self.now);
        self.near.settle(self.now);
        self.far.settle(self.now);
    }

    /// Carries some bytes over, to the far side or to the near one.
    fn carry(&mut self, to_far: bool, bytes: usize) {
        let (from, to) =
            if to_far { (&mut self.near, &mut self.far) } else { (&mut self.far, &mut self.near) };
        let bytes = bytes.min(from.link.len());
        to.input.extend(from.link.drain(..bytes));
        to.receive(self.now);
    }

    /// Carries all, until nobody has anything to say.
    fn carry_all(&mut self) {
        let mut rounds = 0;
        while !self.near.link.is_empty() || !self.far.link.is_empty() {
            self.carry(true, usize::MAX);
            self.carry(false, usize::MAX);
            rounds += 1;
            assert!(rounds < ROUNDS_MAX, "they do not come to rest");
        }
    }

    fn pass(&mut self, span: Nanos) {
        self.now.mono = self.now.mono + span;
        self.now.utc = self.now.utc + span;
        self.near.wait(self.now);
        self.far.wait(self.now);
    }

    fn step(&mut self, operation: u8) {
        let amount = usize::from(operation >> 4);
        match operation & 15 {
            0..=2 => self.near.send(self.now),
            3 | 4 => self.far.send(self.now),
            5 | 6 => self.carry(true, 1 + amount * 23),
            7 | 8 => self.carry(false, 1 + amount * 23),
            9 => self.carry_all(),
            10 => self.near.loses_next = true,
            11 => self.far.loses_next = true,
            12 => self.pass(Nanos::from_secs(amount as i64 * 4)),
            13 => self.connect(),
            14 => {
                let side = if amount & 1 == 0 { &mut self.near } else { &mut self.far };
                side.session.logout(self.now, "enough");
                side.settle(self.now);
            }
            _ => {
                let side = if amount & 1 == 0 { &mut self.near } else { &mut self.far };
                side.link.extend_from_slice(&b"8=FIX.4.4\x019=12\x0135=D\x01="[..amount]);
            }
        }
    }
}

/// Runs the operations, mends the link, and holds both sides to the model.
pub fn run(input: &[u8]) {
    let Some((kind, steps)) = input.split_first() else { return };
    let utc = Nanos(1_789_000_000_000_000_000);
    let mut pair = Pair {
        near: Side::new(Role::Initiator, *kind),
        far: Side::new(Role::Acceptor, *kind),
        now: Now { mono: Nanos::from_secs(1), utc },
    };
    pair.connect();
    for step in steps.iter().take(STEPS_MAX) {
        pair.step(*step);
    }
    pair.connect();
    pair.carry_all();
    let arrived = (pair.far.arrived, pair.near.arrived);
    assert_eq!(arrived, (pair.near.sent, pair.far.sent), "what was due has not come");
}
