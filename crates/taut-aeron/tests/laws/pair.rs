//! A publication, a subscription and a line between them with a delay, on virtual time.

use std::net::SocketAddr;

use taut_aeron::{
    Publication, PublicationConfig, PublicationEvent, Subscription, SubscriptionConfig,
    SubscriptionEvent,
};
use taut_testkit::{Faults, Link};
use taut_types::Nanos;

pub fn here() -> SocketAddr {
    "10.0.0.1:40123".parse().expect("an address")
}

pub fn there() -> SocketAddr {
    "10.0.0.2:40456".parse().expect("an address")
}

/// A frame's type, by its bytes.
pub const NAK: u8 = 2;
pub const SETUP: u8 = 5;
pub const ROUND_TRIP: u8 = 6;

pub struct Pair {
    pub publication: Publication,
    pub subscription: Subscription,
    pub now: Nanos,
    pub step: Nanos,
    forth: Link<Vec<u8>>,
    back: Link<Vec<u8>>,
    /// Payloads and the positions behind them.
    pub got: Vec<(Vec<u8>, i64)>,
    /// Fragments that the application reads in a turn.
    pub reads: usize,
    pub events: Vec<SubscriptionEvent>,
    pub sent_events: Vec<PublicationEvent>,
    /// Frames of feedback by type, as they left.
    pub feedback: Vec<(Nanos, u8)>,
    /// Frames of the publication that are no data, as they left.
    pub control: Vec<(Nanos, u8)>,
    /// The first SETUP of the publication.
    pub setup: Option<Vec<u8>>,
}

impl Pair {
    pub fn new(publication: PublicationConfig, subscription: SubscriptionConfig) -> Self {
        Self {
            publication: Publication::new(publication).expect("a publication"),
            subscription: Subscription::new(subscription).expect("a subscription"),
            now: Nanos(1),
            step: Nanos::from_micros(50),
            forth: Link::perfect(),
            back: Link::perfect(),
            got: Vec::new(),
            reads: usize::MAX,
            events: Vec::new(),
            sent_events: Vec::new(),
            feedback: Vec::new(),
            control: Vec::new(),
            setup: None,
        }
    }

    /// One that is connected and has measured its round trips.
    pub fn connected(publication: PublicationConfig, subscription: SubscriptionConfig) -> Self {
        Self::connected_over(Nanos::ZERO, publication, subscription)
    }

    pub fn connected_over(
        delay: Nanos,
        publication: PublicationConfig,
        subscription: SubscriptionConfig,
    ) -> Self {
        let mut pair = Self::new(publication, subscription);
        pair.set_delay(delay);
        while !pair.publication.is_connected() || pair.subscription.image_count() == 0 {
            pair.turn();
        }
        pair.run_for(Nanos::from_millis(100));
        pair
    }

    /// How long a datagram is under way.
    pub fn set_delay(&mut self, delay: Nanos) {
        let faults = Faults { delay, ..Faults::default() };
        (self.forth.faults, self.back.faults) = (faults, faults);
    }

    /// Lets nothing pass, or everything again.
    pub fn set_cut(&mut self, is_cut: bool) {
        (self.forth.faults.is_cut, self.back.faults.is_cut) = (is_cut, is_cut);
    }

    pub fn turn(&mut self) {
        self.turn_losing(|_| false);
    }

    pub fn run_for(&mut self, span: Nanos) {
        let end = self.now + span;
        while self.now < end {
            self.turn();
        }
    }

    /// One turn of both sides; the datagrams of data that `loses` says, by position, are lost.
    pub fn turn_losing(&mut self, mut loses: impl FnMut(i64) -> bool) {
        self.now = self.now + self.step;
        self.publish(&mut loses);
        self.arrive();
        self.subscribe();
    }

    fn publish(&mut self, loses: &mut impl FnMut(i64) -> bool) {
        let (now, mut frame) = (self.now, [0; 2048]);
        while let Some(frame) = self.back.receive(now) {
            self.publication.handle_bytes(now, there(), &frame);
        }
        self.publication.handle_timeout(now);
        while let Some(run) = self.publication.next_run(now) {
            let mut at = run.position;
            for datagram in self.publication.run_bytes(&run).chunks(run.segment_bytes) {
                if !loses(at) {
                    self.forth.send(now, datagram.to_vec());
                }
                at += datagram.len() as i64;
            }
            self.publication.run_sent(now, &run);
        }
        while let Some(sent) = self.publication.poll_transmit(now, &mut frame) {
            self.control.push((now, frame[6]));
            if frame[6] == SETUP {
                self.setup.get_or_insert_with(|| frame[..sent.bytes].to_vec());
            }
            self.forth.send(now, frame[..sent.bytes].to_vec());
        }
        self.sent_events.extend(std::iter::from_fn(|| self.publication.poll_event()));
    }

    fn arrive(&mut self) {
        let now = self.now;
        while let Some(datagram) = self.forth.receive(now) {
            self.subscription.handle_bytes(now, here(), &datagram);
        }
    }

    fn subscribe(&mut self) {
        let (now, mut frame) = (self.now, [0; 2048]);
        self.subscription.handle_timeout(now);
        let got = &mut self.got;
        self.subscription.poll(self.reads, |message| {
            got.push((message.bytes.to_vec(), message.position));
        });
        while let Some(sent) = self.subscription.poll_transmit(now, &mut frame) {
            self.feedback.push((now, frame[6]));
            self.back.send(now, frame[..sent.bytes].to_vec());
        }
        self.events.extend(std::iter::from_fn(|| self.subscription.poll_event()));
    }

    /// What was passed: (position, bytes).
    pub fn skipped(&self) -> Vec<(i64, i64)> {
        let skipped = self.events.iter().filter_map(|event| match event {
            SubscriptionEvent::Skipped { position, bytes, .. } => Some((*position, *bytes)),
            _ => None,
        });
        skipped.collect()
    }

    pub fn count(frames: &[(Nanos, u8)], kind: u8) -> usize {
        frames.iter().filter(|(_, known)| *known == kind).count()
    }
}
