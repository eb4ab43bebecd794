//! Matching engine: commands in, events out.
#![no_std]
#![forbid(unsafe_code)]
