//! The hot path's way of reading a packet, in two steps that can be timed apart: check it and note
//! where its level updates and trades stand, then read these and nothing else.

use taut_types::InstrumentId;

use crate::event::EventKind;
use crate::native::codec::{LevelUpdateDecoder, TradeDecoder};
use crate::native::error::SbeError;
use crate::native::event::{level_update, trade};
use crate::native::frame::{BLOCK, FRAME_BYTES, Frame, kind_of, place};
use crate::native::packet::{PACKET_BYTES_MAX, PACKET_HEADER_BYTES};
use crate::native::reader::PacketReader;

/// A packet cannot hold more level updates and trades: the shorter of the two takes 37 bytes.
const PLACES_MAX: usize = PACKET_BYTES_MAX / 37 + 1;
/// A level update's block and a trade's, as far as this version knows them.
const LEVEL_BYTES: usize = 25;
const TRADE_BYTES: usize = 37;
const LEVEL_KIND: u32 = kind_of(LevelUpdateDecoder::TEMPLATE_ID);
const TRADE_KIND: u32 = kind_of(TradeDecoder::TEMPLATE_ID);
/// Marks the place of a trade. No packet is so long that an offset has this bit.
const TRADE: u16 = 1 << 15;

/// Where the level updates and trades of a checked packet stand.
#[derive(Clone, Debug)]
pub struct Places {
    /// Offsets of their blocks among the packet's messages.
    offsets: [u16; PLACES_MAX],
    count: usize,
}

impl Default for Places {
    fn default() -> Self {
        Self { offsets: [0; PLACES_MAX], count: 0 }
    }
}

impl Places {
    /// Checks a packet as far as a book of price levels needs it, and notes where its level updates
    /// and trades stand. All other messages are skipped by their size alone, without a look at
    /// their fields.
    ///
    /// # Errors
    /// [`SbeError::Malformed`] at the first message that is cut short, or is a level update or a
    /// trade with a wrong field; also for bytes behind the last message, and for a packet of more
    /// than [`PACKET_BYTES_MAX`].
    #[inline]
    pub fn check(&mut self, packet: &PacketReader<'_>) -> Result<(), SbeError> {
        self.count = 0;
        let (message_count, body) = packet.body();
        if body.len() > PACKET_BYTES_MAX - PACKET_HEADER_BYTES {
            return Err(SbeError::Malformed { offset: PACKET_BYTES_MAX });
        }
        let mut rest = body;
        for _ in 0..message_count {
            let at = body.len() - rest.len();
            let offset = PACKET_HEADER_BYTES + at;
            let (frame, behind) = Frame::split(rest, offset)?;
            rest = behind;
            let wrong = |at| SbeError::Malformed { offset: offset + FRAME_BYTES + at };
            let (length, version) = (frame.block_length(), frame.version());
            // Below the longest packet's length.
            let block = (at + FRAME_BYTES) as u16;
            match frame.kind() {
                LEVEL_KIND => {
                    let (level, _) = LevelUpdateDecoder::decode_body(frame.body, length, version)
                        .map_err(|error| wrong(place(error)))?;
                    level_update(&level).ok_or(wrong(BLOCK))?;
                    self.note(block);
                }
                TRADE_KIND => {
                    let (from, _) = TradeDecoder::decode_body(frame.body, length, version)
                        .map_err(|error| wrong(place(error)))?;
                    trade(&from).ok_or(wrong(BLOCK))?;
                    self.note(block | TRADE);
                }
                _ => {}
            }
        }
        let offset = PACKET_HEADER_BYTES + body.len() - rest.len();
        if rest.is_empty() { Ok(()) } else { Err(SbeError::Malformed { offset }) }
    }

    /// The instrument of the first level update or trade of the packet that was checked.
    #[inline]
    pub(crate) fn first_instrument(&self, packet: &PacketReader<'_>) -> Option<InstrumentId> {
        let mut first = None;
        self.visit(packet, |instrument, _| {
            first = Some(instrument);
            false
        });
        first
    }

    #[inline]
    fn note(&mut self, place: u16) {
        if let Some(free) = self.offsets.get_mut(self.count) {
            *free = place;
            self.count += 1;
        }
    }

    /// Reads what [`check`](Self::check) found in the same packet, in its order, until `visit` says
    /// that it wants no more.
    #[inline]
    pub fn visit(
        &self,
        packet: &PacketReader<'_>,
        mut visit: impl FnMut(InstrumentId, EventKind) -> bool,
    ) {
        let (_, body) = packet.body();
        for &place in self.offsets.get(..self.count).unwrap_or_default() {
            let block = |len| {
                let at = usize::from(place & !TRADE);
                body.get(at..at + len)
            };
            let event = if place & TRADE == 0 {
                block(LEVEL_BYTES)
                    .and_then(|block| LevelUpdateDecoder::decode_body(block, LEVEL_BYTES, 0).ok())
                    .and_then(|(level, _)| level_update(&level))
                    .map(|(instrument, level)| (instrument, EventKind::Level(level)))
            } else {
                block(TRADE_BYTES)
                    .and_then(|block| TradeDecoder::decode_body(block, TRADE_BYTES, 0).ok())
                    .and_then(|(from, _)| trade(&from))
                    .map(|(instrument, trade)| (instrument, EventKind::Trade(trade)))
            };
            // It was checked: it can be read again.
            let Some((instrument, kind)) = event else { return };
            if !visit(instrument, kind) {
                return;
            }
        }
    }
}
