//! A venue's faults, told and changed over a socket while it runs.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use taut_sys::{ControlListener, ControlSocket};
use taut_types::Nanos;
use taut_web_venue::Faults;

use crate::control::{Channel, Incoming};
use crate::error::RunnerError;
use crate::service::client::socket_path;

/// How often it is looked whether somebody asks.
const LOOK: Nanos = Nanos::from_millis(20);
/// Connections at one time.
const CONNECTIONS_MAX: usize = 8;
/// How long a venue may take with a reply.
const REPLY: Nanos = Nanos::from_secs(5);

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    /// How the day is.
    Faults,
    /// From now on it is like this.
    SetFaults(Faults),
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

    /// Answers whoever asks, now and then: `day` takes the faults that are to be, if any, and says
    /// how it is. Cost where nobody is connected: a system call every 20 ms.
    pub(super) fn work(&mut self, now: Nanos, mut day: impl FnMut(Option<Faults>) -> FaultsReport) {
        if now < self.due {
            return;
        }
        self.due = now + LOOK;
        while let Ok(Some(socket)) = self.listener.accept() {
            if self.connections.len() < CONNECTIONS_MAX {
                self.connections.push(Channel::new(socket));
            }
        }
        self.connections.retain_mut(|channel| match channel.receive::<Request>() {
            Ok(Incoming::Nothing) => true,
            Ok(Incoming::Message(Request::Faults, _)) => channel.send(&day(None), &[]).is_ok(),
            Ok(Incoming::Message(Request::SetFaults(faults), _)) => {
                channel.send(&day(Some(faults)), &[]).is_ok()
            }
            Ok(Incoming::Gone) | Err(_) => false,
        });
    }
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
    let path = venue_path(name);
    let socket = ControlSocket::connect(&path).map_err(|error| {
        RunnerError::Run(format!(
            "no venue '{name}' at {}: {error}; does it run, with `name = \"{name}\"` in its file?",
            path.display()
        ))
    })?;
    let mut channel = Channel::new(socket);
    let gone = || RunnerError::Run(format!("venue '{name}' ended the connection"));
    let request = faults.map_or(Request::Faults, Request::SetFaults);
    channel.send(&request, &[]).map_err(|_| gone())?;
    match channel.receive_within(REPLY) {
        Ok(Incoming::Message(report, _)) => Ok(report),
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
