//! Scenarios over several crates. One program for all of these tests: a program more costs a link.
#![forbid(unsafe_code)]

mod feed_loss;
mod normal_end;
mod order_table;
mod receive_time;
mod recorded_binance;
mod recorded_book;
mod recorded_feed;
mod same_decisions;
mod same_orders;
mod simulated_gateway;
mod stages_add_up;
mod two_lines;
mod venue_rejects;
mod venue_schemas;
