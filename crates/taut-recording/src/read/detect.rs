//! What a file is, by what stands in it.

use std::path::Path;

use super::Source;
use crate::FileError;
use crate::rows::{CSV_COLUMNS, Reading};
use crate::text::TextFile;

/// What files begin with that are no text.
const ZIP: &[u8] = b"PK\x03\x04";
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const DBN: &[u8] = b"DBN";
const PARQUET: &[u8] = b"PAR1";
/// Lines of a capture that are looked at: the first ones may be about its connection.
const LINES: usize = 64;

/// Words that the frames of one venue have, or the lines about its connection.
const VENUES: [(Source, &[&[u8]]); 3] = [
    (Source::Okx, &[b"okx.com", b"\"arg\":", b"\"arg\" :"]),
    (Source::Deribit, &[b"deribit.com", b"\"jsonrpc\""]),
    (Source::Binance, &[b"binance.com", b"\"lastUpdateId\"", b"\"stream\"", b"\"e\":", b"\"u\":"]),
];

impl Source {
    /// What a file is, by its first bytes and lines; its name says nothing.
    ///
    /// # Errors
    /// When it cannot be read, or is none of those that are read.
    pub fn of(path: &Path) -> Result<Self, FileError> {
        let name = path.display().to_string();
        let reading = Reading::new();
        let mut file = TextFile::open(path, &reading)?;
        let begin = file.begin()?;
        for (magic, source) in [(ZIP, Self::Npz), (ZSTD, Self::Dbn), (DBN, Self::Dbn)] {
            if begin.starts_with(magic) {
                return Ok(source);
            }
        }
        if begin.starts_with(PARQUET) {
            let what = "it is Parquet, which is written and not read here; take the recording that \
                        it was made of";
            return Err(FileError::whole(&name, what));
        }
        let mut lines = 0;
        while lines < LINES && file.advance()? {
            lines += 1;
            if let Some(source) = of_line(file.line(), lines == 1) {
                return Ok(source);
            }
        }
        let what = "what it is cannot be seen: no npz, DBN, LOBSTER, Tardis or taut CSV, and no \
                    frames of Binance, Deribit or OKX; say it, or take another file";
        Err(FileError::whole(&name, what))
    }
}

/// What a line is of.
fn of_line(line: &[u8], is_first: bool) -> Option<Source> {
    if is_first {
        if line == CSV_COLUMNS.join(",").as_bytes() {
            return Some(Source::Csv);
        }
        if line.starts_with(b"exchange,symbol,timestamp,local_timestamp,") {
            return Some(Source::Tardis);
        }
        let fields: Vec<_> = line.split(|byte| *byte == b',').collect();
        let is_number = |field: &&[u8]| {
            !field.is_empty()
                && field.iter().all(|it| it.is_ascii_digit() || matches!(it, b'.' | b'-'))
        };
        // Time, type, order, size, price, direction.
        if (6..=7).contains(&fields.len()) && fields.iter().take(6).all(is_number) {
            return Some(Source::Lobster);
        }
    }
    let has = |word: &&[u8]| line.windows(word.len()).any(|part| part == *word);
    VENUES.iter().find(|(_, words)| words.iter().any(has)).map(|(source, _)| *source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_stands_in_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        let of = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("a file");
            Source::of(&path).map_err(|error| error.to_string())
        };
        let cases: [(&[u8], Source); 10] = [
            (b"PK\x03\x04rest", Source::Npz),
            (b"DBN\x02rest", Source::Dbn),
            (&[0x28, 0xb5, 0x2f, 0xfd, 0], Source::Dbn),
            (b"exch_ts,local_ts,seen,kind,side,px,qty,order_id,symbol\n", Source::Csv),
            (b"exchange,symbol,timestamp,local_timestamp,is_snapshot,side\r\n", Source::Tardis),
            (b"34200.017459617,5,0,1,2238200,-1\n", Source::Lobster),
            (b"17 {\"stream\":\"btcusdt@depth\",\"data\":{}}\n", Source::Binance),
            (b"17 {\"jsonrpc\":\"2.0\",\"method\":\"subscription\"}\n", Source::Deribit),
            (b"17 {\"arg\":{\"channel\":\"books\"}}\n", Source::Okx),
            (b"\n\n17 {\"lastUpdateId\":1,\"bids\":[],\"asks\":[]}\n", Source::Binance),
        ];
        for (bytes, source) in cases {
            assert_eq!(of(bytes), Ok(source), "{}", String::from_utf8_lossy(bytes));
        }
        for (bytes, what) in
            [(&b"PAR1"[..], "it is Parquet"), (b"hello\n", "cannot be seen"), (b"", "cannot be")]
        {
            let told = of(bytes).expect_err("none of them");
            assert!(told.contains(what), "{told}");
        }
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, b"1 {\"stream\":\"x\"}\n").expect("bytes");
        assert_eq!(of(&packed.finish().expect("bytes")), Ok(Source::Binance));
        assert!(Source::of(folder.path()).is_err(), "a folder");
    }
}
