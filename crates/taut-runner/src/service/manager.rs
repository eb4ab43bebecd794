//! systemd's service manager: it is told when a process is ready, how it is, and that it lives, by
//! datagrams to the socket that it names in the environment (`sd_notify(3)`).

use std::ffi::OsString;

use taut_sys::{LocalDatagram, process_id};
use taut_types::Nanos;

/// Who started this process, if it wants to be told how it is.
#[derive(Debug, Default)]
pub struct Manager {
    socket: Option<LocalDatagram>,
    /// It kills the process when it has heard nothing for so long.
    watchdog: Option<Nanos>,
    /// When a sign of life was sent last, and what had been counted by then.
    alive_at: Option<Nanos>,
    beats: Option<u64>,
    status: String,
    is_reloading: bool,
}

impl Manager {
    /// The one that the environment names (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`); one
    /// that cannot be reached is none.
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    pub(super) fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let number = |name| variable(name)?.to_str()?.parse::<u64>().ok();
        let socket = variable("NOTIFY_SOCKET").and_then(|name| LocalDatagram::to(&name).ok());
        // Of a process that was started by the one that is meant.
        let is_ours =
            number("WATCHDOG_PID").is_none_or(|process| process == u64::from(process_id()));
        let span = number("WATCHDOG_USEC").filter(|span| *span > 0 && is_ours);
        let watchdog = span.and_then(|us| i64::try_from(us).ok()?.checked_mul(1_000)).map(Nanos);
        Self { watchdog: watchdog.filter(|_| socket.is_some()), socket, ..Self::default() }
    }

    /// A reload is over, if one was under way.
    pub fn reloaded(&mut self) {
        if std::mem::take(&mut self.is_reloading) {
            self.ready();
        }
    }

    /// It can be found, and connects to its venue.
    pub fn ready(&mut self) {
        self.send("READY=1");
    }

    /// Its settings are read again, until they are [`reloaded`](Self::reloaded).
    pub fn reloading(&mut self, now: Nanos) {
        self.is_reloading = true;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.0 / 1_000));
    }

    /// It ends.
    pub fn stopping(&mut self) {
        self.send("STOPPING=1");
    }

    /// How it is, in one line, which `systemctl status` shows.
    pub fn set_status(&mut self, status: String) {
        if self.status != status {
            self.send(&format!("STATUS={status}"));
            self.status = status;
        }
    }

    /// Says that it lives, where it does: `beats` is what its thread that trades counts in each
    /// round of housekeeping. While that stands still nothing is said, and the service manager does
    /// what its unit says.
    pub fn look(&mut self, now: Nanos, beats: u64) {
        let Some(watchdog) = self.watchdog else { return };
        let half = Nanos(watchdog.0 / 2);
        let is_due = self.alive_at.is_none_or(|before| now >= before + half);
        if is_due && self.beats != Some(beats) {
            self.send("WATCHDOG=1");
            (self.alive_at, self.beats) = (Some(now), Some(beats));
        }
    }

    /// A manager that does not listen is not waited for.
    fn send(&self, state: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(state.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    struct Systemd {
        _folder: tempfile::TempDir,
        socket: UnixDatagram,
        name: OsString,
    }

    impl Systemd {
        fn start() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("notify");
            let socket = UnixDatagram::bind(&path).expect("a socket");
            socket.set_nonblocking(true).expect("a socket");
            Self { _folder: folder, socket, name: path.into_os_string() }
        }

        fn heard(&self) -> Vec<String> {
            let mut buffer = [0; 256];
            let next = || {
                let length = self.socket.recv(&mut buffer).ok()?;
                Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
            };
            std::iter::from_fn(next).collect()
        }

        fn manager(&self, more: &[(&str, &str)]) -> Manager {
            Manager::from_variables(|name| match name {
                "NOTIFY_SOCKET" => Some(self.name.clone()),
                other => more.iter().find(|(key, _)| *key == other).map(|(_, it)| it.into()),
            })
        }
    }

    #[test]
    fn what_happens_is_told_in_its_order() {
        let systemd = Systemd::start();
        let mut manager = systemd.manager(&[]);
        manager.ready();
        manager.set_status("orders up".to_owned());
        manager.set_status("orders up".to_owned());
        manager.reloading(Nanos(5_000));
        manager.reloaded();
        manager.reloaded();
        manager.look(Nanos(7), 1);
        manager.stopping();
        assert_eq!(
            systemd.heard(),
            [
                "READY=1",
                "STATUS=orders up",
                "RELOADING=1\nMONOTONIC_USEC=5",
                "READY=1",
                "STOPPING=1"
            ],
            "without a watchdog no sign of life"
        );
    }

    #[test]
    fn a_thread_that_stands_still_gives_no_sign_of_life() {
        let systemd = Systemd::start();
        let own = process_id().to_string();
        let variables = [("WATCHDOG_USEC", "2000000"), ("WATCHDOG_PID", own.as_str())];
        let mut manager = systemd.manager(&variables);
        let seconds = |tenths: i64| Nanos(tenths * 100_000_000);
        // It counts on: a sign each half of the time.
        (0..40).for_each(|tenth| manager.look(seconds(tenth), tenth.cast_unsigned()));
        assert_eq!(systemd.heard(), ["WATCHDOG=1"; 4]);
        // It hangs.
        (40..100).for_each(|tenth| manager.look(seconds(tenth), 39));
        assert!(systemd.heard().len() <= 1, "none once what it had counted was told");
        (100..200).for_each(|tenth| manager.look(seconds(tenth), 39));
        assert_eq!(systemd.heard(), [""; 0]);
        // It goes on.
        manager.look(seconds(200), 40);
        assert_eq!(systemd.heard(), ["WATCHDOG=1"]);
    }

    #[test]
    fn without_a_manager_or_for_another_process_nothing_is_said() {
        let systemd = Systemd::start();
        let variables = [("WATCHDOG_USEC", "2000000"), ("WATCHDOG_PID", "1")];
        let mut manager = systemd.manager(&variables);
        manager.look(Nanos(1), 1);
        assert_eq!(systemd.heard(), [""; 0]);
        let mut nobody = Manager::from_variables(|_| None);
        nobody.ready();
        nobody.look(Nanos(1), 1);
    }
}
