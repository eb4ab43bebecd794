//! The files, read back by the plainest reader that there can be. What others make of them, the
//! integration tests ask.

use std::collections::BTreeMap;
use std::io::Read;

use taut_types::{Nanos, Qty};

use super::encoding::tests::read_hybrid;
use super::*;
use crate::rows::Seen;

/// A value of Thrift's compact protocol.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Bool(bool),
    Number(i64),
    Binary(Vec<u8>),
    List(Vec<Value>),
    Struct(BTreeMap<u8, Value>),
}

impl Value {
    fn at(&self, field: u8) -> &Self {
        let Self::Struct(fields) = self else { panic!("{self:?} is no struct") };
        fields.get(&field).unwrap_or_else(|| panic!("no field {field} in {self:?}"))
    }

    fn number(&self, field: u8) -> i64 {
        let Self::Number(number) = self.at(field) else { panic!("{self:?}: {field}") };
        *number
    }

    fn text(&self, field: u8) -> String {
        let Self::Binary(bytes) = self.at(field) else { panic!("{self:?}: {field}") };
        String::from_utf8(bytes.clone()).expect("text")
    }

    fn list(&self, field: u8) -> &[Self] {
        let Self::List(list) = self.at(field) else { panic!("{self:?}: {field}") };
        list
    }
}

/// What is left of some bytes.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn byte(&mut self) -> u8 {
        let byte = self.0[0];
        self.0 = &self.0[1..];
        byte
    }

    fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }

    fn value(&mut self, kind: u8) -> Value {
        match kind {
            1 | 2 => Value::Bool(kind == 1),
            3 => Value::Number(self.byte().into()),
            5 | 6 => {
                let value = self.varint();
                Value::Number((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
            }
            8 => {
                let len = self.varint() as usize;
                let (bytes, rest) = self.0.split_at(len);
                self.0 = rest;
                Value::Binary(bytes.to_vec())
            }
            9 => {
                let head = self.byte();
                let len = if head >> 4 == 15 { self.varint() } else { u64::from(head >> 4) };
                Value::List((0..len).map(|_| self.value(head & 15)).collect())
            }
            12 => self.structure(),
            _ => panic!("no such type: {kind}"),
        }
    }

    fn structure(&mut self) -> Value {
        let (mut fields, mut last) = (BTreeMap::new(), 0);
        loop {
            let head = self.byte();
            if head == 0 {
                return Value::Struct(fields);
            }
            last += head >> 4;
            let value = self.value(head & 15);
            fields.insert(last, value);
        }
    }
}

/// The directory at the end of a file.
fn directory(file: &[u8]) -> Value {
    assert!(file.starts_with(MAGIC) && file.ends_with(MAGIC));
    let (rest, len) = file[..file.len() - 4].split_at(file.len() - 8);
    let len = u32::from_le_bytes(len.try_into().expect("four bytes")) as usize;
    let mut footer = Rest(&rest[rest.len() - len..]);
    let directory = footer.structure();
    assert!(footer.0.is_empty());
    directory
}

/// The values of a column's pages.
fn values(file: &[u8], chunk: &Value) -> Vec<i64> {
    let told = chunk.at(3);
    let first = if let Value::Struct(fields) = told
        && fields.contains_key(&11)
    {
        11
    } else {
        9
    };
    assert_eq!(told.number(first), chunk.number(2));
    let mut pages = Rest(&file[told.number(first) as usize..]);
    let before = pages.0.len();
    let width = if told.number(1) == 2 { 8 } else { 4 };
    let plain = |body: &[u8]| -> Vec<i64> {
        let value = |bytes: &[u8]| match bytes.try_into() {
            Ok(bytes) => i64::from_le_bytes(bytes),
            Err(_) => i32::from_le_bytes(bytes.try_into().expect("four bytes")).into(),
        };
        body.chunks(width).map(value).collect()
    };
    let (mut dictionary, mut all) = (Vec::new(), Vec::new());
    while all.len() < told.number(5) as usize {
        let at = file.len() - before + (before - pages.0.len());
        if first == 11 && !dictionary.is_empty() && all.is_empty() {
            assert_eq!(at as i64, told.number(9));
        }
        let header = pages.structure();
        let (packed, rest) = pages.0.split_at(header.number(3) as usize);
        pages.0 = rest;
        let mut body = Vec::new();
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).expect("zstd");
        decoder.read_to_end(&mut body).expect("zstd");
        assert_eq!(body.len() as i64, header.number(2));
        if header.number(1) == 2 {
            dictionary = plain(&body);
            assert_eq!(dictionary.len() as i64, header.at(7).number(1));
            continue;
        }
        let count = header.at(5).number(1) as usize;
        match header.at(5).number(2) {
            0 => all.extend(plain(&body)),
            _ => all.extend(read_hybrid(&body, count).iter().map(|at| dictionary[*at as usize])),
        }
    }
    assert_eq!((before - pages.0.len()) as i64, told.number(7));
    all
}

fn row(at: i64) -> Row {
    Row {
        exchange_at: Nanos(1_000 + at),
        local_at: Nanos(2_000 + at / 8),
        seen: if at % 3 == 0 { Seen::Both } else { Seen::Local },
        kind: if at % 2 == 0 { Kind::Level } else { Kind::Trade },
        side: if at % 2 == 0 { Some(Side::Sell) } else { None },
        price: Price(5 * (at % 777)),
        qty: Qty { mantissa: at % 100, decimals: 2 },
        order_id: u64::MAX - at.unsigned_abs(),
        instrument: u32::MAX,
    }
}

#[test]
fn every_column_is_read_as_it_was_written_over_several_groups() {
    let (mut file, reading) = (Vec::new(), Reading::new());
    assert_eq!(reading.number(b"BTCUSDT"), 1);
    let count = ROWS as i64 + 3;
    let mut writer = Box::new(ParquetWriter::begin(&mut file, 3, &reading).expect("a file"));
    for at in 0..count {
        writer.write_row(&row(at)).expect("a row");
    }
    writer.finish().expect("a whole file");
    let directory = directory(&file);
    assert_eq!(directory.number(3), count);
    let notes: BTreeMap<_, _> =
        directory.list(5).iter().map(|note| (note.text(1), note.text(2))).collect();
    assert_eq!(notes["taut.px_exponent"], "-9");
    assert_eq!(notes["taut.qty_exponent"], "-3");
    assert_eq!(notes["taut.symbols"], "{\"1\":\"BTCUSDT\"}");
    let names: Vec<_> = directory.list(2)[1..].iter().map(|column| column.text(4)).collect();
    assert_eq!(names[5..], ["px", "qty", "order_id", "instrument"]);
    let [first, second] = directory.list(4) else { panic!("two groups") };
    assert_eq!((first.number(3), second.number(3)), (ROWS as i64, 3));
    let columns = first.list(1).iter().zip(second.list(1));
    let columns: Vec<_> =
        columns.map(|(one, other)| [values(&file, one), values(&file, other)].concat()).collect();
    for (at, place) in (0..count).zip(0..) {
        let found: Vec<_> = columns.iter().map(|column| column[place]).collect();
        let (kind, side) = if at % 2 == 0 { (1, -1) } else { (2, 0) };
        let flags = if at % 3 == 0 { 3 } else { 2 };
        let order = (u64::MAX - at.unsigned_abs()).cast_signed();
        let (price, qty) = (5 * (at % 777), at % 100 * 10);
        assert_eq!(found, [1_000 + at, 2_000 + at / 8, kind, side, flags, price, qty, order, -1]);
    }
    // What all rows have alone, no dictionary has.
    let encodings = |chunk: &Value| chunk.at(3).list(2).len();
    let used: Vec<_> = first.list(1).iter().map(encodings).collect();
    assert_eq!(used, [2, 3, 3, 3, 3, 3, 3, 2, 3]);
    let bounds = first.list(1)[0].at(3).at(12);
    assert_eq!(*bounds.at(6), Value::Binary(1_000_i64.to_le_bytes().to_vec()));
    assert!(file.len() < 12 * count as usize, "{} bytes", file.len());
}

#[test]
fn a_quantity_with_more_decimals_than_were_chosen_is_refused_with_its_row() {
    let mut writer = ParquetWriter::begin(std::io::sink(), 1, &Reading::new()).expect("a file");
    let told = writer.write_row(&row(7)).expect_err("0.07 has two").to_string();
    assert!(told.starts_with("the trade of 0.07 at 0.000000035 received at 2000 ns: "), "{told}");
    assert!(told.contains("--quantity-decimals"), "{told}");
}

/// The bodies of a chunk's pages, with the kinds of their headers.
fn bodies(file: &[u8], chunk: &Value) -> Vec<(i64, Vec<u8>)> {
    let first = usize::try_from(chunk.number(2)).expect("a place");
    let packed = usize::try_from(chunk.at(3).number(7)).expect("a length");
    let mut pages = Rest(&file[first..first + packed]);
    let mut all = Vec::new();
    while !pages.0.is_empty() {
        let header = pages.structure();
        let (packed, rest) = pages.0.split_at(header.number(3) as usize);
        pages.0 = rest;
        let mut body = Vec::new();
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).expect("zstd");
        decoder.read_to_end(&mut body).expect("zstd");
        all.push((header.number(1), body));
    }
    all
}

/// Which rows of a page have values, and what stands behind that.
fn levels(body: &[u8], rows: usize) -> (Vec<u32>, &[u8]) {
    let (len, rest) = body.split_first_chunk::<4>().expect("a length");
    let (bits, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
    (read_hybrid(&[&[1], bits].concat(), rows), rest)
}

#[test]
fn a_table_has_words_numbers_and_rows_without_them() {
    use ParquetValue::{Integer, Nothing, Number, Text};
    let columns = [
        ("at", ParquetType::Time),
        ("name", ParquetType::Text),
        ("worth", ParquetType::Number),
        ("never", ParquetType::Text),
    ];
    let mut table = ParquetTable::new(columns);
    table.note("key", "value");
    for at in 0..3 {
        let name = if at == 1 { Nothing } else { Text("X") };
        table.push([Integer(at * 7), name, Number(0.5 * at as f64)]);
    }
    let mut file = Vec::new();
    table.write(&mut file).expect("a file");
    let directory = directory(&file);
    assert_eq!((directory.number(3), directory.list(5)[0].text(2)), (3, "value".to_owned()));
    let [group] = directory.list(4) else { panic!("one group") };
    let [at, name, worth, never] = group.list(1) else { panic!("four columns") };
    let [(0, body)] = &bodies(&file, at)[..] else { panic!("a plain page") };
    let (has, rest) = levels(body, 3);
    assert_eq!((has, rest.len()), (vec![1, 1, 1], 24));
    assert_eq!(rest[8..16], 7_i64.to_le_bytes());
    let [(2, words), (0, body)] = &bodies(&file, name)[..] else { panic!("a dictionary") };
    assert_eq!(words[..], [1, 0, 0, 0, b'X']);
    let (has, rest) = levels(body, 3);
    assert_eq!((has, read_hybrid(rest, 2)), (vec![1, 0, 1], vec![0, 0]));
    let [(0, body)] = &bodies(&file, worth)[..] else { panic!("a plain page") };
    assert_eq!(levels(body, 3).1[16..], 1.0_f64.to_le_bytes());
    let [(0, body)] = &bodies(&file, never)[..] else { panic!("a plain page") };
    assert_eq!(levels(body, 3), (vec![0; 3], &[][..]));
}
