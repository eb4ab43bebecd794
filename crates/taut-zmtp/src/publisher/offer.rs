//! Offering a message: who wants it, who has room for it, one encoding for all.

use alloc::vec::Vec;

use crate::frame::{self, MORE};
use crate::publisher::config::{OnFull, PublisherConfig};
use crate::publisher::log::FrameLog;
use crate::publisher::peer::Peer;
use crate::publisher::socket::{Claimed, Publisher, Refusal, Slot, peer_at};
use crate::trie::Trie;

impl Publisher {
    /// Puts a message into the queues of all who want it and have room, and returns how many that
    /// are. It is encoded once.
    ///
    /// # Errors
    /// See [`Refusal`]; nothing has changed then.
    #[inline]
    pub fn offer(&mut self, parts: &[&[u8]]) -> Result<usize, Refusal> {
        let Some((first, _)) = parts.split_first() else { return Err(Refusal::Misuse) };
        let bytes = parts.iter().map(|part| frame::header_bytes(part.len()) + part.len()).sum();
        if !self.select(first, bytes)? {
            return Ok(0);
        }
        let reserved = self.reserve(bytes);
        // What is refused was not taken; it comes again.
        self.counters.offered -= u64::from(reserved.is_err());
        let start = reserved?;
        let mut place = self.log.place(start, bytes);
        let mut left = parts.len();
        for part in parts {
            left -= 1;
            let header = frame::write_header(place, if left > 0 { MORE } else { 0 }, part.len());
            let Some((body, rest)) =
                place.get_mut(header..).and_then(|b| b.split_at_mut_checked(part.len()))
            else {
                return Err(Refusal::Misuse);
            };
            body.copy_from_slice(part);
            place = rest;
        }
        self.enqueue(start, start + bytes as u64, first);
        Ok(self.recipients.len())
    }

    /// A place for the only part of a message, to be written and then committed.
    ///
    /// # Errors
    /// As for [`Publisher::offer`]; with [`OnFull::Block`], whenever some peer is full, since who
    /// wants the message is known only when it is written.
    pub fn claim(&mut self, body_bytes: usize) -> Result<&mut [u8], Refusal> {
        self.claimed = None;
        let header = frame::header_bytes(body_bytes);
        let bytes = header + body_bytes;
        if bytes > self.log.message_bytes_max() {
            return Err(Refusal::TooLong { bytes_max: self.log.message_bytes_max() });
        }
        let is_full =
            |slot: &Slot| slot.peer.as_ref().is_some_and(|peer| is_full(&self.config, peer, bytes));
        if self.config.on_full == OnFull::Block && self.peers.iter().any(is_full) {
            self.counters.back_pressured += 1;
            return Err(Refusal::BackPressured);
        }
        let start = self.reserve(bytes)?;
        self.claimed = Some(Claimed { start, header, bytes });
        let place = self.log.place(start, bytes);
        frame::write_header(place, 0, body_bytes);
        place.get_mut(header..).ok_or(Refusal::Misuse)
    }

    /// What the claimed place holds so far; nothing without a claim.
    #[inline]
    #[must_use]
    pub fn claimed(&self) -> &[u8] {
        let Some(Claimed { start, header, bytes }) = self.claimed else { return &[] };
        self.log.slice(start + header as u64, start + bytes as u64)
    }

    /// The claimed place, to be written; none without a claim.
    #[inline]
    pub fn claimed_mut(&mut self) -> &mut [u8] {
        let Some(Claimed { start, header, bytes }) = self.claimed else { return &mut [] };
        self.log.place(start, bytes).get_mut(header..).unwrap_or(&mut [])
    }

    /// Offers what was written into the claimed place.
    ///
    /// # Errors
    /// `Misuse` without a claim; for PUSH, no peer has room.
    pub fn commit(&mut self) -> Result<usize, Refusal> {
        let Claimed { start, header, bytes } = self.claimed.take().ok_or(Refusal::Misuse)?;
        let end = start + bytes as u64;
        self.recipients.clear();
        self.serial += 1;
        if self.connection.socket_type.publishes() {
            let topic = self.log.slice(start + header as u64, end);
            find(&self.trie, &mut self.peers, &mut self.recipients, self.serial, topic);
        } else {
            self.take_turn(bytes)?;
        }
        if !self.admit(bytes)? {
            return Ok(0);
        }
        self.log.advance(end);
        self.push_all(start, end);
        if let Some(values) = self.last_values.as_mut() {
            let frames = self.log.slice(start, end);
            let topic = frames.get(header..).unwrap_or(&[]);
            self.counters.uncached += u64::from(!values.keep(topic, frames));
        }
        Ok(self.recipients.len())
    }

    /// Gives the claimed place back.
    pub fn abort(&mut self) {
        self.claimed = None;
    }

    /// Finds who gets a message; `false` when nobody does and it need not be written.
    #[inline]
    fn select(&mut self, topic: &[u8], bytes: usize) -> Result<bool, Refusal> {
        if bytes > self.log.message_bytes_max() {
            return Err(Refusal::TooLong { bytes_max: self.log.message_bytes_max() });
        }
        self.claimed = None;
        self.recipients.clear();
        self.serial += 1;
        if self.connection.socket_type.publishes() {
            find(&self.trie, &mut self.peers, &mut self.recipients, self.serial, topic);
        } else {
            self.take_turn(bytes)?;
        }
        self.admit(bytes)
    }

    /// PUSH: the next established peer that has room, or else the next one.
    fn take_turn(&mut self, bytes: usize) -> Result<(), Refusal> {
        let count = self.peers.len();
        let mut chosen = None;
        for step in 0..count {
            let index = (self.turn + step) % count;
            let Some(peer) = self.peers.get(index).and_then(|slot| slot.peer.as_ref()) else {
                continue;
            };
            if !peer.connection.is_established() {
                continue;
            }
            let full = is_full(&self.config, peer, bytes);
            if !full || chosen.is_none() {
                chosen = Some(index);
            }
            if !full {
                break;
            }
        }
        let index = chosen.ok_or(Refusal::NotConnected)?;
        self.turn = (index + 1) % count;
        self.recipients.push(index as u32);
        Ok(())
    }

    /// Applies the policy to those that are full; `false` when nobody is left and it need not be
    /// written.
    #[inline]
    fn admit(&mut self, bytes: usize) -> Result<bool, Refusal> {
        self.counters.offered += 1;
        if self.recipients.is_empty() {
            self.counters.unmatched += 1;
            return Ok(self.last_values.is_some());
        }
        let has_room = |index: &u32| {
            let peer = self.peers.get(*index as usize).and_then(|slot| slot.peer.as_deref());
            peer.is_some_and(|peer| !is_full(&self.config, peer, bytes))
        };
        if self.config.on_full != OnFull::Conflate && self.recipients.iter().all(has_room) {
            return Ok(true);
        }
        self.apply_policy(bytes)
    }

    #[cold]
    fn apply_policy(&mut self, bytes: usize) -> Result<bool, Refusal> {
        let (config, log, counters) = (&self.config, &self.log, &mut self.counters);
        if config.on_full == OnFull::Block {
            counters.offered -= 1;
            counters.back_pressured += 1;
            return Err(Refusal::BackPressured);
        }
        let peers = &mut self.peers;
        self.recipients.retain(|index| {
            let Some(peer) = peer_at(peers, *index) else { return false };
            let (dropped, fits) = make_room(config, log, peer, bytes);
            peer.counters.dropped += dropped;
            counters.dropped += dropped;
            fits
        });
        Ok(!self.recipients.is_empty() || self.last_values.is_some())
    }

    #[inline]
    fn reserve(&mut self, bytes: usize) -> Result<u64, Refusal> {
        if let Some(start) = self.log.reserve(bytes) {
            return Ok(start);
        }
        self.make_way(bytes)
    }

    /// Lets the log move on: over what was sent, and then over those that are behind, who take
    /// copies along, unless the policy is to wait for them.
    #[cold]
    fn make_way(&mut self, bytes: usize) -> Result<u64, Refusal> {
        loop {
            let peers = self.peers.iter_mut().filter_map(|slot| slot.peer.as_mut());
            let slowest = peers.min_by_key(|peer| peer.queue.oldest().unwrap_or(u64::MAX));
            let oldest = slowest.as_ref().and_then(|peer| peer.queue.oldest());
            self.log.release(oldest.unwrap_or(self.log.head()));
            if let Some(start) = self.log.reserve(bytes) {
                return Ok(start);
            }
            match slowest {
                Some(peer) if oldest.is_some() && self.config.on_full != OnFull::Block => {
                    peer.queue.leave_log(&self.log);
                }
                _ => {
                    self.counters.back_pressured += 1;
                    return Err(Refusal::BackPressured);
                }
            }
        }
    }

    #[inline]
    fn enqueue(&mut self, start: u64, end: u64, topic: &[u8]) {
        self.log.advance(end);
        self.push_all(start, end);
        if let Some(values) = self.last_values.as_mut() {
            let kept = values.keep(topic, self.log.slice(start, end));
            self.counters.uncached += u64::from(!kept);
        }
    }

    #[inline]
    fn push_all(&mut self, start: u64, end: u64) {
        for index in &self.recipients {
            let slot = self.peers.get_mut(*index as usize);
            let Some(peer) = slot.and_then(|slot| slot.peer.as_mut()) else { continue };
            self.busy += usize::from(peer.queue.messages() == 0);
            peer.queue.push(&self.log, start, end);
            peer.counters.queued += 1;
        }
    }
}

/// Each peer that has a subscription which the topic starts with, once.
#[inline]
fn find(trie: &Trie, peers: &mut [Slot], recipients: &mut Vec<u32>, serial: u64, topic: &[u8]) {
    trie.for_each_match(topic, |index| {
        if let Some(peer) = peers.get_mut(index as usize).and_then(|slot| slot.peer.as_mut())
            && peer.matched != serial
            && peer.connection.is_established()
        {
            peer.matched = serial;
            recipients.push(index);
        }
    });
}

#[inline]
fn is_full(config: &PublisherConfig, peer: &Peer, bytes: usize) -> bool {
    peer.queue.messages() >= config.hwm || peer.queue.bytes() + bytes > config.log_bytes
}

/// How many messages were dropped, and whether the peer gets the new one.
#[inline]
fn make_room(
    config: &PublisherConfig,
    log: &FrameLog,
    peer: &mut Peer,
    bytes: usize,
) -> (u64, bool) {
    let conflates = config.on_full == OnFull::Conflate;
    if !conflates && !is_full(config, peer, bytes) {
        return (0, true);
    }
    if config.on_full == OnFull::DropNewest {
        return (1, false);
    }
    let mut dropped = 0;
    while (conflates || is_full(config, peer, bytes)) && peer.queue.drop_oldest(log) {
        dropped += 1;
    }
    // What is being sent cannot be dropped; with a mark of 1 it is all that waits.
    let fits =
        peer.queue.messages() < config.hwm.max(2) && peer.queue.bytes() + bytes <= config.log_bytes;
    (dropped + u64::from(!fits), fits)
}
