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

/// What libzstd 1.5 wrote at level 19: a frame with its size and checksum, one of two blocks with
/// neither, one with its size.
const OF_LIBZSTD: &[u8] = include_bytes!("tests.zst");

#[test]
fn frames_of_the_reference_are_read() {
    let rest =
        "the other frame\n".to_owned() + &"its second block\n".repeat(3) + "of a known size\n";
    assert_eq!(read(OF_LIBZSTD).expect("three frames"), [text(100), rest.into_bytes()].concat());
}

#[test]
fn no_flipped_bit_of_a_frame_with_a_checksum_goes_unnoticed() {
    let one = packed(&text(300));
    for at in 0..one.len() * 8 {
        let mut changed = one.clone();
        changed[at / 8] ^= 1 << (at % 8);
        // Unless it says nothing, or the file begins as none of Zstandard and is read as it is.
        if let Ok(bytes) = read(&changed) {
            assert!(bytes == text(300) || bytes == changed, "bit {at}");
        }
    }
    for at in 0..OF_LIBZSTD.len() * 8 {
        let mut changed = OF_LIBZSTD.to_vec();
        changed[at / 8] ^= 1 << (at % 8);
        // An error or other bytes, and an end.
        let _ = read(&changed);
    }
}

#[test]
fn what_came_before_an_error_is_given_first() {
    let mut file = packed(&text(10));
    file.extend_from_slice(b"no frame");
    let mut unpacked = unpacked(&*file).expect("a frame");
    let mut bytes = vec![0; 1_000];
    assert_eq!(unpacked.read(&mut bytes).expect("the frame"), text(10).len());
    unpacked.read(&mut bytes).expect_err("what follows is no frame");
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
    let error = read(&skippable(9)[..12]).expect_err("a part of a skippable frame");
    assert_eq!(error.kind(), ErrorKind::InvalidData, "an early end would be taken for the end");
}
