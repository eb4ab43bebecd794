//! An exchange on one thread: matching engine, FIX order entry, SBE multicast.
#![forbid(unsafe_code)]
