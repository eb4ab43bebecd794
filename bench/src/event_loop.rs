//! The loop's experiment: a sender of timed messages on many connections, receivers of them through
//! the loop and without it, and the matrix that runs them beside peers.

mod bare;
pub mod client;
pub mod matrix;
mod median;
mod message;
mod meter;
mod plot;
pub mod server;
mod verdict;

use taut_io::WaitStrategy;

/// Reads the name of a wait strategy.
fn parse_wait(name: &str) -> Result<WaitStrategy, String> {
    let known = WaitStrategy::ALL;
    let found = known.into_iter().find(|strategy| strategy.name() == name);
    found.ok_or_else(|| format!("choose from {}", known.map(WaitStrategy::name).join(", ")))
}
