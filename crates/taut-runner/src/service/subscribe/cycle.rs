//! One round of a feed's snapshots, which has the definition of every instrument.

use std::os::fd::{AsFd, BorrowedFd};

use taut_market_data::native::{InstrumentDefinition, Message, PACKET_BYTES_MAX, PacketReader};
use taut_sys::{Socket, wait_readable};
use taut_types::{InstrumentId, Nanos, SequenceNumber};

use crate::error::RunnerError;
use crate::feed::Feed;
use crate::settings::RemoteVenue;

/// The longest sleep.
const LOOK: Nanos = Nanos::from_millis(50);

/// A socket on which snapshots arrive, and what they have defined.
#[derive(Debug)]
pub struct Listening {
    socket: Socket,
    cycle: Cycle,
    buffer: Vec<u8>,
}

impl Listening {
    pub fn open(venue: &RemoteVenue) -> Result<Self, RunnerError> {
        let socket = Feed::join_snapshots(venue)?;
        let cycle = Cycle { stream_id: venue.stream_id, ..Cycle::default() };
        Ok(Self { socket, cycle, buffer: vec![0; PACKET_BYTES_MAX] })
    }

    /// Where they arrive, to wait for it.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Waits a little; the definitions once they are all there.
    pub fn poll(&mut self) -> Result<Option<Vec<InstrumentDefinition>>, RunnerError> {
        // A signal ends the wait, and the caller looks at it.
        let _ = wait_readable(&[self.socket.as_fd()], Some(LOOK));
        self.take()
    }

    /// Takes what has arrived; the definitions once they are all there.
    pub fn take(&mut self) -> Result<Option<Vec<InstrumentDefinition>>, RunnerError> {
        let failed = |error| RunnerError::run("snapshots", error);
        while let Some(len) = self.socket.receive(&mut self.buffer).map_err(failed)? {
            let packet = self.buffer.get(..len).unwrap_or_default();
            if self.cycle.take(packet) {
                return Ok(Some(std::mem::take(&mut self.cycle.defined)));
            }
        }
        Ok(None)
    }
}

/// A round without a gap: from an instrument's definition until the same one comes again.
#[derive(Debug, Default)]
struct Cycle {
    /// The stream that is listened to: what is said, or the first one heard.
    stream_id: Option<u32>,
    last: SequenceNumber,
    first: Option<InstrumentId>,
    defined: Vec<InstrumentDefinition>,
}

impl Cycle {
    /// Takes a packet; whether the round is complete.
    fn take(&mut self, packet: &[u8]) -> bool {
        let Ok(packet) = PacketReader::new(packet) else { return false };
        let header = packet.header();
        if *self.stream_id.get_or_insert(header.stream_id) != header.stream_id {
            return false;
        }
        let is_next = header.sequence.0 == self.last.0.wrapping_add(1);
        self.last = header.sequence;
        if !is_next {
            // What was missed may have defined something.
            self.first = None;
        }
        for message in packet.messages() {
            let Ok(Message::InstrumentDefinition(definition)) = message else { continue };
            let number = definition.instrument;
            if self.first == Some(number) {
                return true;
            }
            if self.first.is_none() {
                self.first = Some(number);
                self.defined.clear();
            }
            self.defined.retain(|known| known.instrument != number);
            self.defined.push(definition);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use taut_market_data::TradingStatus;
    use taut_market_data::native::SnapshotWriter;
    use taut_types::{Price, Symbol};

    use super::*;

    /// Rounds of three instruments, two packets each.
    fn packets(rounds: usize) -> Vec<Vec<u8>> {
        let mut writer = SnapshotWriter::with_capacity(7, 16, 16);
        let mut packets = Vec::new();
        for number in (0..rounds).flat_map(|_| 0..3) {
            let definition = InstrumentDefinition {
                tick: Price(1_000),
                lot_mantissa: 1,
                instrument: InstrumentId(number),
                lot_decimals: 0,
                symbol: Symbol::new(format!("I{number}").as_bytes()).expect("a symbol"),
            };
            writer.capture(SequenceNumber(1), std::iter::empty(), std::iter::empty());
            packets.extend((0..writer.packet_count()).map(|at| {
                writer.packet(at, Nanos(1), &definition, TradingStatus::Trading).to_vec()
            }));
        }
        packets
    }

    /// After how many packets the round was complete, and what was defined.
    fn listen(packets: impl Iterator<Item = Vec<u8>>) -> Option<(usize, Vec<u32>)> {
        let mut cycle = Cycle::default();
        for (at, packet) in packets.enumerate() {
            if cycle.take(&packet) {
                return Some((at, cycle.defined.iter().map(|it| it.instrument.0).collect()));
            }
        }
        None
    }

    #[test]
    fn a_round_is_over_when_it_comes_to_where_it_began() {
        let all = packets(3);
        assert_eq!(listen(all.iter().cloned()), Some((6, vec![0, 1, 2])));
        assert_eq!(listen(all.iter().skip(3).cloned()), Some((7, vec![2, 0, 1])));
        assert_eq!(listen(all.iter().take(6).cloned()), None);
    }

    #[test]
    fn a_lost_packet_begins_the_round_anew() {
        let without = |lost: usize| {
            let packets = packets(4).into_iter().enumerate();
            packets.filter(move |(at, _)| *at != lost).map(|(_, packet)| packet)
        };
        for lost in 1..5 {
            let (_, mut defined) = listen(without(lost)).expect("complete at last");
            defined.sort_unstable();
            assert_eq!(defined, [0, 1, 2], "without {lost}");
        }
        let garbage = [b"no packet".to_vec(), vec![0; 24]];
        assert_eq!(listen(garbage.into_iter()), None);
    }

    #[test]
    fn another_stream_on_the_group_is_not_listened_to() {
        let mut other = packets(1);
        other.iter_mut().for_each(|packet| {
            let mut writer = SnapshotWriter::with_capacity(8, 1, 1);
            writer.capture(SequenceNumber(1), std::iter::empty(), std::iter::empty());
            let definition = InstrumentDefinition {
                tick: Price(1_000),
                lot_mantissa: 1,
                instrument: InstrumentId(99),
                lot_decimals: 0,
                symbol: Symbol::new(b"OTHER").expect("a symbol"),
            };
            *packet = writer.packet(0, Nanos(1), &definition, TradingStatus::Trading).to_vec();
        });
        let mixed = packets(2).into_iter().zip(other.into_iter().cycle());
        let (_, defined) = listen(mixed.flat_map(|(one, other)| [one, other])).expect("complete");
        assert_eq!(defined, [0, 1, 2]);
    }
}
