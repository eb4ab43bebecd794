//! The flows against the real engine.

mod market;
mod synthetic;
