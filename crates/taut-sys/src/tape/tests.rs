//! The tape written and read once more.

use super::{
    Heard, begin_reading, begin_writing, end_reading, end_writing, hear, outside, tell, ticks,
    withheld, withhold,
};

#[test]
fn numbers_of_all_lengths_come_back() {
    let around = |bits: u32| [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1];
    let all: Vec<u64> = (0..64).flat_map(around).chain([u64::MAX]).collect();
    begin_writing(false);
    all.iter().for_each(|value| assert_eq!(number(*value), *value));
    all.iter().for_each(|value| assert_eq!(ticks(|| *value), *value));
    let tape = end_writing(|bytes, _| bytes.to_vec());
    begin_reading(&tape);
    all.iter().for_each(|value| assert_eq!(number(0), *value));
    all.iter().for_each(|value| assert_eq!(ticks(|| 0), *value));
    assert_eq!(end_reading(), Ok(()));
}

#[test]
fn a_secret_is_found_wherever_it_stands() {
    let text = b"aabaabaaab";
    for length in 1..=text.len() {
        for start in 0..=text.len() - length {
            let wanted = &text[start..start + length];
            let slow = text.windows(length).position(|it| it == wanted);
            assert_eq!(super::position(text, wanted), slow);
        }
    }
    assert_eq!(super::position(b"aab", b"aaba"), None);
    assert_eq!(super::position(b"", b"a"), None);
}

fn number(value: u64) -> u64 {
    hear(Heard::Room, || value, |value, put| put.number(*value), |get| get.number())
}

/// Two readings, a number, something told.
fn turn(readings: [u64; 2], value: u64, told: &[u8]) -> (u64, u64, u64) {
    let (first, second) = (ticks(|| readings[0]), ticks(|| readings[1]));
    let value = number(value);
    tell(Heard::Sent, &[told, b"!"]);
    (first, second, value)
}

fn written() -> Vec<u8> {
    begin_writing(false);
    assert_eq!(turn([u64::MAX - 5, 7], 300, b"8=FIX\x01"), (u64::MAX - 5, 7, 300));
    end_writing(|bytes, has_effect| {
        assert!(has_effect);
        bytes.to_vec()
    })
}

#[test]
fn what_was_heard_is_given_again_whatever_is_true_now() {
    let tape = written();
    begin_reading(&tape);
    assert_eq!(turn([1, 2], 3, b"8=FIX\x01"), (u64::MAX - 5, 7, 300));
    assert_eq!(end_reading(), Ok(()));
    assert_eq!(number(5), 5, "off");
}

#[test]
fn what_is_told_otherwise_is_the_difference() {
    let tape = written();
    begin_reading(&tape);
    turn([1, 2], 3, b"8=FIY\x01");
    number(1);
    let difference = end_reading().expect_err("told otherwise");
    assert_eq!(difference.recorded, "bytes that are sent: \"8=FIX|!\"");
    assert_eq!(difference.now, "bytes that are sent: \"8=FIY|!\"");
}

#[test]
fn what_is_not_asked_for_and_what_is_asked_for_too_much_are_differences() {
    let tape = written();
    begin_reading(&tape);
    let difference = end_reading().expect_err("all is left");
    assert_eq!(difference.now, "the end of the turn");
    begin_reading(&[]);
    assert_eq!(number(1), 0);
    let difference = end_reading().expect_err("nothing was there");
    assert_eq!(difference.recorded, "the end of the turn");
    assert_eq!(difference.now, "whether there is room");
}

#[test]
fn a_secret_is_on_no_tape_and_what_stands_before_it_is_compared() {
    let secret = b"correct horse".to_vec();
    let mask = |bytes: &[u8]| -> Vec<u8> {
        bytes.iter().zip([7, 99, 200, 4].iter().cycle()).map(|(one, by)| one ^ by).collect()
    };
    for told in [b"554=correct horse|10=1".to_vec(), mask(b"554=correct horse|10=1")] {
        withhold(&secret);
        withhold(b"");
        begin_writing(false);
        tell(Heard::Sent, &[&told[..9], &told[9..]]);
        tell(Heard::Sent, &[b"nothing of it"]);
        let tape = end_writing(|bytes, _| bytes.to_vec());
        assert_eq!(withheld(), [&secret[..]]);
        for kept in [&secret[..], &mask(&secret)] {
            assert!(!tape.windows(8).any(|it| it == &kept[..8]), "{tape:?}");
        }
        let replayed = |first: &[u8]| {
            begin_reading(&tape);
            tell(Heard::Sent, &[first]);
            tell(Heard::Sent, &[b"nothing of it"]);
            end_reading()
        };
        let mut other = told.clone();
        other[8..].fill(b'*');
        assert_eq!(replayed(&other), Ok(()));
        other[0] ^= 1;
        assert!(replayed(&other).is_err(), "before the secret");
        let shorter = replayed(&told[..told.len() - 1]).expect_err("a shorter one");
        assert_ne!(shorter.recorded, shorter.now, "only their lengths differ");
    }
}

#[test]
fn what_is_done_outside_is_no_part_of_the_turn() {
    begin_writing(false);
    assert_eq!(outside(|| number(5)), 5);
    number(6);
    let tape = end_writing(|bytes, _| bytes.to_vec());
    begin_reading(&tape);
    assert_eq!((outside(|| number(7)), number(8)), (7, 6));
    assert_eq!(end_reading(), Ok(()));
}

#[test]
fn a_cut_or_wrong_tape_is_a_difference_and_no_panic() {
    let tape = written();
    for length in 0..tape.len() {
        begin_reading(&tape[..length]);
        turn([1, 2], 3, b"8=FIX\x01");
        assert!(end_reading().is_err(), "cut at {length}");
    }
    for at in 0..tape.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut wrong = tape.clone();
            wrong[at] = byte;
            begin_reading(&wrong);
            turn([1, 2], 3, b"8=FIX\x01");
            let _ = end_reading();
        }
    }
}
