//! The text files that [`crate::write`] makes, read back.

use std::path::Path;
use std::rc::Rc;

use taut_types::{Nanos, Price, Qty, Side};

use super::files::Files;
use crate::FileError;
use crate::error::shown;
use crate::rows::{CSV_COLUMNS, Kind, ReadRows, Reading, Row, Seen};
use crate::text::TextFile;

pub(super) struct CsvRows {
    files: Files,
    file: TextFile,
}

impl CsvRows {
    pub(super) fn open(mut files: Files) -> Result<Self, FileError> {
        let file = files.open_next(open)?.ok_or_else(Files::none)?;
        Ok(Self { files, file })
    }
}

fn open(path: &Path, reading: &Rc<Reading>) -> Result<TextFile, FileError> {
    let mut file = TextFile::open(path, reading)?;
    let head = CSV_COLUMNS.join(",");
    if !file.advance()? || file.line() != head.as_bytes() {
        let what = format!("its first line is not `{head}`; check --from");
        return Err(FileError::at_line(file.name(), 1, what));
    }
    Ok(file)
}

impl ReadRows for CsvRows {
    fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        while !self.file.advance()? {
            let Some(next) = self.files.open_next(open)? else { return Ok(None) };
            self.file = next;
        }
        let reading = self.files.reading();
        row(&self.file, reading).map(Some)
    }
}

fn row(file: &TextFile, reading: &Reading) -> Result<Row, FileError> {
    let mut fields = file.line().split(|&byte| byte == b',');
    let mut values = [b"".as_slice(); CSV_COLUMNS.len()];
    for (value, name) in values.iter_mut().zip(CSV_COLUMNS) {
        *value = fields.next().ok_or_else(|| file.wrong(format!("it has no `{name}`")))?;
    }
    if fields.next().is_some() {
        return Err(file.wrong(format!("it has more than {} columns", CSV_COLUMNS.len())));
    }
    let [exchange_at, local_at, seen, kind, side, price, qty, order_id, symbol] = values;
    let wrong = |column: usize, expected: &str| {
        let value = values.get(column).copied().unwrap_or_default();
        let value = shown(String::from_utf8_lossy(value).chars());
        let name = CSV_COLUMNS.get(column).copied().unwrap_or_default();
        FileError::field(file.name(), file.number(), name, value, format!("expected {expected}"))
    };
    let number = |text: &[u8]| std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    let time = |column, text: &[u8]| {
        number(text).map(Nanos).ok_or_else(|| wrong(column, "nanoseconds since 1970"))
    };
    Ok(Row {
        exchange_at: time(0, exchange_at)?,
        local_at: time(1, local_at)?,
        seen: match seen {
            b"both" => Seen::Both,
            b"exchange" => Seen::Exchange,
            b"local" => Seen::Local,
            _ => return Err(wrong(2, "both, exchange or local")),
        },
        kind: Kind::of_name(kind).ok_or_else(|| wrong(3, "level, trade, clear, ..."))?,
        side: match side {
            b"buy" => Some(Side::Buy),
            b"sell" => Some(Side::Sell),
            b"" => None,
            _ => return Err(wrong(4, "buy, sell or nothing")),
        },
        price: Price::parse(price).map_err(|_| wrong(5, "a price of at most 9 decimals"))?,
        qty: Qty::parse(qty)
            .ok()
            .filter(|qty| qty.mantissa >= 0)
            .ok_or_else(|| wrong(6, "a quantity of at most 18 digits, not below 0"))?,
        order_id: std::str::from_utf8(order_id)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| wrong(7, "a whole number of 64 bits"))?,
        instrument: reading.number(symbol),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: [&str; 9] = ["1", "2", "local", "modify", "sell", "-0.5", "1.25", "7", "ABC"];

    fn rows(text: &str) -> Result<Vec<Row>, FileError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.csv");
        std::fs::write(&path, text).expect("a file");
        let mut rows = CsvRows::open(Files::new(&[path.clone(), path], &Reading::new()))?;
        let mut all = Vec::new();
        while let Some(row) = rows.next_row()? {
            all.push(row);
        }
        Ok(all)
    }

    #[test]
    fn a_line_is_a_row_and_files_follow_each_other() {
        let all = rows(&format!("{}\n{}\n", CSV_COLUMNS.join(","), ROW.join(","))).expect("rows");
        let row = Row {
            exchange_at: Nanos(1),
            local_at: Nanos(2),
            seen: Seen::Local,
            kind: Kind::Modify,
            side: Some(Side::Sell),
            price: Price(-500_000_000),
            qty: Qty { mantissa: 125, decimals: 2 },
            order_id: 7,
            instrument: 1,
        };
        assert_eq!(all, [row, row]);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_line_and_its_column() {
        for (column, value) in [
            (0, "1.5"),
            (1, ""),
            (2, "all"),
            (3, "level "),
            (4, "bid"),
            (5, "1e5"),
            (6, "-1"),
            (7, "-7"),
        ] {
            let mut fields = ROW;
            fields[column] = value;
            let text = format!("{}\n{}\n", CSV_COLUMNS.join(","), fields.join(","));
            let told = rows(&text).expect_err("a wrong row").to_string();
            let what =
                format!("x.csv:2: field `{}` is \"{value}\": expected ", CSV_COLUMNS[column]);
            assert!(told.contains(&what), "{told}");
        }
        let short = format!("{}\n1,2\n", CSV_COLUMNS.join(","));
        let told = rows(&short).expect_err("a short row").to_string();
        assert!(told.contains("x.csv:2: it has no `seen`"), "{told}");
        let long = format!("{}\n{},x\n", CSV_COLUMNS.join(","), ROW.join(","));
        let told = rows(&long).expect_err("a long row").to_string();
        assert!(told.contains("x.csv:2: it has more than 9 columns"), "{told}");
    }
}
