//! Order books: top of book, price levels and order queues.
#![no_std]
#![forbid(unsafe_code)]
