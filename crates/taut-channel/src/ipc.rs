//! `ipc:NAME`: shared memory, over a log of taut-ipc.
//!
//! Whoever comes first creates the channel, with one stream `messages`; there is one writer at a
//! time, and up to [`SUBSCRIBERS_MAX`] subscriptions that it waits for. A subscription begins with
//! the next message. The measure of positions is bytes, with records' headers.

mod place;
mod publication;
mod subscription;

pub(crate) use publication::IpcPublication;
pub(crate) use subscription::IpcSubscription;
