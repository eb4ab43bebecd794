//! The subscribing end.

use std::collections::VecDeque;
use std::net::SocketAddr;

use taut_io::{Completion, Handle, Io, Kernel};
use taut_lease::{LeaseSubscriber, SubscriberEvent, SubscriberTerms};
use taut_sys::{Address, DatagramOptions, SysError};
use taut_types::Nanos;

use super::place::{self, LOOK_EVERY};
use crate::counters::Counters;
use crate::datagrams::Datagrams;
use crate::driver::{Opening, SubscriptionDriver, close_source};
use crate::error::ChannelError;
use crate::event::{EndReason, Event};
use crate::message::{Action, Message};
use crate::random::Random;
use crate::uri::LeaseUri;

/// The longest datagram that there is.
const DATAGRAM_BYTES: usize = 65_535;
const EVENTS: usize = 256;

/// Asks for a lease, and takes what it promises.
#[derive(Debug)]
pub(crate) struct LeaseSubscription {
    core: LeaseSubscriber,
    publisher: SocketAddr,
    /// Connected to the publisher: for leases, and for messages without a group.
    socket: Handle,
    group: Option<Handle>,
    datagram: Box<[u8]>,
    question: [u8; 128],
    /// An aborted message: where it lies in the datagram, and its numbers.
    aborted: Option<(usize, usize, u64, u64)>,
    datagrams: Datagrams,
    timeout: Option<Nanos>,
    /// The last poll found nothing.
    was_idle: bool,
    /// With a group: when to look for answers again.
    look_at: Nanos,
    events: VecDeque<Event>,
    counters: Counters,
}

/// What one look at a socket brought.
enum Look {
    Message { start: usize, end: usize, session: u64, position: u64 },
    Other,
    Nothing,
}

impl LeaseSubscription {
    pub(crate) fn open<K: Kernel>(
        uri: &LeaseUri,
        opening: &Opening,
        io: &mut Io<K>,
    ) -> Result<Self, ChannelError> {
        let publisher = place::resolve(&uri.endpoint)?;
        let buffers = DatagramOptions {
            send_buffer_bytes: uri.send_buffer_bytes,
            receive_buffer_bytes: uri.receive_buffer_bytes,
            ..DatagramOptions::default()
        };
        let options = DatagramOptions { peer: Some(publisher), ..buffers };
        let key = place::key(uri.key.as_deref())?;
        let nonce = u64::from_le_bytes(Random::new(opening).bytes()?).max(1);
        let terms = SubscriberTerms { nonce, key, drops_late: uri.drops_late };
        let socket = io.datagram(&Address::Inet(place::any_like(publisher)), &options)?;
        let joined = io.watch(socket).map_err(ChannelError::from).and_then(|()| {
            let group = uri.group.as_ref().map(place::resolve).transpose()?;
            group.map(|group| join(uri, publisher, group, buffers, io)).transpose()
        });
        let group = joined.inspect_err(|_| close_source(io, socket))?;
        let core = LeaseSubscriber::new(opening.now, terms);
        Ok(Self {
            timeout: core.poll_timeout(),
            core,
            publisher,
            socket,
            group,
            datagram: vec![0; DATAGRAM_BYTES].into_boxed_slice(),
            question: [0; 128],
            aborted: None,
            datagrams: Datagrams::new(opening.loss),
            was_idle: false,
            look_at: opening.now,
            events: VecDeque::with_capacity(EVENTS),
            counters: Counters::default(),
        })
    }

    fn has(&self, source: Handle) -> bool {
        source == self.socket || Some(source) == self.group
    }

    /// Time passes: asks, renews, leaves.
    #[cold]
    fn keep<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        self.core.handle_timeout(now);
        while let Some(length) = self.core.poll_transmit(now, &mut self.question) {
            let question = self.question.get(..length).unwrap_or(&[]);
            if self.datagrams.drops() {
                continue;
            }
            // Nobody there (ECONNREFUSED) is normal: it is asked again.
            let _ = io.send_datagram(self.socket, question, None);
            self.datagrams.transfers += 1;
        }
        self.after();
    }

    /// After anything that may have changed the core.
    fn after(&mut self) {
        self.timeout = self.core.poll_timeout();
        while let Some(event) = self.core.poll_event() {
            let ended =
                |session, position, reason| Event::ImageUnavailable { session, position, reason };
            let event = match event {
                SubscriberEvent::Begun { session, sequence } => Event::ImageAvailable {
                    session,
                    position: sequence,
                    peer: Some(self.publisher),
                },
                SubscriberEvent::Ended { session, sequence } => {
                    ended(session, sequence, EndReason::Closed)
                }
                SubscriberEvent::Lost { session, sequence } => {
                    ended(session, sequence, EndReason::Lost)
                }
                SubscriberEvent::Replaced { session, sequence } => {
                    ended(session, sequence, EndReason::Replaced)
                }
                SubscriberEvent::Gap { session, sequence, count } => {
                    Event::Gap { session, position: sequence, length: count }
                }
                SubscriberEvent::Refused => Event::Refused { peer: Some(self.publisher) },
            };
            // Gaps are counted too; they leave room for what is told once.
            let room = if matches!(event, Event::Gap { .. }) { EVENTS - 16 } else { EVENTS };
            if self.events.len() < room {
                self.events.push_back(event);
            }
        }
    }

    /// Takes a datagram of the group; answers to questions may wait a little.
    #[inline(never)]
    fn read_group<K: Kernel>(
        &mut self,
        io: &mut Io<K>,
        now: Nanos,
        group: Handle,
    ) -> Result<Option<usize>, SysError> {
        match io.read(group, &mut self.datagram) {
            Ok(None) if now >= self.look_at => {
                self.look_at = now + LOOK_EVERY;
                io.read(self.socket, &mut self.datagram)
            }
            received => received,
        }
    }

    /// Takes a datagram. In its place, for a call and its large result are a tenth of its cost.
    #[inline(always)]
    fn look<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) -> Look {
        let received = match self.group {
            None => io.read(self.socket, &mut self.datagram),
            Some(group) => self.read_group(io, now, group),
        };
        let length = match received {
            Ok(Some(length)) => length,
            // A question found nobody, which the kernel tells once: it is asked again.
            Err(error) if error.is_peer_gone() => return Look::Other,
            Ok(None) | Err(_) => return Look::Nothing,
        };
        self.datagrams.transfers += 1;
        if self.datagrams.drops() {
            return Look::Other;
        }
        let datagram = self.datagram.get(..length).unwrap_or(&[]);
        match self.core.handle_datagram(now, datagram) {
            Some(incoming) => {
                let start = taut_lease::HEADER_BYTES;
                let end = start + incoming.payload.len();
                let position = incoming.header.sequence.saturating_add(1);
                Look::Message { start, end, session: incoming.header.session, position }
            }
            None => {
                self.after();
                Look::Other
            }
        }
    }
}

impl SubscriptionDriver for LeaseSubscription {
    #[inline]
    fn poll<K, H>(&mut self, io: &mut Io<K>, now: Nanos, limit: usize, handler: &mut H) -> usize
    where
        K: Kernel,
        H: FnMut(Message<'_>) -> Action,
    {
        if self.timeout.is_some_and(|timeout| now >= timeout) {
            self.keep(io, now);
        }
        // What comes alone is handed back at once: to ask whether there is more is a system call
        // that the caller would wait for. In a burst it is worth it.
        let limit = if self.was_idle { limit.min(1) } else { limit };
        // What is no message counts too, so that a flood of them cannot hold the caller.
        let (mut count, mut bytes, mut others) = (0, 0, 0);
        let mut aborted = if limit > 0 { self.aborted.take() } else { None };
        while count < limit && others < 64 {
            let (start, end, session, position) = match aborted.take() {
                Some(aborted) => aborted,
                None => match self.look(io, now) {
                    Look::Message { start, end, session, position } => {
                        (start, end, session, position)
                    }
                    Look::Other => {
                        others += 1;
                        continue;
                    }
                    Look::Nothing => break,
                },
            };
            let payload = self.datagram.get(start..end).unwrap_or(&[]);
            let action =
                handler(Message { payload, part_ends: &[], topic: &[], session, position });
            if action == Action::Abort {
                self.aborted = Some((start, end, session, position));
                break;
            }
            bytes += end - start;
            count += 1;
            if action == Action::Break {
                break;
            }
        }
        self.counters.received += count as u64;
        self.counters.received_bytes += bytes as u64;
        self.was_idle = count == 0;
        // A gap is known with the message behind it; what a lost end left open, by the duty.
        if count > 0 {
            self.after();
        } else if others > 0 && self.core.poll_timeout().is_some_and(|timeout| now >= timeout) {
            self.keep(io, now);
        }
        count
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn image_count(&self) -> usize {
        usize::from(self.core.has_image())
    }

    fn close<K: Kernel>(&mut self, io: &mut Io<K>, now: Nanos) {
        self.core.close(now);
        self.keep(io, now);
    }

    fn is_closed(&self) -> bool {
        self.core.is_closed()
    }

    fn counters(&self) -> Counters {
        let tally = self.core.tally();
        Counters {
            lost: tally.missing,
            duplicated: tally.duplicated,
            reordered: tally.late,
            malformed: tally.malformed,
            refused: tally.unproved,
            transfers: self.datagrams.transfers,
            injected_losses: self.datagrams.injected,
            ..self.counters
        }
    }

    fn next_timeout(&self) -> Option<Nanos> {
        self.timeout
    }

    fn complete(&mut self, completion: &Completion<'_>) -> bool {
        let Completion::Ready { source, .. } = completion else { return false };
        if *source == self.socket {
            // An answer is there, maybe beside a group's messages.
            self.look_at = Nanos(i64::MIN / 2);
        }
        self.has(*source)
    }

    fn release<K: Kernel>(&mut self, io: &mut Io<K>) {
        close_source(io, self.socket);
        self.group.into_iter().for_each(|group| close_source(io, group));
    }
}

/// The group's socket, joined for the publisher as its only source.
fn join<K: Kernel>(
    uri: &LeaseUri,
    publisher: SocketAddr,
    group: SocketAddr,
    buffers: DatagramOptions,
    io: &mut Io<K>,
) -> Result<Handle, ChannelError> {
    let interface = place::interface(uri, publisher.ip())?;
    let options = DatagramOptions { reuse_address: true, ..buffers };
    let socket = io.datagram(&Address::Inet(group), &options)?;
    let joined = io.watch(socket).and_then(|()| {
        Ok(io.socket(socket)?.join_source(group.ip(), publisher.ip(), interface)?)
    });
    joined.inspect_err(|_| close_source(io, socket))?;
    Ok(socket)
}
