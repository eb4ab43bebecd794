//! Every message of the QuickFIX acceptance definitions, split in two at every byte: the framing
//! tells the same messages as of the whole.

use std::path::Path;

use taut_fix::{Framed, MESSAGE_BYTES_MAX, frame};

const DEFINITIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/fix/at/definitions");
const TIME: &str = "20260302-09:30:00";

/// A line's message with times, BodyLength and CheckSum filled in where they are absent.
fn expand(line: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(line).into_owned();
    let mut body = String::new();
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once("<TIME") {
        body += before;
        body += TIME;
        rest = behind.split_once('>')?.1;
    }
    body += rest;
    let (begin, mut rest) = body.split_once('\x01')?;
    if !begin.starts_with("8=") {
        return None;
    }
    let mut trailer = String::new();
    if let Some(at) = rest.rfind("\x0110=") {
        trailer = rest.get(at + 1..)?.to_owned();
        rest = rest.get(..=at)?;
    }
    let has_length = rest.starts_with("9=") || rest.contains("\x019=");
    let length = if has_length { String::new() } else { format!("9={}\x01", rest.len()) };
    let mut message = format!("{begin}\x01{length}{rest}").into_bytes();
    if trailer.is_empty() {
        let sum = message.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
        trailer = format!("10={sum:03}\x01");
    }
    message.extend_from_slice(trailer.as_bytes());
    Some(message)
}

/// What has come so far, and the messages in it.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    messages: Vec<Vec<u8>>,
}

impl Stream {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let mut at = 0;
        loop {
            match frame(&self.bytes[at..], MESSAGE_BYTES_MAX) {
                Ok(Framed::Message(found)) => {
                    self.messages.push(found.bytes().to_vec());
                    at += found.consumed();
                }
                Ok(Framed::Garbled { skip }) => at += skip,
                Ok(Framed::NeedMore) => break,
                Err(_) => {
                    at = self.bytes.len();
                    break;
                }
            }
        }
        self.bytes.drain(..at);
    }
}

#[test]
fn every_split_in_two_of_every_acceptance_message_gives_the_same_messages() {
    let Ok(folders) = std::fs::read_dir(Path::new(DEFINITIONS)) else {
        println!("skipped: {DEFINITIONS} is not there");
        return;
    };
    // A good message behind it shows where the stream finds its feet again.
    let good = expand(b"8=FIX.4.4\x0135=0\x0134=9\x0149=A\x0156=B\x01").expect("a message");
    let (mut messages, mut splits) = (0, 0);
    for folder in folders {
        for file in std::fs::read_dir(folder.expect("a folder").path()).expect("a folder") {
            let text = std::fs::read(file.expect("a file").path()).expect("a definition");
            for line in text.split(|byte| *byte == b'\n') {
                let Some((b'I' | b'E', rest)) = line.split_first() else { continue };
                let rest = match rest {
                    [b'1'..=b'9', b',', rest @ ..] => rest,
                    rest => rest,
                };
                let Some(message) = expand(rest.trim_ascii_end()) else { continue };
                messages += 1;
                let whole = [&message[..], &good, &good].concat();
                let mut expected = Stream::default();
                expected.push(&whole);
                for cut in 0..=whole.len() {
                    let mut stream = Stream::default();
                    stream.push(&whole[..cut]);
                    stream.push(&whole[cut..]);
                    assert_eq!(stream.messages, expected.messages, "{whole:?} at {cut}");
                    splits += 1;
                }
            }
        }
    }
    assert!(messages > 500, "{messages}");
    println!("{messages} messages, {splits} splits");
}
