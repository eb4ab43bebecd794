//! Latency: stages, histograms and percentiles.
#![no_std]
#![forbid(unsafe_code)]
