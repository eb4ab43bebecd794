//! A copy of the journal of a venue on another machine, for a standby here.

use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use taut_sys::{Address, Socket, SysError, monotonic, sleep, wait_readable};
use taut_types::Nanos;
use taut_venue::{Copying, CopyingEnd, FolderLock, JournalCopy};

use crate::error::RunnerError;
use crate::service::venue_control::{VenueControl, VenueReply, VenueRequest};
use crate::service::venue_ship::from_machine_of;

/// How often it looks for what is not told by the venue: an operator, the disk.
const LOOK: Nanos = Nanos::from_millis(2);
/// From one attempt to connect to the next.
const AGAIN: Nanos = Nanos::from_millis(200);

/// What the thread says.
pub(super) enum Copied {
    /// In words, how it fares.
    Told(String),
    /// A start of the venue is copied from now on.
    Begun,
    /// An operator has promoted this standby: the journal's lock.
    Promoted(FolderLock),
    /// It cannot go on.
    Failed(String),
}

/// Copies until an operator promotes this standby, on a thread that ends with the process.
pub(super) fn start(
    (from, own): (SocketAddrV4, Option<SocketAddrV4>),
    copy: JournalCopy,
    control: Option<VenueControl>,
    promote_after: Option<Nanos>,
) -> Receiver<Copied> {
    let (tell, told) = channel();
    thread::spawn(move || {
        let copying = Copying::new(copy, promote_after, monotonic());
        let mut thread = CopyThread { from, own, copying, control, is_waited_for: false, tell };
        match thread.run() {
            // Nobody listens any more at the end.
            Ok(()) => {
                let CopyThread { copying, control, tell, .. } = thread;
                drop(control);
                let _ = tell.send(Copied::Promoted(copying.end()));
            }
            Err(error) => _ = thread.tell.send(Copied::Failed(error.to_string())),
        }
    });
    told
}

struct CopyThread {
    from: SocketAddrV4,
    /// Where this one serves its journal when it is the venue.
    own: Option<SocketAddrV4>,
    copying: Copying,
    control: Option<VenueControl>,
    /// It was told that the venue waits for this copy.
    is_waited_for: bool,
    tell: Sender<Copied>,
}

impl CopyThread {
    fn run(&mut self) -> Result<(), RunnerError> {
        let (mut was_connected, mut is_first) = (false, true);
        while !self.copying.is_promoted() {
            let ended = self.follow();
            let connected = self.copying.is_copying();
            self.copying.disconnect();
            match ended {
                Ok(()) => {}
                Err(End::Fatal(error)) => return Err(RunnerError::run("journal", error)),
                Err(End::Gone(why)) => {
                    if connected || is_first || was_connected {
                        self.say(format!("the venue at {}: {why}", self.from));
                    }
                    (was_connected, is_first) = (connected, false);
                }
            }
            let until = monotonic() + AGAIN;
            while !self.copying.is_promoted() && monotonic() < until {
                self.look().or_else(End::unless_gone)?;
                // PACE: an operator may come at any time.
                sleep(LOOK);
            }
        }
        Ok(())
    }

    fn tell_whether_waited_for(&mut self) {
        let is_waited_for = self.copying.is_waited_for();
        if std::mem::replace(&mut self.is_waited_for, is_waited_for) != is_waited_for
            && is_waited_for
        {
            self.say(format!("the venue at {} acknowledges nothing without this copy", self.from));
        }
    }

    fn say(&self, words: String) {
        // Nobody listens any more at the end.
        let _ = self.tell.send(Copied::Told(words));
    }

    /// What is due beside the connection.
    fn look(&mut self) -> Result<(), End> {
        let now = monotonic();
        let was_promoted = self.copying.is_promoted();
        self.copying.handle_timeout(now)?;
        if self.copying.is_promoted() && !was_promoted {
            let ms = self.copying.silence(now).0 / 1_000_000;
            self.say(format!("the venue at {} has said nothing for {ms} ms", self.from));
        }
        let Self { copying, control, .. } = self;
        let Some(control) = control else { return Ok(()) };
        control.work(now, |request| match request {
            VenueRequest::Promote if copying.promote() => VenueReply::Done { is_new: true },
            VenueRequest::Promote => VenueReply::Failed {
                text: "it has not copied anything yet: there is no venue to go on with".to_owned(),
            },
            _ => VenueReply::Failed { text: "it is a standby, which can `promote`".to_owned() },
        });
        Ok(())
    }

    /// Copies over one connection, until it ends or this copy is promoted.
    fn follow(&mut self) -> Result<(), End> {
        let to = Address::Inet(SocketAddr::V4(self.from));
        let options = self.own.map(from_machine_of).unwrap_or_default();
        let (stream, _) = Socket::connect(&to, &options)?;
        self.copying.connect(monotonic());
        let (mut buffer, mut looked) = (vec![0; 256 << 10], monotonic());
        while !self.copying.is_promoted() {
            let out = self.copying.poll_transmit();
            // None is taken before the connection is there; then so few are taken at once.
            let sent = if out.is_empty() { Some(0) } else { stream.send(out)? };
            self.copying.sent(sent.unwrap_or(0));
            match stream.receive(&mut buffer)? {
                None => self.pause(&stream, sent.is_none()),
                Some(0) if self.copying.is_copying() => {
                    return Err(End::Gone("it has ended".to_owned()));
                }
                Some(0) => return Err(End::Gone("it has closed the connection".to_owned())),
                Some(count) => self.take(buffer.get(..count).unwrap_or(&[]))?,
            }
            let now = monotonic();
            if now - looked >= LOOK {
                looked = now;
                self.look()?;
            }
        }
        Ok(())
    }

    /// Waits until something comes, or something else is due.
    fn pause(&self, stream: &Socket, is_connecting: bool) {
        match is_connecting {
            // PACE: a connection that is not there yet wakes nobody.
            true => sleep(LOOK),
            false => _ = wait_readable(&[stream.as_fd()], Some(LOOK)),
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), End> {
        if let Some(begun) = self.copying.handle_bytes(monotonic(), bytes)? {
            let _ = self.tell.send(Copied::Begun);
            self.say(format!("copies start {} of the venue at {}", begun.epoch, self.from));
        }
        self.tell_whether_waited_for();
        Ok(())
    }
}

/// Why a connection ended, in words.
enum End {
    Gone(String),
    /// There is no use in another one.
    Fatal(String),
}

impl End {
    fn unless_gone(self) -> Result<(), RunnerError> {
        match self {
            Self::Gone(_) => Ok(()),
            Self::Fatal(error) => Err(RunnerError::run("journal", error)),
        }
    }
}

impl From<SysError> for End {
    fn from(error: SysError) -> Self {
        Self::Gone(error.to_string())
    }
}

impl From<CopyingEnd> for End {
    fn from(end: CopyingEnd) -> Self {
        match end.is_fatal() {
            true => Self::Fatal(end.to_string()),
            false => Self::Gone(end.to_string()),
        }
    }
}
