//! FIX 4.4: codec and session state machine.
#![no_std]
#![forbid(unsafe_code)]
