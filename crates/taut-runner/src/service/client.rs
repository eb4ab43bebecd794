//! The other end of the control socket.

use std::fmt;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use taut_doctor::outliers::{OutlierTrace, Outliers};
use taut_ipc::Segment;
use taut_sys::{ControlListener, ControlSocket, effective_user};
use taut_types::Nanos;

use crate::control::{Channel, Incoming};
use crate::error::RunnerError;
use crate::service::protocol::{
    BookLines, ControlReply, ControlRequest, InstrumentLine, LimitLine, OrderLine, PositionLine,
};

/// How long a gateway may take with a reply, where nobody says otherwise.
const REPLY: Nanos = Nanos::from_secs(5);

/// Where a gateway of this name listens: in the user's runtime folder, or else in the folder for
/// temporary files. A name with a slash is the path itself.
#[must_use]
pub fn control_path(name: &str) -> PathBuf {
    socket_path("taut-gateway", name)
}

/// Where a process of this kind and name listens.
pub(super) fn socket_path(kind: &str, name: &str) -> PathBuf {
    if name.contains('/') {
        return PathBuf::from(name);
    }
    socket_folder().join(format!("{kind}-{name}"))
}

/// Where processes listen whose path is not set.
fn socket_folder() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    folder.map_or_else(std::env::temp_dir, PathBuf::from)
}

/// Under which name, without a file, a user's run listens whose parent is this process.
pub(crate) fn run_socket(user: u32, process: impl fmt::Display) -> String {
    format!("taut-run-{user}-{process}")
}

/// The parent of a run, by the name that the run has as a gateway.
fn process_of_run(name: &str) -> Option<u32> {
    name.strip_prefix("run-")?.parse().ok()
}

/// A connection to a gateway.
#[derive(Debug)]
pub struct ControlClient {
    channel: Channel,
    name: String,
    patience: Nanos,
    /// Replies that did not come in time, and are still to come.
    late: u32,
}

impl ControlClient {
    /// Connects to the gateway of this name, or at this path.
    ///
    /// # Errors
    /// When nobody listens there.
    pub fn connect(name: &str) -> Result<Self, RunnerError> {
        let path = control_path(name);
        let connected = match process_of_run(name) {
            Some(process) if !path.exists() => {
                ControlSocket::connect_name(&run_socket(effective_user(), process))
            }
            _ => ControlSocket::connect(&path),
        };
        let socket = connected.map_err(|error| {
            RunnerError::Run(format!(
                "no gateway '{name}' at {}: {error}; does it run, and for this user?",
                path.display()
            ))
        })?;
        let (channel, name) = (Channel::new(socket), name.to_owned());
        Ok(Self { channel, name, patience: REPLY, late: 0 })
    }

    /// The names of the gateways that listen where their path is not set, in order, and of runs of
    /// a [`Runner`](crate::Runner): `run-` and the number of their process. A gateway that was
    /// killed may be among them.
    #[must_use]
    pub fn running() -> Vec<String> {
        let entries = std::fs::read_dir(socket_folder()).into_iter().flatten().flatten();
        let is_socket = |entry: &std::fs::DirEntry| {
            entry.file_type().is_ok_and(|kind| std::os::unix::fs::FileTypeExt::is_socket(&kind))
        };
        let name = |entry: std::fs::DirEntry| {
            Some(entry.file_name().to_str()?.strip_prefix("taut-gateway-")?.to_owned())
        };
        let mut names: Vec<_> = entries.filter(is_socket).filter_map(name).collect();
        let beginning = run_socket(effective_user(), "");
        let runs = ControlListener::names(&beginning).into_iter();
        names.extend(runs.filter_map(|run| Some(format!("run-{}", run.strip_prefix(&beginning)?))));
        names.sort();
        names
    }

    /// How long each part of a reply is waited for from now on; 5 s before that.
    pub const fn set_patience(&mut self, patience: Nanos) {
        self.patience = patience;
    }

    /// Whether something that was asked has no answer yet: it did not come in time. Nothing else is
    /// asked before it is there.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.late > 0
    }

    /// Asks, and takes the first reply with its descriptors.
    ///
    /// # Errors
    /// [`RunnerError::Run`] when it refuses, is gone, or does not reply in time.
    pub(super) fn ask_for(
        &mut self,
        request: &ControlRequest,
    ) -> Result<(ControlReply, Vec<OwnedFd>), RunnerError> {
        self.catch_up()?;
        self.channel.send(request, &[]).map_err(|_| self.gone())?;
        self.reply()
    }

    /// Takes the replies that did not come in time, which are no answer to what is asked next.
    fn catch_up(&mut self) -> Result<(), RunnerError> {
        while self.late > 0 {
            match self.channel.receive_within::<ControlReply>(self.patience) {
                Ok(Incoming::Message(reply, _)) => self.late -= u32::from(!reply.has_more()),
                Ok(Incoming::Nothing) => return Err(self.too_late()),
                Ok(Incoming::Gone) | Err(_) => return Err(self.gone()),
            }
        }
        Ok(())
    }

    /// Asks, and takes the reply.
    ///
    /// # Errors
    /// [`RunnerError::Run`] when it refuses, is gone, or does not reply in time.
    pub fn ask(&mut self, request: &ControlRequest) -> Result<ControlReply, RunnerError> {
        self.ask_for(request).map(|(reply, _)| reply)
    }

    /// The market's shared memory, to look at while the gateway trades, and the instruments whose
    /// numbers its events have.
    ///
    /// # Errors
    /// As [`ControlClient::ask`]; when the memory is another version's.
    pub fn observe(&mut self) -> Result<(Segment, Vec<InstrumentLine>), RunnerError> {
        let (mut all, mut next) = (Vec::new(), self.ask_for(&ControlRequest::Observe)?);
        while let (ControlReply::Observed { instruments, more }, fds) = next {
            all.extend(instruments);
            if !more {
                let fd = fds.into_iter().next().ok_or_else(|| self.gone())?;
                let segment = Segment::observe(fd);
                return Ok((segment.map_err(|it| RunnerError::Run(it.to_string()))?, all));
            }
            next = self.reply()?;
        }
        Err(self.gone())
    }

    /// The book of the instrument with this symbol, and where in the market ring what changes it
    /// from then on begins.
    ///
    /// # Errors
    /// As [`ControlClient::ask`].
    pub fn book(&mut self, symbol: &str) -> Result<BookLines, RunnerError> {
        match self.ask(&ControlRequest::Book { symbol: symbol.to_owned() })? {
            ControlReply::Book(book) => Ok(*book),
            _ => Err(self.gone()),
        }
    }

    /// The worst orders since the gateway began, or of so long until now (of the last ten minutes
    /// at most), with why they took long, and what a trace of them is drawn from.
    ///
    /// # Errors
    /// As [`ControlClient::ask`]; where the gateway's settings have nobody look.
    pub fn outliers(
        &mut self,
        since: Option<Nanos>,
    ) -> Result<(Outliers, OutlierTrace), RunnerError> {
        match self.ask(&ControlRequest::Outliers { since_ns: since.map(|since| since.0) })? {
            ControlReply::Outliers(told) => Ok(*told),
            _ => Err(self.gone()),
        }
    }

    /// All open orders.
    ///
    /// # Errors
    /// As [`ControlClient::ask`].
    pub fn orders(&mut self) -> Result<Vec<OrderLine>, RunnerError> {
        let (mut all, mut reply) = (Vec::new(), self.ask(&ControlRequest::Orders)?);
        while let ControlReply::Orders { orders, more } = reply {
            all.extend(orders);
            if !more {
                return Ok(all);
            }
            reply = self.reply()?.0;
        }
        Err(self.gone())
    }

    /// All that is held.
    ///
    /// # Errors
    /// As [`ControlClient::ask`].
    pub fn positions(&mut self) -> Result<Vec<PositionLine>, RunnerError> {
        let (mut all, mut reply) = (Vec::new(), self.ask(&ControlRequest::Positions)?);
        while let ControlReply::Positions { positions, more } = reply {
            all.extend(positions);
            if !more {
                return Ok(all);
            }
            reply = self.reply()?.0;
        }
        Err(self.gone())
    }

    /// What is in force of limits, and how much of it is used.
    ///
    /// # Errors
    /// As [`ControlClient::ask`].
    pub fn limits(&mut self) -> Result<Vec<LimitLine>, RunnerError> {
        let (mut all, mut reply) = (Vec::new(), self.ask(&ControlRequest::Limits)?);
        while let ControlReply::Limits { limits, more } = reply {
            all.extend(limits);
            if !more {
                return Ok(all);
            }
            reply = self.reply()?.0;
        }
        Err(self.gone())
    }

    fn reply(&mut self) -> Result<(ControlReply, Vec<OwnedFd>), RunnerError> {
        match self.channel.receive_within(self.patience) {
            Ok(Incoming::Message(ControlReply::Failed { text }, _)) => {
                Err(RunnerError::Run(format!("gateway '{}': {text}", self.name)))
            }
            Ok(Incoming::Message(reply, fds)) => Ok((reply, fds)),
            Ok(Incoming::Nothing) => {
                self.late += 1;
                Err(self.too_late())
            }
            Ok(Incoming::Gone) | Err(_) => Err(self.gone()),
        }
    }

    /// Whether the gateway ended the connection, or has ended itself.
    pub fn is_gone(&mut self) -> bool {
        matches!(self.channel.receive::<ControlReply>(), Ok(Incoming::Gone) | Err(_))
    }

    pub(super) const fn channel(&self) -> &Channel {
        &self.channel
    }

    fn too_late(&self) -> RunnerError {
        let seconds = self.patience.0 as f64 / 1e9;
        RunnerError::Run(format!("gateway '{}': no reply within {seconds} s", self.name))
    }

    fn gone(&self) -> RunnerError {
        RunnerError::Run(format!("gateway '{}' ended the connection", self.name))
    }
}
