//! The tools of the `taut` binary, each as its users meet it: files, processes, exit codes, what is
//! printed. One program for all of these tests: a program more costs a link.
#![forbid(unsafe_code)]

mod backtest;
mod book;
mod channel;
mod demo_recorded;
mod desk;
mod doctor;
mod engine;
mod feed;
mod fix_acceptance;
mod fix_interop;
mod fix_kill;
mod fix_tools;
mod fix_versions;
mod gateway;
mod ipc;
mod jitter;
mod journal;
mod metrics;
mod new_symbols;
mod operate;
mod recorded;
mod saturate;
mod top;
mod trials;
mod ws;
