//! `lease:udp?endpoint=H:P`: typed UDP with leases, over the core of taut-lease.
//!
//! The publisher is bound to the endpoint; a subscription is connected to it, so that the kernel
//! drops what others send, and asks for a lease. With `group=` messages go once to the group, which
//! is joined for the publisher as its only source, while leases are asked for as before. Nothing is
//! repaired and nobody is waited for: what is missing is counted and is an event. No datagram is
//! ever fragmented: what is longer than its path carries is refused. The measure of positions is
//! messages.

mod accounts;
mod outlets;
mod place;
mod publication;
mod subscription;

pub(crate) use publication::LeasePublication;
pub(crate) use subscription::LeaseSubscription;
