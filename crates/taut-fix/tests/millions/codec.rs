//! Any bytes through framing, index, field values and dictionary: in two parts at any place they
//! give the same messages, and nothing panics.
//!
//! A fuzz target of `fuzz/` includes this file.

use std::cell::RefCell;

use taut_fix::{Dictionary, FieldIndex, Framed, OrderFlow, Rules, fix44, frame, parse_timestamp};

/// What is longer is too large.
const MESSAGE_BYTES_MAX: usize = 4096;

struct Reader {
    dictionary: Dictionary,
    index: FieldIndex,
}

thread_local! {
    static READER: RefCell<Reader> = RefCell::new(Reader {
        dictionary: fix44().expect("the dictionary"),
        index: FieldIndex::with_capacity(64),
    });
}

/// As they are, and as the fields of a message with the right length and sum.
pub fn run(input: &[u8]) {
    READER.with_borrow_mut(|reader| {
        reader.read(input);
        reader.read(&framed(input));
    });
}

/// `input` as what stands between BodyLength and CheckSum.
fn framed(input: &[u8]) -> Vec<u8> {
    let mut message = format!("8=FIX.4.4\x019={}\x01", input.len() + 6).into_bytes();
    message.extend_from_slice(b"35=D\x01");
    message.extend_from_slice(input);
    message.push(1);
    let sum = message.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    message.extend_from_slice(format!("10={sum:03}\x01").as_bytes());
    message
}

impl Reader {
    fn read(&mut self, bytes: &[u8]) {
        let whole = self.messages(&[bytes]);
        let cut = bytes.first().map_or(0, |byte| usize::from(*byte) % bytes.len());
        let (front, back) = bytes.split_at(cut);
        assert_eq!(self.messages(&[front, back]), whole, "cut at {cut}");
    }

    /// Where messages start and end in the stream of these parts.
    fn messages(&mut self, parts: &[&[u8]]) -> Vec<(usize, usize)> {
        let (mut found, mut stream, mut at) = (Vec::new(), Vec::new(), 0);
        for part in parts {
            stream.extend_from_slice(part);
            loop {
                let rest = &stream[at..];
                match frame(rest, MESSAGE_BYTES_MAX) {
                    Ok(Framed::NeedMore) => break,
                    Ok(Framed::Garbled { skip }) => {
                        assert!(skip > 0 && skip <= rest.len());
                        at += skip;
                    }
                    Ok(Framed::Message(frame)) => {
                        found.push((at, at + frame.consumed()));
                        if self.index.fill(&frame).is_ok() {
                            let rules = Rules::ALL;
                            let slots = self.index.slots();
                            let _ = self.dictionary.check(frame.bytes(), slots, rules);
                            let _ = OrderFlow::decode(frame.bytes(), &self.index);
                            for slot in slots {
                                let field = slot.field(frame.bytes());
                                let _ = (field.number(), parse_timestamp(field.value));
                            }
                        }
                        at += frame.consumed();
                    }
                    Err(_) => return found,
                }
            }
        }
        found
    }
}
