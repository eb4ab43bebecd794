//! The encoder against its slow twin: text joined by `format!`, length and sum counted at the end.

use proptest::prelude::*;
use taut_fix::{
    BeginString, CompId, Extras, FieldIndex, FixError, Limit, MemoryStore, Now, Precision, Role,
    Session, SessionConfig, SimdLevel, StampCache, Store, Writer,
};
use taut_types::{Nanos, Price};

use crate::support::START_UTC;

/// A field of a body, and how it is written.
#[derive(Clone, Debug)]
enum Part {
    Number(u64),
    Price(i64),
    Text(String),
    Byte(u8),
    Timestamp(i64),
    Signed(i64),
}

impl Part {
    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Number(value) => writer.number::<38>(*value),
            Self::Price(units) => writer.price::<6>(Price(*units)),
            Self::Text(text) => writer.text::<1137>(text.as_bytes()),
            Self::Byte(byte) => writer.byte::<150>(*byte),
            Self::Timestamp(utc) => writer.timestamp::<60>(Nanos(*utc)),
            Self::Signed(value) => writer.signed::<9>(*value),
        }
    }

    fn naive(&self, precision: Precision) -> String {
        match self {
            Self::Number(value) => format!("38={value}\x01"),
            Self::Price(units) => format!("6={}\x01", Price(*units)),
            Self::Text(text) if text.is_empty() => String::new(),
            Self::Text(text) => format!("1137={text}\x01"),
            Self::Byte(byte) => format!("150={}\x01", *byte as char),
            Self::Timestamp(utc) => format!("60={}\x01", stamp(precision, *utc)),
            Self::Signed(value) => format!("9={value}\x01"),
        }
    }
}

/// A time, by a cache that has seen no other.
fn stamp(precision: Precision, utc: i64) -> String {
    StampCache::new(precision).text(Nanos(utc)).to_string()
}

/// Numbers of every length alike.
fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
}

fn utc() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), (0i64..4_000_000_000).prop_map(|near| START_UTC + near)]
}

fn part() -> impl Strategy<Value = Part> {
    let price = (number(), 0u32..18, any::<bool>()).prop_map(|(units, zeros, is_negative)| {
        let scale = 10i64.pow(zeros);
        let units = (units >> 1).cast_signed() / scale * scale;
        Part::Price(if is_negative { -units } else { units })
    });
    prop_oneof![
        number().prop_map(Part::Number),
        price,
        "[ -~]{0,40}".prop_map(Part::Text),
        (32u8..127).prop_map(Part::Byte),
        utc().prop_map(Part::Timestamp),
        any::<i64>().prop_map(Part::Signed),
    ]
}

fn message() -> impl Strategy<Value = (i64, bool, Vec<Part>)> {
    (utc(), any::<bool>(), prop::collection::vec(part(), 0..20))
}

fn config(
    role: Role,
    begin: BeginString,
    [us, them]: [&str; 2],
    precision: Precision,
    level: SimdLevel,
) -> SessionConfig {
    let name = |text: &str| CompId::new(text.as_bytes()).expect("a name");
    SessionConfig {
        precision,
        simd: Some(level),
        sending_time_tolerance: Nanos::ZERO,
        default_application_version: (begin == BeginString::Fixt11).then_some(b'9'),
        ..SessionConfig::new(role, begin, name(us), name(them))
    }
}

/// A session that is up: its next number is 2.
fn session(
    begin: BeginString,
    names: [&str; 2],
    precision: Precision,
    level: SimdLevel,
) -> Session<MemoryStore> {
    let [us, them] = names;
    let made = |role, names| {
        Session::new(config(role, begin, names, precision, level), MemoryStore::new(1, 1))
    };
    let (mut near, mut far) = (made(Role::Initiator, [us, them]), made(Role::Acceptor, [them, us]));
    let now = Now { mono: Nanos(1), utc: Nanos(START_UTC) };
    let (mut out, mut index) = ([0; 512], FieldIndex::with_capacity(64));
    near.connect(now);
    far.connect(now);
    let range = near.poll_transmit(now, &mut out).expect("a Logon");
    far.handle_bytes(now, &out[range], &mut index);
    let range = far.poll_transmit(now, &mut out).expect("a Logon");
    near.handle_bytes(now, &out[range], &mut index);
    assert!(near.is_active());
    near
}

fn precision() -> impl Strategy<Value = Precision> {
    let all = [
        Precision::Millis,
        Precision::Millis,
        Precision::Seconds,
        Precision::Micros,
        Precision::Nanos,
        Precision::Picos,
    ];
    prop::sample::select(all.to_vec())
}

fn level() -> impl Strategy<Value = SimdLevel> {
    prop::sample::select(SimdLevel::all().collect::<Vec<_>>())
}

/// A whole message, from its body.
fn naive(begin: BeginString, body: &str) -> String {
    let start = format!("8={}\x019={}\x01{body}", begin.as_str(), body.len());
    let sum = start.bytes().fold(0u8, |sum, byte| sum.wrapping_add(byte));
    format!("{start}10={sum:03}\x01")
}

proptest! {
    #[test]
    fn a_session_writes_what_its_slow_twin_does(
        begin in prop::sample::select(BeginString::ALL.to_vec()),
        us in "[!-~]{1,31}",
        them in "[!-~]{1,31}",
        precision in precision(),
        level in level(),
        first in prop_oneof![Just(2u64), number().prop_map(|number| number.clamp(2, u64::MAX / 2))],
        messages in prop::collection::vec(message(), 1..6),
    ) {
        let mut session = session(begin, [&us, &them], precision, level);
        for (sequence, (utc, poss_resend, parts)) in (first..).zip(messages) {
            session.store_mut().set_next_outgoing(sequence).expect("memory does not fail");
            let now = Now { mono: Nanos(2), utc: Nanos(utc) };
            let mark = if poss_resend { "97=Y\x01" } else { "" };
            let mut body = format!(
                "35=D\x0134={sequence}\x0149={us}\x0152={}\x0156={them}\x01{mark}",
                stamp(precision, utc)
            );
            parts.iter().for_each(|part| body += &part.naive(precision));
            let expected = naive(begin, &body);
            // What the body is behind: room for the longest length.
            let needed = expected.len() + 8 - body.len().to_string().len();
            for room in [needed - 1, needed, needed + 1, needed + 7, needed + 50, needed + 200] {
                session.store_mut().set_next_outgoing(sequence).expect("memory does not fail");
                let mut out = vec![b'#'; room];
                let extras = Extras { poss_resend, ..Extras::default() };
                let made = session.send(now, b"D", extras, &mut out, |writer| {
                    parts.iter().for_each(|part| part.write(writer));
                });
                match made {
                    Ok(range) => {
                        prop_assert_eq!(String::from_utf8_lossy(&out[range]), &expected[..]);
                        prop_assert!(room >= needed);
                    }
                    Err(error) => {
                        prop_assert_eq!(error, FixError::Limit(Limit::BufferBytes));
                        prop_assert!(room < needed);
                    }
                }
            }
        }
    }
}

#[test]
fn a_body_of_every_size_around_the_digits_of_its_length_has_the_right_length() {
    for begin in [BeginString::Fix44, BeginString::Fixt11] {
        let mut session = session(begin, ["US", "THEM"], Precision::Millis, SimdLevel::best());
        let mut out = vec![0; 12_000];
        let head = "35=D\x0134=2\x0149=US\x0152=20260302-09:30:00.000\x0156=THEM\x0158=";
        for len in (1..1200).chain(9_900..10_100) {
            session.store_mut().set_next_outgoing(2).expect("memory does not fail");
            let text = "x".repeat(len);
            let now = Now { mono: Nanos(2), utc: Nanos(START_UTC) };
            let made = session.send(now, b"D", Extras::default(), &mut out, |writer| {
                writer.text::<58>(text.as_bytes());
            });
            let range = made.expect("there is room");
            let expected = naive(begin, &format!("{head}{text}\x01"));
            assert_eq!(String::from_utf8_lossy(&out[range]), expected, "{len}");
        }
    }
}
