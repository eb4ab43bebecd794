//! Market-data sequencing: gap detection and snapshot recovery.
#![no_std]
#![forbid(unsafe_code)]
