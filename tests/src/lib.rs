//! Helpers that the scenarios share.
#![forbid(unsafe_code)]
