use std::collections::BTreeSet;
use std::fmt::Write;
use std::format;
use std::path::Path;
use std::string::{String, ToString};
use std::vec::Vec;

use taut_types::{InstrumentId, Nanos};

use super::*;
use crate::messages::{
    BooksStale, CODES, Gaps, Killed, NAMES, OrderEntryUp, OrdersRefused, Reloaded, Unreachable,
};

const NOW: Nanos = Nanos(1_000_000_000);

fn all(reader: &mut LogReader<'_>) -> Vec<Entry> {
    let symbol = |id: InstrumentId| (id == InstrumentId(1)).then(|| "BTC-PERP".to_string());
    core::iter::from_fn(|| reader.poll(|at| at, symbol)).collect()
}

#[test]
fn what_is_said_is_read_with_its_values_and_its_text() {
    let memory = LogMemory::new(16);
    let (mut log, mut reader) = memory.ends().expect("a ring");
    let address = "192.0.2.7:9000".parse().expect("an address");
    log.say(NOW, &OrderEntryUp { address });
    log.say_args(NOW, &Unreachable { address }, format_args!("{} refused", "connect"));
    log.say(NOW, &BooksStale { instrument: InstrumentId(1), stale: 3 });
    log.say_text(NOW, &OrdersRefused {}, "invalid \"key\"\nsecond line");
    log.say_args(NOW, &Killed {}, format_args!("all: {}", "by a command"));
    let lines: Vec<String> = all(&mut reader).iter().map(Entry::logfmt).collect();
    let start = "time=1970-01-01T00:00:01.000000000Z";
    assert_eq!(
        lines,
        [
            format!(
                "{start} level=info code=GW-0101 msg=\"orders can be sent\" \
                 address=192.0.2.7:9000"
            ),
            format!(
                "{start} level=warning code=GW-0104 msg=\"the venue cannot be reached for \
                 orders\" address=192.0.2.7:9000 detail=\"connect refused\""
            ),
            format!(
                "{start} level=warning code=GW-0201 msg=\"books cannot be trusted\" \
                 instrument=BTC-PERP stale=3"
            ),
            format!(
                "{start} level=error code=GW-0103 msg=\"the venue refused the session for \
                 orders\" detail=\"invalid \\\"key\\\"\\nsecond line\""
            ),
            format!("{start} level=error code=GW-0401 msg=killed detail=\"all: by a command\""),
        ]
    );
}

#[test]
fn what_is_said_too_often_is_counted_and_told() {
    let memory = LogMemory::new(64);
    let (mut log, mut reader) = memory.ends().expect("a ring");
    let gaps = Gaps { count: 1, total: 1 };
    (0..20).for_each(|_| log.say(NOW, &gaps));
    let said = all(&mut reader);
    assert_eq!(said.len(), LINES_A_SECOND as usize);
    assert!(said.iter().all(|entry| entry.repeated == 0));
    log.housekeeping(NOW);
    assert_eq!(all(&mut reader), [], "its second is not over");
    log.say(NOW + Nanos::from_secs(1), &gaps);
    let [next] = &all(&mut reader)[..] else { panic!("one line") };
    assert_eq!(next.repeated, 12);
    assert!(next.logfmt().ends_with("total=1 repeated=12"), "{}", next.logfmt());
    // Nothing more is said: the count is told alone.
    (0..10).for_each(|_| log.say(NOW + Nanos::from_secs(1), &gaps));
    assert_eq!(all(&mut reader).len(), 7);
    log.housekeeping(NOW + Nanos::from_secs(2));
    let [count] = &all(&mut reader)[..] else { panic!("one line") };
    assert_eq!((count.code.id, count.repeated, count.fields.len()), ("GW-0203", 3, 0));
    log.housekeeping(NOW + Nanos::from_secs(9));
    assert_eq!(all(&mut reader), []);
}

#[test]
fn what_has_no_room_is_counted_and_told_when_there_is_room_again() {
    let memory = LogMemory::new(2);
    let (mut log, mut reader) = memory.ends().expect("a ring");
    for _ in 0..4 {
        log.say_text(NOW, &OrdersRefused {}, "why");
    }
    assert_eq!(all(&mut reader).len(), 1);
    log.housekeeping(NOW);
    let [lost] = &all(&mut reader)[..] else { panic!("one line") };
    assert_eq!(lost.code.id, "LG-0001");
    assert_eq!(lost.fields, [("lost", Value::Number(3))]);
    log.say(NOW, &Killed {});
    assert_eq!(all(&mut reader).len(), 1, "it goes on");
}

#[test]
fn text_is_cut_where_a_letter_ends() {
    let memory = LogMemory::new(16);
    let (mut log, mut reader) = memory.ends().expect("a ring");
    let long = "ä".repeat(TEXT_BYTES_MAX);
    log.say_text(NOW, &OrdersRefused {}, &long);
    log.say_args(NOW, &OrdersRefused {}, format_args!("x{long}"));
    let [whole, shifted] = &all(&mut reader)[..] else { panic!("two lines") };
    assert_eq!(whole.detail, "ä".repeat(TEXT_BYTES_MAX / 2));
    assert_eq!(shifted.detail, format!("x{}", "ä".repeat((TEXT_BYTES_MAX - 1) / 2)));
}

#[test]
fn saying_something_allocates_nothing() {
    let memory = LogMemory::new(1_024);
    let (mut log, _) = memory.ends().expect("a ring");
    let measured = allocation_counter::measure(|| {
        for at in 0..1_000 {
            let now = NOW + Nanos::from_millis(at * 100);
            log.say(now, &Gaps { count: 1, total: at.cast_unsigned() });
            log.say_text(now, &OrdersRefused {}, "too many requests");
            log.say_args(now, &Killed {}, format_args!("{at}"));
            log.housekeeping(now);
        }
    });
    assert_eq!(measured.count_total, 0);
}

#[test]
fn a_silent_log_says_nothing_and_holds_nothing() {
    let mut log = LogWriter::silent();
    log.say(NOW, &Killed {});
    log.housekeeping(NOW);
}

#[test]
fn a_line_of_json_is_json_that_says_the_same() {
    let text = "a\u{1b}[2J \"quoted\" \\ \n\tä\u{202e}";
    let entry = Entry::new(&Reloaded {}, Nanos(1_764_263_107_000_000_009), text);
    let json: serde_json::Value = serde_json::from_str(&entry.json()).expect("JSON");
    assert_eq!(json["msg"], text);
    assert_eq!(json["code"], "GW-0701");
    assert_eq!(json["level"], "notice");
    assert_eq!(json["time"], "2025-11-27T17:05:07.000000009Z");
}

#[test]
fn times_are_civil_ones() {
    let text = |seconds: i64| lines::Utc(Nanos::from_secs(seconds)).to_string();
    assert_eq!(text(951_782_400), "2000-02-29T00:00:00.000000000Z");
    assert_eq!(text(1_709_251_199), "2024-02-29T23:59:59.000000000Z");
    assert_eq!(text(1_709_251_200), "2024-03-01T00:00:00.000000000Z");
    assert_eq!(text(-1), "1969-12-31T23:59:59.000000000Z");
}

#[test]
fn the_journal_has_fields_and_what_has_lines_goes_with_its_length() {
    let mut entry = Entry::new(&Reloaded {}, NOW, "one line");
    entry.fields.push(("total", Value::Number(7)));
    entry.repeated = 2;
    let text = String::from_utf8(entry.journal("taut")).expect("text");
    assert_eq!(
        text,
        "MESSAGE=one line total=7 repeated=2\nPRIORITY=5\nSYSLOG_IDENTIFIER=taut\n\
         TAUT_CODE=GW-0701\nTAUT_TOTAL=7\nTAUT_REPEATED=2\n"
    );
    let datagram = Entry::new(&Reloaded {}, NOW, "two\nlines").journal("taut");
    assert!(datagram.starts_with(b"MESSAGE\n\x09\0\0\0\0\0\0\0two\nlines\nPRIORITY=5\n"));
}

#[test]
fn every_code_is_there_once_in_order_and_explained() {
    let ids: Vec<&str> = CODES.iter().map(|code| code.id).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    for each in CODES {
        let Code { id, summary, means, remedy, .. } = each;
        let (letters, digits) = id.split_once('-').expect("letters and digits");
        assert!(letters.len() == 2 && digits.len() == 4, "{id}");
        assert!(digits.bytes().all(|digit| digit.is_ascii_digit()), "{id}");
        assert!(!summary.ends_with('.') && summary.len() < 60, "{id}: {summary}");
        assert!(means.ends_with('.') && remedy.ends_with('.'), "{id}");
        assert_eq!(code(&id.to_lowercase()), Some(each));
    }
    assert_eq!(code("GW-9999"), None);
}

/// The text of every source below a folder.
fn sources(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|it| it == "rs") {
            all.push_str(&std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

#[test]
fn every_message_is_said_by_somebody() {
    let mut all = String::new();
    for name in ["taut-cli", "taut-gateway", "taut-runner"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"), &mut all);
    }
    let words: BTreeSet<&str> = all.split(|it: char| !it.is_alphanumeric()).collect();
    // The log says it of itself.
    let silent = NAMES.iter().filter(|name| **name != "Lost" && !words.contains(**name));
    assert_eq!(silent.collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn the_page_of_codes_is_the_tables_print() {
    let page = include_str!("../../../docs/codes.md");
    let mut hint = String::new();
    let _ = write!(hint, "docs/codes.md: write it anew with `taut explain --markdown`");
    assert!(page == codes_markdown(), "{hint}");
}
