//! `inproc:NAME`: a log in the process's own memory, found by name; and spies.

mod memory;
mod publication;
mod spies;
mod spy;
mod subscription;

pub(crate) use publication::InprocPublication;
pub(crate) use spies::Spies;
pub(crate) use spy::SpySubscription;
pub(crate) use subscription::InprocSubscription;
