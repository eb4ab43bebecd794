//! Tardis's CSV files as rows: `incremental_book_L2` and `trades`, told apart by their columns.
//!
//! Times are microseconds since 1970, UTC. Levels of a snapshot replace the book: a row that says
//! so comes before them ([docs.tardis.dev, "Downloadable CSV files: data types"]). Files are merged
//! by their local times; of equal ones the file that was named first comes first.
//!
//! [docs.tardis.dev, "Downloadable CSV files: data types"]:
//!     https://docs.tardis.dev/downloadable-csv-files/data-types

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::rc::Rc;

use taut_types::{Nanos, Price, Qty, Side};

use super::files::Files;
use crate::FileError;
use crate::error::shown;
use crate::rows::{Kind, ReadRows, Reading, Row, Seen};
use crate::text::TextFile;

const NANOS: i64 = 1_000;
/// The columns of both kinds, and the one that tells them apart.
const COLUMNS: [&str; 7] =
    ["symbol", "timestamp", "local_timestamp", "side", "price", "amount", IS_SNAPSHOT];
const IS_SNAPSHOT: &str = "is_snapshot";
const SNAPSHOT_AT: usize = 6;
const WIDTH_MAX: usize = 64;

pub(super) struct TardisRows {
    files: Vec<File>,
}

struct File {
    text: TextFile,
    reading: Rc<Reading>,
    /// Where the columns stand; trades have no [`IS_SNAPSHOT`].
    places: [Option<usize>; COLUMNS.len()],
    /// Instruments whose last row was of a snapshot.
    in_snapshot: HashSet<u32>,
    rows: VecDeque<Row>,
}

impl TardisRows {
    pub(super) fn open(files: &mut Files) -> Result<Self, FileError> {
        let mut all = Vec::new();
        while let Some(mut file) = files.open_next(File::open)? {
            file.fill()?;
            all.push(file);
        }
        if all.is_empty() { Err(Files::none()) } else { Ok(Self { files: all }) }
    }
}

impl ReadRows for TardisRows {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        let time = |file: &File| file.rows.front().map(|row| row.local_at);
        let with_rows = self.files.iter_mut().filter(|file| !file.rows.is_empty());
        let Some(file) = with_rows.min_by_key(|file| time(file)) else { return Ok(None) };
        let row = file.rows.pop_front();
        file.fill()?;
        Ok(row)
    }
}

impl File {
    fn open(path: &Path, reading: &Rc<Reading>) -> Result<Self, FileError> {
        let mut text = TextFile::open(path, reading)?;
        text.advance()?;
        let names: Vec<_> = text.line().split(|&byte| byte == b',').collect();
        let places = COLUMNS.map(|name| names.iter().position(|own| *own == name.as_bytes()));
        let missing = COLUMNS.iter().zip(&places).take(SNAPSHOT_AT).find(|(_, at)| at.is_none());
        if let Some((name, _)) = missing {
            let what = format!(
                "it has no column `{name}`; expected incremental_book_L2 or trades of Tardis"
            );
            return Err(FileError::at_line(text.name(), 1, what));
        }
        let (reading, rows) = (Rc::clone(reading), VecDeque::new());
        Ok(Self { text, reading, places, in_snapshot: HashSet::new(), rows })
    }

    /// Has a row, unless the file is at its end.
    fn fill(&mut self) -> Result<(), FileError> {
        if !self.rows.is_empty() || !self.text.advance()? {
            return Ok(());
        }
        let row = self.row()?;
        if row.kind != Kind::Snapshot {
            self.in_snapshot.remove(&row.instrument);
        } else if self.in_snapshot.insert(row.instrument) {
            let (kind, side, price, qty) = (Kind::Clear, None, Price(0), Qty::ZERO);
            self.rows.push_back(Row { kind, side, price, qty, ..row });
        }
        self.rows.push_back(row);
        Ok(())
    }

    fn row(&self) -> Result<Row, FileError> {
        let mut fields = [b"".as_slice(); WIDTH_MAX];
        let mut count = 0;
        let split = self.text.line().split(|&byte| byte == b',');
        for (field, value) in fields.iter_mut().zip(split) {
            *field = value;
            count += 1;
        }
        let field = |at: usize| -> &[u8] {
            let place = self.places.get(at).copied().flatten();
            place.and_then(|place| fields.get(place)).copied().unwrap_or_default()
        };
        let wrong = |at: usize, expected: &str| {
            let name = COLUMNS.get(at).copied().unwrap_or_default();
            let value = shown(String::from_utf8_lossy(field(at)).chars());
            let (file, line) = (self.text.name(), self.text.number());
            FileError::field(file, line, name, value, format!("expected {expected}"))
        };
        let last = self.places.iter().flatten().max();
        if last.is_some_and(|last| *last >= count) {
            return Err(self.text.wrong(format!("it has {count} columns, the first line more")));
        }
        let time = |at| {
            let text = std::str::from_utf8(field(at)).ok();
            let micros = text.and_then(|text| text.parse::<i64>().ok());
            let nanos = micros.and_then(|micros| micros.checked_mul(NANOS));
            nanos.map(Nanos).ok_or_else(|| wrong(at, "microseconds since 1970"))
        };
        let kind = match (self.places.last().copied().flatten(), field(SNAPSHOT_AT)) {
            (None, _) => Kind::Trade,
            (Some(_), b"true") => Kind::Snapshot,
            (Some(_), b"false") => Kind::Level,
            (Some(_), _) => return Err(wrong(SNAPSHOT_AT, "true or false")),
        };
        let side = match (kind, field(3)) {
            (Kind::Trade, b"buy") => Some(Side::Buy),
            (Kind::Trade, b"sell") => Some(Side::Sell),
            (Kind::Trade, b"unknown" | b"") => None,
            (Kind::Trade, _) => return Err(wrong(3, "buy, sell or unknown")),
            (_, b"bid") => Some(Side::Buy),
            (_, b"ask") => Some(Side::Sell),
            _ => return Err(wrong(3, "bid or ask")),
        };
        let qty = Qty::parse(field(5)).ok().filter(|qty| qty.mantissa >= 0);
        Ok(Row {
            exchange_at: time(1)?,
            local_at: time(2)?,
            seen: Seen::Both,
            kind,
            side,
            price: Price::parse(field(4))
                .map_err(|_| wrong(4, "a decimal of at most 9 decimals"))?,
            qty: qty.ok_or_else(|| wrong(5, "a decimal of at most 18 digits, not below 0"))?,
            order_id: 0,
            instrument: self.reading.number(field(0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(files: &[&str]) -> Result<Vec<Row>, FileError> {
        let folder = tempfile::tempdir().expect("a folder");
        let reading = Reading::new();
        let mut paths = Vec::new();
        for (number, text) in files.iter().enumerate() {
            let path = folder.path().join(format!("{number}.csv"));
            std::fs::write(&path, text).expect("a file");
            paths.push(path);
        }
        let mut files = Files::new(&paths, &reading);
        let mut tardis = TardisRows::open(&mut files)?;
        let mut all = Vec::new();
        while let Some(row) = tardis.next_row()? {
            all.push(row);
        }
        Ok(all)
    }

    const BOOK: &str = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n";
    const TRADES: &str = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n";

    #[test]
    fn a_snapshot_replaces_the_book_and_trades_come_at_their_times() {
        let book = format!(
            "{BOOK}x,BTC,1,10,true,bid,7.5,2\nx,BTC,1,10,true,ask,8,0.5\n\
             x,BTC,3,12,false,bid,7.5,0\nx,BTC,4,14,true,bid,7,1\n"
        );
        let trades = format!("{TRADES}x,BTC,2,11,id-1,sell,7.5,1.25\nx,BTC,4,14,,unknown,7,1\n");
        let all = rows(&[&trades, &book]).expect("rows");
        let kinds: Vec<_> = all.iter().map(|row| (row.kind, row.local_at.0 / NANOS)).collect();
        let (clear, snapshot, trade) = (Kind::Clear, Kind::Snapshot, Kind::Trade);
        assert_eq!(
            kinds,
            [
                (clear, 10),
                (snapshot, 10),
                (snapshot, 10),
                (trade, 11),
                (Kind::Level, 12),
                (trade, 14),
                (clear, 14),
                (snapshot, 14),
            ]
        );
        assert_eq!((all[3].side, all[3].qty.to_string()), (Some(Side::Sell), "1.25".to_owned()));
        assert_eq!((all[4].side, all[4].price), (Some(Side::Buy), Price(7_500_000_000)));
    }

    #[test]
    fn what_is_wrong_is_named_by_file_line_and_column() {
        for (text, what) in [
            ("a,b\n", "0.csv:1: it has no column `symbol`"),
            ("", "0.csv:1: it has no column `symbol`"),
            (
                &format!("{BOOK}x,B,1,2,maybe,bid,1,1\n"),
                "0.csv:2: field `is_snapshot` is \"maybe\"",
            ),
            (&format!("{BOOK}x,B,1,2,true,buy,1,1\n"), "0.csv:2: field `side` is \"buy\""),
            (&format!("{BOOK}x,B,1,2,true,bid,1e5,1\n"), "0.csv:2: field `price` is \"1e5\""),
            (&format!("{BOOK}x,B,1,2,true,bid,1,-1\n"), "0.csv:2: field `amount` is \"-1\""),
            (&format!("{TRADES}x,B,1,,9,buy,1,1\n"), "0.csv:2: field `local_timestamp` is \"\""),
            (&format!("{TRADES}x,B,1\n"), "0.csv:2: it has 3 columns"),
        ] {
            let told = rows(&[text]).expect_err("a wrong file").to_string();
            assert!(told.contains(what), "{told}");
        }
    }
}
