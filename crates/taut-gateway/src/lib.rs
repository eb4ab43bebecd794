//! The tick-to-trade path: feed, book, strategy, risk, order.
//!
//! A [`Gateway`] is one object driven by one thread: [`Gateway::poll`] serves the client's
//! requests first, then takes a turn of the loop (`taut-io`): reports, then market data, and the
//! client's requests again after each datagram. Its
//! [`Client`] is where the strategy lives: in the same thread ([`FusedClient`]) or behind shared
//! memory in another process ([`SplitClient`] here, [`StrategyRunner`] there). The [`Strategy`] is
//! the same code.
//!
//! The feed comes on two lines (`taut_market_data::feed`): a packet that one has lost is taken from
//! the other, and what both have lost is asked for, or a snapshot covers it. Until then the client
//! knows that the book cannot be trusted, and no order passes.
//!
//! Every order carries the stamps of the packet that caused it: nine stages from the return of the
//! receive call to the return of the send call, which add up exactly.
#![forbid(unsafe_code)]

mod client;
mod config;
mod counters;
mod error;
mod feed;
mod gateway;
mod market;
mod message;
mod order_entry;
mod probe;
mod regions;
mod reports;
mod runner;
mod strategy;
mod touch;

pub use client::{Client, FusedClient, SplitClient};
pub use config::GatewayConfig;
pub use counters::{GatewayCounters, StrategyCounters};
pub use error::GatewayError;
pub use feed::FeedSockets;
pub use gateway::Gateway;
pub use message::{
    LevelEvent, MarketEvent, NewOrder, OrderUpdate, Refusal, Request, RequestKind, TickStamps,
    TopEvent, TradeEvent, UpdateKind,
};
pub use regions::{Recorders, Regions, Views};
pub use runner::StrategyRunner;
pub use strategy::{OrderEntry, Strategy};
pub use touch::{TouchConfig, TouchStrategy};
