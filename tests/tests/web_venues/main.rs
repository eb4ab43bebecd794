//! Gateways at venues that speak JSON over WebSocket: at Deribit and OKX against scripted venues,
//! and at Deribit and Binance with another one at taut's own venues, at OKX at one of the tests'.
#![forbid(unsafe_code)]

mod at_binance;
mod at_deribit;
mod at_okx;
mod gateway;
mod hands;
mod machine;
mod members;
mod okx;
mod okx_venue;
mod scripted;
