//! A gateway that follows Deribit's books and trades there over JSON-RPC, against a scripted venue.
#![forbid(unsafe_code)]

mod gateway;
mod scripted;
