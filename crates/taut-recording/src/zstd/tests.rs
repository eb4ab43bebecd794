use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

fn packed(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn skippable(length: u32) -> Vec<u8> {
    let mut frame = vec![SKIPPABLE[0] | 0x07];
    frame.extend_from_slice(&SKIPPABLE[1..]);
    frame.extend_from_slice(&length.to_le_bytes());
    frame.resize(frame.len() + length as usize, 0xAB);
    frame
}

fn read(file: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    unpacked(file)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text(count: usize) -> Vec<u8> {
    (0..count).flat_map(|line| format!("line {line} of a file\n").into_bytes()).collect()
}

#[test]
fn frames_follow_each_other_and_skippable_ones_hold_nothing() {
    let (one, other) = (text(40_000), text(7));
    let file = [skippable(3), packed(&one), skippable(0), packed(&[]), packed(&other)].concat();
    assert_eq!(read(&file).expect("all frames"), [one, other].concat());
}

#[test]
fn what_is_not_packed_is_read_as_it_is() {
    for file in [&b""[..], b"DBN", b"DBN\x03 and more", &FRAME[..3]] {
        assert_eq!(read(file).expect("as it is"), file);
    }
}

#[test]
fn a_file_that_ends_early_or_was_changed_is_an_error() {
    let whole = packed(&text(500));
    for end in FRAME.len()..whole.len() {
        read(&whole[..end]).expect_err("a part of a frame");
    }
    let mut changed = whole;
    *changed.last_mut().expect("a checksum") ^= 1;
    let error = read(&changed).expect_err("a checksum");
    assert!(error.to_string().contains("checksum"), "{error}");
    read(&skippable(9)[..12]).expect_err("a part of a skippable frame");
}
