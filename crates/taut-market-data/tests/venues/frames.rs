//! The recorded files.

use std::io::Read;
use std::path::PathBuf;

use taut_types::Nanos;

/// A frame and when it was received.
pub type Frame = (Nanos, Vec<u8>);

/// What was asked for, and the answer's body.
pub type Answer = (String, Vec<u8>);

/// What the venue sent over a WebSocket; nothing, with a notice, where the file is absent. A line
/// is `<seconds>: <frame>`; others are about the connection.
pub fn of_socket(name: &str) -> Option<Vec<Frame>> {
    let frame = |line: &str| {
        let (time, frame) = line.split_once(": ")?;
        let seconds: f64 = time.parse().ok()?;
        Some((Nanos((seconds * 1e9) as i64), frame.as_bytes().to_vec()))
    };
    Some(text(name)?.lines().filter_map(frame).collect())
}

/// What the venue answered over HTTP: the URL and the body. A line is `<url> -> <time>: <body>`.
pub fn of_http(name: &str) -> Option<Vec<Answer>> {
    let answer = |line: &str| {
        let (url, rest) = line.split_once(" -> ")?;
        let (_, body) = rest.split_once(": ")?;
        Some((url.to_owned(), body.as_bytes().to_vec()))
    };
    Some(text(name)?.lines().filter_map(answer).collect())
}

fn text(name: &str) -> Option<String> {
    let folder =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/venues/frames"));
    let Ok(mut file) = std::fs::File::open(folder.join(name)) else {
        println!("skipped: {name} is not there");
        return None;
    };
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    Some(text)
}
