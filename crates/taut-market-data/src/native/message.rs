//! The templates of the schema, as one enum.

use taut_types::InstrumentId;

use crate::event::EventKind;
use crate::native::block::{InstrumentDefinition, SnapshotBegin, SnapshotEnd, SnapshotPart};
use crate::native::codec;
use crate::native::error::SbeError;
use crate::native::event;
use crate::native::frame::{BLOCK, Frame, place};
use crate::native::group::{Levels, Orders};
use crate::native::value::Value;

/// Template 7: some levels of a snapshot, best first on each side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotLevels<'a> {
    /// Which part of which snapshot.
    pub part: SnapshotPart,
    /// The levels.
    pub levels: Levels<'a>,
}

/// Template 8: some orders of a snapshot, in priority order within each level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotOrders<'a> {
    /// Which part of which snapshot.
    pub part: SnapshotPart,
    /// The orders.
    pub orders: Orders<'a>,
}

/// A message of the feed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message<'a> {
    /// Templates 1 to 5 and 11: an order, a level, a trade or the status of this instrument.
    Event(InstrumentId, EventKind),
    /// Template 6.
    SnapshotBegin(SnapshotBegin),
    /// Template 7.
    SnapshotLevels(SnapshotLevels<'a>),
    /// Template 8.
    SnapshotOrders(SnapshotOrders<'a>),
    /// Template 9.
    SnapshotEnd(SnapshotEnd),
    /// Template 10.
    InstrumentDefinition(InstrumentDefinition),
}

impl<'a> Message<'a> {
    /// Decodes a framed message: nothing for a template that this version does not know, an offset
    /// in its body when it is malformed.
    pub(crate) fn read(frame: &Frame<'a>) -> Result<Option<Self>, usize> {
        let Some(template) = frame.template() else { return Ok(None) };
        macro_rules! decoded {
            ($decoder:ident) => {
                codec::$decoder::decode_body(frame.body, frame.block_length(), frame.version())
                    .map_err(place)?
                    .0
            };
        }
        macro_rules! fixed {
            ($name:ident, $decoder:ident) => {
                Self::$name($name::of(&decoded!($decoder)).ok_or(BLOCK)?)
            };
        }
        macro_rules! event {
            ($read:ident, $decoder:ident) => {{
                let (instrument, kind) = event::$read(&decoded!($decoder)).ok_or(BLOCK)?;
                Self::Event(instrument, kind)
            }};
        }
        Ok(Some(match template {
            codec::OrderAddDecoder::TEMPLATE_ID => event!(order_add, OrderAddDecoder),
            codec::OrderReduceDecoder::TEMPLATE_ID => event!(order_reduce, OrderReduceDecoder),
            codec::OrderDeleteDecoder::TEMPLATE_ID => event!(order_delete, OrderDeleteDecoder),
            codec::LevelUpdateDecoder::TEMPLATE_ID => {
                let (of, level) =
                    event::level_update(&decoded!(LevelUpdateDecoder)).ok_or(BLOCK)?;
                Self::Event(of, EventKind::Level(level))
            }
            codec::TradeDecoder::TEMPLATE_ID => {
                let (of, trade) = event::trade(&decoded!(TradeDecoder)).ok_or(BLOCK)?;
                Self::Event(of, EventKind::Trade(trade))
            }
            codec::InstrumentStatusDecoder::TEMPLATE_ID => {
                event!(status, InstrumentStatusDecoder)
            }
            codec::SnapshotBeginDecoder::TEMPLATE_ID => {
                fixed!(SnapshotBegin, SnapshotBeginDecoder)
            }
            codec::SnapshotLevelsDecoder::TEMPLATE_ID => {
                let from = decoded!(SnapshotLevelsDecoder);
                let part = part(from.snapshot_id(), from.packet_index(), from.instrument());
                let levels = Levels::of(from.levels()).ok_or(BLOCK)?;
                Self::SnapshotLevels(SnapshotLevels { part, levels })
            }
            codec::SnapshotOrdersDecoder::TEMPLATE_ID => {
                let from = decoded!(SnapshotOrdersDecoder);
                let part = part(from.snapshot_id(), from.packet_index(), from.instrument());
                let orders = Orders::of(from.orders()).ok_or(BLOCK)?;
                Self::SnapshotOrders(SnapshotOrders { part, orders })
            }
            codec::SnapshotEndDecoder::TEMPLATE_ID => fixed!(SnapshotEnd, SnapshotEndDecoder),
            codec::InstrumentDefinitionDecoder::TEMPLATE_ID => {
                fixed!(InstrumentDefinition, InstrumentDefinitionDecoder)
            }
            _ => return Ok(None),
        }))
    }

    /// Writes the message with its header to the start of `buffer` and returns its length.
    #[inline]
    pub(crate) fn write(&self, buffer: &mut [u8]) -> Result<usize, SbeError> {
        macro_rules! fixed {
            ($message:expr, $encoder:ident) => {{
                let mut to = codec::$encoder::new(buffer)?;
                $message.fill(&mut to);
                to.finish()
            }};
        }
        Ok(match self {
            Self::Event(instrument, EventKind::Status(status)) => {
                return event::write_status(*instrument, *status, buffer);
            }
            Self::Event(instrument, kind) => return event::write(*instrument, kind, buffer),
            Self::SnapshotBegin(m) => fixed!(m, SnapshotBeginEncoder),
            Self::SnapshotLevels(SnapshotLevels { part, levels }) => {
                let mut to = codec::SnapshotLevelsEncoder::new(buffer)?;
                to.snapshot_id(part.snapshot_id).packet_index(part.packet_index);
                to.instrument(part.instrument.raw());
                to.levels(levels.iter(), |to, level| event::fill_level(&level, to))?.finish()
            }
            Self::SnapshotOrders(SnapshotOrders { part, orders }) => {
                let mut to = codec::SnapshotOrdersEncoder::new(buffer)?;
                to.snapshot_id(part.snapshot_id).packet_index(part.packet_index);
                to.instrument(part.instrument.raw());
                to.orders(orders.iter(), |to, order| event::fill_order(&order, to))?.finish()
            }
            Self::SnapshotEnd(m) => fixed!(m, SnapshotEndEncoder),
            Self::InstrumentDefinition(m) => fixed!(m, InstrumentDefinitionEncoder),
        })
    }
}

const fn part(snapshot_id: u32, packet_index: u32, instrument: u32) -> SnapshotPart {
    SnapshotPart { snapshot_id, packet_index, instrument: InstrumentId(instrument) }
}
