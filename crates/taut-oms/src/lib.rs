//! Order life cycle and pre-trade risk.
#![no_std]
#![forbid(unsafe_code)]
