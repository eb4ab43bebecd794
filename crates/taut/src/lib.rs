//! taut: the tick-to-trade path as one library.
#![forbid(unsafe_code)]
