//! A gateway that follows Deribit's books and trades there over JSON-RPC: against a scripted venue,
//! and with another one at taut's own.
#![forbid(unsafe_code)]

mod gateway;
mod own_venue;
mod scripted;
