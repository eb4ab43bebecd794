// Decodes messages with generated code. `json FILE` prints each message of the file, `fuzz FILE
// COUNT SEED` decodes and prints COUNT mutations of them into nothing. A file is messages behind
// their lengths.

use std::fmt::Write as _;

struct Nothing(u64);

impl std::fmt::Write for Nothing {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 = self.0.wrapping_mul(31).wrapping_add(text.len() as u64);
        Ok(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let file = std::fs::read(&arguments[2]).unwrap();
    let mut messages = Vec::new();
    let mut rest = &file[..];
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (message, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        messages.push(message);
        rest = behind;
    }
    if arguments[1] == "json" {
        for bytes in messages {
            match sbe::Message::decode(bytes) {
                Ok(message) => println!("{}", message.json()),
                Err(error) => println!("{error:?}"),
            }
        }
        return;
    }
    let count: u64 = arguments[3].parse().unwrap();
    let mut random: u64 = arguments[4].parse().unwrap();
    let mut next = move |end: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as usize % end.max(1)
    };
    let mut sink = Nothing(0);
    let mut decoded = 0u64;
    let mut bytes = Vec::new();
    for _ in 0..count {
        bytes.clear();
        bytes.extend_from_slice(messages[next(messages.len())]);
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(6) {
                0 => bytes.truncate(at),
                1 => bytes.extend([0xff; 3]),
                kind => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = match kind {
                            2 => 0,
                            3 => 0xff,
                            4 => byte.wrapping_add(1),
                            _ => next(256) as u8,
                        };
                    }
                }
            }
        }
        if let Ok(message) = sbe::Message::decode(&bytes) {
            decoded += 1;
            write!(sink, "{}{message}", message.json()).unwrap();
        }
    }
    println!("{count} mutations, {decoded} decoded, hash {:x}", sink.0);
}
