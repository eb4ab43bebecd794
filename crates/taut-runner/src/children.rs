//! The child processes: started, listened to, and never left behind.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};

use taut_sys::{ControlSocket, monotonic, wait_readable};
use taut_types::Nanos;

use crate::control::{Channel, Incoming, Order, Reply};
use crate::error::RunnerError;
use crate::role::{ROLE_VARIABLE, Role};

/// How long a child may take to end when asked to.
const EXIT_GRACE: Nanos = Nanos::from_millis(1_000);
/// How long to look for the first cause when one child reports trouble: the death of another
/// process reaches us a little later than its consequences.
const CAUSE_GRACE: Nanos = Nanos::from_millis(100);

#[derive(Debug)]
struct Child {
    role: Role,
    process: std::process::Child,
    channel: Channel,
    status: Option<ExitStatus>,
    /// The control socket is at its end.
    gone: bool,
}

impl Child {
    /// How it ended, if it has.
    fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.process.try_wait().ok().flatten();
        }
        self.status
    }
}

/// All children. Dropping them ends them.
#[derive(Debug, Default)]
pub struct Children {
    children: Vec<Child>,
}

impl Children {
    /// Starts this program, with the arguments that it was given, in another role.
    pub fn spawn(&mut self, role: Role) -> Result<u32, RunnerError> {
        let failed = |error: &dyn std::fmt::Display| {
            RunnerError::Run(format!("the {} process could not be started: {error}", role.name()))
        };
        let binary = std::env::current_exe().map_err(|error| failed(&error))?;
        let (near, far) = ControlSocket::pair().map_err(|error| failed(&error))?;
        let process = Command::new(binary)
            // The same `main` finds its way to the runner again, where the role is found.
            .args(std::env::args_os().skip(1))
            .env(ROLE_VARIABLE, role.name())
            .stdin(Stdio::from(OwnedFd::from(far)))
            // A group of its own: Ctrl-C goes to the parent alone, which ends all in good order.
            .process_group(0)
            .spawn()
            .map_err(|error| failed(&error))?;
        let (id, channel) = (process.id(), Channel::new(near));
        self.children.push(Child { role, process, channel, status: None, gone: false });
        Ok(id)
    }

    /// Sends an order, with copies of descriptors.
    pub fn send(
        &mut self,
        role: Role,
        order: &Order,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(), RunnerError> {
        let sent = match self.children.iter().find(|child| child.role == role) {
            Some(child) => child.channel.send(order, fds),
            None => return Err(RunnerError::Run(format!("there is no {} process", role.name()))),
        };
        // Who does not take orders has ended: the next look says how.
        if sent.is_err() {
            return Err(self.first_cause(role, "does not take orders"));
        }
        Ok(())
    }

    /// Kills a child, and waits for its end.
    pub fn kill(&mut self, role: Role) {
        let killed = self.children.extract_if(.., |child| child.role == role);
        for mut child in killed {
            // One that has ended meanwhile is as gone.
            let _ = child.process.kill();
            let _ = child.process.wait();
        }
    }

    /// A child plays another role from now on.
    pub fn rename(&mut self, from: Role, to: Role) {
        for child in self.children.iter_mut().filter(|child| child.role == from) {
            child.role = to;
        }
    }

    /// Waits at most `span` (less when a signal comes, or something for one of the `others`) and
    /// returns what the children said.
    pub fn listen(
        &mut self,
        span: Nanos,
        others: &[BorrowedFd<'_>],
    ) -> Result<Vec<(Role, Reply)>, RunnerError> {
        let own = self.children.iter().map(|child| child.channel.socket().as_fd());
        let fds: Vec<BorrowedFd<'_>> = own.chain(others.iter().copied()).collect();
        wait_readable(&fds, Some(span))
            .map_err(|error| RunnerError::run("control sockets", error))?;
        let mut said = Vec::new();
        let mut trouble = None;
        for child in &mut self.children {
            loop {
                match child.channel.receive::<Reply>() {
                    Ok(Incoming::Nothing) => break,
                    Ok(Incoming::Message(Reply::Failed { text }, _)) => {
                        trouble.get_or_insert((child.role, text));
                    }
                    Ok(Incoming::Message(reply, _)) => said.push((child.role, reply)),
                    Ok(Incoming::Gone) | Err(_) => {
                        child.gone = true;
                        trouble.get_or_insert((child.role, "ended unexpectedly".to_owned()));
                        break;
                    }
                }
            }
        }
        match trouble {
            Some((role, text)) => Err(self.first_cause(role, &text)),
            None => Ok(said),
        }
    }

    /// Asks all to end and waits for it; who does not is killed.
    pub fn end(&mut self) {
        for child in &self.children {
            let _ = child.channel.send(&Order::Exit, &[]);
        }
        let deadline = monotonic() + EXIT_GRACE;
        while self.children.iter_mut().any(|child| child.ended().is_none()) {
            if monotonic() >= deadline {
                break;
            }
            // PACE: the end of a child is asked for, not announced.
            taut_sys::sleep(Nanos::from_millis(2));
        }
        for child in &mut self.children {
            if child.ended().is_none() {
                let _ = child.process.kill();
                child.status = child.process.wait().ok();
            }
        }
        self.children.clear();
    }

    /// Says what went wrong first: a process that was killed explains the others' complaints.
    fn first_cause(&mut self, role: Role, text: &str) -> RunnerError {
        let deadline = monotonic() + CAUSE_GRACE;
        loop {
            for child in &mut self.children {
                let (name, process) = (child.role.name(), child.process.id());
                if let Some(signal) = child.ended().and_then(|status| status.signal()) {
                    return RunnerError::Run(format!(
                        "the {name} (process {process}) was killed by signal {signal}; the others \
                         were ended, and there is no report"
                    ));
                }
            }
            if monotonic() >= deadline {
                return RunnerError::Run(format!("the {}: {text}", role.name()));
            }
            // PACE: the end of a child is asked for, not announced.
            taut_sys::sleep(Nanos::from_millis(2));
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.end();
    }
}
