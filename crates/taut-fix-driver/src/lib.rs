//! FIX sessions over TCP: settings in TOML, opening hours, an acceptor, an initiator.
//!
//! The session itself is taut-fix's and pure; this crate gives it a socket, a clock, a store and a
//! log, on one thread and without one of its own. An [`Application`] acts on what a session
//! reports:
//!
//! ```no_run
//! use taut_fix::{Event, Now, Role};
//! use taut_fix_driver::{Application, Initiator, Outbox, Received, Settings};
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
//! let mut initiator = Initiator::open(session, Printer)?;
//! loop {
//!     let now = Now { mono: taut_sys::monotonic(), utc: taut_sys::utc() };
//!     initiator.turn(now);
//!     initiator.wait(now, None)?;
//! }
//! # }
//! ```
//!
//! An order path that counts nanoseconds polls its session and its socket itself, as
//! `taut bench fix` does; this driver sleeps in the kernel between messages.
#![forbid(unsafe_code)]

mod acceptor;
mod application;
mod back_off;
mod endpoint;
mod initiator;
mod link;
mod random;
mod schedule;
mod settings;
mod store;
mod throttle;

pub use acceptor::Acceptor;
pub use application::{Application, DrivenSession, Outbox, Received};
pub use back_off::BackOff;
pub use endpoint::Endpoint;
pub use initiator::Initiator;
pub use schedule::{Days, Period, Schedule};
pub use settings::{Credentials, SessionSettings, Settings, SettingsError, import_quickfix};
pub use store::SessionStore;
pub use throttle::LogonThrottle;
