//! What the tests of all crates share, so that a test holds on any machine and can be repeated.
//!
//! - **Randomness** comes from a seed: [`for_each_seed`] prints the seed of a schedule that fails,
//!   and `TAUT_SEED=n` replays it alone.
//! - **Histories** of what clients of an exchange asked and heard are explained by a book by price
//!   and time, or found wrong: [`history`].
//! - **Damage** to JSON frames is drawn by [`mutate_json`].
//! - **Keys** that a program prints in JSON keep to one rule: [`odd_json_keys`] finds others.
//! - **Links** between protocol cores run on virtual time: a [`Link`] loses, doubles, delays and
//!   reorders what it carries.
//! - **Waits** have a condition and a deadline: [`until`] and [`until_some`] fail with what did not
//!   happen. No test waits for a time where it means a condition.
//! - **Addresses** come from the kernel ([`tcp_listener`], [`udp_socket`]), with their sockets
//!   open; a program that binds for itself binds port 0 and says where, or is given an address that
//!   no other process uses ([`own_address`]).
//! - **Programs** under test end with the test ([`Process`]): whatever happens, they are killed and
//!   reaped, and every wait for their words or their end has a deadline. Tests of programs that
//!   spin take a [`Turn`].
#![forbid(unsafe_code)]

mod address;
pub mod history;
mod json;
mod link;
mod mutate;
mod process;
mod random;
mod turn;
mod until;

pub use address::{own_address, own_group, tcp_listener, udp_socket};
pub use json::odd_json_keys;
pub use link::{Faults, Link, LinkCounters};
pub use mutate::mutate_json;
pub use process::{Process, Run};
pub use random::{Draw, Random, for_each_seed, seeds};
pub use turn::Turn;
pub use until::{DEADLINE, Deadline, until, until_some};
