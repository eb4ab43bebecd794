//! `ipc:NAME`: shared memory, over a log of taut-ipc.
//!
//! Whoever comes first creates the channel, with one stream `messages`; there is one writer at a
//! time, and up to [`SUBSCRIBERS_MAX`] subscriptions that it waits for. A subscription begins with
//! the next message. The measure of positions is bytes, with records' headers.
//!
//! A message can be read as soon as its offer returns: the driver commits one by one, and gathers
//! nothing until the duty. At a capacity of 1 MiB batches of 16 are no quicker (62 million messages
//! a second both ways): while a subscription lags no line is shared, and one that has caught up
//! leaves the writer its line for a moment by itself.

mod place;
mod publication;
mod subscription;

pub(crate) use publication::IpcPublication;
pub(crate) use subscription::IpcSubscription;
