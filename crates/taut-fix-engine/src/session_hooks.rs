//! What belongs to every message of a session: the log, and the credentials of a Logon.

use std::io;

use taut_fix::{Hooks, LogonContext, Now, Role, Writer};
use taut_types::Nanos;

use crate::owner_only::create_folder;
use crate::random::random;
use crate::session_store::named;
use crate::settings::{Credentials, SessionSettings};
use crate::store::{Direction, MessageLog};

/// Logs the messages of a session and signs its Logons.
#[derive(Debug)]
pub struct SessionHooks {
    /// None without a log, and when it could not be written.
    log: Option<MessageLog>,
    has_lost_log: bool,
    /// More fields of our Logon: tag and value.
    logon_fields: Vec<(i32, String)>,
    /// What our Logon carries; an acceptor's are the peer's to show.
    credentials: Option<Credentials>,
    /// Of the last Logon that was signed.
    last_signed: Nanos,
}

impl SessionHooks {
    /// Opens the log.
    pub(crate) fn open(settings: &SessionSettings) -> io::Result<Self> {
        let log = settings.log.as_ref().map(|folder| {
            let path = folder.join(settings.file_name() + ".log");
            create_folder(folder)
                .and_then(|()| MessageLog::open(&path, settings.rotation))
                .map_err(|error| named(&path, &error))
        });
        let credentials = settings.credentials.clone();
        Ok(Self {
            log: log.transpose()?,
            has_lost_log: false,
            logon_fields: settings.logon_fields.clone(),
            credentials: credentials.filter(|_| settings.config.role == Role::Initiator),
            last_signed: Nanos::ZERO,
        })
    }

    /// Whether the log could not be written and was closed; told once.
    pub(crate) const fn take_lost_log(&mut self) -> bool {
        std::mem::replace(&mut self.has_lost_log, false)
    }

    fn log(&mut self, now: Now, direction: Direction, message: &[u8]) {
        let log = self.log.as_mut();
        if log.is_some_and(|log| log.write(now.utc, direction, message).is_err()) {
            self.log = None;
            self.has_lost_log = true;
        }
    }
}

impl Hooks for SessionHooks {
    fn write_logon(&mut self, context: &LogonContext, writer: &mut Writer<'_>) {
        for (tag, value) in &self.logon_fields {
            writer.field(*tag, value.as_bytes());
        }
        if let Some(credentials) = &self.credentials {
            credentials.write(random, &mut self.last_signed, context, writer);
        }
    }

    fn received(&mut self, now: Now, bytes: &[u8]) {
        self.log(now, Direction::In, bytes);
    }

    fn sent(&mut self, now: Now, message: &[u8]) {
        self.log(now, Direction::Out, message);
    }
}
