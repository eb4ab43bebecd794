//! FIX sessions over TCP and TLS, as an application wants them: an acceptor, an initiator, and what
//! belongs to their sessions.
//!
//! - [`Settings`]: every session in TOML, or imported from QuickFIX; [`Schedule`]: when it is open.
//! - [`dictionary`]: versions and dialects in QuickFIX's XML.
//! - [`store`]: numbers, messages and logs in files that survive a crash.
//! - [`auth`]: Logons as venues want them signed.
//! - [`Endpoint`]: one session with all of that and its [`Application`], without a socket.
//! - [`Acceptor`], [`Initiator`]: endpoints on a loop.
//! - [`DropCopyServer`]: an acceptor on a thread of its own, whose sessions are told what happens
//!   to orders elsewhere.
//!
//! The session itself is pure and taut-fix's (a [`taut_fix::Link`]); this crate gives it a stream
//! of a loop (taut-io), a clock, a store and a log. Acceptor and initiator are drivers of the loop
//! as those of taut-net are: each is given every completion, none owns a thread, and several share
//! one loop, whose owner chooses the kernel and how it waits. An [`Application`] acts on what a
//! session reports:
//!
//! ```no_run
//! use taut_fix::{Event, Role};
//! use taut_fix_engine::{Application, Initiator, Outbox, Received, Settings};
//! use taut_io::{Completion, EpollKernel, EventLoop, Io, LoopConfig, WaitStrategy};
//!
//! struct Printer;
//!
//! impl Application for Printer {
//!     fn handle(&mut self, event: Event, message: Received<'_>, _: &mut Outbox<'_>) {
//!         println!("{event:?} {}", String::from_utf8_lossy(message.bytes));
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::load("client.toml".as_ref(), Role::Initiator)?;
//! let session = settings.sessions.into_iter().next().ok_or("no session")?;
//! let mut events = EventLoop::new(EpollKernel::new(16)?, LoopConfig::default())?;
//! let mut initiator = Initiator::start(events.io(), session, Printer)?;
//! let mut handler = |io: &mut Io<EpollKernel>, completion: Completion<'_>| {
//!     initiator.handle(io, &completion);
//! };
//! events.run(&mut handler, WaitStrategy::Block)?;
//! # Ok(())
//! # }
//! ```
//!
//! The loop must let 64 KiB of a stream wait (`LoopConfig::write_bytes_max`, its default). A resend
//! goes out as the peer takes it; a peer for whom more than `waiting_bytes_max` wait is
//! disconnected. An order path that counts nanoseconds drives a [`taut_fix::Link`] itself, as
//! taut-gateway does.
#![forbid(unsafe_code)]

mod acceptor;
mod application;
pub mod auth;
mod back_off;
mod clock;
pub mod dictionary;
mod drop_copy;
mod endpoint;
mod initiator;
mod lazy_timer;
mod owner_only;
mod random;
mod refusal;
mod schedule;
mod session_hooks;
mod session_store;
mod settings;
pub mod store;
mod throttle;
mod transport;

pub use acceptor::Acceptor;
pub use application::{Application, Outbox, StoredSession};
pub use back_off::BackOff;
pub use clock::Clock;
pub use drop_copy::{DropCopyNotes, DropCopyServer, DropCopySettings, DropCopySource, Tell};
pub use endpoint::Endpoint;
pub use initiator::Initiator;
pub use refusal::{LogonNames, Refusal, RefusalCause};
pub use schedule::{Days, Period, Schedule};
pub use session_hooks::SessionHooks;
pub use session_store::SessionStore;
pub use settings::{
    Credentials, SAMPLE, SessionSettings, Settings, SettingsError, TlsNames, TlsSettings,
    import_quickfix,
};
pub use taut_fix::Received;
pub use throttle::LogonThrottle;
