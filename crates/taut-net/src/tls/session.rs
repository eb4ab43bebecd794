//! The session of a TLS stream: rustls's, or what the thread's tape says of one.
//!
//! What TLS draws by chance (keys of its own, and so every sealed byte) cannot be drawn once more,
//! and keys are nothing to be written down. So to a thread whose turns are
//! [recorded](taut_sys::tape) a session is somebody outside who is asked: what the peer said when
//! it was opened goes on the tape, and what is said to the peer before it is sealed; of the sealed
//! bytes only how many there were. Where the tape is read there is no session.

use std::io::{ErrorKind, Read, Write};

use rustls::Connection;
use taut_io::ByteBuffer;
use taut_sys::tape::{self, Get, Heard, Put};

/// See the module.
pub struct Session(Option<Box<Connection>>);

/// What was opened of what the peer said.
enum Opened {
    /// So much of it.
    Bytes(usize),
    /// Nothing for now, or never: an error.
    Nothing(ErrorKind),
}

impl Session {
    /// A client's, unless it cannot be begun. Whoever reads a tape has none.
    pub fn client<E>(begin: impl FnOnce() -> Result<Connection, E>) -> Option<Self> {
        let mut session = None;
        let ask = || {
            session = tape::outside(|| begin().ok());
            session.is_some()
        };
        let begun = heard_flag(ask);
        begun.then(|| Self::of(session))
    }

    pub fn server(session: Connection) -> Self {
        Self::of(Some(session))
    }

    fn of(mut session: Option<Connection>) -> Self {
        if let Some(session) = &mut session {
            session.set_buffer_limit(None);
        }
        Self(session.map(Box::new))
    }

    /// The real one.
    pub fn live(&self) -> Option<&Connection> {
        self.0.as_deref()
    }

    pub fn is_server(&self) -> bool {
        matches!(self.live(), Some(Connection::Server(_)))
    }

    pub fn is_handshaking(&self) -> bool {
        heard_flag(|| self.live().is_some_and(|it| it.is_handshaking()))
    }

    pub fn wants_write(&self) -> bool {
        heard_flag(|| self.live().is_some_and(|it| it.wants_write()))
    }

    /// Takes sealed bytes from the front of these, and says how many; nothing when it takes no
    /// more.
    pub fn read_tls(&mut self, bytes: &mut &[u8]) -> Option<usize> {
        let (mut sealed, all) = (*bytes, *bytes);
        let ask = || {
            let session = self.0.as_mut()?;
            tape::outside(|| session.read_tls(&mut sealed).ok())
        };
        let put = |taken: &Option<usize>, on: &mut Put<'_>| {
            on.number(taken.map_or(0, |taken| taken as u64 + 1));
        };
        let get = |from: &mut Get<'_>| match from.number()? {
            0 => Some(None),
            taken => usize::try_from(taken - 1).ok().map(Some),
        };
        let taken = tape::hear(Heard::Tls, ask, put, get)?;
        *bytes = all.get(taken..).unwrap_or(&[]);
        Some(taken)
    }

    /// Opens what was taken. What is wrong with it is not on the tape.
    pub fn process(&mut self) -> Result<(), Option<rustls::Error>> {
        let mut wrong = None;
        let ask = || {
            let Some(session) = &mut self.0 else { return false };
            wrong = tape::outside(|| session.process_new_packets().err());
            wrong.is_none()
        };
        if heard_flag(ask) { Ok(()) } else { Err(wrong) }
    }

    /// What the peer said, as far as it was opened.
    pub fn read(&mut self, into: &mut [u8]) -> Result<usize, ErrorKind> {
        if tape::is_reading() {
            let nothing = || Opened::Nothing(ErrorKind::WouldBlock);
            let get = |from: &mut Get<'_>| {
                Some(match from.number()? {
                    0 => Opened::Nothing(ErrorKind::WouldBlock),
                    1 => Opened::Nothing(ErrorKind::Interrupted),
                    _ => {
                        let bytes = from.bytes()?;
                        into.get_mut(..bytes.len())?.copy_from_slice(bytes);
                        Opened::Bytes(bytes.len())
                    }
                })
            };
            return match tape::hear_or(Heard::Tls, nothing, |_, _| (), get, nothing) {
                Opened::Bytes(length) => Ok(length),
                Opened::Nothing(why) => Err(why),
            };
        }
        let session = self.0.as_mut().ok_or(ErrorKind::WouldBlock)?;
        let read = tape::outside(|| session.reader().read(into)).map_err(|error| error.kind());
        let put = |(): &(), on: &mut Put<'_>| match read {
            Ok(length) => {
                on.number(2);
                on.bytes(into.get(..length).unwrap_or(&[]));
            }
            Err(ErrorKind::Interrupted) => on.number(1),
            Err(_) => on.number(0),
        };
        tape::hear(Heard::Tls, || (), put, |_| None);
        read
    }

    /// Seals bytes; whether it took them.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        tape::tell(Heard::Sent, &[bytes]);
        heard_flag(|| {
            let Some(session) = &mut self.0 else { return false };
            tape::outside(|| session.writer().write_all(bytes).is_ok())
        })
    }

    pub fn send_close_notify(&mut self) {
        if let Some(session) = &mut self.0 {
            tape::outside(|| session.send_close_notify());
        }
    }

    /// Moves sealed bytes into the buffer, as far as there is room; whether it could.
    pub fn write_tls(&mut self, into: &mut ByteBuffer) -> bool {
        if tape::is_reading() {
            let get = |from: &mut Get<'_>| Some((from.number()?, from.flag()?));
            let (length, is_well) = tape::hear(Heard::Tls, Default::default, |_, _| (), get);
            let length = usize::try_from(length).unwrap_or(0).min(into.free());
            // What they are is nobody's business here.
            into.write(&vec![0; length]);
            into.commit_all();
            return is_well;
        }
        let Some(session) = &mut self.0 else { return false };
        let before = into.readable().len();
        let written = tape::outside(|| session.write_tls(&mut Sink(into)).is_ok());
        let length = into.readable().len() - before;
        let put = |(): &(), on: &mut Put<'_>| {
            on.number(length as u64);
            on.number(written.into());
        };
        tape::hear(Heard::Tls, || (), put, |_| None);
        written
    }
}

fn heard_flag(ask: impl FnOnce() -> bool) -> bool {
    tape::hear(Heard::Tls, ask, |is, on| on.number((*is).into()), |from| from.flag())
}

/// The session writes as much as there is room for.
struct Sink<'b>(&'b mut ByteBuffer);

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0.free());
        self.0.write(bytes.get(..taken).unwrap_or(&[]));
        self.0.commit_all();
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
