//! The messages that are to be sent: of a file all at once, of standard input as they come.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use taut_fix::{DataTags, Fields};

use crate::exit::Failure;
use crate::fix::messages::{Found, Splitter, none_in, split};
use crate::input;

/// What is read from standard input at once.
const PIECE_BYTES: usize = 64 * 1024;
/// Pieces that wait between the reader and the session: a faster writer is held up.
const PIECES: usize = 16;
/// Messages that wait before more are taken.
const WAITING_MAX: usize = 4_096;

/// Messages that wait to be sent, and where more come from.
pub struct Input {
    waiting: VecDeque<Found>,
    source: Option<Source>,
    data_tags: DataTags,
    path: PathBuf,
    /// Whether there was any.
    had_one: bool,
}

/// Standard input, read by a thread of its own: a read of it may wait for ever.
struct Source {
    pieces: Receiver<io::Result<Vec<u8>>>,
    splitter: Splitter,
}

impl Input {
    /// All messages of a file, checked; `-` is standard input, of which nothing is read yet.
    pub fn open(path: &Path, data_tags: DataTags) -> Result<Self, Failure> {
        let is_stream = path == Path::new("-");
        let source = if is_stream { Some(Source::start()?) } else { None };
        let path = path.to_owned();
        let mut input =
            Self { waiting: VecDeque::new(), source, data_tags, path, had_one: is_stream };
        if !is_stream {
            input.take(split(&input::read(&input.path)?))?;
            if !input.had_one {
                return Err(none_in(&input.path));
            }
        }
        Ok(input)
    }

    /// Takes what has come meanwhile.
    pub fn pull(&mut self) -> Result<(), Failure> {
        while self.waiting.len() < WAITING_MAX {
            let Some(source) = &mut self.source else { return Ok(()) };
            match source.pieces.try_recv() {
                Ok(Ok(piece)) => {
                    let found = source.splitter.push(&piece);
                    self.take(found)?;
                }
                Ok(Err(error)) => return Err(Failure::unreadable(&self.path, error)),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    let found = source.splitter.finish();
                    self.source = None;
                    self.take(found)?;
                }
            }
        }
        Ok(())
    }

    /// The message that is next.
    pub fn front(&self) -> Option<&Found> {
        self.waiting.front()
    }

    /// It is sent.
    pub fn pop(&mut self) {
        self.waiting.pop_front();
    }

    /// Whether everything is sent, and nothing more will come.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty() && self.source.is_none()
    }

    fn take(&mut self, found: Vec<Found>) -> Result<(), Failure> {
        for one in &found {
            check(one, &self.data_tags)?;
        }
        self.had_one |= !found.is_empty();
        self.waiting.extend(found);
        Ok(())
    }
}

impl Source {
    fn start() -> Result<Self, Failure> {
        let (sender, pieces) = sync_channel(PIECES);
        let read = move || {
            let mut input = io::stdin().lock();
            let mut room = vec![0; PIECE_BYTES];
            loop {
                let piece = match input.read(&mut room) {
                    Ok(0) => return,
                    Ok(len) => Ok(room.get(..len).unwrap_or(&room).to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let is_over = piece.is_err();
                // Whoever would take it is gone when the program ends.
                if sender.send(piece).is_err() || is_over {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("taut-input".to_owned()).spawn(read);
        thread.map_err(|error| Failure::run("a thread for standard input", error))?;
        Ok(Self { pieces, splitter: Splitter::default() })
    }
}

/// What the file says goes out as it stands, or not at all.
fn check(found: &Found, data_tags: &DataTags) -> Result<(), Failure> {
    let wrong = |what: String| {
        let offset = found.offset;
        Err(Failure::Usage(format!("the message at byte {offset} {what}")))
    };
    let mut msg_type = None;
    let mut at = 0;
    for (tag, value) in Fields::tolerant(&found.bytes, data_tags) {
        let field = [tag.to_string().as_bytes(), b"=", value, b"\x01"].concat();
        if tag == 0 || !found.bytes.get(at..).is_some_and(|rest| rest.starts_with(&field)) {
            break;
        }
        at += field.len();
        msg_type = msg_type.or((tag == 35).then_some(value));
    }
    let rest = found.bytes.get(at..).unwrap_or_default();
    if !rest.is_empty() {
        let rest = String::from_utf8_lossy(rest).replace('\x01', "|");
        let rest: String = rest.chars().take(40).collect();
        return wrong(format!("has no TAG=VALUE where it says {rest:?}"));
    }
    match msg_type {
        None => wrong("has no MsgType (35)".to_owned()),
        // The session's own business.
        Some([b'0'..=b'5' | b'A']) => wrong("is one of the session's own".to_owned()),
        Some(_) => Ok(()),
    }
}
