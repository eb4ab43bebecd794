//! SBE: the messages of taut's market-data feed.
#![no_std]
#![forbid(unsafe_code)]
