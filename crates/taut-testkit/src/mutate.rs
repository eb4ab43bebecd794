//! What may happen to a frame.

use crate::Random;

/// Changes a byte or a piece of a JSON frame: a decoder must survive it. An empty frame stays so.
pub fn mutate_json(frame: &mut Vec<u8>, random: &mut Random) {
    if frame.is_empty() {
        return;
    }
    let mut next = |below: usize| random.usize(..below.max(1));
    let at = next(frame.len());
    let tokens: [&[u8]; 12] =
        [b"\"", b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"9", b" ", b"\"u\":1,"];
    match next(6) {
        0 => frame[at] = next(256) as u8,
        1 => frame.truncate(at),
        2 => {
            frame.remove(at);
        }
        3 => frame.splice(at..at, tokens[next(tokens.len())].iter().copied()).for_each(drop),
        4 => {
            let to = at + next(frame.len() - at);
            let piece = frame[at..to].to_vec();
            let place = next(frame.len());
            frame.splice(place..place, piece).for_each(drop);
        }
        _ => {
            let to = at + next(frame.len() - at);
            frame.drain(at..to);
        }
    }
}
