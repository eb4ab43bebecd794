//! Answers of an HTTP/1.1 server to requests that were sent one behind the other (RFC 9112).

use super::wire::Gone;

/// Header fields that an answer may have.
const FIELDS_MAX: usize = 96;
/// The longest head, and the longest line that says how long a chunk is.
const HEAD_BYTES_MAX: usize = 1 << 15;
/// The longest body: a hundred orders have some 100 kB.
const BODY_BYTES_MAX: usize = 1 << 20;

/// Puts the bodies of answers together. Grows to the longest answer there was, at most to
/// [`BODY_BYTES_MAX`], and allocates no more.
#[derive(Debug, Default)]
pub struct Answers {
    /// What came and is not read yet.
    bytes: Vec<u8>,
    body: Vec<u8>,
    state: State,
}

/// | state | goes on with | to |
/// |---|---|---|
/// | head | a head with a length; chunked; 1xx | body; chunk size; head |
/// | body | all of it | head: the answer is told |
/// | chunk size | a size; the last one | chunk; fields behind the chunks |
/// | chunk | all of it and its line end | chunk size |
/// | trailer | an empty line | head: the answer is told |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Body(usize),
    ChunkSize,
    Chunk(usize),
    Trailer,
}

impl Answers {
    /// Takes bytes as they come, and tells the body of each answer that is whole with them. One
    /// without a body is told as the text `-`, which is no JSON.
    ///
    /// # Errors
    /// [`Gone`] when it is no HTTP, too long, or has no end but the connection's.
    pub fn take(&mut self, bytes: &[u8], tell: &mut impl FnMut(&[u8])) -> Result<(), Gone> {
        self.bytes.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(used) = self.step(at, tell)? {
            at += used;
        }
        self.bytes.drain(..at);
        Ok(())
    }

    /// The connection is another one.
    pub fn forget(&mut self) {
        self.bytes.clear();
        self.body.clear();
        self.state = State::Head;
    }

    /// Takes what can be taken at once: how much that was, or nothing when more has to come.
    fn step(&mut self, at: usize, tell: &mut impl FnMut(&[u8])) -> Result<Option<usize>, Gone> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        match self.state {
            State::Head => {
                let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
                let mut head = httparse::Response::new(&mut fields);
                let used = match head.parse(rest).map_err(|_| Gone)? {
                    httparse::Status::Complete(used) => used,
                    httparse::Status::Partial if rest.len() <= HEAD_BYTES_MAX => return Ok(None),
                    httparse::Status::Partial => return Err(Gone),
                };
                self.state = match head.code {
                    Some(100..=199) => State::Head,
                    Some(204 | 304) => State::Body(0),
                    _ => of_fields(head.headers)?,
                };
                if self.state == State::Body(0) {
                    self.told(tell);
                }
                Ok(Some(used))
            }
            State::Body(length) => {
                let Some(body) = rest.get(..length) else { return Ok(None) };
                tell(body);
                self.state = State::Head;
                Ok(Some(length))
            }
            State::ChunkSize => match httparse::parse_chunk_size(rest).map_err(|_| Gone)? {
                httparse::Status::Partial if rest.len() <= HEAD_BYTES_MAX => Ok(None),
                httparse::Status::Partial => Err(Gone),
                httparse::Status::Complete((used, 0)) => {
                    self.state = State::Trailer;
                    Ok(Some(used))
                }
                httparse::Status::Complete((used, size)) => {
                    let size = usize::try_from(size).map_err(|_| Gone)?;
                    let all = self.body.len().checked_add(size).ok_or(Gone)?;
                    if all > BODY_BYTES_MAX {
                        return Err(Gone);
                    }
                    self.state = State::Chunk(size);
                    Ok(Some(used))
                }
            },
            State::Chunk(size) => {
                let (Some(chunk), Some(end)) = (rest.get(..size), rest.get(size..size + 2)) else {
                    return Ok(None);
                };
                if end != b"\r\n" {
                    return Err(Gone);
                }
                self.body.extend_from_slice(chunk);
                self.state = State::ChunkSize;
                Ok(Some(size + 2))
            }
            State::Trailer => {
                let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                    return if rest.len() <= HEAD_BYTES_MAX { Ok(None) } else { Err(Gone) };
                };
                if matches!(rest.get(..end), Some(b"" | b"\r")) {
                    self.told(tell);
                }
                Ok(Some(end + 1))
            }
        }
    }

    fn told(&mut self, tell: &mut impl FnMut(&[u8])) {
        tell(if self.body.is_empty() { b"-" } else { &self.body });
        self.body.clear();
        self.state = State::Head;
    }
}

/// How the body ends: by its chunks, or by a length that is said once.
fn of_fields(fields: &[httparse::Header<'_>]) -> Result<State, Gone> {
    let mut length = None;
    for field in fields {
        if field.name.eq_ignore_ascii_case("transfer-encoding") {
            return match field.value.eq_ignore_ascii_case(b"chunked") {
                true => Ok(State::ChunkSize),
                false => Err(Gone),
            };
        }
        if field.name.eq_ignore_ascii_case("content-length") {
            let told = str::from_utf8(field.value).ok().and_then(|text| text.trim().parse().ok());
            if length.is_some_and(|length| Some(length) != told) {
                return Err(Gone);
            }
            length = Some(told.filter(|length| *length <= BODY_BYTES_MAX).ok_or(Gone)?);
        }
    }
    length.map(State::Body).ok_or(Gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Answers as they are told, of bytes that come in pieces of this length.
    fn told(text: &str, piece: usize) -> Result<Vec<String>, Gone> {
        let (mut answers, mut told) = (Answers::default(), Vec::new());
        for bytes in text.as_bytes().chunks(piece) {
            answers.take(bytes, &mut |body| {
                told.push(String::from_utf8_lossy(body).into_owned());
            })?;
        }
        Ok(told)
    }

    const ALL: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{\"a\"\
        HTTP/1.1 100 Continue\r\n\r\n\
        HTTP/1.1 429 Too Many\r\ntransfer-encoding: chunked\r\n\r\n\
        3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nEtag: 1\r\n\r\n\
        HTTP/1.1 204 No Content\r\n\r\n\
        HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok";

    #[test]
    fn answers_are_whole_however_they_are_cut() {
        for piece in [1, 2, 3, 7, 64, 4_096] {
            let told = told(ALL, piece).expect("answers");
            assert_eq!(told, ["{\"a\"", "abc0123456789", "-", "-", "ok"], "{piece}");
        }
    }

    #[test]
    fn what_has_no_bound_is_given_up() {
        for wrong in [
            "ICE/1.0 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        ] {
            assert_eq!(told(wrong, 5), Err(Gone), "{wrong}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        assert_eq!(told(&endless, 1_000), Err(Gone));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            cut in 1..20_usize,
        ) {
            let mut answers = Answers::default();
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let _ = answers.take(head, &mut |_| ());
            for piece in bytes.chunks(cut) {
                if answers.take(piece, &mut |_| ()).is_err() {
                    answers.forget();
                }
            }
        }
    }
}
