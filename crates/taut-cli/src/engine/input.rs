//! The two formats of order flow, told apart by how they begin. Both are little-endian.
//!
//! - bookgen: `"BMX1", u32 prefill, u32 operations`, then records of 24 bytes: `u8 type (0 add, 1
//!   cancel, 2 immediate or cancel), u8 side (0 buy, 1 sell), u16 0, u32 quantity, u64 id, u64
//!   price in ticks`.
//! - the neutral referee's: `u64 0x4D4542575F303031, u32 version 1, u32 count`, then records of 40
//!   bytes: `u8 type (0 new, 1 cancel, 2 modify), u8 side, u8 immediate or cancel, u8 0, u32
//!   quantity, u64 sequence, u64 id, i64 price in ticks, i64 0`.

use std::path::Path;

use taut_engine::{Command, NewOrder, ReplaceMode};
use taut_types::{HalfTicks, Lots, OrderId, Side, TimeInForce};

use crate::exit::Failure;

const BOOKGEN_MAGIC: &[u8] = b"BMX1";
const BOOKGEN_HEADER: usize = 12;
const BOOKGEN_RECORD: usize = 24;
const NEUTRAL_MAGIC: u64 = 0x4d45_4257_5f30_3031;
const NEUTRAL_HEADER: usize = 16;
const NEUTRAL_RECORD: usize = 40;

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A limit order that may rest.
    Add,
    /// A cancel.
    Cancel,
    /// A limit order that may not.
    ImmediateOrCancel,
    /// New terms for an order, which goes to the end of its queue.
    Modify,
}

/// A command in the 32 bytes that the files have of it; the engine's has room for every term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it is.
    pub kind: Kind,
    side: Side,
    lots: u32,
    /// Of which order.
    pub order_id: OrderId,
    price: HalfTicks,
    /// What its reports carry.
    pub sequence: u64,
}

impl Operation {
    /// As a command to the engine.
    #[inline]
    pub const fn command(&self) -> Command {
        let &Self { kind, side, lots, order_id, price, .. } = self;
        let order = NewOrder::limit(order_id, 0, side, price, Lots(lots as i64));
        match kind {
            Kind::Add => Command::New(order),
            Kind::Cancel => Command::Cancel { order_id },
            Kind::ImmediateOrCancel => Command::New(order.force(TimeInForce::ImmediateOrCancel)),
            Kind::Modify => Command::Replace { order, mode: ReplaceMode::Requeue },
        }
    }

    /// Its price, if it is an order.
    pub fn order_price(&self) -> Option<HalfTicks> {
        (self.kind != Kind::Cancel).then_some(self.price)
    }
}

/// An order flow.
#[derive(Debug)]
pub struct Input {
    operations: Vec<Operation>,
    prefill: usize,
}

impl Input {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`Failure::Usage`] with the file, the offset and what is wrong there.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |what| Failure::Usage(format!("{}: {what}", path.display()));
        let file = std::fs::read(path).map_err(|error| Failure::unreadable(path, error))?;
        Self::parse(&file).map_err(wrong)
    }

    fn parse(file: &[u8]) -> Result<Self, String> {
        if file.starts_with(BOOKGEN_MAGIC) {
            let (prefill, operations) = header(file, BOOKGEN_HEADER)?;
            let count = u64::from(prefill) + u64::from(operations);
            let operations = records(file, BOOKGEN_HEADER, BOOKGEN_RECORD, count, bookgen)?;
            Ok(Self { operations, prefill: prefill as usize })
        } else if file.starts_with(&NEUTRAL_MAGIC.to_le_bytes()) {
            let (version, count) = header(file, NEUTRAL_HEADER)?;
            if version != 1 {
                return Err(format!("offset 8: version {version}; only 1 is known"));
            }
            let operations = records(file, NEUTRAL_HEADER, NEUTRAL_RECORD, count.into(), neutral)?;
            Ok(Self { operations, prefill: 0 })
        } else {
            let expected = "expected \"BMX1\" (bookgen) or 0x4D4542575F303031 (neutral)";
            Err(format!("offset 0: no known order flow begins like this; {expected}"))
        }
    }

    /// All operations: those that fill the book, then the ones that are timed.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The operations that fill the book, and the ones that are timed.
    pub fn parts(&self) -> (&[Operation], &[Operation]) {
        self.operations.split_at(self.prefill)
    }
}

/// The last two words of 32 bits of a header.
fn header(file: &[u8], length: usize) -> Result<(u32, u32), String> {
    let words =
        file.get(length - 8..length).and_then(|tail| Some((u32_at(tail, 0)?, u32_at(tail, 4)?)));
    words.ok_or_else(|| format!("offset {}: the header of {length} bytes is cut off", file.len()))
}

/// The records behind a header, which must be all that follows.
fn records(
    file: &[u8],
    header: usize,
    size: usize,
    count: u64,
    read: impl Fn(&[u8], u64) -> Result<Operation, String>,
) -> Result<Vec<Operation>, String> {
    let body = file.get(header..).unwrap_or_default();
    if (body.len() as u64) != count.saturating_mul(size as u64) {
        let (at, whole) = (header + body.len() / size * size, body.len() / size);
        return Err(format!(
            "offset {at}: the header says {count} records of {size} bytes, \
             there are {whole} and {} bytes",
            body.len() % size
        ));
    }
    (0..)
        .zip(body.chunks_exact(size))
        .map(|(number, record)| {
            read(record, number).map_err(|what| {
                format!("offset {}: record {number}: {what}", header as u64 + number * size as u64)
            })
        })
        .collect()
}

fn bookgen(record: &[u8], number: u64) -> Result<Operation, String> {
    let kind = match byte(record, 0) {
        0 => Kind::Add,
        1 => Kind::Cancel,
        2 => Kind::ImmediateOrCancel,
        other => return Err(format!("type {other}; known are 0, 1 and 2")),
    };
    let price = u64_at(record, 16);
    let price = i64::try_from(price).map_err(|_| format!("price {price} is too large"))?;
    operation(kind, record, u64_at(record, 8), price, number)
}

fn neutral(record: &[u8], _: u64) -> Result<Operation, String> {
    let kind = match (byte(record, 0), byte(record, 2)) {
        (0, 0) => Kind::Add,
        (0, 1) => Kind::ImmediateOrCancel,
        (1, _) => Kind::Cancel,
        (2, _) => Kind::Modify,
        (0, other) => return Err(format!("immediate-or-cancel is {other}; known are 0 and 1")),
        (other, _) => return Err(format!("type {other}; known are 0, 1 and 2")),
    };
    let price = u64_at(record, 24).cast_signed();
    operation(kind, record, u64_at(record, 16), price, u64_at(record, 8))
}

/// What the formats have in common: side and quantity stand at the same place.
fn operation(
    kind: Kind,
    record: &[u8],
    order_id: u64,
    ticks: i64,
    sequence: u64,
) -> Result<Operation, String> {
    let side = byte(record, 1);
    let side = Side::from_index(side).ok_or(format!("side {side}; known are 0 and 1"))?;
    let lots = u32_at(record, 4).unwrap_or_default();
    // A cancel's price says nothing.
    let ticks = if kind == Kind::Cancel { 0 } else { ticks };
    let price = ticks.checked_mul(2).ok_or_else(|| format!("price {ticks} is out of range"))?;
    let (order_id, price) = (OrderId(order_id), HalfTicks(price));
    Ok(Operation { kind, side, lots, order_id, price, sequence })
}

fn byte(record: &[u8], at: usize) -> u8 {
    record.get(at).copied().unwrap_or_default()
}

fn u32_at(record: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*record.get(at..)?.first_chunk()?))
}

/// A record is as long as its format says, so that the word is there.
fn u64_at(record: &[u8], at: usize) -> u64 {
    record.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bookgen_file(records: &[[u8; 24]]) -> Vec<u8> {
        let mut file = b"BMX1\x01\x00\x00\x00".to_vec();
        file.extend((records.len() as u32 - 1).to_le_bytes());
        records.iter().for_each(|record| file.extend(record));
        file
    }

    fn record(kind: u8, side: u8, lots: u32, id: u64, price: u64) -> [u8; 24] {
        let mut record = [0; 24];
        record[..2].copy_from_slice(&[kind, side]);
        record[4..8].copy_from_slice(&lots.to_le_bytes());
        record[8..16].copy_from_slice(&id.to_le_bytes());
        record[16..].copy_from_slice(&price.to_le_bytes());
        record
    }

    #[test]
    fn reads_any_id_and_the_prefill() {
        let input = Input::parse(&bookgen_file(&[
            record(0, 1, u32::MAX, u64::MAX, 7),
            record(1, 0, 0, 5, u64::MAX >> 1),
        ]))
        .unwrap();
        let (prefill, timed) = input.parts();
        assert_eq!((prefill.len(), timed.len()), (1, 1));
        assert_eq!((prefill[0].order_id, prefill[0].price), (OrderId(u64::MAX), HalfTicks(14)));
        assert_eq!((prefill[0].lots, prefill[0].side), (u32::MAX, Side::Sell));
        assert_eq!((timed[0].kind, timed[0].sequence), (Kind::Cancel, 1));
    }

    #[test]
    fn says_where_and_what_is_wrong() {
        let good = record(0, 0, 1, 1, 1);
        let mut long = bookgen_file(&[good]);
        long.push(0);
        let mut neutral = NEUTRAL_MAGIC.to_le_bytes().to_vec();
        neutral.extend([2, 0, 0, 0, 0, 0, 0, 0]);
        for (file, what) in [
            (b"".to_vec(), "offset 0: no known order flow"),
            (b"BMX1\0".to_vec(), "offset 5: the header of 12 bytes is cut off"),
            (neutral, "offset 8: version 2"),
            (long, "offset 36: the header says 1 records of 24 bytes, there are 1 and 1 bytes"),
            (bookgen_file(&[good, record(3, 0, 1, 1, 1)]), "offset 36: record 1: type 3"),
            (bookgen_file(&[good, record(0, 2, 1, 1, 1)]), "offset 36: record 1: side 2"),
            (bookgen_file(&[record(0, 0, 1, 1, 1 << 62)]), "offset 12: record 0: price 46"),
            (bookgen_file(&[record(0, 0, 1, 1, 1 << 63)]), "offset 12: record 0: price 92"),
        ] {
            let told = Input::parse(&file).err().unwrap_or_default();
            assert!(told.starts_with(what), "{told}");
        }
    }
}
