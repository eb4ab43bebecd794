//! Connecting, as one thing: the name is looked up off the loop, its addresses are tried in turn,
//! and all of it stands under one deadline.

use std::net::SocketAddr;

use taut_io::{Completion, Handle, Io, IoError, Kernel, Operation};
use taut_sys::{Address, StreamOptions};
use taut_types::Nanos;

use crate::error::NetError;
use crate::resolve::{Lookup, Resolution, Resolved, system_lookup};
use crate::target::Target;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connecting {
    /// The completion is not of this connection.
    NotMine,
    /// It goes on.
    Underway,
    /// The stream stands; receiving has not started. The connector is done.
    Connected(Handle),
    /// No address answered: the fault of the last one, or the deadline. The connector is done.
    Failed(NetError),
}

/// One connection under way. Give it every completion until it is done.
#[derive(Debug)]
pub struct Connector {
    options: StreamOptions,
    deadline: Nanos,
    left: Vec<Address>,
    state: State,
    fault: NetError,
}

#[derive(Debug)]
enum State {
    Resolving(Resolution),
    Trying(Handle),
    Done,
}

impl Connector {
    /// Starts to connect. Each address gets its share of the time that is left, so that one that
    /// does not answer leaves some to the next.
    ///
    /// # Errors
    /// When no attempt could be started at all.
    pub fn start<K: Kernel>(
        io: &mut Io<K>,
        target: &Target,
        options: &StreamOptions,
        deadline: Nanos,
    ) -> Result<Self, NetError> {
        Self::start_with(io, target, options, deadline, system_lookup)
    }

    /// As [`Connector::start`], with another way to look names up.
    ///
    /// # Errors
    /// As [`Connector::start`].
    pub fn start_with<K: Kernel>(
        io: &mut Io<K>,
        target: &Target,
        options: &StreamOptions,
        deadline: Nanos,
        lookup: Lookup,
    ) -> Result<Self, NetError> {
        let (left, state) = match target {
            Target::Address(address) => (vec![*address], State::Done),
            Target::Name { host, port } => {
                let resolution = Resolution::start(io, host, *port, lookup, deadline)?;
                (Vec::new(), State::Resolving(resolution))
            }
        };
        let fault = NetError::UnknownName;
        let mut connector = Self { options: *options, deadline, left, state, fault };
        if matches!(connector.state, State::Done)
            && let Connecting::Failed(error) = connector.try_next(io)
        {
            return Err(error);
        }
        Ok(connector)
    }

    /// Looks whether a completion brings the connection further.
    pub fn handle<K: Kernel>(&mut self, io: &mut Io<K>, completion: &Completion<'_>) -> Connecting {
        let trying = match &self.state {
            State::Done => return Connecting::NotMine,
            State::Resolving(resolution) => {
                return match resolution.handle(io, completion) {
                    Resolved::NotMine => Connecting::NotMine,
                    Resolved::Failed(error) => self.fail(error),
                    Resolved::Addresses(addresses) => {
                        self.left = self.usable(&addresses);
                        self.try_next(io)
                    }
                };
            }
            State::Trying(stream) => *stream,
        };
        match *completion {
            Completion::Connected { stream } if stream == trying => {
                self.state = State::Done;
                Connecting::Connected(stream)
            }
            Completion::Failed { source, operation: Operation::Connect, error, .. }
                if source == trying =>
            {
                self.fault = error.into();
                Connecting::Underway
            }
            Completion::Closed { source, .. } if source == trying => self.try_next(io),
            _ => Connecting::NotMine,
        }
    }

    /// Gives up; what is under way closes by itself.
    pub fn cancel<K: Kernel>(&mut self, io: &mut Io<K>) {
        match core::mem::replace(&mut self.state, State::Done) {
            State::Resolving(resolution) => resolution.cancel(io),
            // A stale handle is closed already.
            State::Trying(stream) => drop(io.close(stream)),
            State::Done => {}
        }
    }

    /// The addresses that can be reached from where the connection must start, last one first.
    fn usable(&self, addresses: &[SocketAddr]) -> Vec<Address> {
        let fits = |address: &&SocketAddr| {
            self.options.local.is_none_or(|local| local.is_ipv6() == address.is_ipv6())
        };
        addresses.iter().rev().filter(fits).map(|address| Address::Inet(*address)).collect()
    }

    fn try_next<K: Kernel>(&mut self, io: &mut Io<K>) -> Connecting {
        while let Some(address) = self.left.pop() {
            let time_left = self.deadline.since(io.now());
            if time_left <= Nanos::ZERO {
                return self.fail(NetError::Io(IoError::TimedOut));
            }
            let share = Nanos(time_left.0 / (self.left.len() as i64 + 1));
            match io.connect(&address, &self.options, Some(io.now() + share)) {
                Ok(stream) => {
                    self.state = State::Trying(stream);
                    return Connecting::Underway;
                }
                Err(error @ IoError::System(_)) => self.fault = error.into(),
                Err(error) => return self.fail(error.into()),
            }
        }
        self.fail(self.fault)
    }

    fn fail(&mut self, error: NetError) -> Connecting {
        self.state = State::Done;
        Connecting::Failed(error)
    }
}
