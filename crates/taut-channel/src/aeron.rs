//! `aeron:udp?...`: reliable UDP in Aeron's wire, over taut-aeron.
//!
//! A publication and a subscription have sockets of their own on the caller's loop: there is no
//! media driver. Unlike with one, a unicast endpoint's port belongs to one subscription.
//!
//! - `endpoint=H:P`: the publication's socket is connected to the endpoint and hears its receiver.
//! - `endpoint=GROUP:P`: it sends by the interface, and hears receivers on the group's control
//!   address (the group plus one) and on its own socket.
//! - `control=H:P`: it sends from the control address to every destination, and hears them there.
//!
//! With several endpoints (`endpoint=H:P,H:P`) a subscription listens at each of them: a session
//! that comes by more than one is one image, and what one line loses another may bring.
//!
//! A subscription answers a group on its control address; with `source=` it joins that source alone
//! and answers it directly.

mod bundle;
mod interface;
mod parameters;
mod publication;
mod routes;
mod sockets;
mod subscription;

pub(crate) use publication::{AeronClaim, AeronPublication};
pub(crate) use subscription::AeronSubscription;
