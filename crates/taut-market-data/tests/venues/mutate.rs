//! What may happen to a frame.

use taut_testkit::Random;

/// A frame with a byte, or a piece, of it changed: what a decoder must survive.
pub fn mutate(frame: &mut Vec<u8>, random: &mut Random) {
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
