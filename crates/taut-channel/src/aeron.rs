//! `aeron:udp?...`: reliable UDP in Aeron's wire, over taut-aeron.
//!
//! A publication and a subscription own their sockets and are polled by the caller: there is no
//! media driver. Unlike with one, a unicast endpoint's port belongs to one subscription.
//!
//! | channel | the publication sends from | it hears receivers on |
//! |---|---|---|
//! | `endpoint=H:P` | a socket connected to the endpoint | the same |
//! | `endpoint=GROUP:P` | a socket of the interface | the group's control address (the group plus one), and its own socket |
//! | `control=H:P` | the control address | the same |
//!
//! A subscription answers a group on its control address; with `source=` it joins that source alone
//! and answers it directly.

mod interface;
mod parameters;
mod publication;
mod sockets;
mod subscription;
mod wire;

pub(crate) use publication::AeronPublication;
pub(crate) use subscription::AeronSubscription;
