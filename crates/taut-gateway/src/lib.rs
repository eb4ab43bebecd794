//! The tick-to-trade path: feed, book, strategy, risk, order.
#![forbid(unsafe_code)]
