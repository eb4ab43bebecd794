//! The recorded files.

use std::io::Read;

/// What the venue sent over a WebSocket: lines of `<seconds>: <frame>`.
pub fn of_socket(folder: &str, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("the recorded frames");
    let frame = |line: &str| {
        let (time, frame) = line.split_once(": ")?;
        time.parse::<f64>().ok()?;
        Some(frame.to_owned())
    };
    text.lines().filter_map(frame).collect()
}

/// What the venue answered over HTTP: the URL and the body, lines of `<url> -> <time>: <body>`.
pub fn of_http(folder: &str, name: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(format!("{folder}/{name}")).expect("the recorded answers");
    let answer = |line: &str| {
        let (url, rest) = line.split_once(" -> ")?;
        Some((url.to_owned(), rest.split_once(": ")?.1.to_owned()))
    };
    text.lines().filter_map(answer).collect()
}

/// A capture: lines of `<nanoseconds> <frame>`, compressed.
pub fn of_capture(folder: &str, name: &str) -> Vec<String> {
    let file = std::fs::File::open(format!("{folder}/{name}")).expect("the capture");
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text.lines().map(|line| line.split_once(' ').expect("a time").1.to_owned()).collect()
}
