//! What a venue is given, as the frames of its journal.
//!
//! | kind | what | content behind the head |
//! |---|---|---|
//! | 160 | a part of the image | bytes |
//! | 161 | the image is whole | its length (64 bits) |
//! | 162 | a client logs on | CompID, flags (8): bit 0 its numbers begin, the others its version |
//! | 163 | its message | client (16), MsgSeqNum (64), the message |
//! | 164 | a client leaves | client (16) |
//! | 165 | a command | place (32), record of the engine |
//! | 166 | a print | place (32), price, lots, side |
//! | 167 | a phase begins | place (32), phase (8), time of the schedule's entry (64; 0: none) |
//! | 168 | numbers of a session | client (16), next outgoing, next incoming (64; 0: as it is) |
//! | 169 | the venue has stopped | |
//! | 170 | a member is stopped, or trades again | CompID, 1 or 0 |
//! | 171 | a trade is taken back | ExecID (64) of one of its reports |
//!
//! The head of an input: UTC (64), count of sessions that had reports (16), and of each its client
//! (16) and the number of the first report (64).

use taut_engine::{Command, JOURNAL_RECORD_BYTES, Phase};
use taut_fix::CompId;
use taut_types::{Lots, Nanos, Price, Side};

use super::bytes::{Put, Take};
use crate::identity::ClientId;
use crate::version::FixVersion;

/// A part of the image.
pub const IMAGE: u16 = 160;
/// The image is whole.
pub const IMAGE_END: u16 = 161;
const LOG_ON: u16 = 162;
const MESSAGE: u16 = 163;
const LEAVE: u16 = 164;
const COMMAND: u16 = 165;
const PRINT: u16 = 166;
const PHASE: u16 = 167;
const NUMBERS: u16 = 168;
const STOPPED: u16 = 169;
const KILL: u16 = 170;
const BUST: u16 = 171;

/// What a venue is given. The bytes of a message stand behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A client logs on.
    LogOn {
        comp_id: CompId,
        /// Its sequence numbers begin.
        is_new: bool,
        /// The version of FIX in which it speaks.
        version: FixVersion,
    },
    /// A client's message.
    Message {
        client: ClientId,
        /// MsgSeqNum (34).
        sequence: u64,
    },
    /// A client leaves, or is gone.
    Leave { client: ClientId },
    /// A command of the flow or of an observer.
    Command { place: usize, command: Command },
    /// A trade that no order took part in.
    Print { place: usize, price: Price, lots: Lots, aggressor: Side },
    /// An instrument comes to a phase.
    Phase {
        place: usize,
        phase: Phase,
        /// When the entry of the schedule was due that this carries out; zero where it is none.
        scheduled: Nanos,
    },
    /// Up to here a session's numbers may be used, or where they stand.
    Numbers {
        client: ClientId,
        outgoing: u64,
        /// 0 where only the outgoing one is told.
        incoming: u64,
    },
    /// The venue has stopped in order.
    Stopped,
    /// A member is stopped, or trades again.
    Kill { member: CompId, is_killed: bool },
    /// The trade is taken back of which a report with this ExecID (17) told.
    Bust { exec_id: u64 },
}

/// The first report of an input to a client: its number.
pub type Told = (ClientId, u64);

impl Input {
    /// Appends it to `put`, behind its head; its kind.
    pub fn encode(&self, put: &mut Put, utc: Nanos, told: &[Told], message: &[u8]) -> u16 {
        put.i64(utc.0);
        // Of at most 128 clients.
        put.u16(told.len() as u16);
        for &(client, number) in told {
            put.u16(client.0 as u16);
            put.u64(number);
        }
        match *self {
            Self::LogOn { comp_id, is_new, version } => {
                put.text(&comp_id);
                put.u8(u8::from(is_new) | (version as u8) << 1);
                LOG_ON
            }
            Self::Message { client, sequence } => {
                put.u16(client.0 as u16);
                put.u64(sequence);
                put.0.extend_from_slice(message);
                MESSAGE
            }
            Self::Leave { client } => {
                put.u16(client.0 as u16);
                LEAVE
            }
            Self::Command { place, command } => {
                put.u32(place as u32);
                put.0.extend_from_slice(&command.to_record());
                COMMAND
            }
            Self::Print { place, price, lots, aggressor } => {
                put.u32(place as u32);
                put.i64(price.0);
                put.i64(lots.0);
                put.u8(aggressor as u8);
                PRINT
            }
            Self::Phase { place, phase, scheduled } => {
                put.u32(place as u32);
                put.u8(phase as u8);
                put.i64(scheduled.0);
                PHASE
            }
            Self::Numbers { client, outgoing, incoming } => {
                put.u16(client.0 as u16);
                put.u64(outgoing);
                put.u64(incoming);
                NUMBERS
            }
            Self::Stopped => STOPPED,
            Self::Kill { member, is_killed } => {
                put.text(&member);
                put.u8(u8::from(is_killed));
                KILL
            }
            Self::Bust { exec_id } => {
                put.u64(exec_id);
                BUST
            }
        }
    }

    /// The input of a frame of this kind, with its time, and what is left: its message. The numbers
    /// of reports are put into `told`. Nothing where it is none.
    pub fn decode<'a>(
        kind: u16,
        bytes: &'a [u8],
        told: &mut Vec<Told>,
    ) -> Option<(Self, Nanos, &'a [u8])> {
        let mut take = Take(bytes);
        let utc = Nanos(take.i64()?);
        told.clear();
        for _ in 0..take.u16()? {
            told.push((client(&mut take)?, take.u64()?));
        }
        let input = match kind {
            LOG_ON => {
                let (comp_id, how) = (take.text()?, take.u8()?);
                let version = *FixVersion::ALL.get(usize::from(how >> 1))?;
                Self::LogOn { comp_id, is_new: how & 1 == 1, version }
            }
            MESSAGE => Self::Message { client: client(&mut take)?, sequence: take.u64()? },
            LEAVE => Self::Leave { client: client(&mut take)? },
            COMMAND => {
                let place = take.u32()? as usize;
                let record = take.raw(JOURNAL_RECORD_BYTES)?.first_chunk()?;
                Self::Command { place, command: Command::from_record(record).ok()? }
            }
            PRINT => Self::Print {
                place: take.u32()? as usize,
                price: Price(take.i64()?),
                lots: Lots(take.i64()?),
                aggressor: if take.flag()? { Side::Sell } else { Side::Buy },
            },
            PHASE => Self::Phase {
                place: take.u32()? as usize,
                phase: Phase::from_index(take.u8()?)?,
                scheduled: Nanos(take.i64()?),
            },
            NUMBERS => Self::Numbers {
                client: client(&mut take)?,
                outgoing: take.u64()?,
                incoming: take.u64()?,
            },
            STOPPED => Self::Stopped,
            KILL => Self::Kill { member: take.text()?, is_killed: take.flag()? },
            BUST => Self::Bust { exec_id: take.u64()? },
            _ => return None,
        };
        let Take(message) = take;
        (message.is_empty() || kind == MESSAGE).then_some((input, utc, message))
    }
}

fn client(take: &mut Take<'_>) -> Option<ClientId> {
    take.u16().map(|client| ClientId(client.into()))
}

#[cfg(test)]
mod tests {
    use taut_engine::NewOrder;
    use taut_types::{HalfTicks, OrderId};

    use super::*;

    #[test]
    fn every_input_is_read_as_it_was_written_and_a_cut_one_is_none() {
        let (client, comp_id) = (ClientId(7), CompId::new(b"ALPHA").expect("a name"));
        let order = NewOrder::limit(OrderId(5), 2, Side::Sell, HalfTicks(200), Lots(3));
        let inputs = [
            Input::LogOn { comp_id, is_new: true, version: FixVersion::Fix44 },
            Input::LogOn { comp_id, is_new: false, version: FixVersion::Fix50Sp2 },
            Input::Message { client, sequence: 9 },
            Input::Leave { client },
            Input::Command { place: 2, command: Command::New(order) },
            Input::Print { place: 1, price: Price(-4), lots: Lots(8), aggressor: Side::Sell },
            Input::Phase { place: 0, phase: Phase::Halted, scheduled: Nanos(9) },
            Input::Numbers { client, outgoing: 300, incoming: 0 },
            Input::Stopped,
            Input::Kill { member: comp_id, is_killed: true },
            Input::Bust { exec_id: 12 },
        ];
        let (numbers, mut told) = ([(ClientId(1), 44), (ClientId(7), 5)], Vec::new());
        for input in inputs {
            let is_message = matches!(input, Input::Message { .. });
            let message: &[u8] = if is_message { b"8=FIX.4.4" } else { b"" };
            let mut put = Put::default();
            let kind = input.encode(&mut put, Nanos(77), &numbers, message);
            let read = Input::decode(kind, &put.0, &mut told);
            assert_eq!(read, Some((input, Nanos(77), message)));
            assert_eq!(told, numbers);
            for cut in 0..put.0.len() - message.len() {
                assert_eq!(Input::decode(kind, &put.0[..cut], &mut told), None, "{input:?}");
            }
            assert_eq!(Input::decode(99, &put.0, &mut told), None);
        }
    }
}
