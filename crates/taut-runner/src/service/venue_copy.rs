//! A copy of the journal of a venue on another machine, for a standby here.

use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use taut_sys::{Address, Socket, monotonic, sleep, wait_readable};
use taut_types::Nanos;
use taut_venue::{FolderLock, GREETING_BYTES, JournalCopy, ShipError, Whereabouts};

use crate::error::RunnerError;
use crate::service::venue_control::{VenueControl, VenueReply, VenueRequest};
use crate::service::venue_ship::from_machine_of;

/// How often it looks for what is not told by the venue: an operator, the disk.
const LOOK: Nanos = Nanos::from_millis(2);
/// From one attempt to connect to the next.
const AGAIN: Nanos = Nanos::from_millis(200);
/// How long the venue may take to accept, and to say what comes.
const GREETING: Nanos = Nanos::from_secs(2);

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
        let (is_promoted, begun, is_waited_for) = (false, false, false);
        let heard_at = monotonic();
        let mut copying = Copying {
            from,
            own,
            copy,
            control,
            promote_after,
            heard_at,
            is_promoted,
            begun,
            is_waited_for,
            tell,
        };
        match copying.run() {
            // Nobody listens any more at the end.
            Ok(()) => {
                let Copying { copy, control, tell, .. } = copying;
                drop(control);
                let _ = tell.send(Copied::Promoted(copy.end()));
            }
            Err(error) => _ = copying.tell.send(Copied::Failed(error.to_string())),
        }
    });
    told
}

struct Copying {
    from: SocketAddrV4,
    /// Where this one serves its journal when it is the venue.
    own: Option<SocketAddrV4>,
    copy: JournalCopy,
    control: Option<VenueControl>,
    /// After which silence of the venue it takes its place by itself.
    promote_after: Option<Nanos>,
    /// When the venue was heard last.
    heard_at: Nanos,
    is_promoted: bool,
    /// Something was copied: this standby may be promoted.
    begun: bool,
    /// It was told that the venue waits for this copy.
    is_waited_for: bool,
    tell: Sender<Copied>,
}

impl Copying {
    fn run(&mut self) -> Result<(), RunnerError> {
        let (mut was_connected, mut is_first) = (false, true);
        while !self.is_promoted {
            match self.follow() {
                Ok(()) => {}
                Err(End::Fatal(error)) => return Err(RunnerError::run("journal", error)),
                Err(End::Gone(why, connected)) => {
                    if connected || is_first || was_connected {
                        self.say(format!("the venue at {}: {why}", self.from));
                    }
                    (was_connected, is_first) = (connected, false);
                }
            }
            let until = monotonic() + AGAIN;
            while !self.is_promoted && monotonic() < until {
                self.look()?;
                // PACE: an operator may come at any time.
                sleep(LOOK);
            }
        }
        Ok(())
    }

    fn tell_whether_waited_for(&mut self) {
        let is_waited_for = self.copy.is_waited_for();
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
    fn look(&mut self) -> Result<(), RunnerError> {
        self.copy.turn().map_err(|error| RunnerError::run("journal", error))?;
        let silence = monotonic() - self.heard_at;
        // All that the venue has acknowledged is here, and it acknowledges nothing without this
        // copy, which takes nothing more.
        if self.copy.is_waited_for() && self.promote_after.is_some_and(|after| silence >= after) {
            let ms = silence.0 / 1_000_000;
            self.say(format!("the venue at {} has said nothing for {ms} ms", self.from));
            self.is_promoted = true;
        }
        let (begun, is_promoted) = (self.begun, &mut self.is_promoted);
        if let Some(control) = &mut self.control {
            control.work(monotonic(), |request| match request {
                VenueRequest::Promote if begun => {
                    *is_promoted = true;
                    VenueReply::Done { is_new: true }
                }
                VenueRequest::Promote => VenueReply::Failed {
                    text: "it has not copied anything yet: there is no venue to go on with"
                        .to_owned(),
                },
                _ => VenueReply::Failed { text: "it is a standby, which can `promote`".to_owned() },
            });
        }
        Ok(())
    }

    /// Copies over one connection.
    fn follow(&mut self) -> Result<(), End> {
        let gone = |error: &dyn std::fmt::Display| End::Gone(error.to_string(), false);
        let to = Address::Inet(SocketAddr::V4(self.from));
        let options = self.own.map(from_machine_of).unwrap_or_default();
        let (stream, _) = Socket::connect(&to, &options).map_err(|error| gone(&error))?;
        let until = monotonic() + GREETING;
        let late = || End::Gone("it does not answer".to_owned(), false);
        let needs = self.copy.needs().to_bytes();
        // None is taken before the connection is there; then these few are taken at once.
        while stream.send(&needs).map_err(|error| gone(&error))?.is_none() {
            self.pause(until, late)?;
        }
        let (mut greeting, mut filled) = ([0; GREETING_BYTES], 0);
        while filled < GREETING_BYTES {
            let room = greeting.get_mut(filled..).unwrap_or(&mut []);
            match stream.receive(room).map_err(|error| gone(&error))? {
                Some(0) => return Err(End::Gone("it has closed the connection".to_owned(), false)),
                Some(count) => filled += count,
                None => self.pause(until, late)?,
            }
        }
        let Some(from) = Whereabouts::read(&greeting) else {
            let why = "it speaks another protocol, or another version of it";
            return Err(End::Gone(why.to_owned(), false));
        };
        self.copy.begin(from)?;
        self.tell_whether_waited_for();
        self.begun = true;
        let _ = self.tell.send(Copied::Begun);
        self.say(format!("copies start {} of the venue at {}", from.epoch, self.from));
        self.copy_from(&stream)
    }

    fn pause(&mut self, until: Nanos, late: impl Fn() -> End) -> Result<(), End> {
        if self.is_promoted || monotonic() >= until {
            return Err(late());
        }
        self.look().map_err(|error| End::Fatal(error.to_string()))?;
        // PACE: a connection that is not there yet wakes nobody.
        sleep(LOOK);
        Ok(())
    }

    fn copy_from(&mut self, stream: &Socket) -> Result<(), End> {
        let gone = |error: &dyn std::fmt::Display| End::Gone(error.to_string(), true);
        let (mut bytes, mut buffer) = (Vec::new(), vec![0; 256 << 10]);
        let (mut acknowledged, mut looked) = (0, monotonic());
        while !self.is_promoted {
            match stream.receive(&mut buffer).map_err(|error| gone(&error))? {
                None => _ = wait_readable(&[stream.as_fd()], Some(LOOK)),
                Some(0) => return Err(gone(&"it has ended")),
                Some(count) => {
                    self.heard_at = monotonic();
                    bytes.extend_from_slice(buffer.get(..count).unwrap_or(&[]));
                    let taken = self.copy.take(&bytes)?;
                    bytes.drain(..taken);
                    self.tell_whether_waited_for();
                }
            }
            let last = self.copy.last();
            // The venue reads them: the buffer is never full of these for long.
            if last > acknowledged
                && stream.send(&last.to_le_bytes()).map_err(|error| gone(&error))?.is_some()
            {
                acknowledged = last;
            }
            let now = monotonic();
            if now - looked >= LOOK {
                looked = now;
                self.look().map_err(|error| End::Fatal(error.to_string()))?;
            }
        }
        Ok(())
    }
}

/// Why a connection ended.
enum End {
    /// In words, and whether entries came over it.
    Gone(String, bool),
    /// There is no use in another one.
    Fatal(String),
}

impl From<ShipError> for End {
    fn from(error: ShipError) -> Self {
        match error {
            ShipError::Entry { .. } => Self::Gone(error.to_string(), false),
            ShipError::Journal(_) | ShipError::Ahead { .. } => Self::Fatal(error.to_string()),
        }
    }
}
