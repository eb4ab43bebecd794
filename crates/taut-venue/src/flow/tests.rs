//! The flows against the real engine.

mod market;
mod recorded;
mod synthetic;
mod top_of_book;
