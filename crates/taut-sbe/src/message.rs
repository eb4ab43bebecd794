//! The templates of the schema, as one enum.

use crate::block::{
    InstrumentDefinition, LevelUpdate, OrderAdd, OrderDelete, OrderReduce, SnapshotBegin,
    SnapshotEnd, SnapshotLevel, SnapshotOrder, SnapshotPart, Trade,
};
use crate::frame::{FRAME_BYTES, Frame};
use crate::group::{Entry, Group};

pub(crate) const ORDER_ADD: u16 = 1;
pub(crate) const ORDER_REDUCE: u16 = 2;
pub(crate) const ORDER_DELETE: u16 = 3;
pub(crate) const LEVEL_UPDATE: u16 = 4;
pub(crate) const TRADE: u16 = 5;
pub(crate) const SNAPSHOT_BEGIN: u16 = 6;
pub(crate) const SNAPSHOT_LEVELS: u16 = 7;
pub(crate) const SNAPSHOT_ORDERS: u16 = 8;
pub(crate) const SNAPSHOT_END: u16 = 9;
pub(crate) const INSTRUMENT_DEFINITION: u16 = 10;

/// Template 7: some levels of a snapshot, best first on each side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotLevels<'a> {
    /// Which part of which snapshot.
    pub part: SnapshotPart,
    /// The levels.
    pub levels: Group<'a, SnapshotLevel>,
}

/// Template 8: some orders of a snapshot, in priority order within each level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotOrders<'a> {
    /// Which part of which snapshot.
    pub part: SnapshotPart,
    /// The orders.
    pub orders: Group<'a, SnapshotOrder>,
}

/// A message of the feed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Message<'a> {
    /// Template 1.
    OrderAdd(OrderAdd),
    /// Template 2.
    OrderReduce(OrderReduce),
    /// Template 3.
    OrderDelete(OrderDelete),
    /// Template 4.
    LevelUpdate(LevelUpdate),
    /// Template 5.
    Trade(Trade),
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
    /// The bytes that the message takes in a packet, its frame and header included.
    #[must_use]
    pub const fn encoded_bytes(&self) -> usize {
        FRAME_BYTES
            + match self {
                Self::OrderAdd(_) => OrderAdd::BYTES,
                Self::OrderReduce(_) => OrderReduce::BYTES,
                Self::OrderDelete(_) => OrderDelete::BYTES,
                Self::LevelUpdate(_) => LevelUpdate::BYTES,
                Self::Trade(_) => Trade::BYTES,
                Self::SnapshotBegin(_) => SnapshotBegin::BYTES,
                Self::SnapshotLevels(m) => SnapshotPart::BYTES + m.levels.encoded_bytes(),
                Self::SnapshotOrders(m) => SnapshotPart::BYTES + m.orders.encoded_bytes(),
                Self::SnapshotEnd(_) => SnapshotEnd::BYTES,
                Self::InstrumentDefinition(_) => InstrumentDefinition::BYTES,
            }
    }

    /// Decodes a framed message: nothing for a template that this version does not know, an offset
    /// in its body when it is malformed.
    pub(crate) fn read(frame: &Frame<'a>) -> Result<Option<Self>, usize> {
        macro_rules! fixed {
            ($name:ident) => {
                Self::$name($name::read(frame.block().ok_or(0usize)?)?)
            };
        }
        Ok(Some(match frame.template {
            Some(ORDER_ADD) => fixed!(OrderAdd),
            Some(ORDER_REDUCE) => fixed!(OrderReduce),
            Some(ORDER_DELETE) => fixed!(OrderDelete),
            Some(LEVEL_UPDATE) => fixed!(LevelUpdate),
            Some(TRADE) => fixed!(Trade),
            Some(SNAPSHOT_BEGIN) => fixed!(SnapshotBegin),
            Some(SNAPSHOT_LEVELS) => {
                let (part, levels) = read_part(frame)?;
                Self::SnapshotLevels(SnapshotLevels { part, levels })
            }
            Some(SNAPSHOT_ORDERS) => {
                let (part, orders) = read_part(frame)?;
                Self::SnapshotOrders(SnapshotOrders { part, orders })
            }
            Some(SNAPSHOT_END) => fixed!(SnapshotEnd),
            Some(INSTRUMENT_DEFINITION) => fixed!(InstrumentDefinition),
            _ => return Ok(None),
        }))
    }

    /// Writes the message into `bytes`, which have its encoded length.
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        let Some((head, body)) = bytes.split_first_chunk_mut::<FRAME_BYTES>() else { return };
        let size = body.len();
        macro_rules! fixed {
            ($name:ident, $message:expr, $template:expr) => {{
                Frame::write(head, size, $name::BYTES, $template);
                if let Some(block) = body.first_chunk_mut() {
                    $name::write($message, block);
                }
            }};
        }
        macro_rules! with_group {
            ($part:expr, $group:expr, $template:expr) => {{
                fixed!(SnapshotPart, $part, $template);
                if let Some(rest) = body.get_mut(SnapshotPart::BYTES..) {
                    $group.write(rest);
                }
            }};
        }
        match self {
            Self::OrderAdd(m) => fixed!(OrderAdd, m, ORDER_ADD),
            Self::OrderReduce(m) => fixed!(OrderReduce, m, ORDER_REDUCE),
            Self::OrderDelete(m) => fixed!(OrderDelete, m, ORDER_DELETE),
            Self::LevelUpdate(m) => fixed!(LevelUpdate, m, LEVEL_UPDATE),
            Self::Trade(m) => fixed!(Trade, m, TRADE),
            Self::SnapshotBegin(m) => fixed!(SnapshotBegin, m, SNAPSHOT_BEGIN),
            Self::SnapshotLevels(m) => with_group!(&m.part, m.levels, SNAPSHOT_LEVELS),
            Self::SnapshotOrders(m) => with_group!(&m.part, m.orders, SNAPSHOT_ORDERS),
            Self::SnapshotEnd(m) => fixed!(SnapshotEnd, m, SNAPSHOT_END),
            Self::InstrumentDefinition(m) => {
                fixed!(InstrumentDefinition, m, INSTRUMENT_DEFINITION);
            }
        }
    }
}

/// The root block of a snapshot's part, and the group behind it.
fn read_part<'a, T: Entry>(frame: &Frame<'a>) -> Result<(SnapshotPart, Group<'a, T>), usize> {
    let part = SnapshotPart::read(frame.block().ok_or(0usize)?)?;
    let rest = frame.body.get(frame.block_length..).ok_or(0usize)?;
    let group = Group::read(rest).map_err(|at| frame.block_length + at)?;
    Ok((part, group))
}
