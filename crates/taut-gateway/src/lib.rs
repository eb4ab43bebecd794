//! The tick-to-trade path: feed, book, strategy, risk, order.
//!
//! A [`Gateway`] is one object driven by one thread: [`Gateway::poll`] serves the client's
//! requests first, then takes a turn of the loop (`taut-io`): reports, then market data, and the
//! client's requests again after each datagram. Its [`Client`] is where the strategies live: one in
//! the same thread ([`FusedClient`]), or many behind shared memory in processes of their own
//! ([`Hub`] here, [`StrategyRunner`] there). The [`Strategy`] is the same code.
//!
//! Market data is a venue's [`FeedHandler`](taut_market_data::FeedHandler), chosen when the gateway
//! is built: frames go in, [events](taut_market_data::Event) of named instruments come out, and the
//! book is theirs. taut's own feed comes on two lines: a packet that one has lost is taken from the
//! other, and what both have lost is asked for, or a snapshot covers it. Until then the client
//! knows that the book cannot be trusted, and why, and no order passes.
//!
//! Orders go the other way through a venue's [`OrderHandler`]: requests in, bytes out; bytes in,
//! what became of orders out. [`Fix44`] is that of taut's own venue and of whoever speaks FIX 4.4.
//!
//! Every order carries the stamps of the packet that caused it: nine stages from the return of the
//! receive call to the return of the send call, which add up exactly.
#![forbid(unsafe_code)]

mod accounts;
mod alarms;
mod changes;
mod client;
mod config;
mod counters;
mod credits;
mod drop_copy;
mod ended;
mod error;
mod feed;
mod fees;
mod flight;
mod fused;
mod gateway;
mod gateways;
mod hub;
mod info;
mod journal;
mod link;
mod mark;
mod market;
mod market_reader;
mod message;
mod new_instrument;
mod observer;
mod order_entry;
mod owner;
mod quotes;
mod regions;
mod replica;
mod reports;
mod runner;
mod strategy;
mod stream;
#[cfg(test)]
mod testing;
mod through;
mod timer;
mod touch;
mod venue_clock;

pub use accounts::Accounts;
pub use client::{Client, GatewayState};
pub use config::{
    GatewayConfig, PositionRule, RiskConfig, RiskRules, SecondConnection, SessionSettings,
    Transport,
};
pub use counters::{GatewayCounters, StrategyCounters};
pub use drop_copy::{
    CopiedVenue, CopyReader, CopyReaderSettings, DropCopies, DropCopyNews, DropCopyServer,
    Executions, VenueCopies,
};
pub use error::GatewayError;
pub use feed::{FeedInput, FeedSocket, FeedSockets};
pub use flight::{FlightRead, FlightReader};
pub use fused::FusedClient;
pub use gateway::Gateway;
pub use hub::{Hub, RequestDifference, SlotId, WhenGone};
pub use info::EventInfo;
pub use journal::OrderWriter;
pub use market_reader::{MarketRead, MarketReader};
pub use message::{
    GatewayEvent, GatewayStatus, KilledScopes, OpenOrder, OrderFilter, OrderUpdate, Position,
    Refusal, Request, RequestKind, SessionPhase, TickStamps, UpdateKind, VenueReject,
};
pub use new_instrument::{AddError, NewInstrument};
pub use observer::Observer;
pub use order_entry::any::AnyOrders;
pub use order_entry::binance::{
    BinanceFix, BinanceOrderSettings, BinanceWs, SelfTrade as BinanceSelfTrade,
};
pub use order_entry::comparison::{PositionComparisons, PositionDifference, PositionOutcome};
pub use order_entry::deribit::json::DeribitJson;
pub use order_entry::deribit::{DeribitFix, DeribitOrderSettings};
pub use order_entry::fix44::Fix44;
pub use order_entry::handler::{
    Capabilities, ChangeRefused, Framing, NotSent, OfAll, OrderHandler, OrderMessage, VenueEvent,
    VenuePosition, VenueReport,
};
pub use order_entry::okx::{
    OkxOrderSettings, OkxSecret, OkxWs, SelfTrade as OkxSelfTrade, TradeMode as OkxTradeMode,
};
pub use order_entry::what_if::WhatIf;
pub use owner::Owner;
pub use quotes::{MassQuoted, Quote, Quotes};
pub use regions::{Regions, StrategyRegions, Views};
pub use runner::{DetachedStrategy, StrategyRunner};
pub use strategy::{State, Strategy, Trading};
pub use stream::{
    DeribitFixStream, DeribitFixStreamSettings, DeribitStream, DeribitStreamSettings, FeedSession,
    FeedStreams, OkxStream, OkxStreamSettings, SnapshotLimits, StreamAddress, StreamCounters,
    StreamSession, SymbolStreams, VenueTerms,
};
pub use through::Through;
pub use touch::{TouchConfig, TouchStrategy};
pub use venue_clock::ClockReading;
