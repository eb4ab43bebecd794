//! A venue's faults, its books, whether its crowd trades, and which of its instruments are halted:
//! told and changed over a socket while it runs.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use taut_sys::{ControlListener, ControlSocket, monotonic, stop_requests};
use taut_types::Nanos;
use taut_web_venue::Faults;

use crate::control::{Channel, Incoming};
use crate::error::RunnerError;
use crate::service::client::socket_path;
use crate::service::venue_state::VenueState;

/// How often it is looked whether somebody asks.
const LOOK: Nanos = Nanos::from_millis(20);
/// Connections at one time.
const CONNECTIONS_MAX: usize = 8;
/// How long a venue may take with a reply.
const REPLY: Nanos = Nanos::from_secs(5);

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum VenueRequest {
    /// How the day is.
    Faults,
    /// From now on it is like this.
    SetFaults(Faults),
    /// An instrument takes no new order from now on.
    Halt {
        /// Its name.
        symbol: String,
    },
    /// It does again.
    Resume {
        /// Its name.
        symbol: String,
    },
    /// An instrument comes to a phase.
    Phase {
        /// Its name.
        symbol: String,
        /// The phase's.
        phase: String,
    },
    /// A member's orders are cancelled, and it enters none from now on.
    Kill {
        /// Its CompID.
        member: String,
    },
    /// It does again.
    Allow {
        /// Its CompID.
        member: String,
    },
    /// A trade is taken back.
    Bust {
        /// The ExecID of one of its reports.
        exec_id: u64,
    },
    /// What its books come to.
    State,
    /// The crowd trades from now on, or rests.
    RunCrowd(bool),
    /// A standby becomes the venue.
    Promote,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum VenueReply {
    /// How the day is.
    Faults(FaultsReport),
    /// What its books come to.
    State(VenueState),
    /// It is as asked.
    Done {
        /// Whether it was not so before.
        is_new: bool,
    },
    /// Why not.
    Failed {
        /// In words.
        text: String,
    },
}

/// How a venue's day is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FaultsReport {
    /// What goes wrong.
    pub faults: Faults,
    /// To how many messages and requests something was done so far.
    pub injected: u64,
}

/// The venue's end.
#[derive(Debug)]
pub(super) struct VenueControl {
    listener: ControlListener,
    connections: Vec<Channel>,
    due: Nanos,
}

impl VenueControl {
    pub(super) fn bind(name: &str) -> Result<Self, RunnerError> {
        let path = venue_path(name);
        let listener = ControlListener::bind(&path).map_err(|error| {
            let remedy = if error.is_address_in_use() {
                "; a venue of this name runs already: end it, or give this one another name"
            } else {
                ""
            };
            RunnerError::Run(format!("{}: {error}{remedy}", path.display()))
        })?;
        Ok(Self { listener, connections: Vec::new(), due: Nanos::ZERO })
    }

    /// Has whoever asks answered, now and then. Cost where nobody is connected: a system call every
    /// 20 ms.
    pub(super) fn work(&mut self, now: Nanos, mut answer: impl FnMut(VenueRequest) -> VenueReply) {
        if now < self.due {
            return;
        }
        self.due = now + LOOK;
        while let Ok(Some(socket)) = self.listener.accept() {
            if self.connections.len() < CONNECTIONS_MAX {
                self.connections.push(Channel::new(socket));
            }
        }
        self.connections.retain_mut(|channel| match channel.receive::<VenueRequest>() {
            Ok(Incoming::Nothing) => true,
            Ok(Incoming::Message(request, _)) => channel.send(&answer(request), &[]).is_ok(),
            Ok(Incoming::Gone) | Err(_) => false,
        });
    }
}

/// The control socket, where there is one: it is served in the venue's turns, and while the venue
/// waits within one.
pub(super) type SharedControl = Arc<Mutex<Option<VenueControl>>>;

/// What a venue does while an answer of its waits for a standby: whoever asks is told why nothing
/// goes on. Whether to wait on: until a stop signal comes.
pub(super) fn goes_on_waiting(control: &Mutex<Option<VenueControl>>, waited: Nanos) -> bool {
    // As a rule a standby has an input within a millisecond.
    if waited >= LOOK
        && let Some(control) = locked(control).as_mut()
    {
        control.work(monotonic(), |_| {
            let ms = waited.0 / 1_000_000;
            let text = format!(
                "it has waited for {ms} ms for a standby to copy its last inputs, and executes \
                 nothing before: start the standby, or mend what is between the two"
            );
            VenueReply::Failed { text }
        });
    }
    stop_requests() == 0
}

/// Nothing that holds it can panic.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Display for FaultsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} so far", self.faults, self.injected)
    }
}

/// Asks the venue of this name, or at this path, how its day is; with faults in words
/// ([`Faults::parse`]) it is like that from now on.
///
/// # Errors
/// [`RunnerError::Settings`] for a word that is none; [`RunnerError::Run`] when nobody listens
/// there, or does not reply in time.
pub fn venue_faults(name: &str, words: Option<&str>) -> Result<FaultsReport, RunnerError> {
    let faults = words.map(Faults::parse).transpose().map_err(RunnerError::Settings)?;
    let request = faults.map_or(VenueRequest::Faults, VenueRequest::SetFaults);
    match ask(name, &request)? {
        VenueReply::Faults(report) => Ok(report),
        other => Err(refused(name, other)),
    }
}

/// What the books of the venue of this name, or at this path, come to.
///
/// # Errors
/// [`RunnerError::Run`] when nobody listens there, or does not reply in time.
pub fn venue_state(name: &str) -> Result<VenueState, RunnerError> {
    match ask(name, &VenueRequest::State)? {
        VenueReply::State(state) => Ok(state),
        other => Err(refused(name, other)),
    }
}

/// Has the crowd of the venue of this name, or at this path, trade or rest; its orders stay in the
/// books.
///
/// # Errors
/// [`RunnerError::Run`] when nobody listens there, does not reply in time, or has no crowd.
pub fn run_venue_crowd(name: &str, trades: bool) -> Result<(), RunnerError> {
    match ask(name, &VenueRequest::RunCrowd(trades))? {
        VenueReply::Done { .. } => Ok(()),
        other => Err(refused(name, other)),
    }
}

/// Makes the standby of this name, or at this path, the venue. The venue that it has followed must
/// be gone, or be cut off from its clients.
///
/// # Errors
/// [`RunnerError::Run`] when nobody listens there, does not reply in time, or is no standby that
/// has copied a journal.
pub fn promote_venue(name: &str) -> Result<(), RunnerError> {
    match ask(name, &VenueRequest::Promote)? {
        VenueReply::Done { .. } => Ok(()),
        other => Err(refused(name, other)),
    }
}

/// An answer that is not the one that was asked for.
fn refused(name: &str, reply: VenueReply) -> RunnerError {
    RunnerError::Run(match reply {
        VenueReply::Failed { text } => format!("venue '{name}': {text}"),
        _ => format!("venue '{name}' answered something else; is it of the same version?"),
    })
}

/// Has the venue of this name, or at this path, halt an instrument or trade it again; whether it
/// was not so before.
///
/// # Errors
/// [`RunnerError::Run`] when nobody listens there, does not reply in time, or cannot: it does not
/// trade the instrument.
pub fn set_venue_halted(name: &str, symbol: &str, is_halted: bool) -> Result<bool, RunnerError> {
    let symbol = symbol.to_owned();
    let request = match is_halted {
        true => VenueRequest::Halt { symbol },
        false => VenueRequest::Resume { symbol },
    };
    done(name, &request)
}

/// Has the venue of this name, or at this path, bring an instrument to a phase, as its file names
/// it: `pre-open`, `auction`, `continuous`, `halt`, `closing-auction`, `closed`. It stays there
/// until the next phase of the schedule. Whether it was not so before.
///
/// # Errors
/// [`RunnerError::Run`] when nobody listens there, does not reply in time, or cannot: it does not
/// trade the instrument, or knows no such phase.
pub fn set_venue_phase(name: &str, symbol: &str, phase: &str) -> Result<bool, RunnerError> {
    let (symbol, phase) = (symbol.to_owned(), phase.to_owned());
    done(name, &VenueRequest::Phase { symbol, phase })
}

/// Has the venue of this name, or at this path, stop a member: its orders are cancelled, and it
/// enters none until it is allowed again. Whether it was not so before.
///
/// # Errors
/// [`RunnerError::Run`] when nobody listens there, does not reply in time, or knows no such member.
pub fn set_member_killed(name: &str, member: &str, is_killed: bool) -> Result<bool, RunnerError> {
    let member = member.to_owned();
    let request = match is_killed {
        true => VenueRequest::Kill { member },
        false => VenueRequest::Allow { member },
    };
    done(name, &request)
}

/// Has the venue of this name, or at this path, take back the trade of which a report with this
/// ExecID told: both sides hear it, and hold what they held before. Whether it was not so before.
///
/// # Errors
/// [`RunnerError::Run`] when nobody listens there, does not reply in time, or does not remember the
/// trade.
pub fn bust_venue_trade(name: &str, exec_id: u64) -> Result<bool, RunnerError> {
    done(name, &VenueRequest::Bust { exec_id })
}

/// Asks for a change; whether it was not so before.
fn done(name: &str, request: &VenueRequest) -> Result<bool, RunnerError> {
    match ask(name, request)? {
        VenueReply::Done { is_new } => Ok(is_new),
        other => Err(refused(name, other)),
    }
}

fn ask(name: &str, request: &VenueRequest) -> Result<VenueReply, RunnerError> {
    let path = venue_path(name);
    let socket = ControlSocket::connect(&path).map_err(|error| {
        RunnerError::Run(format!(
            "no venue '{name}' at {}: {error}; does it run, with `name = \"{name}\"` in its file?",
            path.display()
        ))
    })?;
    let mut channel = Channel::new(socket);
    let gone = || RunnerError::Run(format!("venue '{name}' ended the connection"));
    channel.send(request, &[]).map_err(|_| gone())?;
    match channel.receive_within(REPLY) {
        Ok(Incoming::Message(reply, _)) => Ok(reply),
        Ok(Incoming::Nothing) => {
            let seconds = REPLY.0 / 1_000_000_000;
            Err(RunnerError::Run(format!("venue '{name}': no reply within {seconds} s")))
        }
        Ok(Incoming::Gone) | Err(_) => Err(gone()),
    }
}

fn venue_path(name: &str) -> PathBuf {
    socket_path("taut-venue", name)
}
