// The encoder of the odd schema: header values, limits, every buffer that is too short.

use sbe::*;

fn write(buffer: &mut [u8], entries: usize, blob: usize) -> Result<usize, EncodeError> {
    let mut to = TypeEncoder::new(buffer)?;
    to.header_channel(b"abc").header_side(Side::Self2);
    to.header_stamp(Stamp { seconds: 5, nanos: None });
    to.match_(Side::Buy).new_(Bits::FIRST.with(Bits::LAST)).exact(1.5).decode_text("xy")?;
    let to = to.rest(0..entries, |mut entry, length| {
        entry.length(length as u32);
        let entry = entry.version([1, 2], |entry, item| {
            entry.item(item).more(7);
        })?;
        entry.item("\u{e9}")?.blob(vec![1; blob])
    })?;
    let to = to.nothing(0..2, |_, _| {})?;
    let to = to.only([b"a", b"b"], |entry, data| entry.length(data))?;
    Ok(to.data("")?.version([1, 2, 3])?.finish())
}

fn main() {
    let mut buffer = [0xaa; 1024];
    let length = write(&mut buffer, 2, 9).unwrap();
    assert!(buffer[length..].iter().all(|&byte| byte == 0xaa));
    assert_eq!((buffer[0], &buffer[1..4], buffer[13]), (3, &b"abc"[..], b'2'));
    // Three groups and two data, as the header counts them.
    assert_eq!(buffer[20], 3);
    let message = TypeDecoder::decode(&buffer[..length]).unwrap();
    assert_eq!(message.acting_version(), 3);
    assert_eq!(message.match_(), Some(Side::Buy));
    assert_eq!((message.decode_text(), message.exact()), (Some("xy"), Some(1.5)));
    assert_eq!(message.block_(), None);
    assert!(message.new().contains(Bits::LAST));
    assert_eq!(message.later_side(), None);
    assert_eq!(message.later_code(), None);
    assert_eq!((message.always(), message.half()), ("it's \"so\"", 0.5));
    assert_eq!(message.fixed(), Side::V1more);
    let entry = message.rest().get(1).unwrap();
    assert_eq!((entry.length(), entry.item()), (1, &b"\xc3\xa9"[..]));
    assert_eq!(entry.blob(), Some(&[1; 9][..]));
    assert_eq!(entry.version().iter().map(|inner| inner.item()).sum::<i64>(), 3);
    assert_eq!(entry.version().get(0).unwrap().more(), Some(7));
    assert_eq!((message.nothing().len(), message.only().len()), (2, 2));
    assert_eq!(message.version(), Some(&[1, 2, 3][..]));

    assert_eq!(write(&mut buffer, 6, 0), Err(EncodeError::TooManyEntries { count_max: 5 }));
    assert_eq!(write(&mut buffer, 1, 10), Err(EncodeError::TooLong { length_max: 9 }));
    let mut to = TypeEncoder::new(&mut buffer).unwrap();
    assert_eq!(to.decode_text("123456").err(), Some(EncodeError::TooLong { length_max: 5 }));
    for short in 0..length {
        let mut buffer = vec![0xaa; short];
        assert_eq!(write(&mut buffer, 2, 9), Err(EncodeError::Full));
        let mut bytes = [0; 1024];
        write(&mut bytes, 2, 9).unwrap();
        assert!(TypeDecoder::decode(&bytes[..short]).is_err());
    }
}
